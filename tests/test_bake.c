// Baking: as few targets as keep every vertex of every frame within a distance, the same for any number of threads.
// labels: heavy
#include "test.h"

#include "bake/bake.h"
#include "bake/bake_stack.h"
#include "base/task.h"
#include "io/gltf/glb_build.h"
#include "rig/rig_build.h"

#include <sys/wait.h>
#include <unistd.h>

// --- frames -------------------------------------------------------------------------------------------------------

// A sheet of side x side vertices, 0.2 m wide, on which `nmode` local bumps swing at their own frequencies, some of
// them not in proportion: what a simulation leaves beside the shapes.
typedef struct Sheet {
    int side, nframe, nmode;
    double amount;  // m
    int bad_frame;  // -1: none; one number of it is not finite
    int fail_frame; // -1: none; reading it fails
    float *made;    // all frames, where they are read often; else NULL
} Sheet;

static double chance(int a, int b) { return fai_random_unit((uint64_t)a, (uint64_t)b); }

static void place(const Sheet *s, int v, double p[2]) {
    int n = FA_MAX(s->side - 1, 1);
    p[0] = 0.2 * (v % s->side) / n - 0.1;
    p[1] = 0.2 * (double)(v / s->side) / n - 0.1;
}

static FaCode read_sheet(void *user, int frame, float *r, FaError *err) {
    const Sheet *s = user;
    int nvert = s->side * s->side;
    if (frame == s->fail_frame) return FA_FAIL(err, FA_E_FILE, "frame", NULL, "it cannot be read");
    if (s->made) {
        memcpy(r, s->made + (size_t)frame * 3 * (size_t)nvert, 12 * (size_t)nvert);
        return FA_OK;
    }
    memset(r, 0, 12 * (size_t)nvert);
    for (int m = 0; m < s->nmode; m++) {
        double cx = 0.2 * chance(1, m) - 0.1, cy = 0.2 * chance(2, m) - 0.1, radius = 0.01 + 0.04 * chance(3, m);
        double t = frame / 30.0, w = 6.28 * (0.3 + 3 * chance(4, m)),
               q = sin(w * t + 6 * chance(5, m)) * exp(-0.1 * t * chance(6, m));
        double a = s->amount * q * (0.3 + chance(7, m)) * (m % 3 ? 1 : q * q);
        double d[3] = {chance(8, m) - 0.5, chance(9, m) - 0.5, chance(10, m)};
        for (int v = 0; v < nvert; v++) {
            double p[2];
            place(s, v, p);
            double far = ((p[0] - cx) * (p[0] - cx) + (p[1] - cy) * (p[1] - cy)) / (radius * radius),
                   g = far < 7 ? exp(-far) : 0;
            if (g == 0) continue;
            for (int k = 0; k < 3; k++) r[3 * v + k] += (float)(a * g * d[k]);
        }
    }
    if (frame == s->bad_frame) r[3 * 5 + 1] = NAN;
    return FA_OK;
}

static void make_frames(Sheet *s) {
    size_t n3 = 3 * (size_t)s->side * (size_t)s->side;
    float *made = calloc((size_t)s->nframe * n3, sizeof *made);
    for (int f = 0; f < s->nframe; f++) read_sheet(s, f, made + (size_t)f * n3, NULL);
    s->made = made;
}

static const Sheet base = {.side = 18, .nframe = 90, .nmode = 24, .amount = 0.004, .bad_frame = -1, .fail_frame = -1};
static Sheet small; // the same, with its frames made

static FaCode run(const Sheet *s, double max_mm, int max_targets, FaBake **bake, FaError *err) {
    FaBakeSource source = {s->side * s->side, s->nframe, read_sheet, (void *)s};
    FaBakeParams params = {.max_error = 1e-3 * max_mm, .max_targets = max_targets};
    return fai_bake(&source, &params, bake, err);
}

static uint64_t hash(const FaBake *b) {
    uint64_t h = fai_hash64(b->weight, sizeof(float) * (size_t)b->nframe * (size_t)b->ntarget, 1);
    h = fai_hash64(b->delta, 3 * sizeof(float) * (size_t)b->first[b->ntarget], h);
    return fai_hash64(b->row, sizeof(int) * (size_t)b->first[b->ntarget], h);
}

// The largest and the mean distance, plainly.
static void measure(const Sheet *s, const FaBake *b, double *max, double *mean) {
    int n = s->side * s->side;
    float *r = calloc(3 * (size_t)n, sizeof *r);
    *max = *mean = 0;
    for (int f = 0; f < s->nframe; f++) {
        assert_int_equal(read_sheet((void *)s, f, r, NULL), FA_OK);
        for (int t = 0; t < b->ntarget; t++)
            for (int e = b->first[t]; e < b->first[t + 1]; e++)
                for (int k = 0; k < 3; k++) r[3 * b->row[e] + k] -= b->weight[f * b->ntarget + t] * b->delta[3 * e + k];
        for (int v = 0; v < n; v++) {
            double d = sqrt((double)r[3 * v] * (double)r[3 * v] + (double)r[3 * v + 1] * (double)r[3 * v + 1] +
                            (double)r[3 * v + 2] * (double)r[3 * v + 2]);
            *max = fmax(*max, d);
            *mean += d / n / s->nframe;
        }
    }
    free(r);
}

static void check(const Sheet *s, const FaBake *b) {
    double max, mean;
    assert_int_equal(b->nvert, s->side * s->side);
    assert_int_equal(b->nframe, s->nframe);
    for (int t = 0; t < b->ntarget; t++) {
        assert_true(b->first[t + 1] > b->first[t]);
        for (int e = b->first[t]; e < b->first[t + 1]; e++) {
            assert_in_range(b->row[e], 0, b->nvert - 1);
            if (e > b->first[t]) assert_true(b->row[e] > b->row[e - 1]);
        }
    }
    for (int i = 0; i < b->nframe * b->ntarget; i++) assert_true(b->weight[i] >= 0 && b->weight[i] <= 1);
    measure(s, b, &max, &mean);
    CHECK_NEAR(max, b->max_error, 1e-8);
    CHECK_NEAR(mean, b->mean_error, 1e-8);
}

// --- same bits ----------------------------------------------------------------------------------------------------

// First of all tests: a child process must choose its vectors before this one has.
static void test_same_bits(void **state) {
    (void)state;
    int fd[2];
    assert_int_equal(pipe(fd), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("FA_SIMD", "ref", 1);
        fa_threads_set(1);
        FaBake *b = NULL;
        uint64_t h = run(&small, 0.05, 512, &b, NULL) < 0 ? 0 : hash(b);
        ssize_t n = write(fd[1], &h, sizeof h);
        _exit(n == sizeof h ? 0 : 1);
    }
    uint64_t want = 0;
    assert_int_equal(read(fd[0], &want, sizeof want), sizeof want);
    waitpid(child, NULL, 0);
    close(fd[0]);
    close(fd[1]);
    assert_true(want != 0);
    static const int threads[] = {1, 2, 3, 8};
    for (int i = 0; i < 4; i++) {
        FaError err = {0};
        FaBake *b = NULL;
        fa_threads_set(threads[i]);
        CHECK_OK(run(&small, 0.05, 512, &b, &err), &err);
        assert_true(hash(b) == want);
        fai_bake_free(b);
    }
    fa_threads_set(0);
}

// --- how many, how near -------------------------------------------------------------------------------------------

static void test_error_is_kept(void **state) {
    (void)state;
    static const double mm[] = {1, 0.2, 0.05, 0.005};
    int last = 0;
    for (int i = 0; i < 4; i++) {
        FaError err = {0};
        FaBake *b = NULL;
        FaCode rc = run(&small, mm[i], 512, &b, &err);
        CHECK_OK(rc, &err);
        assert_int_equal(rc, FA_OK);
        assert_true(1e3 * b->max_error <= mm[i]);
        check(&small, b);
        assert_true(b->ntarget >= last);
        last = b->ntarget;
        fai_bake_free(b);
    }
    // there are 24 bumps that swing: never more than those and an offset
    assert_in_range(last, 20, 25);
}

static void test_nothing_to_do(void **state) {
    (void)state;
    Sheet still = base, tiny = base;
    still.amount = 0;
    tiny.amount = 4e-6;
    const Sheet *sheet[] = {&still, &tiny};
    double far = 0;
    for (int i = 0; i < 2; i++) {
        FaBake *b = NULL;
        FaError err = {0};
        CHECK_OK(run(sheet[i], 0.05, 512, &b, &err), &err);
        assert_int_equal(b->ntarget, 0);
        assert_true(i ? b->max_error > 0 && b->max_error < 5e-5 : b->max_error == 0);
        check(sheet[i], b);
        far = 1e3 * b->max_error;
        fai_bake_free(b);
    }
    // just within what is allowed, and just beyond
    static const double allowed[] = {1.000001, 1.003, 1.05, 0.999};
    for (int i = 0; i < 4; i++) {
        FaBake *b = NULL;
        FaError err = {0};
        CHECK_OK(run(&tiny, allowed[i] * far, 512, &b, &err), &err);
        assert_true(allowed[i] > 1 ? b->ntarget == 0 : b->ntarget > 0);
        assert_true(1e3 * b->max_error <= allowed[i] * far);
        check(&tiny, b);
        fai_bake_free(b);
    }
}

// One frame, one vertex, as many as fill a block of the kernels and one more.
static void test_odd_sizes(void **state) {
    (void)state;
    static const int side[] = {1, 2, 11, 12}, nframe[] = {1, 2, 63, 64, 65};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 5; k++) {
            Sheet s = base;
            s.side = side[i];
            s.nframe = nframe[k];
            s.amount = 0.02;
            FaBake *b = NULL;
            FaError err = {0};
            FaCode rc = run(&s, 0.05, 512, &b, &err);
            CHECK_OK(rc, &err);
            assert_int_equal(rc, FA_OK);
            assert_true(b->max_error <= 5e-5);
            if (nframe[k] == 1) assert_true(b->ntarget <= 1);
            check(&s, b);
            fai_bake_free(b);
        }
}

static void test_too_few_targets(void **state) {
    (void)state;
    double last = 1;
    static const int allowed[] = {1, 2, 4, 8, 12};
    for (int i = 0; i < 5; i++) {
        FaBake *b = NULL;
        FaError err = {0};
        FaCode rc = run(&small, 0.01, allowed[i], &b, &err);
        CHECK_OK(rc, &err);
        assert_int_equal(rc, FA_STALLED);
        assert_true(b->ntarget <= allowed[i]);
        assert_true(b->max_error > 1e-5 && b->max_error <= last * 1.0001);
        check(&small, b);
        last = b->max_error;
        fai_bake_free(b);
    }
    assert_true(last < 1e-3);
}

// More frames than a basis may hold vectors: the weakest go, and the rest is as good as it can be.
static void test_more_than_fits(void **state) {
    (void)state;
    Sheet s = base;
    s.side = 30;
    s.nframe = 400;
    s.nmode = 150;
    make_frames(&s);
    FaBake *b = NULL;
    FaError err = {0};
    FaCode rc = run(&s, 0.002, 20, &b, &err);
    CHECK_OK(rc, &err);
    assert_int_equal(rc, FA_STALLED);
    assert_true(b->ntarget <= 20);
    check(&s, b);
    fai_bake_free(b);
    free(s.made);
}

// Targets in the file's coordinates: rig = local * file.
static void test_file_coordinates(void **state) {
    (void)state;
    static const double local[9] = {0.01, 0, 0, 0, 0, 0.02, 0, -0.005, 0};
    FaBakeSource source = {small.side * small.side, small.nframe, read_sheet, &small};
    FaBakeParams params = {.max_error = 5e-5, .max_targets = 512, .local = local};
    FaBake *b = NULL;
    FaError err = {0};
    CHECK_OK(fai_bake(&source, &params, &b, &err), &err);
    for (int e = 0; e < b->first[b->ntarget]; e++) {
        float d[3], *p = b->delta + 3 * e;
        for (int i = 0; i < 3; i++)
            d[i] = (float)(local[3 * i] * (double)p[0] + local[3 * i + 1] * (double)p[1] +
                           local[3 * i + 2] * (double)p[2]);
        memcpy(p, d, sizeof d);
    }
    check(&small, b);
    fai_bake_free(b);
    static const double flat[9] = {1, 0, 0, 0, 1, 0, 0, 0, 0};
    params.local = flat;
    assert_int_equal(fai_bake(&source, &params, &b, &err), FA_E_ARG);
    assert_null(b);
}

// --- trouble ------------------------------------------------------------------------------------------------------

static bool stop_at_once(void *user, const char *stage, double done) {
    (void)stage, (void)done;
    return ++*(int *)user < 3;
}

static void test_trouble(void **state) {
    (void)state;
    Sheet s = base;
    FaBake *b = NULL;
    FaError err = {0};
    s.bad_frame = 71;
    assert_int_equal(run(&s, 0.05, 512, &b, &err), FA_E_NUMERIC);
    assert_null(b);
    assert_string_equal(err.place, "frame 71, vertex 5");
    s.bad_frame = -1;
    s.fail_frame = 80;
    err = (FaError){0};
    assert_int_equal(run(&s, 0.05, 512, &b, &err), FA_E_FILE);
    assert_string_equal(err.what, "it cannot be read");
    assert_int_equal(run(&small, 0, 512, &b, NULL), FA_E_ARG);
    assert_int_equal(run(&small, NAN, 512, &b, NULL), FA_E_ARG);
    assert_int_equal(run(&small, 0.05, 0, &b, NULL), FA_E_ARG);
    s.nframe = 0;
    assert_int_equal(run(&s, 0.05, 512, &b, NULL), FA_E_ARG);
    int calls = 0;
    FaBakeSource source = {small.side * small.side, small.nframe, read_sheet, &small};
    FaBakeParams params = {.max_error = 5e-5, .max_targets = 512, .progress = stop_at_once, .progress_user = &calls};
    err = (FaError){0};
    assert_int_equal(fai_bake(&source, &params, &b, &err), FA_E_CANCELLED);
    assert_int_equal(calls, 3);
    assert_string_equal(err.what, "cancelled: nothing is kept");
}

static void test_out_of_memory(void **state) {
    (void)state;
    Sheet s = base;
    s.side = 4;
    s.nframe = 12;
    s.nmode = 5;
    fa_threads_set(1);
    long n = 1;
    for (;; n++) {
        long before = test_alloc_balance();
        test_fail_alloc(n);
        FaBake *b = NULL;
        FaCode rc = run(&s, 0.05, 512, &b, NULL);
        bool hit = test_alloc_failed();
        test_fail_alloc(0);
        if (rc >= 0)
            fai_bake_free(b);
        else
            assert_null(b);
        assert_int_equal(test_alloc_balance(), before);
        if (!hit) {
            assert_true(rc >= 0);
            break;
        }
        assert_int_equal(rc, FA_E_MEMORY);
    }
    assert_true(n > 40);
    fa_threads_set(0);
}

// --- kernels ------------------------------------------------------------------------------------------------------

static void fill(FaStack *s, float *plain, int count, int seed) {
    int n3 = 3 * s->nvert;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < n3; k++)
            plain[i * n3 + k] = (float)fai_random_normal((uint64_t)seed, (uint64_t)(i * n3 + k));
        fai_stack_set(s, i, plain + i * n3);
    }
}

static void check_stack(const FaStack *s, int count, const float *want, double tol) {
    int n3 = 3 * s->nvert;
    float *x = calloc((size_t)n3, sizeof *x);
    for (int i = 0; i < count; i++) {
        fai_stack_get(s, i, x);
        for (int k = 0; k < n3; k++) CHECK_NEAR((double)x[k], (double)want[i * n3 + k], tol);
    }
    free(x);
}

static void test_kernels(void **state) {
    (void)state;
    static const int nvert[] = {1, 7, 128, 129, 300}, count[] = {0, 1, 2, 3, 4, 5, 15, 16, 17, 33};
    for (int vi = 0; vi < 5; vi++)
        for (int ci = 0; ci < 10; ci++) {
            int n = nvert[vi], n3 = 3 * n, na = count[ci], nb = count[(ci * 7 + vi) % 10];
            FaStack a, b;
            FaError err = {0};
            CHECK_OK(fai_stack_init(&a, n, na, &err), &err);
            CHECK_OK(fai_stack_init(&b, n, nb, &err), &err);
            float *x = calloc((size_t)((na + 1) * n3), sizeof *x), *y = calloc((size_t)((nb + 1) * n3), sizeof *y);
            float *c = calloc((size_t)((na + 1) * (nb + 1)), sizeof *c), *max2 = calloc(64, sizeof *max2),
                  *want2 = calloc(64, sizeof *want2);
            double *d = calloc((size_t)((na + 1) * (nb + 1)), sizeof *d);
            fill(&a, x, na, 1);
            fill(&b, y, nb, 2);
            CHECK_OK(fai_stack_dots(&a, na, &b, nb, d, &err), &err);
            for (int i = 0; i < na; i++)
                for (int j = 0; j < nb; j++) {
                    double sum = 0;
                    for (int k = 0; k < n3; k++) sum += (double)x[i * n3 + k] * (double)y[j * n3 + k];
                    CHECK_NEAR(d[i * nb + j], sum, 1e-4 * sqrt(n3));
                    c[i * nb + j] = (float)fai_random_normal(3, (uint64_t)(i * nb + j));
                }
            // sums, with the longest vector on the way
            for (int j = 0; j <= nb; j++) {
                for (int i = 0; i < na; i++)
                    for (int v = 0; v < n; v++) {
                        const float *p = x + i * n3 + 3 * v;
                        want2[j] = fmaxf(want2[j], p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
                    }
                for (int i = 0; i < na && j < nb; i++)
                    for (int k = 0; k < n3; k++) x[i * n3 + k] += c[i * nb + j] * y[j * n3 + k];
            }
            CHECK_OK(fai_stack_add_watch(&a, na, &b, nb, c, (size_t)nb, max2, &err), &err);
            for (int j = 0; j <= nb; j++) CHECK_NEAR((double)max2[j], (double)want2[j], 1e-4 * (1 + (double)want2[j]));
            check_stack(&a, na, x, 1e-4);
            for (int i = 0; i < na; i++)
                for (int j = 0; j < nb; j++)
                    for (int k = 0; k < n3; k++) x[i * n3 + k] += c[i * nb + j] * y[j * n3 + k];
            fai_stack_add(&a, na, &b, nb, c, (size_t)nb);
            check_stack(&a, na, x, 2e-4);
            // peaks and lengths
            int vert[64];
            double sum, plain = 0;
            CHECK_OK(fai_stack_peaks(&a, na, max2, vert, &err), &err);
            CHECK_OK(fai_stack_lengths(&a, na, &sum, &err), &err);
            for (int i = 0; i < na; i++) {
                float best = 0;
                for (int v = 0; v < n; v++) {
                    const float *p = x + i * n3 + 3 * v;
                    best = fmaxf(best, p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
                    plain += (double)sqrtf(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
                }
                const float *p = x + i * n3 + 3 * vert[i];
                CHECK_NEAR((double)max2[i], (double)best, 1e-4 * (double)(1 + best));
                CHECK_NEAR((double)(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]), (double)best, 1e-4 * (double)(1 + best));
            }
            CHECK_NEAR(sum, plain, 1e-4 * (1 + plain));
            // mixing in place: every vector becomes the sum of all before and itself
            if (na) {
                float *tri = calloc((size_t)(na * na), sizeof *tri);
                for (int i = 0; i < na; i++)
                    for (int j = 0; j <= i; j++) tri[i * na + j] = 1;
                CHECK_OK(fai_stack_mix(&a, na, na, tri, &err), &err);
                for (int i = 1; i < na; i++)
                    for (int k = 0; k < n3; k++) x[i * n3 + k] += x[(i - 1) * n3 + k];
                check_stack(&a, na, x, 2e-3);
                free(tri);
            }
            free(x);
            free(y);
            free(c);
            free(d);
            free(max2);
            free(want2);
            fai_stack_free(&a);
            fai_stack_free(&b);
        }
}

// One step by hand: inside the ball nothing remains, outside what is beyond it.
static void test_reflect(void **state) {
    (void)state;
    FaStack e, dual;
    FaError err = {0};
    float x[6] = {3, 0, 0, 0, 0.5f, 0}, max2[1];
    CHECK_OK(fai_stack_init(&e, 2, 1, &err), &err);
    CHECK_OK(fai_stack_init(&dual, 2, 3, &err), &err);
    fai_stack_set(&e, 0, x);
    CHECK_OK(fai_stack_reflect(&e, 1, &dual, 2, 1, max2, &err), &err);
    CHECK_NEAR((double)max2[0], 9, 0);
    fai_stack_get(&e, 0, x);
    CHECK_NEAR((double)x[0], 4, 1e-6); // 2 (3 - 1) - 0
    CHECK_NEAR((double)x[4], 0, 0);
    fai_stack_get(&dual, 2, x);
    CHECK_NEAR((double)x[0], 2, 1e-6);
    memset(x, 0, sizeof x);
    fai_stack_set(&e, 0, x);
    CHECK_OK(fai_stack_reflect(&e, 1, &dual, 2, 1, max2, &err), &err);
    fai_stack_get(&e, 0, x);
    CHECK_NEAR((double)x[0], 0, 1e-6); // l = 2, beyond 1: 2 * 1 - 2
    fai_stack_free(&e);
    fai_stack_free(&dual);
}

// --- a whole file: 5,041 vertices, 300 frames, read back and played in a browser -------------------------------------

static FaRig *sheet_rig(const Sheet *s) {
    FaRigDraft *draft;
    FaError err = {0};
    int nvert = s->side * s->side, nface = (s->side - 1) * (s->side - 1);
    CHECK_OK(fai_draft_new(&draft, &err), &err);
    FaArena *arena = fai_draft_arena(draft);
    FaMesh m = {.nvert = nvert,
                .nface = nface,
                .x = FA_PUSH(arena, 3 * nvert, float),
                .face_start = FA_PUSH(arena, nface + 1, int),
                .face_vert = FA_PUSH(arena, 4 * nface, int)};
    for (int v = 0; v < nvert; v++) {
        double p[2];
        place(s, v, p);
        float x[3] = {(float)p[0], (float)p[1], (float)(0.03 * cos(20 * p[0]) * cos(15 * p[1]))};
        memcpy(m.x + 3 * v, x, sizeof x);
    }
    for (int f = 0; f < nface; f++) {
        int v = f / (s->side - 1) * s->side + f % (s->side - 1), corner[4] = {v, v + 1, v + s->side + 1, v + s->side};
        m.face_start[f + 1] = 4 * (f + 1);
        memcpy(m.face_vert + 4 * f, corner, sizeof corner);
    }
    fai_draft_mesh(draft, &m);
    static const char *const name[] = {"jawOpen", "mouthSmileLeft", "browInnerUp"};
    float *delta = calloc(3 * (size_t)nvert, sizeof *delta);
    for (int k = 0; k < 3; k++) {
        for (int v = 0; v < nvert; v++)
            delta[3 * v + k] = (float)(0.01 * exp(-400 * pow((double)m.x[3 * v + 1] - 0.05 * (k - 1), 2)));
        CHECK_OK(fai_draft_shape_dense(draft, name[k], delta, 0, &err), &err);
        memset(delta, 0, 12 * (size_t)nvert);
    }
    free(delta);
    FaRig *rig = NULL;
    FaRigHints hints = {.unit = 1, .up = FA_UP_Y, .name = "sheet"};
    FaRigOptions options = {.any_size = true, .unit = FA_UNIT_M, .up = FA_UP_Y};
    CHECK_OK(fai_draft_finish(draft, &hints, &options, &rig, &err), &err);
    return rig;
}

typedef struct Exact {
    const Sheet *sheet;
    const FaRig *rig;
    const FaClip *clip;
    float *r;
} Exact;

static FaCode read_exact(void *user, int frame, float *x, FaError *err) {
    Exact *e = user;
    FaCode rc = read_sheet((void *)e->sheet, frame, e->r, err);
    fa_rig_blend(e->rig, e->clip->weight + 3 * (size_t)frame, x);
    for (int i = 0; i < 3 * e->rig->mesh.nvert; i++) x[i] += e->r[i];
    return rc;
}

static FaClip *sheet_clip(int nframe) {
    static const char *const name[] = {"jawOpen", "mouthSmileLeft", "browInnerUp"};
    FaClip *clip = NULL;
    FaError err = {0};
    CHECK_OK(fa_clip_new(nframe, 3, name, 30, &clip, &err), &err);
    for (int i = 0; i < 3 * nframe; i++) clip->weight[i] = (float)(0.5 + 0.5 * sin(0.02 * i + i % 3));
    return clip;
}

// Where node, three and a browser are installed.
static void check_in_browser(const char *glb, const char *pc2) {
    char log[1100];
    snprintf(log, sizeof log, "%s.log", glb);
    const char *argv[] = {"node",
                          FASCIA_SOURCE_DIR "/tests/web/three_check.mjs",
                          glb,
                          pc2,
                          "--tolerance-mm",
                          "0.0501",
                          "--frames",
                          "0,1,57,150,299",
                          NULL};
    if (!test_program("node")) return;
    int code = test_run(argv, log);
    FILE *f = fopen(log, "r");
    char line[400];
    while (f && fgets(line, sizeof line, f)) print_message("three.js: %s", line);
    if (f) fclose(f);
    if (code != 77) assert_int_equal(code, 0);
}

static void test_whole_file(void **state) {
    (void)state;
    Sheet s = {.side = 71, .nframe = 300, .nmode = 40, .amount = 0.006, .bad_frame = -1, .fail_frame = -1};
    char plain[1024], baked[1024], cache[1024];
    make_frames(&s);
    snprintf(plain, sizeof plain, "%s", test_path("sheet.glb"));
    snprintf(baked, sizeof baked, "%s", test_path("baked.glb"));
    snprintf(cache, sizeof cache, "%s", test_path("exact.pc2"));
    FaError err = {0};
    FaRig *made = sheet_rig(&s), *rig = NULL;
    FaRigOptions options = {.any_size = true, .unit = FA_UNIT_M};
    CHECK_OK(fa_rig_save(made, NULL, plain, &err), &err);
    CHECK_OK(fa_rig_load(plain, &options, &rig, &err), &err);
    assert_int_equal(rig->mesh.nvert, 5041);
    FaClip *clip = sheet_clip(s.nframe);
    Exact exact = {&s, rig, clip, calloc(3 * 5041, sizeof(float))};

    // to a GLB and to a cache
    FaSequence *seq = NULL;
    FaSinkOptions o = {.rig = rig, .clip = clip, .fps = 30};
    FaBakeReport report;
    CHECK_OK(fa_sequence_custom(5041, s.nframe, 30, read_exact, &exact, &seq, &err), &err);
    double start = fai_seconds();
    CHECK_OK(fa_sequence_save(seq, baked, &o, &report, &err), &err);
    print_message("5041 vertices, 300 frames: %d targets, max %.4f mm, mean %.4f mm, %zu bytes added, %.2f s\n",
                  report.targets, report.max_mm, report.mean_mm, report.bytes, fai_seconds() - start);
    CHECK_OK(fa_sequence_save(seq, cache, &o, NULL, &err), &err);
    assert_true(report.max_mm <= 0.05 && report.targets > 10 && report.targets <= 41);

    // read back and compare with the cache
    FaSequence *a = NULL, *b = NULL;
    float *x = calloc(3 * 5041, sizeof *x), *y = calloc(3 * 5041, sizeof *y);
    double worst = 0;
    CHECK_OK(fa_sequence_open(cache, NULL, &a, &err), &err);
    CHECK_OK(fa_sequence_open(baked, &options, &b, &err), &err);
    assert_int_equal(fa_sequence_nframe(a), 300);
    assert_int_equal(fa_sequence_nframe(b), 300);
    for (int f = 0; f < 300; f++) {
        CHECK_OK(fa_sequence_read(a, f, x, &err), &err);
        CHECK_OK(fa_sequence_read(b, f, y, &err), &err);
        for (int i = 0; i < 3 * 5041; i += 3)
            worst = fmax(worst, 1e3 * hypot(hypot((double)(x[i] - y[i]), (double)(x[i + 1] - y[i + 1])),
                                            (double)(x[i + 2] - y[i + 2])));
    }
    CHECK_NEAR(worst, report.max_mm, 1e-4);
    assert_true(worst <= 0.0501);
    check_in_browser(baked, cache);
    free(x);
    free(y);
    free(exact.r);
    free(s.made);
    fa_sequence_close(a);
    fa_sequence_close(b);
    fa_sequence_close(seq);
    fa_clip_free(clip);
    fa_rig_free(rig);
    fa_rig_free(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),        cmocka_unit_test(test_error_is_kept),
        cmocka_unit_test(test_nothing_to_do),    cmocka_unit_test(test_odd_sizes),
        cmocka_unit_test(test_too_few_targets),  cmocka_unit_test(test_more_than_fits),
        cmocka_unit_test(test_file_coordinates), cmocka_unit_test(test_trouble),
        cmocka_unit_test(test_out_of_memory),    cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_reflect),          cmocka_unit_test(test_whole_file),
    };
    small = base;
    make_frames(&small);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(small.made);
    return failed;
}
