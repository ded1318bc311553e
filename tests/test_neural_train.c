// labels: unit hash
// Training: the parts against what is known of them (products, components, slopes), and the whole on samples that no
// ridge regression explains: better by far on people and recordings it has not seen, the same bytes for any number of
// threads, with and without AVX2, interrupted or not.
#include "test.h"
#include "test_neural_samples.h"

#include "base/file.h"
#include "neural/train_basis.h"
#include "neural/train_mlp.h"
#include "neural/train_set.h"
#include "rig/names.h"

#include "fascia/neural_train.h"

static float *aligned(FaArena *arena, size_t n, uint64_t seed) {
    float *x = FA_PUSH(arena, n, float);
    for (size_t i = 0; i < n; i++) x[i] = (float)(2 * fai_random_unit(seed, i) - 1);
    return x;
}

static void test_gemm(void **state) {
    (void)state;
    FaArena *arena = fai_arena_new(0);
    for (int turned = 0; turned < 2; turned++)
        for (int m = 1; m < 120; m += 23) {
            const int k = turned ? 300 : 7, n = 48;
            const float *a = aligned(arena, (size_t)m * (size_t)k, 1), *b = aligned(arena, (size_t)k * 48, 2);
            float *c = aligned(arena, (size_t)m * 48, 3), *d = aligned(arena, (size_t)m * 48, 3);
            FaGemm g = {m, n, k, a, turned ? 1 : (size_t)k, turned ? (size_t)m : 1, b, 48, c, 48, turned};
            fai_gemm(&g);
            g.c = d;
            fai_gemm_ref(&g);
            assert_memory_equal(c, d, (size_t)m * 48 * sizeof *c);
            const float *old = aligned(arena, (size_t)m * 48, 3);
            for (int i = 0; i < m; i++)
                for (int j = 0; j < n; j++) {
                    double s = turned ? old[i * 48 + j] : 0;
                    for (int p = 0; p < k; p++)
                        s += (double)a[(size_t)i * g.row + (size_t)p * g.column] * b[p * 48 + j];
                    assert_true(fabs(s - c[i * 48 + j]) < 2e-5);
                }
        }
    fai_arena_free(arena);
}

// Rows of five known directions, each a tenth of the one before, and a little of everything.
static void test_basis(void **state) {
    (void)state;
    enum { N = 200, ROWS = 64, BLOCKS = 6, WANT = 5 };
    FaError err = {0};
    FaBasis b;
    FaArena *arena = fai_arena_new(0);
    double axis[WANT][N];
    for (int k = 0; k < WANT; k++)
        for (int i = 0; i < N; i++) axis[k][i] = sqrt(2.0 / N) * cos(M_PI * (k + 1) * (i + 0.5) / N);
    float *x = FA_PUSH(arena, ROWS * BLOCKS * N, float), column[WANT * N], sd[WANT];
    double power[WANT] = {0};
    for (int r = 0; r < ROWS * BLOCKS; r++)
        for (int k = 0; k < WANT; k++) {
            const double amount = pow(0.3, k) * fai_random_normal(5, (uint64_t)(r * WANT + k));
            power[k] += amount * amount / (ROWS * BLOCKS);
            for (int i = 0; i < N; i++) x[r * N + i] += (float)(amount * axis[k][i] + 1e-5 * sin(r * i));
        }
    CHECK_OK(fai_basis_new(N, WANT, ROWS, 3, &b, &err), &err);
    for (int round = 0; round <= FA_BASIS_ROUNDS; round++) {
        for (int k = 0; k < BLOCKS; k++)
            (round < FA_BASIS_ROUNDS ? fai_basis_see : fai_basis_weigh)(&b, x + k * ROWS * N, N, ROWS);
        if (round < FA_BASIS_ROUNDS) CHECK_OK(fai_basis_turn(&b, &err), &err);
    }
    int count;
    CHECK_OK(fai_basis_finish(&b, column, sd, &count, &err), &err);
    assert_int_equal(count, WANT);
    for (int k = 0; k < WANT; k++) {
        double along = 0, unit = 0;
        for (int i = 0; i < N; i++)
            along += column[k * N + i] * axis[k][i], unit += column[k * N + i] * column[k * N + i];
        CHECK_NEAR(unit, 1, 1e-5);
        assert_true(fabs(along) > 0.98); // the samples' own axes are not quite those
        CHECK_NEAR(sd[k] / sqrt(power[k]), 1, 0.02);
    }
    fai_basis_free(&b);
    fai_arena_free(arena);
}

// The loss once more, in double and from the equations.
static double loss_of(const FaMlp *m, const double *param, int rows, int turn) {
    double loss = 0, x[2][64], y[64]; // three blocks of vertices, one of them seen
    for (int r = 0; r < rows; r++) {
        for (int half = 0; half < 2; half++) {
            for (int k = 0; k < m->width[0]; k++) x[half][k] = m->in[0][(r + half * m->batch) * m->pad[0] + k];
            for (int i = 0; i < m->nlayer; i++) {
                for (int o = 0; o < m->width[i + 1]; o++) {
                    double s = param[m->at_bias[i] + (size_t)o];
                    for (int k = 0; k < m->width[i]; k++)
                        s += x[half][k] * param[m->at_weight[i] + (size_t)(k * m->pad[i + 1] + o)];
                    y[o] = i + 1 < m->nlayer ? s / (1 + exp(-s)) : s;
                }
                memcpy(x[half], y, sizeof y);
            }
        }
        double e[64] = {0}, part = 0, weight = 0;
        for (int c = 0; c < m->nc; c++) {
            double off = x[0][c] - x[1][c] - m->target[r * m->pad[m->nlayer] + c];
            for (int k = 0; k < m->nd; k++)
                off += m->in[0][r * m->pad[0] + k] * param[m->at_ridge + (size_t)(k * m->pad[m->nlayer] + c)];
            for (int i = 0; i < 48; i++) e[i] += off * m->basis[c * m->nall + turn * 48 + i];
        }
        for (int v = 0; v < 16; v++) {
            const double *d = e + 3 * v, eps = 0.005f, share = m->share[turn * 16 + v];
            part += share * (sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + eps * eps) - eps);
            weight += share;
        }
        loss += part / weight / rows;
    }
    return loss;
}

static void test_slopes(void **state) {
    (void)state;
    enum { BATCH = 6, ROWS = 5, NVERT = 47 };
    const int width[4] = {9, 20, 18, 7};
    FaError err = {0};
    FaMlp m;
    float basis[7 * 3 * NVERT], share[NVERT], ridge[7 * 6];
    for (int i = 0; i < 7 * 3 * NVERT; i++) basis[i] = (float)fai_random_normal(13, (uint64_t)i);
    for (int v = 0; v < NVERT; v++) share[v] = v % 5 ? 1 : 4;
    for (int i = 0; i < 7 * 6; i++) ridge[i] = 0.3f * (float)fai_random_normal(14, (uint64_t)i);
    CHECK_OK(fai_mlp_new(3, width, 6, BATCH, NVERT, basis, share, &m, &err), &err);
    fai_mlp_start(&m, 4, ridge);
    assert_int_equal(m.every, 3);
    double *param = calloc(m.count, sizeof *param), worst = 0, size = 0;
    for (int i = 0; i < 3; i++)
        for (int o = 0; o < width[i + 1]; o++) {
            m.param[m.at_bias[i] + (size_t)o] = (float)(0.3 * fai_random_unit(8, (uint64_t)(i * 64 + o)));
            for (int k = 0; k < width[i]; k++)
                m.param[m.at_weight[i] + (size_t)(k * m.pad[i + 1] + o)] +=
                    (float)(0.3 * fai_random_normal(9, (uint64_t)((i * 64 + o) * 64 + k)));
        }
    for (int r = 0; r < ROWS; r++) {
        float z[6], q[3], t[7];
        for (int k = 0; k < 6; k++) z[k] = (float)fai_random_normal(10, (uint64_t)(r * 8 + k));
        for (int k = 0; k < 3; k++) q[k] = (float)fai_random_normal(11, (uint64_t)(r * 8 + k));
        for (int k = 0; k < 7; k++) t[k] = (float)fai_random_normal(12, (uint64_t)(r * 8 + k));
        fai_mlp_row(&m, r, z, q, t);
    }
    for (size_t i = 0; i < m.count; i++) param[i] = m.param[i];
    const double loss = fai_mlp_loss(&m, m.param, ROWS, 1, true);
    CHECK_NEAR(loss_of(&m, param, ROWS, 1) / loss, 1, 1e-6);
    for (size_t i = 0; i < m.count; i++) {
        const double h = 1e-4;
        param[i] = (double)m.param[i] + h;
        const double up = loss_of(&m, param, ROWS, 1);
        param[i] = (double)m.param[i] - h;
        const double down = loss_of(&m, param, ROWS, 1), slope = (up - down) / (2 * h);
        param[i] = m.param[i];
        worst = fmax(worst, fabs(slope - m.grad[i]));
        size = fmax(size, fabs(slope));
    }
    printf("slopes off by %.2g of %.2g\n", worst, size);
    assert_true(size > 0.01 && worst < 1e-5 * size);
    free(param);
    fai_mlp_free(&m);
}

static FaTrainOptions small(void) {
    return (FaTrainOptions){.hidden = 64,
                            .layers = 2,
                            .components = 20,
                            .inputs = 16,
                            .neutrals = 5,
                            .steps = 700,
                            .batch = 64,
                            .rate = 4e-3,
                            .keep = 100};
}

static void say(const FaTrainReport *r) {
    static const char *const part[] = {"learnt", "people", "clips"};
    for (int p = 0; p < FA_TRAIN_PARTS; p++)
        printf("%-7s %4d samples: net %.4f ridge %.4f zero %.4f mm\n", part[p], r->error[0][p].samples,
               r->error[FA_TRAIN_NET][p].all.mean, r->error[FA_TRAIN_RIDGE][p].all.mean,
               r->error[FA_TRAIN_ZERO][p].all.mean);
    printf("basis loses %.4f mm, best step %d of %d, %.1f s\n", r->basis, r->best, r->steps, r->seconds);
}

static uint64_t hash_file(const char *path) {
    FaBytes b;
    FaError err = {0};
    CHECK_OK(fai_file_read(path, 0, &b, &err), &err);
    const uint64_t h = fai_hash64(b.data, b.size, 0);
    fai_bytes_free(&b);
    return h;
}

static void test_learns(void **state) {
    (void)state;
    FaError err = {0};
    FaTrainReport r;
    FaTrainOptions o = small();
    const char *dir = sheet_set("sheet", 90, 16);
    o.curve = test_path("curve.svg");
    CHECK_OK(fa_train(dir, test_path("a.net"), &o, &r, &err), &err);
    say(&r);
    assert_true(r.samples == 1440 && r.identities == 90 && r.held == 9 && r.validating == 5 && r.held_clips == 1);
    assert_true(r.error[0][FA_TRAIN_CLIPS].samples >= 9 && r.error[0][FA_TRAIN_IDENTITIES].samples > 50);
    for (int p = FA_TRAIN_IDENTITIES; p <= FA_TRAIN_CLIPS; p++) {
        const FaTrainFigures *net = &r.error[FA_TRAIN_NET][p], *ridge = &r.error[FA_TRAIN_RIDGE][p];
        assert_true(net->all.mean < 0.45 * ridge->all.mean);
        assert_true(net->lips.mean < 0.6 * ridge->lips.mean && net->lids.mean < 0.6 * ridge->lids.mean);
        assert_true(ridge->all.mean < r.error[FA_TRAIN_ZERO][p].all.mean);
        assert_true(net->all.mean < net->all.p95 && net->all.p95 < net->all.p99 && net->all.p99 <= net->all.max);
    }
    assert_true(r.basis < 0.2 * r.error[FA_TRAIN_NET][FA_TRAIN_IDENTITIES].all.mean);
    FaBytes svg;
    CHECK_OK(fai_file_read(o.curve, 0, &svg, &err), &err);
    assert_non_null(strstr((char *)svg.data, "</svg>"));
    fai_bytes_free(&svg);
    assert_false(fai_file_exists(test_path("a.net.part")));
    printf("hash %016llx\n", (unsigned long long)hash_file(test_path("a.net")));
}

// --- left and right -----------------------------------------------------------------------------------------------

enum { PAIR = 2, PAIRED = 3, POSES = 2, FEW = 7 }; // a vertex on each side and one in the middle

static void write_pairs(const char *dir, bool even) {
    FaError err = {0};
    char path[600];
    float mean[3 * PAIRED] = {0.03f, 0.01f, 0, -0.03f, 0.01f, 0, 0, 0.02f, 0};
    static float shape[FA_ARKIT_COUNT][3 * PAIRED];
    int tri[3] = {0, 1, 2};
    unsigned char region[PAIRED] = {0};
    for (int s = 0; s < FA_ARKIT_COUNT; s++)
        for (int v = 0; v < PAIR; v++) { // what one side's shape does there, the other's does here
            const bool swap = v == 1;
            const int of = swap ? fai_arkit_mirror(s) : s;
            shape[s][3 * v] = (swap ? -1.0f : 1.0f) * 0.001f * (float)(of + 1);
            shape[s][3 * v + 1] = 0.002f * (float)(of % 5);
        }
    if (!even) shape[3][1] += 0.001f;
    const FaTemplate m = {.key = 5,
                          .nvert = PAIRED,
                          .ntri = 1,
                          .nweight = FA_ARKIT_COUNT,
                          .mean = mean,
                          .tri = tri,
                          .region = region,
                          .shape = &shape[0][0],
                          .made = "a test"};
    mkdir(dir, 0777);
    snprintf(path, sizeof path, "%s/template", dir);
    CHECK_OK(fai_template_write(path, &m, &err), &err);
    for (int i = 0; i < FEW; i++) {
        float neutral[3 * PAIRED], weight[POSES * FA_ARKIT_COUNT] = {0};
        uint16_t d[POSES * 3 * PAIRED], c[POSES * 3 * PAIRED];
        int kind[POSES] = {FA_SAMPLE_RANDOM, FA_SAMPLE_RANDOM}, clip[POSES] = {-1, -1};
        for (int k = 0; k < 3 * PAIRED; k++) neutral[k] = mean[k] + 1e-4f * (float)(i * k);
        for (int k = 0; k < POSES * 3 * PAIRED; k++) {
            d[k] = fai_half(1e-3f * (float)(k + i + 1));
            c[k] = fai_half(-2e-4f * (float)(k + 2 * i + 1));
        }
        const FaShard s = {.key = 5,
                           .identity = (uint64_t)i,
                           .nvert = PAIRED,
                           .nweight = FA_ARKIT_COUNT,
                           .npose = POSES,
                           .neutral = neutral,
                           .kind = kind,
                           .clip = clip,
                           .weight = weight,
                           .difference = d,
                           .correction = c};
        snprintf(path, sizeof path, "%s/%06d.shard", dir, i);
        CHECK_OK(fai_shard_write(path, &s, &err), &err);
    }
}

typedef struct Seen {
    const FaTrainSet *set;
    float d[2 * FEW * POSES][3 * PAIRED]; // of each sample
    int rows;
} Seen;

static FaCode see_row(void *ctx, const FaTrainRows *rows, FaError *err) {
    (void)err;
    Seen *s = ctx;
    for (int r = 0; r < rows->count; r++, s->rows++)
        memcpy(s->d[rows->sample[r]], rows->difference + (size_t)r * rows->ld, sizeof s->d[0]);
    return FA_OK;
}

// Of an even template each sample that is learnt from is there twice; of an uneven one, once.
static void test_mirrors(void **state) {
    (void)state;
    FaError err = {0};
    FaTrainSet set;
    Seen seen = {0};
    FaTrainOptions o = fa_train_options_default();
    write_pairs(test_path("even"), true);
    CHECK_OK(fai_train_set_open(test_path("even"), &o, &set, &err), &err);
    assert_non_null(set.twin);
    assert_true(set.twin[0] == 1 && set.twin[1] == 0 && set.twin[2] == 2);
    assert_int_equal(set.nshard, 2 * FEW);
    assert_int_equal(set.count[FA_PART_LEARN], 2 * (FEW - 2) * POSES);
    assert_int_equal(set.count[FA_PART_CHOOSE], POSES);
    assert_int_equal(set.count[FA_PART_PEOPLE], POSES);
    const FaTrainWalk w = {.parts = 1 << FA_PART_LEARN, .stage = "", .fn = see_row, .ctx = &seen};
    CHECK_OK(fai_train_walk(&set, &o, &w, &err), &err);
    assert_int_equal(seen.rows, set.count[FA_PART_LEARN]);
    int compared = 0;
    for (int i = 0; i < set.nshard; i += 2) {
        if (set.shard[i].person != FA_PART_LEARN) continue;
        assert_true(!set.shard[i].mirrored && set.shard[i + 1].mirrored);
        for (int p = 0; p < POSES; p++, compared++)
            for (int k = 0; k < 3 * PAIRED; k++) {
                const float a = seen.d[set.shard[i].first + p][k];
                const float b = seen.d[set.shard[i + 1].first + p][3 * set.twin[k / 3] + k % 3];
                assert_true(a != 0 && a == (k % 3 ? b : -b));
            }
    }
    assert_int_equal(2 * compared, seen.rows);
    fai_train_set_close(&set);
    write_pairs(test_path("uneven"), false);
    CHECK_OK(fai_train_set_open(test_path("uneven"), &o, &set, &err), &err);
    assert_null(set.twin);
    assert_int_equal(set.nshard, FEW);
    fai_train_set_close(&set);
}

static bool stop_half_way(void *user, const char *stage, double done) {
    (void)user;
    return strcmp(stage, "learning") != 0 || done < 0.5;
}

static void test_same_bytes(void **state) {
    (void)state;
    FaError err = {0};
    FaTrainReport r;
    FaTrainOptions o = small();
    o.steps = 160, o.keep = 50;
    const char *dir = sheet_set("same", 24, 12);
    CHECK_OK(fa_train(dir, test_path("one.net"), &o, &r, &err), &err);
    const uint64_t want = hash_file(test_path("one.net"));
    for (int threads = 1; threads <= 8; threads += threads < 3 ? 1 : 5) {
        fa_threads_set(threads);
        CHECK_OK(fa_train(dir, test_path("b.net"), &o, &r, &err), &err);
        assert_true(hash_file(test_path("b.net")) == want);
    }
    fa_threads_set(0);
    setenv("FA_SIMD", "ref", 1);
    CHECK_OK(fa_train(dir, test_path("b.net"), &o, &r, &err), &err);
    unsetenv("FA_SIMD");
    assert_true(hash_file(test_path("b.net")) == want);
    // interrupted half way, then once more
    remove(test_path("b.net"));
    o.progress = stop_half_way;
    assert_int_equal(fa_train(dir, test_path("b.net"), &o, &r, &err), FA_E_CANCELLED);
    assert_true(fai_file_exists(test_path("b.net.part")) && !fai_file_exists(test_path("b.net")));
    o.progress = NULL;
    o.seed = 2; // another run's beginning is none of this one's
    CHECK_OK(fa_train(dir, test_path("c.net"), &o, &r, &err), &err);
    assert_int_equal(r.begun, 0);
    assert_true(hash_file(test_path("c.net")) != want);
    o.seed = 1;
    err = (FaError){0};
    CHECK_OK(fa_train(dir, test_path("b.net"), &o, &r, &err), &err);
    assert_int_equal(r.begun, 50);
    assert_true(hash_file(test_path("b.net")) == want);
    assert_false(fai_file_exists(test_path("b.net.part")));
}

static void refused(const char *dir, const FaTrainOptions *o, FaCode code, const char *word) {
    FaError err = {0};
    assert_int_equal(fa_train(dir, test_path("no.net"), o, NULL, &err), code);
    if (!strstr(err.what, word)) fail_msg("\"%s\" does not say \"%s\"", err.what, word);
}

static void test_odd_sets(void **state) {
    (void)state;
    char path[600], other[600];
    FaError err = {0};
    FaTrainOptions o = small();
    FaShard s;
    o.steps = 10;
    refused(test_path("nowhere"), &o, FA_E_FILE, "open");
    refused(sheet_set("few", 2, 4), &o, FA_E_FORMAT, "3 people");
    const char *dir = sheet_set("odd", 5, 4);
    o.hold_clips = "nobody";
    refused(dir, &o, FA_E_ARG, "no recording");
    o.hold_clips = "rom,alex";
    FaTrainReport r;
    CHECK_OK(fa_train(dir, test_path("odd.net"), &o, &r, &err), &err);
    assert_true(r.held_clips == 2 && !strcmp(r.held_names, "alex,rom"));
    o.batch = 100000;
    refused(dir, &o, FA_E_ARG, "batch");
    o.batch = 16;
    snprintf(path, sizeof path, "%s/000003.shard", dir), snprintf(other, sizeof other, "%s/000009.shard", dir);
    CHECK_OK(fai_shard_read(path, &s, &err), &err);
    CHECK_OK(fai_shard_write(other, &s, &err), &err);
    refused(dir, &o, FA_E_FORMAT, "once more");
    s.identity = 9, s.key++;
    CHECK_OK(fai_shard_write(other, &s, &err), &err);
    refused(dir, &o, FA_E_FORMAT, "another set");
    s.key--, s.clip[0] = SHEET_CLIPS;
    CHECK_OK(fai_shard_write(other, &s, &err), &err);
    refused(dir, &o, FA_E_FORMAT, "recording");
    s.clip[0] = 0;
    memset(s.correction, 0, (size_t)s.npose * 3 * SHEET_VERTS * 2);
    for (int i = 0; i < 5; i++) { // physics that adds nothing
        snprintf(path, sizeof path, "%s/%06d.shard", dir, i);
        s.identity = (uint64_t)i;
        CHECK_OK(fai_shard_write(path, &s, &err), &err);
    }
    remove(other);
    refused(dir, &o, FA_E_FORMAT, "nothing to learn");
    CHECK_OK(fai_file_write(path, "not a shard", 11, &err), &err);
    refused(dir, &o, FA_E_FORMAT, "damaged");
    fai_shard_free(&s);
}

static FaCode starved(void *user, FaError *err) {
    FaTrainOptions o = small();
    o.steps = 3, o.hidden = 16, o.components = 4, o.inputs = 4, o.batch = 8, o.keep = 2;
    return fa_train(user, test_path("s.net"), &o, NULL, err);
}

static void test_no_memory(void **state) {
    (void)state;
    char dir[512];
    snprintf(dir, sizeof dir, "%s", sheet_set("starve", 3, 4));
    fa_threads_set(1);
    assert_true(test_starve(starved, dir) > 30);
    fa_threads_set(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gemm),     cmocka_unit_test(test_basis),
                                       cmocka_unit_test(test_slopes),   cmocka_unit_test(test_learns),
                                       cmocka_unit_test(test_mirrors),  cmocka_unit_test(test_same_bytes),
                                       cmocka_unit_test(test_odd_sets), cmocka_unit_test(test_no_memory)};
    test_fail_alloc(0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
