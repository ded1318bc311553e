#include "render/paint.h"

#include "render/heat.h"

#include <math.h>

static const FaLook looks[FA_RENDER_MATERIALS] = {
    [FA_RENDER_SKIN] = {{0.585f, 0.385f, 0.290f}, 0.028f, 0.46f, {0.26f, 0.20f, 0.17f}, 0},
    [FA_RENDER_EYE] = {{0.70f, 0.665f, 0.635f}, 0.03f, 0.20f, {0.20f, 0.15f, 0.15f}, 1},
    [FA_RENDER_TEETH] = {{0.76f, 0.71f, 0.60f}, 0.04f, 0.25f, {0.20f, 0.18f, 0.15f}, 0.15f},
    [FA_RENDER_MOUTH] = {{0.46f, 0.155f, 0.135f}, 0.04f, 0.32f, {0.30f, 0.15f, 0.12f}, 0},
    [FA_RENDER_BONE] = {{0.64f, 0.585f, 0.47f}, 0.02f, 0.60f, {0.15f, 0.12f, 0.10f}, 0},
    [FA_RENDER_OTHER] = {{0.36f, 0.36f, 0.37f}, 0.03f, 0.45f, {0.12f, 0.12f, 0.12f}, 0},
    [FA_RENDER_MUSCLE] = {{0.62f, 0.37f, 0.30f}, 0.035f, 0.38f, {0.20f, 0.12f, 0.10f}, 0},
};

static FaVec interpolate(const float *x, const int *v, const FaHit *hit) {
    FaVec p = fai_scale(fai_vec_of(x + 3 * v[0]), 1 - hit->u - hit->v);
    return fai_mad(fai_mad(p, fai_vec_of(x + 3 * v[1]), hit->u), fai_vec_of(x + 3 * v[2]), hit->v);
}

// A smooth periodic ripple for the fibres of the iris: a sum of a few waves with incommensurate phases.
static float fibres(float angle, float r) {
    return 0.5f + 0.22f * sinf(37 * angle + 5 * r) + 0.16f * sinf(61 * angle - 9 * r + 1.3f) +
           0.12f * sinf(97 * angle + 2.1f);
}

// Iris, limbus and pupil around the resting eyeball's gaze. Radii are fractions of the ball's (12 mm): iris 5.9 mm.
static void paint_eye(const FaEyeball *eye, FaVec rest, FaLook *look) {
    FaVec d = fai_unit(fai_sub(rest, eye->centre));
    float ahead = fai_dot(d, eye->gaze);
    if (ahead <= 0) return;
    float a = fai_dot(d, eye->side), b = fai_dot(d, eye->up);
    const float iris = 0.485f, pupil = 0.165f;
    float r = sqrtf(a * a + b * b) / iris;
    // the white reddens towards the corners
    look->albedo = fai_lerp(look->albedo, fai_vec(0.62f, 0.47f, 0.43f), 0.5f * fai_smooth(1.2f, 2.1f, r));
    if (r > 1.15f) return;
    float angle = atan2f(b, a), f = fibres(angle, r);
    FaVec outer = fai_lerp(fai_vec(0.050f, 0.085f, 0.105f), fai_vec(0.115f, 0.175f, 0.195f), f);
    FaVec inner = fai_lerp(fai_vec(0.115f, 0.085f, 0.045f), fai_vec(0.200f, 0.150f, 0.080f), f);
    FaVec colour = fai_lerp(inner, outer, fai_smooth(0.42f, 0.72f, r + 0.08f * (f - 0.5f)));
    colour = fai_scale(colour, 1 - 0.75f * fai_smooth(0.80f, 1.0f, r)); // the limbus is dark
    float edge = pupil / iris;
    colour = fai_lerp(fai_vec(0.004f, 0.004f, 0.005f), colour, fai_smooth(edge - 0.03f, edge + 0.05f, r));
    look->albedo = fai_lerp(colour, look->albedo, fai_smooth(0.94f, 1.10f, r));
}

FaVec fai_muscle_colour(float pull) {
    const FaVec pale = {0.62f, 0.37f, 0.30f}, deep = {0.42f, 0.012f, 0.010f};
    return fai_lerp(pale, deep, powf(pull, 0.7f));
}

// Bundles of fibres: a few waves across the muscle, so that each is a line from origin to insertion.
static void paint_muscle(const FaPaint *paint, const int *v, const FaHit *hit, FaLook *look) {
    const FaScene *s = paint->scene;
    look->albedo = fai_muscle_colour((float)s->pull[hit->tri] / 255);
    if (!s->across) return;
    float a = s->across[v[0]] * (1 - hit->u - hit->v) + s->across[v[1]] * hit->u + s->across[v[2]] * hit->v;
    float wave = sinf(62 * a) + 0.6f * sinf(101 * a + 1.7f) + 0.5f * sinf(163 * a + 0.4f);
    look->albedo = fai_scale(look->albedo, 1 + 0.11f * wave);
}

// How much of a wire covers this point: distance in the picture to the nearest polygon edge of its own triangle. Where
// polygons are smaller than a few pixels the wires fade, so that a dense mesh does not turn black.
static float wire_cover(const FaPaint *paint, const int *v, unsigned edges, float px, float py) {
    const float(*q)[2] = paint->screen;
    float area = fabsf((q[v[1]][0] - q[v[0]][0]) * (q[v[2]][1] - q[v[0]][1]) -
                       (q[v[1]][1] - q[v[0]][1]) * (q[v[2]][0] - q[v[0]][0]));
    float cover = 0, longest = 0;
    for (int k = 0; k < 3; k++) {
        const float *a = q[v[k]], *b = q[v[(k + 1) % 3]];
        float ex = b[0] - a[0], ey = b[1] - a[1], len2 = ex * ex + ey * ey;
        if (!(len2 < 1e12f)) return 0; // behind the lens
        longest = FA_MAX(longest, len2);
        if (!(edges >> k & 1)) continue;
        float t = len2 > 0 ? fai_clamp01(((px - a[0]) * ex + (py - a[1]) * ey) / len2) : 0;
        float dx = a[0] + t * ex - px, dy = a[1] + t * ey - py;
        cover = FA_MAX(cover, fai_clamp01(paint->line + 0.5f - sqrtf(dx * dx + dy * dy)));
    }
    float height = longest > 0 ? area / sqrtf(longest) : 0; // the triangle's least height, pixels
    return cover * fai_smooth(0.3f, 5.0f, height);
}

void fai_paint(const FaPaint *paint, const FaHit *hit, bool behind, float px, float py, FaLook *look) {
    const FaScene *s = paint->scene;
    const int *v = s->tri + 3 * hit->tri;
    *look = looks[s->material[hit->tri]];
    if (s->eyeball[hit->tri] >= 0) paint_eye(&s->eye[s->eyeball[hit->tri]], interpolate(s->rest, v, hit), look);
    if (s->material[hit->tri] == FA_RENDER_MUSCLE) paint_muscle(paint, v, hit, look);
    if (paint->heat_max_mm > 0) {
        float mm = s->heat[v[0]] * (1 - hit->u - hit->v) + s->heat[v[1]] * hit->u + s->heat[v[2]] * hit->v;
        look->albedo = fai_heat_colour(mm / paint->heat_max_mm);
        look->specular = 0.02f;
        look->roughness = 0.6f;
        look->mirror = 0;
        look->wrap = fai_vec(0.2f, 0.2f, 0.2f);
    }
    if (behind && paint->backfaces) look->albedo = fai_vec(0.42f, 0.10f, 0.55f);
    if (paint->screen) {
        float cover = wire_cover(paint, v, s->edges[hit->tri], px, py);
        look->albedo = fai_lerp(look->albedo, fai_vec(0.018f, 0.020f, 0.026f), 0.85f * cover);
        look->specular *= 1 - cover;
        look->mirror *= 1 - cover;
    }
}
