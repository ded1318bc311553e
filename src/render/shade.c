// The clay look: hemispherical light with ambient occlusion, a soft key light that throws shadows, a fill, a rim.
//
// Each pixel takes `samples` camera rays; each that hits sends a few rays about the normal (occlusion) and one each to
// the key and rim lights. What these rays see is noise, all else is not, so the film keeps them apart:
//     colour = ambient * occlusion + direct * key + rest
// and only `occlusion` and `key` are smoothed (over neighbours in the same plane) before they are multiplied in.
// Random numbers are scrambled (0,2)-sequences keyed by the pixel's place: no state, the same image for any thread
// count.
#include "render/shade.h"

#include "base/task.h"
#include "render/paint.h"

#include <math.h>

enum { TILE = 16, SMOOTH = 3 }; // SMOOTH: radius of the smoothing, pixels

typedef struct Film {
    int width, height;
    FaVec *ambient;   // light from all around, to be multiplied by seen[0]
    FaVec *direct;    // light from the key, to be multiplied by seen[1]
    FaVec *rest;      // everything else, the background too
    FaVec *at;        // mean point hit
    FaVec *normal;    // mean normal
    float (*seen)[2]; // fraction of the rays that got through: all around, to the key
    float *cover;     // fraction of the pixel that is covered
} Film;

typedef struct Job {
    const FaScene *scene;
    const FaCamera *camera;
    const FaShading *shading;
    Film film;
    int occlusion_rays;   // per hit
    FaVec key, fill, rim; // directions to the lights, scene axes
    FaVec key_s, key_t;   // the key light's disc
    float eps;            // rays start this far off the surface, m
    FaPaint paint;
    unsigned char *rgb;
} Job;

static const FaVec key_colour = {1.18f, 1.12f, 1.04f};
static const FaVec fill_colour = {0.15f, 0.155f, 0.165f};
static const FaVec rim_colour = {0.75f, 0.80f, 0.90f};
static const FaVec sky_colour = {0.455f, 0.455f, 0.465f};
static const FaVec ground_colour = {0.235f, 0.200f, 0.175f};
static const float key_radius = 0.24f; // of the key light's disc at unit distance

// --- numbers ------------------------------------------------------------------------------------------------------

static uint32_t hash32(uint32_t v) {
    v ^= v >> 16;
    v *= 0x7feb352du;
    v ^= v >> 15;
    v *= 0x846ca68bu;
    return v ^ v >> 16;
}

static uint32_t reverse_bits(uint32_t v) {
    v = v << 16 | v >> 16;
    v = (v & 0x00ff00ffu) << 8 | (v & 0xff00ff00u) >> 8;
    v = (v & 0x0f0f0f0fu) << 4 | (v & 0xf0f0f0f0u) >> 4;
    v = (v & 0x33333333u) << 2 | (v & 0xccccccccu) >> 2;
    return (v & 0x55555555u) << 1 | (v & 0xaaaaaaaau) >> 1;
}

static uint32_t sobol2(uint32_t n) {
    uint32_t r = 0;
    for (uint32_t v = 1u << 31; n; n >>= 1, v ^= v >> 1)
        if (n & 1) r ^= v;
    return r;
}

static float unit_float(uint32_t v) { return (float)(v >> 8) * (1.0f / 16777216); }

// Point n of the 2D (0,2)-sequence, scrambled by key.
static void sample2(uint32_t n, uint32_t key, float *a, float *b) {
    *a = unit_float(reverse_bits(n) ^ hash32(key));
    *b = unit_float(sobol2(n) ^ hash32(key + 0x9e3779b9u));
}

static FaVec on_hemisphere(FaVec n, float a, float b) { // cosine-weighted
    FaVec s, t;
    fai_frame(n, &s, &t);
    float r = sqrtf(a), phi = 6.2831853f * b;
    FaVec d = fai_mad(fai_scale(s, r * cosf(phi)), t, r * sinf(phi));
    return fai_mad(d, n, sqrtf(FA_MAX(0.0f, 1 - a)));
}

// --- one hit ------------------------------------------------------------------------------------------------------

typedef struct Surface {
    FaVec at;     // the point
    FaVec start;  // where rays leave it: lifted to the smooth surface
    FaVec facet;  // unit, towards the viewer
    FaVec normal; // smooth, towards the viewer
    FaVec view;   // unit, towards the viewer
    bool behind;  // seen from its back
    FaLook look;
} Surface;

static void find_surface(const Job *job, const FaHit *hit, FaVec dir, Surface *sf) {
    const FaScene *s = job->scene;
    const int *v = s->tri + 3 * hit->tri, *n = s->corner_normal + 3 * hit->tri;
    float w[3] = {1 - hit->u - hit->v, hit->u, hit->v};
    FaVec p[3], pn[3];
    for (int k = 0; k < 3; k++) p[k] = fai_vec_of(s->x + 3 * v[k]), pn[k] = fai_vec_of(s->normal + 3 * n[k]);
    sf->view = fai_scale(dir, -1);
    sf->at = fai_mad(fai_mad(fai_scale(p[0], w[0]), p[1], w[1]), p[2], w[2]);
    sf->facet = fai_unit(fai_cross(fai_sub(p[1], p[0]), fai_sub(p[2], p[0])));
    sf->behind = fai_dot(sf->facet, sf->view) < 0;
    float sign = sf->behind ? -1.0f : 1.0f;
    sf->facet = fai_scale(sf->facet, sign);
    sf->normal = sf->facet;
    sf->start = sf->at;
    if (!job->shading->flat) {
        FaVec smooth = fai_mad(fai_mad(fai_scale(pn[0], w[0]), pn[1], w[1]), pn[2], w[2]);
        if (fai_dot(smooth, smooth) > 0.01f) sf->normal = fai_scale(fai_unit(smooth), sign);
        // a normal that leans away from the viewer is bent back to the silhouette
        float facing = fai_dot(sf->normal, sf->view);
        if (facing < 0.02f) sf->normal = fai_unit(fai_mad(sf->normal, sf->view, 0.02f - facing));
        // lift the start to the surface the normals speak of, so that facets do not shade themselves at the terminator
        FaVec lift = {0, 0, 0};
        for (int k = 0; k < 3; k++) {
            FaVec nk = fai_scale(pn[k], sign);
            float below = fai_dot(fai_sub(sf->at, p[k]), nk);
            if (below < 0) lift = fai_mad(lift, nk, -below * w[k]);
        }
        sf->start = fai_add(sf->at, lift);
    }
    sf->start = fai_mad(sf->start, sf->facet, job->eps);
}

static float ggx(FaVec n, FaVec v, FaVec l, float roughness, float f0) {
    FaVec h = fai_unit(fai_add(v, l));
    float nl = fai_dot(n, l), nv = FA_MAX(fai_dot(n, v), 0.05f), nh = FA_MAX(fai_dot(n, h), 0.0f),
          vh = FA_MAX(fai_dot(v, h), 0.0f);
    if (nl <= 0) return 0;
    float a2 = roughness * roughness * roughness * roughness;
    float d = nh * nh * (a2 - 1) + 1;
    float k = roughness * roughness / 2;
    float g = 1 / ((nl * (1 - k) + k) * (nv * (1 - k) + k));
    float m = 1 - vh, m2 = m * m;
    float f = f0 + (1 - f0) * m2 * m2 * m;
    return FA_MIN(a2 / (3.14159265f * d * d) * g * f * 0.25f * nl, 4.0f);
}

static FaVec wrapped(float nl, FaVec w) {
    return fai_vec(FA_MAX(0.0f, (nl + w.x) / (1 + w.x)), FA_MAX(0.0f, (nl + w.y) / (1 + w.y)),
                   FA_MAX(0.0f, (nl + w.z) / (1 + w.z)));
}

typedef struct Light {
    FaVec ambient, direct, rest;
    float seen[2];
} Light;

static void shade_hit(const Job *job, const Surface *sf, uint32_t key, int sample, Light *out) {
    const FaLook *look = &sf->look;
    FaVec n = sf->normal;

    // all around: sky above, warmer and darker below; the fill is so soft that occlusion is its shadow
    float up = 0.5f + 0.5f * fai_dot(n, job->camera->up);
    FaVec around = fai_lerp(ground_colour, sky_colour, up);
    around = fai_add(around, fai_mul(fill_colour, wrapped(fai_dot(n, job->fill), look->wrap)));
    float fresnel = powf(1 - FA_MAX(fai_dot(n, sf->view), 0.0f), 5) * (1 - look->roughness);
    out->ambient =
        fai_mad(fai_mul(look->albedo, around), sky_colour, (look->specular + 0.5f * fresnel) * (0.4f + look->mirror));
    // the key light, and where its disc shows in a wet surface
    out->direct = fai_mul(fai_mul(look->albedo, key_colour), wrapped(fai_dot(n, job->key), look->wrap));
    out->direct = fai_mad(out->direct, key_colour, ggx(n, sf->view, job->key, look->roughness, look->specular));
    if (look->mirror > 0) {
        FaVec bounce = fai_mad(fai_scale(sf->view, -1), n, 2 * fai_dot(n, sf->view));
        float image = fai_smooth(0.965f, 0.985f, fai_dot(bounce, job->key));
        out->direct = fai_mad(out->direct, key_colour, 0.55f * look->mirror * image);
    }

    // what can be seen from here: rays all around, one to a point of the key light's disc, one to the rim light behind
    FaVec to[FA_RAYS_AT_ONCE];
    int n_around = job->occlusion_rays, n_rays = n_around;
    float a, b;
    for (int i = 0; i < n_around; i++) {
        sample2((uint32_t)(sample * n_around + i), key, &a, &b);
        to[i] = on_hemisphere(n, a, b);
    }
    int to_key = -1, to_rim = -1;
    if (fai_dot(n, job->key) > -0.4f) {
        sample2((uint32_t)sample, key ^ 0x51ed270bu, &a, &b);
        float r = key_radius * sqrtf(a), phi = 6.2831853f * b;
        to_key = n_rays++;
        to[to_key] = fai_unit(fai_mad(fai_mad(job->key, job->key_s, r * cosf(phi)), job->key_t, r * sinf(phi)));
    }
    float nr = fai_dot(n, job->rim);
    if (nr > 0) to[to_rim = n_rays++] = job->rim;
    unsigned blocked = fai_rays_blocked(job->scene->rays, sf->start, to, n_rays, job->eps);
    int open = 0;
    for (int i = 0; i < n_around; i++) open += !(blocked >> i & 1);
    out->seen[0] = (float)open / (float)n_around;
    out->seen[1] = to_key >= 0 && !(blocked >> to_key & 1);
    out->rest = (FaVec){0, 0, 0};
    if (to_rim >= 0 && !(blocked >> to_rim & 1)) {
        float grazing = 1 - FA_MAX(fai_dot(n, sf->view), 0.0f);
        FaVec tint = fai_mad(fai_scale(look->albedo, 0.6f), fai_vec(1, 1, 1), 0.5f * grazing * grazing * grazing);
        out->rest = fai_scale(fai_mul(tint, rim_colour), nr);
    }
}

// --- film ---------------------------------------------------------------------------------------------------------

static FaVec background(const Film *f, int x, int y) {
    float u = ((float)x + 0.5f) / (float)f->width - 0.5f, v = ((float)y + 0.5f) / (float)f->height - 0.42f;
    float t = fai_smooth(0.05f, 0.85f, sqrtf(u * u + v * v));
    return fai_lerp(fai_vec(0.235f, 0.24f, 0.25f), fai_vec(0.075f, 0.077f, 0.083f), t);
}

static void expose_pixel(const Job *job, int x, int y) {
    const Film *f = &job->film;
    int samples = job->shading->samples;
    size_t at = (size_t)y * (size_t)f->width + (size_t)x;
    // a block of 4 x 4 pixels shares one sequence, each taking its own run of it: what smoothing joins is well spread
    uint32_t key = hash32((uint32_t)(x >> 2) * 0x1f123bb5u ^ hash32((uint32_t)(y >> 2) + 0x5bd1e995u));
    int run = ((x & 1) | (y & 1) << 1 | (x & 2) << 1 | (y & 2) << 2) * samples;
    FaVec ambient = {0}, direct = {0}, rest = {0}, point = {0}, normal = {0};
    float seen[2] = {0}, direct_weight = 0;
    int hits = 0;
    for (int s = 0; s < samples; s++) {
        // a tent filter, one pixel to each side
        float a, b;
        sample2((uint32_t)s, 0x2545f491u, &a, &b);
        float dx = a < 0.5f ? sqrtf(2 * a) - 1 : 1 - sqrtf(2 - 2 * a),
              dy = b < 0.5f ? sqrtf(2 * b) - 1 : 1 - sqrtf(2 - 2 * b);
        FaVec from, dir;
        float px = (float)x + 0.5f + dx, py = (float)y + 0.5f + dy;
        fai_camera_ray(job->camera, px, py, &from, &dir);
        FaHit hit = fai_rays_hit(job->scene->rays, from, dir);
        if (hit.tri < 0) continue;
        Surface sf;
        find_surface(job, &hit, dir, &sf);
        fai_paint(&job->paint, &hit, sf.behind, px, py, &sf.look);
        Light light;
        shade_hit(job, &sf, key, run + s, &light);
        ambient = fai_add(ambient, light.ambient);
        direct = fai_add(direct, light.direct);
        rest = fai_add(rest, light.rest);
        point = fai_add(point, sf.at);
        normal = fai_add(normal, sf.normal);
        seen[0] += light.seen[0];
        seen[1] += light.seen[1];
        direct_weight += 1;
        hits++;
    }
    float inv = 1 / (float)samples, inv_hits = hits ? 1 / (float)hits : 0;
    f->cover[at] = (float)hits * inv;
    f->ambient[at] = fai_scale(ambient, inv);
    f->direct[at] = fai_scale(direct, inv);
    f->rest[at] = fai_mad(fai_scale(rest, inv), background(f, x, y), 1 - f->cover[at]);
    f->at[at] = fai_scale(point, inv_hits);
    f->normal[at] = fai_unit(normal);
    f->seen[at][0] = seen[0] * inv_hits;
    f->seen[at][1] = direct_weight > 0 ? seen[1] / direct_weight : 0;
}

static void expose_tile(void *ctx, int begin, int end, int chunk) {
    const Job *job = ctx;
    (void)end, (void)chunk;
    int across = (job->film.width + TILE - 1) / TILE;
    int x0 = begin % across * TILE, y0 = begin / across * TILE;
    for (int y = y0; y < FA_MIN(y0 + TILE, job->film.height); y++)
        for (int x = x0; x < FA_MIN(x0 + TILE, job->film.width); x++) expose_pixel(job, x, y);
}

// What the pixel's rays saw, smoothed over neighbours that lie in the same plane and face the same way.
static void smooth_seen(const Job *job, int x, int y, float seen[2]) {
    const Film *f = &job->film;
    size_t at = (size_t)y * (size_t)f->width + (size_t)x;
    float sum[2] = {0}, weight = 0;
    float pixel = 2 * job->camera->half / (float)f->height;
    for (int j = FA_MAX(y - SMOOTH, 0); j <= FA_MIN(y + SMOOTH, f->height - 1); j++)
        for (int i = FA_MAX(x - SMOOTH, 0); i <= FA_MIN(x + SMOOTH, f->width - 1); i++) {
            size_t o = (size_t)j * (size_t)f->width + (size_t)i;
            if (f->cover[o] <= 0) continue;
            float facing = fai_dot(f->normal[at], f->normal[o]);
            if (facing < 0.5f) continue;
            float off = fai_dot(f->normal[at], fai_sub(f->at[o], f->at[at])) / pixel;
            float d2 = (float)((i - x) * (i - x) + (j - y) * (j - y));
            float w = f->cover[o] * facing * facing * facing * facing / (1 + 0.5f * off * off) *
                      expf(-d2 * (1.0f / (SMOOTH * SMOOTH)));
            sum[0] += w * f->seen[o][0];
            sum[1] += w * f->seen[o][1];
            weight += w;
        }
    for (int k = 0; k < 2; k++) seen[k] = weight > 0 ? sum[k] / weight : f->seen[at][k];
}

// Light that is blocked has been scattered by what blocks it: hollows of skin glow red, they do not go black.
static FaVec scattered(float open) {
    const FaVec tint = {0.52f, 0.32f, 0.26f};
    return fai_vec(open / (1 - tint.x * (1 - open)), open / (1 - tint.y * (1 - open)),
                   open / (1 - tint.z * (1 - open)));
}

static float shoulder(float c) { return c < 0.55f ? c : 0.55f + 0.45f * (1 - expf(-(c - 0.55f) / 0.45f)); }

// Bright colours are held below white, most of it for all channels alike so that their hue stays.
static FaVec tone(FaVec c) {
    float most = FA_MAX(c.x, FA_MAX(c.y, c.z));
    if (most <= 0.55f) return c;
    FaVec each = {shoulder(c.x), shoulder(c.y), shoulder(c.z)};
    return fai_lerp(each, fai_scale(c, shoulder(most) / most), 0.75f);
}

static void develop_row(void *ctx, int begin, int end, int chunk) {
    const Job *job = ctx;
    const Film *f = &job->film;
    (void)chunk;
    for (int y = begin; y < end; y++)
        for (int x = 0; x < f->width; x++) {
            size_t at = (size_t)y * (size_t)f->width + (size_t)x;
            FaVec c = f->rest[at];
            if (f->cover[at] > 0) {
                float seen[2];
                smooth_seen(job, x, y, seen);
                c = fai_add(c, fai_mul(f->ambient[at], scattered(seen[0])));
                FaVec lit = {powf(seen[1], 0.88f), seen[1], powf(seen[1], 1.05f)}; // penumbrae are red
                c = fai_add(c, fai_mul(f->direct[at], lit));
            }
            c = tone(c);
            job->rgb[3 * at] = fai_srgb8(c.x);
            job->rgb[3 * at + 1] = fai_srgb8(c.y);
            job->rgb[3 * at + 2] = fai_srgb8(c.z);
        }
}

unsigned char fai_srgb8(float c) {
    if (!(c > 0)) return 0;
    if (c >= 1) return 255;
    float s = c <= 0.0031308f ? 12.92f * c : 1.055f * powf(c, 1 / 2.4f) - 0.055f;
    return (unsigned char)(s * 255 + 0.5f);
}

FaCode fai_shade(const FaScene *scene, const FaCamera *camera, const FaShading *shading, unsigned char *rgb,
                 FaError *err) {
    int w = camera->width, h = camera->height;
    size_t n = (size_t)w * (size_t)h;
    Job job = {.scene = scene, .camera = camera, .shading = shading, .rgb = rgb, .eps = 2e-5f * scene->size};
    FaArena *arena = fai_arena_new(0);
    if (!arena) return FA_FAIL_MEMORY(err);
    Film *f = &job.film;
    *f = (Film){.width = w, .height = h};
    f->ambient = FA_PUSH(arena, n, FaVec);
    f->direct = FA_PUSH(arena, n, FaVec);
    f->rest = FA_PUSH(arena, n, FaVec);
    f->at = FA_PUSH(arena, n, FaVec);
    f->normal = FA_PUSH(arena, n, FaVec);
    f->seen = fai_arena_push(arena, n, sizeof *f->seen);
    f->cover = FA_PUSH(arena, n, float);
    if (!f->ambient || !f->direct || !f->rest || !f->at || !f->normal || !f->seen || !f->cover) {
        fai_arena_free(arena);
        return FA_FAIL_MEMORY(err);
    }

    // the lights hang on the camera: every view is lit alike
    const FaVec key = {-0.50f, 0.62f, 0.62f}, fill = {0.85f, 0.05f, 0.52f}, rim = {0.62f, 0.38f, -0.68f};
    FaVec *to[3] = {&job.key, &job.fill, &job.rim};
    const FaVec *dir[3] = {&key, &fill, &rim};
    for (int i = 0; i < 3; i++)
        *to[i] = fai_unit(
            fai_mad(fai_mad(fai_scale(camera->right, dir[i]->x), camera->up, dir[i]->y), camera->back, dir[i]->z));
    fai_frame(job.key, &job.key_s, &job.key_t);
    job.paint = (FaPaint){.scene = scene,
                          .backfaces = shading->backfaces,
                          .line = 0.45f + 0.0004f * (float)h,
                          .heat_max_mm = scene->has_heat ? shading->heat_max_mm : 0};
    if (shading->wire) {
        float(*screen)[2] = fai_arena_push(arena, (size_t)scene->nvert, sizeof *screen);
        if (!screen) {
            fai_arena_free(arena);
            return FA_FAIL_MEMORY(err);
        }
        for (int i = 0; i < scene->nvert; i++) {
            float scale;
            fai_camera_project(camera, fai_vec_of(scene->x + 3 * i), &screen[i][0], &screen[i][1], &scale);
        }
        job.paint.screen = (const float(*)[2])screen;
    }
    job.occlusion_rays = shading->samples >= 8 ? 2 : 4;

    fai_parallel(((w + TILE - 1) / TILE) * ((h + TILE - 1) / TILE), 1, expose_tile, &job);
    fai_parallel(h, 4, develop_row, &job);
    fai_arena_free(arena);
    return FA_OK;
}
