// The network that ships: it is there and small, nearer to the simulation than linear blending on people and poses that
// it has not seen, leaves nothing crossed behind the contact, fits other faces or says why not.
// labels: heavy
#include "test.h"

#include "face/face.h"
#include "mesh/intersect.h"
#include "neural/poses.h"

static bool full(void) { return getenv("FASCIA_FULL") != NULL; }

static FaRig *head_of(uint64_t seed, int level) {
    FaHeadParams params = fa_head_params_default();
    FaHead *head;
    FaRig *rig;
    FaError err = {0};
    params.level = level;
    fa_head_params_seed(&params, seed);
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    fa_head_free(head);
    return rig;
}

static FaMethod *open_method(const char *method, const FaRig *rig, const FaFace *face, const char *contact) {
    FaParams *params;
    FaMethod *m;
    FaError err = {0};
    CHECK_OK(fa_params_new(method, &params, &err), &err);
    CHECK_OK(fa_params_set(params, "contact", contact, &err), &err);
    CHECK_OK(fa_method_open(method, &(FaMethodSetup){.rig = rig, .face = face, .params = params}, &m, &err), &err);
    fa_params_free(params);
    return m;
}

static void it_is_there_and_small(void **state) {
    (void)state;
    print_message("%zu bytes\n", fa_neural_shipped());
    assert_true(fa_neural_shipped() > 0 && fa_neural_shipped() <= 2500000);
}

// --- beside the simulation ------------------------------------------------------------------------------------------

typedef struct Miss {
    double zero, net, most; // mm, sums over vertices; the largest that the simulation adds
    long n;
} Miss;

// Of simulated vertices, all and where the simulation adds more than a tenth of a millimetre.
static void take(const FaFace *f, const float *linear, const float *want, const float *got, Miss *all, Miss *large) {
    for (int i = 0; i < f->nskin; i++) {
        double zero = 0, net = 0;
        const int v = f->skin_vertex[i];
        for (int k = 0; k < 3; k++) {
            zero += pow((double)want[3 * v + k] - (double)linear[3 * v + k], 2);
            net += pow((double)want[3 * v + k] - (double)got[3 * v + k], 2);
        }
        for (int k = 0; k < 2; k++) {
            Miss *m = k ? large : all;
            if (k && zero < 1e-8) continue;
            m->zero += 1e3 * sqrt(zero), m->net += 1e3 * sqrt(net), m->n++;
            m->most = fmax(m->most, 1e3 * sqrt(zero));
        }
    }
}

// Poses of a recording (NULL: random shapes) by people whose numbers no set of samples has.
static void try_poses(const char *clip, int people, int poses, Miss *all, Miss *large) {
    bool has[FA_ARKIT_COUNT];
    const char *clips[] = {clip};
    FaError err = {0};
    FaPoses from;
    memset(has, 1, sizeof has);
    *all = *large = (Miss){0};
    CHECK_OK(fai_poses_open(77, clips, clip != NULL, has, &from, &err), &err);
    for (int i = 0; i < people; i++) {
        FaRig *rig = head_of(1000003 + (uint64_t)i, 0);
        FaFace *face;
        CHECK_OK(fa_face_build(rig, NULL, &face, &err), &err);
        FaMethod *physics = open_method("volumetric", rig, face, "off"), *net = open_method("neural", rig, face, "off");
        const size_t n = 3 * (size_t)rig->mesh.nvert;
        float *x = malloc(3 * n * sizeof *x), *w = calloc((size_t)rig->nshape, sizeof *w);
        for (int p = 0; p < poses; p++) {
            float arkit[FA_ARKIT_COUNT];
            FaSampleKind kind;
            int which;
            // of three poses in a row one is of each kind
            for (int at = 3 * p;; at++) {
                fai_pose_draw(&from, (uint64_t)i, at, arkit, &kind, &which);
                if (kind == (clip ? FA_SAMPLE_CLIP : FA_SAMPLE_RANDOM)) break;
            }
            for (int s = 0; s < rig->nshape; s++) w[s] = rig->shape[s].arkit < 0 ? 0 : arkit[rig->shape[s].arkit];
            FaInput in = {.weights = w};
            fa_rig_blend(rig, w, x);
            CHECK_OK(fa_method_reset(physics, &in, x + n, &err), &err);
            CHECK_OK(fa_method_reset(net, &in, x + 2 * n, &err), &err);
            take(face, x, x + n, x + 2 * n, all, large);
        }
        free(x), free(w);
        fa_method_close(physics), fa_method_close(net);
        fa_face_free(face);
        fa_rig_free(rig);
    }
    fai_poses_close(&from);
}

static void try_clip(const char *name, const char *clip, int people, int poses) {
    Miss all, large;
    try_poses(clip, people, poses, &all, &large);
    print_message(
        "%s: simulation adds %.4f mm, the network misses that by %.4f (%.2f); where it adds more than 0.1 mm: "
        "%.3f, %.3f (%.2f); at most %.2f\n",
        name, all.zero / (double)all.n, all.net / (double)all.n, all.net / all.zero, large.zero / (double)large.n,
        large.net / (double)large.n, large.net / large.zero, all.most);
    assert_true(all.net < all.zero && large.net < 0.85 * large.zero);
}

static void it_is_nearer_than_nothing(void **state) {
    (void)state;
    try_clip("random shapes", NULL, full() ? 12 : 2, full() ? 20 : 4);
    const char *dao = test_data("clips/livelink/dao_decoded.csv"), *alex = test_data("clips/livelink/alex_rom_3.csv");
    if (dao) try_clip("dao", dao, full() ? 12 : 2, full() ? 20 : 4);
    if (alex) try_clip("alex", alex, full() ? 12 : 2, full() ? 20 : 4);
}

// --- contact --------------------------------------------------------------------------------------------------------

typedef struct Scene {
    FaRig *rig;
    FaFace *face;
    FaMethod *free, *held;
    int rest;
    float *x;
} Scene;

// Of the skin that is simulated, beyond those of the neutral.
static int crossings(const Scene *s, const float *x) {
    FaMesh skin = {.nvert = s->face->nskin, .ntri = s->face->ntri, .tri = s->face->tri};
    float *at = malloc(3 * sizeof *at * (size_t)s->face->nskin);
    for (int i = 0; i < s->face->nskin; i++)
        memcpy(at + 3 * (size_t)i, x + 3 * (size_t)s->face->skin_vertex[i], 3 * sizeof *at);
    int n = 0;
    FaError err = {0};
    skin.x = at;
    CHECK_OK(fai_self_intersections(&skin, at, NULL, NULL, 0, &n, &err), &err);
    free(at);
    return n - s->rest;
}

static void play(Scene *s, const char *name, FaClip *clip, float scale, double fps) {
    FaBinding binding;
    FaError err = {0};
    int linear = 0, net = 0, held = 0, frames = 0;
    float *w = malloc((size_t)s->rig->nshape * sizeof *w);
    CHECK_OK(fa_clip_bind(clip, s->rig, &binding, &err), &err);
    for (int f = 0; f < clip->nframe; f += FA_MAX(1, (int)(clip->fps / fps)), frames++) {
        fa_binding_weights(&binding, clip->weight + (size_t)f * (size_t)clip->nchan, w);
        for (int k = 0; k < s->rig->nshape; k++) w[k] *= scale;
        FaInput in = {.time = f / clip->fps, .weights = w};
        fa_rig_blend(s->rig, w, s->x);
        linear += FA_MAX(0, crossings(s, s->x));
        CHECK_OK((f ? fa_method_step(s->free, &in, s->x, NULL, &err) : fa_method_reset(s->free, &in, s->x, &err)),
                 &err);
        net += FA_MAX(0, crossings(s, s->x));
        CHECK_OK((f ? fa_method_step(s->held, &in, s->x, NULL, &err) : fa_method_reset(s->held, &in, s->x, &err)),
                 &err);
        held += FA_MAX(0, crossings(s, s->x));
    }
    print_message("%s x%.1f, %d frames: pairs that cross, linear %d, network %d, with contact %d\n", name,
                  (double)scale, frames, linear, net, held);
    assert_int_equal(held, 0);
    fa_binding_free(&binding);
    free(w);
}

static void nothing_ends_crossed(void **state) {
    (void)state;
    Scene s = {.rig = head_of(0, 0)};
    FaError err = {0};
    const double fps = full() ? 60 : 2;
    CHECK_OK(fa_face_build(s.rig, NULL, &s.face, &err), &err);
    s.free = open_method("neural", s.rig, s.face, "off"), s.held = open_method("neural", s.rig, s.face, "openings");
    s.x = malloc(3 * sizeof *s.x * (size_t)s.rig->mesh.nvert);
    s.rest = crossings(&s, s.rig->mesh.x);
    static const struct {
        const char *name;
        float scale;
        double fps; // of a second more or less
    } own[] = {{"rom", 1, 0.25}, {"press", 1, 2}, {"press", 1.4f, 4}};
    for (int i = 0; i < FA_COUNT(own); i++) {
        FaClip *clip;
        CHECK_OK(fa_head_clip(own[i].name, &clip, &err), &err);
        play(&s, own[i].name, clip, own[i].scale, own[i].fps * fps);
        fa_clip_free(clip);
    }
    static const char *const takes[] = {"clips/livelink/alex_rom_3.csv", "clips/livelink/dao_decoded.csv"};
    for (int i = 0; i < FA_COUNT(takes); i++) {
        const char *take = test_data(takes[i]);
        FaClip *clip;
        if (!take) continue;
        CHECK_OK(fa_clip_load(take, NULL, &clip, &err), &err);
        play(&s, takes[i], clip, 1, i ? 2 * fps : 0.1 * fps); // the first is long
        fa_clip_free(clip);
    }
    fa_method_close(s.free), fa_method_close(s.held);
    fa_face_free(s.face);
    fa_rig_free(s.rig);
    free(s.x);
}

// --- other faces ----------------------------------------------------------------------------------------------------

static void try_rig(const char *name, FaRig *rig) {
    FaNeural *bound;
    FaNeuralReport r;
    FaError err = {0};
    const FaCode rc = fa_neural_bind(rig, NULL, FA_NEURAL_INT8, &bound, &r, &err);
    if (rc < 0) { // said why, and what to do
        print_message("%s: %s; %s\n", name, err.what, err.remedy);
        assert_true(rc == FA_E_MESH && err.what[0] && err.remedy[0]);
    } else {
        FaMethod *m = open_method("neural", rig, NULL, "off");
        float *w = calloc((size_t)rig->nshape, sizeof *w), *x = malloc(6 * sizeof *x * (size_t)rig->mesh.nvert);
        const size_t n = 3 * (size_t)rig->mesh.nvert;
        double most = 0;
        CHECK_OK(fa_method_reset(m, &(FaInput){.weights = w}, x, &err), &err);
        assert_memory_equal(x, rig->mesh.x, n * sizeof *x);
        for (int s = 0; s < rig->nshape; s++) {
            const char *a = rig->shape[s].arkit < 0 ? "" : fa_arkit_name(rig->shape[s].arkit);
            if (!strncmp(a, "mouthSmile", 10) || !strncmp(a, "cheekSquint", 11) || !strncmp(a, "mouthDimple", 11))
                w[s] = 1;
        }
        CHECK_OK(fa_method_reset(m, &(FaInput){.weights = w}, x, &err), &err);
        fa_rig_blend(rig, w, x + n);
        for (size_t i = 0; i < n; i++) most = fmax(most, 1e3 * fabs((double)x[i] - (double)x[n + i]) / r.scale);
        print_message(
            "%s: %.1f %% of the shapes lost on the way, a strained smile changes by up to %.2f mm, %.1f deviations "
            "from those learnt from\n",
            name, 100 * r.chain, most, r.far);
        assert_true(most > 0.02 && most < 10);
        free(w), free(x);
        fa_method_close(m);
        fa_neural_free(bound);
    }
    fa_rig_free(rig);
}

static void other_faces(void **state) {
    (void)state;
    FaError err = {0};
    try_rig("level 1", head_of(5, 1));
    FaRig *rig;
    static const char *const animals[] = {"low", "toon_avatar", "swapped_sides"};
    for (int i = 0; i < (full() ? fa_zoo_count() : FA_COUNT(animals)); i++) {
        const char *name = full() ? fa_zoo_animal(i).name : animals[i];
        FaCode rc = fa_rig_load(test_animal(name), NULL, &rig, &err);
        if (rc >= 0) try_rig(name, rig);
    }
    const char *facecap = test_data("rigs/facecap/facecap.glb");
    if (facecap) {
        CHECK_OK(fa_rig_load(facecap, NULL, &rig, &err), &err);
        try_rig("facecap", rig);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_there_and_small),
        cmocka_unit_test(it_is_nearer_than_nothing),
        cmocka_unit_test(nothing_ends_crossed),
        cmocka_unit_test(other_faces),
    };
    return cmocka_run_group_tests_name("neural shipped", tests, NULL, NULL);
}
