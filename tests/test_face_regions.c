// Regions: against the shipped head's own lips and eyes, on changed heads (turned, giant, open, masked, with shapes
// missing), on a creature with tentacles, and on rigs of others.
#include "test_face_tools.h"
#include "test_rig_head.h"

#include "face/geodesic.h"
#include "face/regions.h"
#include "rig/jaw.h"

// --- the skin of a rig --------------------------------------------------------------------------------------------

typedef struct Skin {
    FaTopology topo;
    int n, ntri;
    int *vertex, *node, *tri;
    float *region[FA_REGIONS];
    FaNotes notes;
} Skin;
#define PATCH(s) ((FaPatch){.nskin = (s).n, .skin_vertex = (s).vertex, .ntri = (s).ntri, .tri = (s).tri})

static void skin_free(Skin *s) {
    fai_topology_free(&s->topo);
    free(s->vertex);
    free(s->node);
    free(s->tri);
    for (int r = 0; r < FA_REGIONS; r++) free(s->region[r]);
    fai_notes_free(&s->notes);
}

// The largest part, welded. drop (nullable): vertices that are cut away.
static Skin skin_open(const FaRig *rig, const bool *drop) {
    Skin s = {0};
    FaError err = {0};
    const FaMesh *m = &rig->mesh;
    CHECK_OK(fai_topology_build(m, &s.topo, &err), &err);
    int *count = calloc((size_t)s.topo.nparts + 1, sizeof *count), best = 0;
    for (int v = 0; v < m->nvert; v++)
        if (fai_weld(m, v) == v && s.topo.part[v] >= 0) count[s.topo.part[v]]++;
    for (int p = 0; p < s.topo.nparts; p++)
        if (count[p] > count[best]) best = p;
    free(count);
    s.vertex = malloc((size_t)m->nvert * sizeof *s.vertex);
    s.node = malloc((size_t)m->nvert * sizeof *s.node);
    s.tri = malloc(3 * (size_t)m->ntri * sizeof *s.tri);
    for (int v = 0; v < m->nvert; v++) {
        s.node[v] = -1;
        if (fai_weld(m, v) == v && s.topo.part[v] == best && !(drop && drop[v])) s.vertex[s.n] = v, s.node[v] = s.n++;
    }
    for (int v = 0; v < m->nvert; v++) s.node[v] = s.node[fai_weld(m, v)];
    for (int t = 0; t < m->ntri; t++) {
        int c[3] = {s.node[m->tri[3 * t]], s.node[m->tri[3 * t + 1]], s.node[m->tri[3 * t + 2]]};
        if (c[0] < 0 || c[1] < 0 || c[2] < 0 || c[0] == c[1] || c[1] == c[2] || c[2] == c[0]) continue;
        memcpy(s.tri + 3 * (size_t)s.ntri++, c, sizeof c);
    }
    for (int r = 0; r < FA_REGIONS; r++) s.region[r] = malloc((size_t)s.n * sizeof(float));
    return s;
}

static Skin skin_find(const FaRig *rig, const bool *drop) {
    Skin s = skin_open(rig, drop);
    FaError err = {0};
    CHECK_OK(fai_find_regions(rig, &PATCH(s), s.region, &s.notes, &err), &err);
    for (int r = 0; r < FA_REGIONS; r++)
        for (int i = 0; i < s.n; i++) assert_true(s.region[r][i] >= 0 && s.region[r][i] <= 1);
    for (int i = 0; i < s.n; i++)
        assert_true(s.region[FA_REGION_LIP_UPPER][i] + s.region[FA_REGION_LIP_LOWER][i] <= 1.0001f);
    return s;
}

static int count_in(const Skin *s, FaRegion r, double over) {
    int n = 0;
    for (int i = 0; i < s->n; i++) n += (double)s->region[r][i] > over;
    return n;
}

// cm2 of a region, and of its left half.
static double area_of(const FaRig *rig, const Skin *s, FaRegion r, double *left) {
    double sum = 0;
    if (left) *left = 0;
    for (int t = 0; t < s->ntri; t++) {
        const int *c = s->tri + 3 * (size_t)t;
        double p[3][3], n[3];
        for (int k = 0; k < 3; k++) fai_v3_load(rig->mesh.x, s->vertex[c[k]], p[k]);
        fai_v3_sub(p[1], p[0], p[1]);
        fai_v3_sub(p[2], p[0], p[2]);
        fai_v3_cross(p[1], p[2], n);
        double share = (double)(s->region[r][c[0]] + s->region[r][c[1]] + s->region[r][c[2]]) / 3,
               a = 0.5e4 * share * fai_v3_norm(n);
        sum += a;
        if (left && fai_v3_dot(rig->axes, p[0]) > 0) *left += a;
    }
    return sum;
}

// No upper lip on what the jaw carries, no lower lip on what stays, except at the very corners; and nothing across the
// slit: of two nodes that are close and part widely, at most one is upper and at most one is lower.
static void check_sides(const FaRig *rig, const Skin *s, double half_width) {
    FaError err = {0};
    FaJaw jaw;
    float *f = malloc((size_t)rig->mesh.nvert * sizeof *f);
    float *d = malloc(3 * (size_t)rig->mesh.nvert * sizeof *d);
    CHECK_OK(fai_fit_jaw(rig, &jaw, f, NULL, &err), &err);
    fai_arkit_motion(rig, "jawOpen", d);
    const float *up = s->region[FA_REGION_LIP_UPPER], *low = s->region[FA_REGION_LIP_LOWER];
    int pairs = 0, seen[2] = {0, 0};
    for (int i = 0; i < s->n; i++) {
        double p[3];
        fai_v3_load(rig->mesh.x, s->vertex[i], p);
        if (up[i] < 0.01f && low[i] < 0.01f) continue;
        if (fabs(fai_v3_dot(rig->axes, p)) < 0.75 * half_width) {
            if (up[i] > 0.05f) seen[0]++, assert_true(f[s->vertex[i]] < 0.5f);
            if (low[i] > 0.05f) seen[1]++, assert_true(f[s->vertex[i]] > 0.5f);
        }
        for (int j = 0; j < i; j++) {
            if (up[j] < 0.01f && low[j] < 0.01f) continue;
            double q[3], e[3];
            fai_v3_load(rig->mesh.x, s->vertex[j], q);
            fai_v3_sub(p, q, q);
            if (fai_v3_norm(q) > 0.004) continue;
            for (int k = 0; k < 3; k++)
                e[k] = q[k] + (double)d[3 * (size_t)s->vertex[i] + k] - (double)d[3 * (size_t)s->vertex[j] + k];
            if (fai_v3_norm(e) < 0.018) continue; // they do not part
            pairs++;
            assert_true(fminf(up[i], up[j]) < 0.05f);
            assert_true(fminf(low[i], low[j]) < 0.05f);
        }
    }
    assert_true(seen[0] > 20 && seen[1] > 20 && pairs > 10);
    free(f);
    free(d);
}

// --- the shipped head ---------------------------------------------------------------------------------------------

// Its red of the lips, as the head's own material says, is in; the rest of the face further than 16 mm from it is out.
static void lips_are_the_red(void **state) {
    (void)state;
    for (int level = 0; level < 2; level++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            FaHead *head = head_at(level, seed, true);
            const FaHeadPart *skin = &head->part[0];
            FaRig *rig = skin_rig(head);
            Skin s = skin_find(rig, NULL);
            assert_int_equal(s.notes.count, 0);
            int lip = 0, in = 0, mouth = 0;
            bool *red = calloc((size_t)skin->mesh.nvert, sizeof *red);
            for (int f = 0; f < skin->mesh.nface; f++)
                if (!strcmp(skin->region[skin->face_region[f]], "lip"))
                    for (int c = skin->mesh.face_start[f]; c < skin->mesh.face_start[f + 1]; c++)
                        red[skin->mesh.face_vert[c]] = true;
            for (int v = 0; v < skin->mesh.nvert; v++) {
                int i = s.node[v];
                float sum = s.region[FA_REGION_LIP_UPPER][i] + s.region[FA_REGION_LIP_LOWER][i];
                if (red[v]) lip++, in += sum > 0.4f, mouth += s.region[FA_REGION_MOUTH][i] > 0.7f;
                if (sum > 0.05f) {
                    double near = 1;
                    for (int u = 0; u < skin->mesh.nvert; u++)
                        if (red[u])
                            near =
                                fmin(near, head_distance(skin->mesh.x + 3 * (size_t)u, skin->mesh.x + 3 * (size_t)v));
                    assert_true(near < 0.0135);
                }
            }
            print_message("level %d seed %d: %d red, %d in lips, %d in mouth\n", level, (int)seed, lip, in, mouth);
            assert_true(lip > 50 && in >= 0.95 * lip && mouth >= 0.97 * lip);
            check_sides(rig, &s, 0.026);
            free(red);
            skin_free(&s);
            fa_rig_free(rig);
            fa_head_free(head);
        }
}

static void symmetric_and_dense_or_not(void **state) {
    (void)state;
    double area[2][FA_REGIONS];
    for (int level = 0; level < 2; level++) {
        FaHead *head = head_at(level, 0, true);
        FaRig *rig = skin_rig(head);
        Skin s = skin_find(rig, NULL);
        for (int r = 0; r < FA_REGIONS; r++) {
            area[level][r] = area_of(rig, &s, (FaRegion)r, NULL);
            for (int i = 0; i < s.n; i++) {
                int m = s.node[head->part[0].mirror[s.vertex[i]]];
                CHECK_NEAR(s.region[r][i], s.region[r][m], level ? 0.1 : 0.25);
            }
        }
        skin_free(&s);
        fa_rig_free(rig);
        fa_head_free(head);
    }
    for (int r = 0; r < FA_REGIONS; r++)
        CHECK_NEAR(area[0][r] / area[1][r], 1, 0.15); // the same surface, a quarter of the nodes
}

// Both lids of both eyes, and nothing that is far from an eye.
static void lids_surround_the_eyes(void **state) {
    (void)state;
    FaHead *head = head_at(1, 0, true);
    FaRig *rig = skin_rig(head);
    Skin s = skin_find(rig, NULL);
    const float *lid = s.region[FA_REGION_EYELIDS];
    int found[2][2] = {{0}};
    for (int i = 0; i < s.n; i++) {
        const float *x = rig->mesh.x + 3 * (size_t)s.vertex[i];
        int side = x[0] < 0;
        double d[3];
        for (int k = 0; k < 3; k++) d[k] = (double)x[k] - head->eye[side][k];
        if (lid[i] > 0.05f) assert_true(fai_v3_norm(d) < 0.032);
        if (lid[i] > 0.8f && fabs(d[0]) < 0.006) found[side][d[1] > 0]++;
        // what the cornea sees just above and below: the lids' edges
        if (fabs(d[0]) < 0.008 && d[2] > 0 && fai_v3_norm(d) < head->eye_radius + 0.0025 && d[2] > 0.7 * fai_v3_norm(d))
            assert_true(lid[i] > 0.9f);
    }
    for (int e = 0; e < 4; e++) assert_true(found[e / 2][e % 2] > 4);
    skin_free(&s);
    fa_rig_free(rig);
    fa_head_free(head);
}

// Pouches beside the mouth: not on the chin, the nose, above the eyes or the lips; ears and nose are not free.
static void cheeks_and_what_is_free(void **state) {
    (void)state;
    FaHead *head = head_at(1, 0, true);
    FaRig *rig = skin_rig(head);
    Skin s = skin_find(rig, NULL);
    int inside = 0;
    for (int i = 0; i < s.n; i++) {
        const float *x = rig->mesh.x + 3 * (size_t)s.vertex[i];
        float cheek = s.region[FA_REGION_CHEEKS][i],
              lip = s.region[FA_REGION_LIP_UPPER][i] + s.region[FA_REGION_LIP_LOWER][i];
        if (fabsf(x[0]) < 0.014f || x[1] > 0.005f || x[1] < -0.085f || x[2] < 0.02f) CHECK_NEAR(cheek, 0, 0.05);
        assert_true(cheek + lip < 1.001f);
        inside += cheek > 0.9f;
        float free_share = s.region[FA_REGION_FREE][i];
        assert_true(free_share >= fmaxf(cheek, fminf(lip, 1)) - 1e-6f);
        if (fabsf(x[0]) > 0.07f || x[1] > 0.01f) CHECK_NEAR(free_share, 0, 0);                    // ears, skull
        if (fabsf(x[0]) < 0.015f && x[1] > -0.018f && x[2] > 0.09f) CHECK_NEAR(free_share, 0, 0); // nose
    }
    assert_true(inside > 60);
    skin_free(&s);
    fa_rig_free(rig);
    fa_head_free(head);
}

static void any_axes_and_size(void **state) {
    (void)state;
    FaHead *head = head_at(0, 3, true);
    FaRig *rig = skin_rig(head), *turned = skin_rig(head);
    double r[9];
    some_turn(r);
    turn_rig(turned, r, 2.5);
    Skin a = skin_find(rig, NULL), b = skin_find(turned, NULL);
    for (int k = 0; k < FA_REGIONS; k++)
        for (int i = 0; i < a.n; i++) CHECK_NEAR(a.region[k][i], b.region[k][i], 0.02);
    skin_free(&a);
    skin_free(&b);
    fa_rig_free(rig);
    fa_rig_free(turned);
    fa_head_free(head);
}

// --- changed heads ------------------------------------------------------------------------------------------------

// A mouth that is open at rest: a share of jawOpen is part of the neutral.
static void open_at_rest(void **state) {
    (void)state;
    for (int step = 1; step <= 3; step++) {
        FaHead *head = head_at(1, 0, true);
        FaRig *rig = skin_rig(head);
        Skin closed = skin_find(rig, NULL);
        int s = shape_of(rig, "jawOpen");
        float share = 0.08f * (float)step;
        for (int i = rig->shape[s].first; i < rig->shape[s].first + rig->shape[s].count; i++)
            for (int k = 0; k < 3; k++) {
                rig->mesh.x[3 * (size_t)rig->row[i] + k] += share * rig->delta[3 * (size_t)i + k];
                rig->delta[3 * (size_t)i + k] *= 1 - share;
            }
        Skin open = skin_find(rig, NULL);
        const FaRegion both[] = {FA_REGION_LIP_UPPER, FA_REGION_LIP_LOWER};
        for (int r = 0; r < 2; r++) {
            int same = 0, either = 0;
            for (int i = 0; i < open.n; i++) {
                bool p = open.region[both[r]][i] > 0.5f, q = closed.region[both[r]][i] > 0.5f;
                same += p && q, either += p || q;
            }
            print_message("open by %.0f %%: lip %d overlaps %d of %d\n", 100 * (double)share, r, same, either);
            assert_true(same > 0.6 * either);
        }
        skin_free(&open);
        skin_free(&closed);
        fa_rig_free(rig);
        fa_head_free(head);
    }
}

// A mask without the inside of the mouth: cut all that is deeper than the lips.
static void mask_without_a_bag(void **state) {
    (void)state;
    FaHead *head = head_at(1, 0, true);
    FaRig *rig = skin_rig(head);
    Skin whole = skin_find(rig, NULL);
    // the bag: from its back, up to where lips begin
    FaError err = {0};
    FaArena *arena = fai_arena_new(0);
    FaSurface surface;
    double *x = FA_PUSH(arena, 3 * (size_t)whole.n, double), *dist = FA_PUSH(arena, whole.n, double);
    bool *start = FA_PUSH(arena, whole.n, bool), *drop = FA_PUSH(arena, rig->mesh.nvert, bool);
    int back = -1;
    for (int i = 0; i < whole.n; i++) {
        fai_v3_load(rig->mesh.x, whole.vertex[i], x + 3 * (size_t)i);
        const double *p = x + 3 * (size_t)i;
        bool inside = fabs(p[0]) < 0.01 && p[1] < -0.03 && p[1] > -0.06 && p[2] > -0.03 && p[2] < 0.06;
        if (inside && (back < 0 || p[2] < x[3 * (size_t)back + 2])) back = i;
    }
    assert_true(back >= 0);
    start[back] = true;
    CHECK_OK(fai_surface_build(whole.n, x, whole.ntri, whole.tri, arena, &surface, &err), &err);
    CHECK_OK(fai_geodesic(&surface, start, INFINITY, dist, &err), &err);
    double lips = INFINITY;
    for (int i = 0; i < whole.n; i++)
        if (whole.region[FA_REGION_LIP_UPPER][i] + whole.region[FA_REGION_LIP_LOWER][i] > 0.2f)
            lips = fmin(lips, dist[i]);
    int cut = 0;
    for (int i = 0; i < whole.n; i++)
        if (dist[i] < lips) drop[whole.vertex[i]] = true, cut++;
    assert_true(cut > 100);
    Skin mask = skin_find(rig, drop);
    int same = 0, either = 0;
    for (int i = 0; i < mask.n; i++) {
        int w = whole.node[mask.vertex[i]];
        bool p = mask.region[FA_REGION_MOUTH][i] > 0.5f, q = whole.region[FA_REGION_MOUTH][w] > 0.5f;
        same += p && q, either += p || q;
        // near the neck's edge there is no mouth
        if (rig->mesh.x[3 * (size_t)mask.vertex[i] + 1] < -0.09f) assert_false(p);
    }
    print_message("mask of %d nodes (%d cut): mouth overlaps %d of %d\n", mask.n, cut, same, either);
    assert_true(same > 0.8 * either);
    check_sides(rig, &mask, 0.026);
    skin_free(&mask);
    skin_free(&whole);
    fai_arena_free(arena);
    fa_rig_free(rig);
    fa_head_free(head);
}

static void missing_shapes(void **state) {
    (void)state;
    static const struct {
        const char *keep[12], *note;
        bool lips, lids, cheeks;
    } cases[] = {
        {{"jawOpen"}, "no-lids", true, false, false},
        {{"jawOpen", "eyeBlinkLeft", "eyeBlinkRight"}, "no-cheeks", true, true, false},
        {{"jawOpen", "mouthSmileLeft", "mouthSmileRight"}, "cheeks-guessed", true, false, true},
        {{"mouthUpperUpLeft", "mouthUpperUpRight", "mouthLowerDownLeft", "mouthLowerDownRight", "mouthRollUpper",
          "mouthRollLower", "eyeBlinkLeft", "eyeBlinkRight", "cheekPuff"},
         "lips-by-lip-shapes",
         true,
         true,
         true},
        {{"cheekPuff", "browInnerUp"}, "no-mouth", false, false, true},
        {{"browInnerUp"}, "no-mouth", false, false, false},
    };
    for (int c = 0; c < FA_COUNT(cases); c++) {
        FaHead *head = head_at(1, 0, true);
        FaRig *rig = skin_rig(head);
        Skin full = skin_find(rig, NULL);
        keep_shapes(rig, cases[c].keep);
        Skin s = skin_find(rig, NULL);
        if (!fai_note_find(&s.notes, cases[c].note)) fail_msg("case %d: no note %s", c, cases[c].note);
        int lips = count_in(&s, FA_REGION_LIP_UPPER, 0.5), want = count_in(&full, FA_REGION_LIP_UPPER, 0.5);
        print_message("case %d: %d of %d upper lip\n", c, lips, want);
        if (cases[c].lips)
            assert_true(lips > 0.6 * want && lips < 1.5 * want);
        else
            assert_int_equal(lips, 0);
        assert_int_equal(count_in(&s, FA_REGION_EYELIDS, 0.5) > 100, cases[c].lids);
        assert_int_equal(count_in(&s, FA_REGION_CHEEKS, 0.5) > 50, cases[c].cheeks);
        if (cases[c].lips && c != 3) check_sides(rig, &s, 0.02);
        skin_free(&s);
        skin_free(&full);
        fa_rig_free(rig);
        fa_head_free(head);
    }
}

// One shape for both eyes, and a midline that is not at 0: the same lids. One eye alone has its own.
static void blinks_of_all_kinds(void **state) {
    (void)state;
    FaHead *head = head_at(1, 0, true);
    FaRig *rig = skin_rig(head);
    keep_shapes(rig, (const char *const[]){"eyeBlinkLeft", "eyeBlinkRight", NULL});
    Skin two = skin_find(rig, NULL);
    int left = shape_of(rig, "eyeBlinkLeft"), right = shape_of(rig, "eyeBlinkRight");
    FaShape a = rig->shape[left], b = rig->shape[right];
    // a rig of one shape: both lists, merged
    FaRig one = *rig;
    FaShape shape = {"Blink", -1, 0, 0, 0, FA_SAID_NOTHING};
    one.nshape = 1, one.shape = &shape, one.nentry = 0;
    one.row = malloc((size_t)(a.count + b.count) * sizeof *one.row);
    one.delta = malloc(3 * (size_t)(a.count + b.count) * sizeof *one.delta);
    for (int i = 0, j = 0; i < a.count || j < b.count; one.nentry++) {
        bool first = j == b.count || (i < a.count && rig->row[a.first + i] <= rig->row[b.first + j]);
        int from = first ? a.first + i++ : b.first + j++;
        one.row[one.nentry] = rig->row[from];
        memcpy(one.delta + 3 * (size_t)one.nentry, rig->delta + 3 * (size_t)from, 3 * sizeof *one.delta);
    }
    shape.count = one.nentry;
    for (int v = 0; v < rig->mesh.nvert; v++) rig->mesh.x[3 * v] += 0.11f;
    Skin both = skin_find(&one, NULL);
    for (int i = 0; i < both.n; i++)
        CHECK_NEAR(both.region[FA_REGION_EYELIDS][i], two.region[FA_REGION_EYELIDS][i], 0.05);
    rig->shape[right].arkit = -1;
    rig->shape[right].name = "other";
    Skin single = skin_find(rig, NULL);
    assert_non_null(fai_note_find(&single.notes, "one-eye"));
    for (int i = 0; i < single.n; i++)
        CHECK_NEAR(single.region[FA_REGION_EYELIDS][i],
                   rig->mesh.x[3 * (size_t)single.vertex[i]] > 0.11f ? (double)two.region[FA_REGION_EYELIDS][i] : 0,
                   0.1);
    skin_free(&single);
    skin_free(&both);
    skin_free(&two);
    free(one.row);
    free(one.delta);
    fa_rig_free(rig);
    fa_head_free(head);
}

// --- a creature ---------------------------------------------------------------------------------------------------

enum { JOINTS = 24 };

// Pull a quad of the small head out into a tube along its normal, `step` m per joint.
static FaRig *creature(const int *cell, int ncell, double step, int *tip) {
    FaRigDraft *draft;
    FaError err = {0};
    CHECK_OK(fai_draft_new(&draft, &err), &err);
    FaArena *a = fai_draft_arena(draft);
    HeadOptions plain = {0};
    FaMesh m = {.nvert = HEAD_VERTS,
                .x = FA_PUSH(a, 3 * (HEAD_VERTS + 4 * JOINTS * (size_t)ncell), float),
                .face_start = FA_PUSH(a, 4 * HEAD_VERTS + 4 * JOINTS * ncell, int),
                .face_vert = FA_PUSH(a, 16 * HEAD_VERTS + 16 * JOINTS * ncell, int)};
    for (int v = 0; v < HEAD_VERTS; v++) {
        double p[3];
        head_point(&plain, v, p);
        for (int k = 0; k < 3; k++) m.x[3 * v + k] = (float)p[k];
    }
    m.nface = head_faces(m.face_start, m.face_vert);
    int corner = m.face_start[m.nface];
    for (int c = 0; c < ncell; c++) {
        int *base = m.face_vert + m.face_start[cell[c]], ring[4], next[4];
        assert_int_equal(m.face_start[cell[c] + 1] - m.face_start[cell[c]], 4);
        memcpy(ring, base, sizeof ring);
        double p[4][3], e[3], f[3], n[3];
        for (int k = 0; k < 4; k++) fai_v3_load(m.x, ring[k], p[k]);
        fai_v3_sub(p[2], p[0], e);
        fai_v3_sub(p[3], p[1], f);
        fai_v3_cross(e, f, n);
        fai_v3_normalize(n);
        for (int j = 1; j <= JOINTS; j++) {
            for (int k = 0; k < 4; k++) {
                next[k] = m.nvert++;
                for (int i = 0; i < 3; i++) m.x[3 * next[k] + i] = (float)(p[k][i] + j * step * n[i]);
            }
            for (int k = 0; k < 4; k++) {
                int quad[4] = {ring[k], ring[(k + 1) % 4], next[(k + 1) % 4], next[k]};
                memcpy(m.face_vert + corner, quad, sizeof quad);
                m.face_start[++m.nface] = corner += 4;
            }
            memcpy(ring, next, sizeof ring);
        }
        memcpy(base, ring, sizeof ring); // the quad is now the tip
        tip[c] = ring[0];
    }
    fai_draft_mesh(draft, &m);
    FaRig *rig;
    CHECK_OK(
        fai_draft_finish(draft, NULL, &(FaRigOptions){.unit = FA_UNIT_M, .up = FA_UP_Y, .any_size = true}, &rig, &err),
        &err);
    return rig;
}

static void tentacles_hang_free(void **state) {
    (void)state;
    // three on the lower half: rings of 32 quads from the top
    const int cell[] = {32 * 17 + 3, 32 * 17 + 12, 32 * 15 + 25};
    int tip[3];
    FaRig *rig = creature(cell, 3, 0.007, tip);
    Skin s = skin_find(rig, NULL);
    const FaNote *note = fai_note_find(&s.notes, "limbs");
    assert_non_null(note);
    assert_int_equal(note->count, 3);
    const float *f = s.region[FA_REGION_FREE];
    int loose = 0;
    for (int i = 0; i < s.n; i++) {
        bool arm = s.vertex[i] >= HEAD_VERTS;
        int joint = arm ? (s.vertex[i] - HEAD_VERTS) / 4 % JOINTS : -1;
        if (!arm) CHECK_NEAR(f[i], 0, 0.3);
        if (joint > JOINTS / 3) assert_true(f[i] > 0.95f), loose++;
    }
    for (int t = 0; t < 3; t++) CHECK_NEAR(f[s.node[tip[t]]], 1, 1e-6);
    assert_true(loose > 150);
    skin_free(&s);
    fa_rig_free(rig);
    // stumps as long as wide are no tentacles; nor is a head without any
    rig = creature(cell, 3, 0.0008, tip);
    s = skin_find(rig, NULL);
    assert_null(fai_note_find(&s.notes, "limbs"));
    assert_int_equal(count_in(&s, FA_REGION_FREE, 0), 0);
    skin_free(&s);
    fa_rig_free(rig);
}

// --- hard cases ---------------------------------------------------------------------------------------------------

static void odd_meshes(void **state) {
    (void)state;
    FaHead *head = head_at(0, 0, true);
    FaRig *rig = skin_rig(head);
    FaError err = {0};
    float *region[FA_REGIONS], one[FA_REGIONS][3];
    for (int r = 0; r < FA_REGIONS; r++) region[r] = one[r];
    int vertex[3] = {5, 6, 7}, tri[3] = {0, 1, 2};
    for (int k = 0; k < 3; k++) { // nothing, points, a triangle
        const FaPatch few = {.nskin = k ? 3 : 0, .skin_vertex = vertex, .ntri = k > 1, .tri = tri};
        CHECK_OK(fai_find_regions(rig, &few, region, NULL, &err), &err);
    }
    for (int r = 0; r < FA_REGIONS; r++)
        for (int i = 0; i < 3; i++) assert_true(one[r][i] >= 0 && one[r][i] <= 1);
    // all in one point
    for (int v = 0; v < rig->mesh.nvert; v++)
        for (int k = 0; k < 3; k++) rig->mesh.x[3 * v + k] = 0.1f;
    Skin s = skin_find(rig, NULL);
    skin_free(&s);
    rig->mesh.x[7] = NAN;
    s = skin_open(rig, NULL);
    assert_int_equal(fai_find_regions(rig, &PATCH(s), s.region, NULL, &err), FA_E_NUMERIC);
    skin_free(&s);
    fa_rig_free(rig);
    fa_head_free(head);
}

static void no_memory(void **state) {
    (void)state;
    FaHead *head = head_at(0, 0, true);
    FaRig *rig = skin_rig(head);
    Skin s = skin_open(rig, NULL);
    long balance = test_alloc_balance();
    for (long k = 1;; k += k < 40 ? 1 : 5) {
        FaError err = {0};
        test_fail_alloc(k);
        FaCode rc = fai_find_regions(rig, &PATCH(s), s.region, NULL, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        assert_int_equal(test_alloc_balance(), balance);
        assert_int_equal(rc, failed ? FA_E_MEMORY : FA_OK);
        if (!failed) break;
        assert_true(k < 2000);
    }
    skin_free(&s);
    fa_rig_free(rig);
    fa_head_free(head);
}

// On a flat grid and on a sphere the distance is known.
static void geodesics(void **state) {
    (void)state;
    enum { SIDE = 41 };
    FaArena *arena = fai_arena_new(0);
    FaError err = {0};
    double *x = FA_PUSH(arena, 3 * SIDE * SIDE, double), *dist = FA_PUSH(arena, SIDE * SIDE, double);
    int *tri = FA_PUSH(arena, 6 * SIDE * SIDE, int), ntri = 0;
    bool *start = FA_PUSH(arena, SIDE * SIDE, bool);
    for (int i = 0; i < SIDE * SIDE; i++) fai_v3_set(x + 3 * i, 0.001 * (i % SIDE), 0.001 * (i / SIDE), 0);
    for (int r = 0; r + 1 < SIDE; r++)
        for (int c = 0; c + 1 < SIDE; c++) {
            int v = r * SIDE + c, two[6] = {v, v + 1, v + SIDE, v + 1, v + SIDE + 1, v + SIDE};
            memcpy(tri + 3 * (size_t)ntri, two, sizeof two);
            ntri += 2;
        }
    FaSurface s;
    CHECK_OK(fai_surface_build(SIDE * SIDE, x, ntri, tri, arena, &s, &err), &err);
    CHECK_NEAR(s.normal[2], 1, 1e-12);
    for (int i = 0; i < SIDE * SIDE; i++)
        assert_int_equal(s.border[i], i % SIDE == 0 || i % SIDE == SIDE - 1 || i / SIDE == 0 || i / SIDE == SIDE - 1);
    start[20 * SIDE + 20] = true;
    CHECK_OK(fai_geodesic(&s, start, INFINITY, dist, &err), &err);
    for (int i = 0; i < SIDE * SIDE; i++) {
        double want = 0.001 * hypot(i % SIDE - 20, i / SIDE - 20);
        assert_true(dist[i] >= want - 1e-12 && dist[i] <= 1.1 * want + 0.0003); // along edges alone: 1.41
    }
    CHECK_OK(fai_geodesic(&s, start, 0.005, dist, &err), &err);
    assert_true(isinf(dist[0]) && dist[20 * SIDE + 24] < 0.005);
    fai_arena_free(arena);
}

// --- rigs of others -----------------------------------------------------------------------------------------------

static void check_face(const FaRig *rig, const Skin *s, double half_width) {
    static const double least[FA_REGIONS] = {7, 7, 22, 15, 20, 40}, most[FA_REGIONS] = {24, 24, 65, 50, 120, 160};
    for (int r = 0; r < FA_REGIONS; r++) {
        double left, area = area_of(rig, s, (FaRegion)r, &left);
        print_message("%s: %d nodes, %.1f cm2, %.1f left\n", fai_region_name[r], count_in(s, (FaRegion)r, 0.5), area,
                      left);
        assert_true(area > least[r] && area < most[r]);
        CHECK_NEAR(left / area, 0.5, 0.06);
    }
    assert_null(fai_note_find(&s->notes, "no-lips"));
    check_sides(rig, s, half_width);
}

static void ict_face(void **state) {
    (void)state;
    const char *folder = test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz");
    if (!folder) skip();
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(folder, NULL, &rig, &err), &err);
    Skin s = skin_find(rig, NULL);
    check_face(rig, &s, 0.025);
    skin_free(&s);
    fa_rig_free(rig);
}

static void facecap_face(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "rigs/facecap/FaceCapHeadGeneric.fbx");
    FaError err = {0};
    FaRig *rig;
    if (fa_rig_load(path, NULL, &rig, &err) == FA_E_UNSUPPORTED) skip();
    assert_non_null(rig);
    Skin s = skin_find(rig, NULL);
    check_face(rig, &s, 0.025);
    skin_free(&s);
    fa_rig_free(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lips_are_the_red),
        cmocka_unit_test(symmetric_and_dense_or_not),
        cmocka_unit_test(lids_surround_the_eyes),
        cmocka_unit_test(cheeks_and_what_is_free),
        cmocka_unit_test(any_axes_and_size),
        cmocka_unit_test(open_at_rest),
        cmocka_unit_test(mask_without_a_bag),
        cmocka_unit_test(missing_shapes),
        cmocka_unit_test(blinks_of_all_kinds),
        cmocka_unit_test(tentacles_hang_free),
        cmocka_unit_test(odd_meshes),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(geodesics),
        cmocka_unit_test(ict_face),
        cmocka_unit_test(facecap_face),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
