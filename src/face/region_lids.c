// The eyelids. Their edges are where skin that is apart at rest comes together when the eye blinks; the lids grow from
// there.
#include "face/region_work.h"

#define LID_AROUND 0.032 // of the eye's surroundings, from the middle of what moves, m
#define LID_MEET 0.0025  // how close the edges come
#define LID_FULL 0.005
#define LID_END 0.010

// Nodes that the blink brings within reach of one they were apart from. The upper one comes down.
static int mark_edges(const FaRegionWork *w, FaByKey *item, int n, double most, double reach, bool *edge) {
    int count = 0;
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n && item[b].key - item[a].key <= reach; b++) {
            const double *p = w->x + 3 * (size_t)item[a].i, *q = w->x + 3 * (size_t)item[b].i;
            const double *dp = w->move + 3 * (size_t)item[a].i, *dq = w->move + 3 * (size_t)item[b].i;
            double rest[3], shut[3];
            fai_v3_sub(p, q, rest);
            for (int k = 0; k < 3; k++) shut[k] = rest[k] + dp[k] - dq[k];
            double close = fai_v3_norm(rest) - fai_v3_norm(shut);
            double fall = rest[1] > 0 ? dp[1] : dq[1];
            if (fai_v3_norm(shut) > reach || close < 0.4 * most || fall > -0.3 * most) continue;
            if (fabs(rest[1]) < 0.7 * fai_v3_norm(rest)) continue; // one above the other
            count += !edge[item[a].i] + !edge[item[b].i];
            edge[item[a].i] = edge[item[b].i] = true;
        }
    return count;
}

// One eye: what blinks on one side of a line across the face. w->move is the blink of both.
static FaCode one_eye(FaRegionWork *w, const bool *side, double most, bool *edge, double *dist, FaByKey *item) {
    double centre[3];
    int n = 0;
    if (!fai_region_centre(w, side, centre)) return FA_OK;
    for (int i = 0; i < w->n; i++) {
        double d[3];
        fai_v3_sub(w->x + 3 * (size_t)i, centre, d);
        edge[i] = false;
        if (side[i] && fai_v3_norm(d) < LID_AROUND * w->scale)
            item[n++] = (FaByKey){w->x[3 * (size_t)i] + w->move[3 * (size_t)i], i};
    }
    fai_sort_keys(item, n);
    double reach = fmax(LID_MEET * w->scale, 0.6 * w->skin.edge);
    int count = mark_edges(w, item, n, most, reach, edge);
    if (count < 8 && w->notes)
        fai_note(w->notes, "lid-edges", "eyeBlink",
                 "check that the eye closes at weight 1, or paint the region \"eyelids\"",
                 "the lids' edges do not meet in a blink: only what it moves is taken as lid");
    FA_TRY(fai_geodesic(&w->skin, edge, LID_END * w->scale, dist, w->err));
    float *out = w->region[FA_REGION_EYELIDS];
    for (int k = 0; k < n; k++) {
        int i = item[k].i;
        double u = fai_ramp(0.3, 0.6, fai_region_length(w->move, i) / most);
        if (count >= 8) u = fmax(u, 1 - fai_ramp(LID_FULL * w->scale, LID_END * w->scale, dist[i]));
        out[i] = fmaxf(out[i], (float)u);
    }
    return FA_OK;
}

// How far the motion spreads to the sides of x = middle: one eye alone moves within a centimetre.
static double spread(const FaRegionWork *w, double middle) {
    double sum = 0, weight = 0;
    for (int i = 0; i < w->n; i++) {
        double len = fai_region_length(w->move, i), u = w->skin.area[i] * len * len, x = w->x[3 * (size_t)i] - middle;
        sum += u * x * x;
        weight += u;
    }
    return weight > 0 ? sqrt(sum / weight) : 0;
}

FaCode fai_find_lids(FaRegionWork *w) {
    // both at once: rigs have two shapes, or one for both eyes, and their midline may be anywhere
    static const char *const blinks[] = {"eyeBlinkLeft", "eyeBlinkRight"};
    bool *edge = FA_PUSH(w->arena, w->n, bool), *side = FA_PUSH(w->arena, w->n, bool);
    double *dist = FA_PUSH(w->arena, w->n, double), centre[3], most;
    FaByKey *item = FA_PUSH(w->arena, w->n, FaByKey);
    if (!edge || !side || !dist || !item) return FA_FAIL_MEMORY(w->err);
    if (!fai_region_motion(w, blinks, 2) || !fai_region_centre(w, NULL, centre) ||
        !((most = fai_region_most(w)) > 1e-4)) {
        if (w->notes)
            fai_note(w->notes, "no-lids", "eyeBlink", "add the shapes, or paint the region \"eyelids\"",
                     "no shape blinks: the face is built without eyelids");
        return FA_OK;
    }
    bool both = spread(w, centre[0]) > 0.018 * w->scale;
    if (!both && w->notes)
        fai_note(w->notes, "one-eye", "eyeBlink", "add the other side's shape, or paint the region \"eyelids\"",
                 "only one eye blinks: the other has no lids");
    for (int k = 0; k < (both ? 2 : 1); k++) {
        for (int i = 0; i < w->n; i++) side[i] = !both || (w->x[3 * (size_t)i] > centre[0]) == (k == 0);
        FA_TRY(one_eye(w, side, most, edge, dist, item));
    }
    return FA_OK;
}
