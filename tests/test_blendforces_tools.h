// A head, its face and markers on it: what the tests of the control share.
#ifndef FASCIA_TEST_METHOD_CONTROL_TOOLS_H
#define FASCIA_TEST_METHOD_CONTROL_TOOLS_H

#include "test_head_tools.h"

#include "blendforces/control.h"
#include "face/face.h"

typedef struct Marked {
    FaHead *head;
    FaRig *rig;
    FaFace *face;
    FaMarkerMap *map;
    int n;             // markers
    float *mesh, *out; // nvert x 3
    float *x;          // n x 3
    unsigned char *ok;
    float *w; // nshape
} Marked;

static inline Marked marked_open(int level, int markers) {
    Marked s = {.head = head_at(level, 3, true)};
    FaError err = {0};
    CHECK_OK(fa_head_rig(s.head, 0, &s.rig, &err), &err);
    CHECK_OK(fa_face_build(s.rig, NULL, &s.face, &err), &err);
    CHECK_OK(fa_markers_choose(s.rig, markers, &s.map, &err), &err);
    s.n = s.map->count;
    s.mesh = FA_NEW(3 * (size_t)s.rig->mesh.nvert, float);
    s.out = FA_NEW(3 * (size_t)s.rig->mesh.nvert, float);
    s.x = FA_NEW(3 * (size_t)s.n, float);
    s.ok = FA_NEW(s.n, unsigned char);
    s.w = FA_NEW(s.rig->nshape, float);
    memset(s.ok, 1, (size_t)s.n);
    return s;
}

static inline void marked_close(Marked *s) {
    fa_marker_map_free(s->map);
    fa_face_free(s->face);
    fa_rig_free(s->rig);
    fa_head_free(s->head);
    fa_free(s->mesh);
    fa_free(s->out);
    fa_free(s->x);
    fa_free(s->ok);
    fa_free(s->w);
}

static inline int marked_shape(const Marked *s, const char *name) {
    for (int j = 0; j < s->rig->nshape; j++)
        if (!strcmp(s->rig->shape[j].name, name)) return j;
    fail_msg("no shape %s", name);
    return -1;
}

static inline void marked_read(Marked *s) {
    for (int i = 0; i < s->n; i++) {
        double p[3];
        fa_marker_point_at(&s->map->point[i], s->mesh, true, p);
        for (int k = 0; k < 3; k++) s->x[3 * i + k] = (float)p[k];
    }
}

// Linear shapes at the weights in w, and the markers there.
static inline void marked_blend(Marked *s) {
    fa_rig_blend(s->rig, s->w, s->mesh);
    marked_read(s);
}

// The nonlinear truth.
static inline void marked_truth(Marked *s) {
    float w[FA_ARKIT_COUNT] = {0};
    FaError err = {0};
    for (int j = 0; j < s->rig->nshape; j++)
        if (s->rig->shape[j].arkit >= 0) w[s->rig->shape[j].arkit] = s->w[j];
    CHECK_OK(fa_head_truth(s->head, 0, w, s->mesh, &err), &err);
    marked_read(s);
}

// A few shapes at a time, as faces have them.
static inline void marked_pose(Marked *s, int frame) {
    for (int j = 0; j < s->rig->nshape; j++) s->w[j] = (float)fmax(0, 1.6 * sin(0.07 * frame + 2.4 * j) - 1);
}

static inline FaMarkers marked_markers(const Marked *s) {
    return (FaMarkers){.count = s->n, .name = s->map->name, .x = s->x, .ok = s->ok};
}

static inline double marked_error(const Marked *s) {
    double sum = 0;
    for (int v = 0; v < s->rig->mesh.nvert; v++) sum += head_distance(s->out + 3 * v, s->mesh + 3 * v);
    return sum / s->rig->mesh.nvert;
}

// --- takes --------------------------------------------------------------------------------------------------------

typedef struct Take {
    FaMarkerTake *take;
    float *truth; // nframe x nvert x 3
    int nframe;
} Take;

// Markers and truth of a clip on the head of `s`, each stride-th frame, at 60 fps.
static inline Take make_take(const Marked *s, const char *name, int stride, int most) {
    FaError err = {0};
    FaClip *clip;
    Take t = {0};
    CHECK_OK(fa_head_clip(name, &clip, &err), &err);
    t.nframe = FA_MIN(clip->nframe / stride, most);
    size_t nv = 3 * (size_t)s->rig->mesh.nvert;
    t.truth = FA_NEW(nv * (size_t)t.nframe, float);
    CHECK_OK(fa_markers_new(t.nframe, s->n, s->map->name, 60, &t.take, &err), &err);
    for (int f = 0; f < t.nframe; f++) {
        float w[FA_ARKIT_COUNT] = {0};
        const float *now = clip->weight + (size_t)f * (size_t)stride * (size_t)clip->nchan;
        for (int i = 0; i < FA_ARKIT_COUNT; i++)
            for (int c = 0; c < clip->nchan; c++)
                if (!strcmp(clip->name[c], fa_arkit_name(i))) w[i] = now[c];
        CHECK_OK(fa_head_truth(s->head, 0, w, t.truth + nv * (size_t)f, &err), &err);
        for (int i = 0; i < s->n; i++) {
            double p[3];
            fa_marker_point_at(&s->map->point[i], t.truth + nv * (size_t)f, true, p);
            for (int k = 0; k < 3; k++) t.take->x[3 * (f * s->n + i) + k] = (float)p[k];
            t.take->ok[f * s->n + i] = 1;
        }
    }
    fa_clip_free(clip);
    return t;
}

static inline void free_take(Take *t) {
    fa_markers_free(t->take);
    fa_free(t->truth);
}

#endif
