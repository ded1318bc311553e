// Lips under stress: presses, speech, a range of motion, a jaw slammed shut, at two frame rates. Linear blending
// crosses them in many frames; flesh never ends a frame crossed.
// labels: heavy
#include "projective/projective_method.h"

#include "base/base.h"
#include "test_face_tools.h"

typedef struct Count {
    int linear, flesh, frames;
    int most_rows, limited;
    double ms;
    int bounded; // frames that the bound took back
} Count;

static Count play(const FaRig *rig, const FaFace *face, const FaClip *clip, float push) {
    FaError err = {0};
    FaMethod *m;
    FaBinding bind;
    Count n = {0};
    float *x = calloc(3 * (size_t)rig->mesh.nvert, sizeof(float)), *w = calloc((size_t)rig->nshape, sizeof(float));
    CHECK_OK(fa_method_open("projective", &(FaMethodSetup){.rig = rig, .face = face}, &m, &err), &err);
    CHECK_OK(fa_clip_bind(clip, rig, &bind, &err), &err);
    for (int f = 0; f < clip->nframe; f++) {
        FaStats stats = {0};
        fa_binding_weights(&bind, clip->weight + (size_t)f * (size_t)clip->nchan, w);
        for (int i = 0; i < rig->nshape; i++) w[i] *= push;
        FaInput in = {.time = clip->time[f], .weights = w};
        if (clip->head) in.head = clip->head[f];
        CHECK_OK(fa_method_step(m, &in, x, &stats, &err), &err);
        n.flesh += lip_crossings(face, &rig->mesh, x);
        n.bounded += stats.limited > 0;
        n.ms += 1e3 * stats.seconds;
        const FaProjectiveTimes *t = fai_projective_times(m);
        n.most_rows = FA_MAX(n.most_rows, t->touching.rows);
        n.limited += t->touching.limited;
        fa_rig_blend(rig, w, x);
        n.linear += lip_crossings(face, &rig->mesh, x);
        n.frames++;
    }
    n.ms /= n.frames;
    fa_binding_free(&bind);
    fa_method_close(m);
    free(x);
    free(w);
    return n;
}

// The jaw opens, then shuts so fast that the chin travels at 1 m/s.
static FaClip *slam(const FaRig *rig, double fps) {
    FaError err = {0};
    FaClip *clip;
    double most = 0;
    int open = -1;
    for (int s = 0; s < rig->nshape; s++)
        if (rig->shape[s].arkit >= 0 && !strcmp(fa_arkit_name(rig->shape[s].arkit), "jawOpen")) open = s;
    for (int i = rig->shape[open].first; i < rig->shape[open].first + rig->shape[open].count; i++) {
        double d = 0;
        for (int k = 0; k < 3; k++) d += (double)rig->delta[3 * i + k] * (double)rig->delta[3 * i + k];
        most = fmax(most, sqrt(d));
    }
    static const char *const names[] = {"jawOpen", "mouthClose"};
    double shut = most / 1.0; // s for the whole way at 1 m/s
    int n = (int)(1.5 * fps);
    CHECK_OK(fa_clip_new(n, 2, names, fps, &clip, &err), &err);
    for (int f = 0; f < n; f++) {
        double t = f / fps, w = t < 0.4 ? t / 0.4 : t < 0.5 ? 1 : fmax(1 - (t - 0.5) / shut, -0.12);
        clip->weight[2 * f] = (float)w;
        clip->weight[2 * f + 1] = t > 0.5 + shut ? 0.15f : 0; // pressed on: linear blending crosses here
    }
    return clip;
}

// push: weights are pushed past their limits, as animators do; at 1 the shipped clips but press are clean.
static void stress(const char *name, int level, float push) {
    FaError err = {0};
    FaHead *head = head_at(level, 0, true);
    FaRig *rig;
    FaFace *face;
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    CHECK_OK(fa_face_build(rig, NULL, &face, &err), &err);
    bool full = getenv("FASCIA_FULL") != NULL;
    for (double fps = 30; fps <= test_few(60, 30); fps += 30) {
        FaClip *clip, *at;
        if (!strcmp(name, "slam"))
            at = slam(rig, fps);
        else {
            CHECK_OK(fa_head_clip(name, &clip, &err), &err);
            CHECK_OK(fa_clip_resample(clip, fps, &at, &err), &err);
            fa_clip_free(clip);
            bool rom = !strcmp(name, "rom");
            int from = rom ? at->nframe / 3 : 0, count = test_few((int)((rom ? 10 : 3) * fps), 12);
            if (!full && at->nframe > count) { // seconds that close the mouth; the rest with FASCIA_FULL=1
                CHECK_OK(fa_clip_slice(at, from, from + count - 1, &clip, &err), &err);
                fa_clip_free(at);
                at = clip;
            }
        }
        Count n = play(rig, face, at, push);
        print_message("%-6s x %.1f level %d %2.0f fps, %4d frames: crossing pairs %5d linear, %d flesh; rows up to %d, "
                      "nodes stopped short %d, %.1f ms\n",
                      name, (double)push, level, fps, n.frames, n.linear, n.flesh, n.most_rows, n.limited, n.ms);
        assert_int_equal(n.flesh, 0);
        assert_int_equal(n.bounded, 0); // a jaw at 1 m/s tears nothing, either
        if (strcmp(name, "talk") && !getenv("FASCIA_SHORT"))
            assert_true(n.linear > 0); // speech of the shipped head is clean even so
        fa_clip_free(at);
    }
    fa_face_free(face);
    fa_rig_free(rig);
    fa_head_free(head);
}

static void press(void **state) { (void)state, stress("press", 0, 1); }
static void talk(void **state) { (void)state, stress("talk", 0, 1.4f); }
static void rom(void **state) { (void)state, stress("rom", 0, 1.4f); }
static void jaw_slam(void **state) { (void)state, stress("slam", 1, 1); }

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(press), cmocka_unit_test(talk), cmocka_unit_test(rom),
                                       cmocka_unit_test(jaw_slam)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
