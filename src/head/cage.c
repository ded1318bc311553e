// The cage, laid by hand on the left half and mirrored. Names of the blocks and how they join:
//
//   brow    0-2 middle, 3-4 glabella, 5-8 above the eye, 9-10 temple    fore   two rows of forehead, middle to temple
//   bridge  four rows down the nose, middle to side wall               wing   tip, wing and rim of the nose
//   crease  where nose meets cheek                                     nostril the dent's end
//   mouth   rings from the nasolabial line (0) through the red border (2) and the seam (4) to the back of the bag (7);
//           columns from the upper middle (0) over the corner (4) to the lower middle (8)
//   eye     rings from the orbital rim (0) to the equator of the socket (4); columns from the inner corner (0) over the
//           upper lid (1-4), the outer corner (5) and the lower lid (6-9)
//   cheek   rings about the mouth that rise beside the nose: columns 0-5 outward to the ear, rows 0-7 from the
//   cheekbone
//           down and around to the middle of the chin
//   crown   rows over the skull from the hairline to the nape, columns 0-5 from the middle to the ear
//   neck, cut: down to the boundary;   ear: rings from its root over the rim into the concha
#include "head/cage.h"

#include "head/cage_points.h"

typedef struct Layout {
    FaArena *arena;
    int n; // points laid on the left half
    double (*val)[CAGE_CHANNELS];
    int *full; // left-half point -> cage vertex, and below: its mirror image
    int *other;
    int nface, ncorner;
    int (*face)[6]; // corners, then -1
    int bridge, wing, nostril, crease, mouth, eye, eyepole, brow, fore, cheek, crown, neck, cut, ear;
} Layout;

enum { MAX_POINTS = 420, MAX_FACES = 420 };

#define BRIDGE(r, c) (l->bridge + (r)*3 + (c))
#define WING(r, c) (l->wing + (r)*4 + (c))
#define NOSTRIL(i) (l->nostril + (i))
#define CREASE(i) (l->crease + (i))
#define MOUTH(r, c) (l->mouth + (r)*9 + (c))
#define EYE(r, c) (l->eye + (r)*10 + ((c) + 10) % 10)
#define BROW(i) (l->brow + (i))
#define FORE(r, c) (l->fore + (r)*6 + (c))
#define CHEEK(r, c) (l->cheek + (r)*6 + (c))
#define CROWN(r, c) (l->crown + (r)*6 + (c))
#define NECK(r, c) (l->neck + (r)*6 + (c))
#define CUT(i) (l->cut + (i))
#define EAR(r, c) (l->ear + (r)*8 + ((c) + 8) % 8)

static int lay(Layout *l, const float *p, int count) {
    int first = l->n;
    for (int i = 0; i < count; i++, l->n++) {
        FA_ASSERT(l->n < MAX_POINTS);
        for (int k = 0; k < 3; k++) l->val[l->n][k] = p[3 * i + k];
    }
    return first;
}
#define LAY(l, block) lay((l), &(block)[0][0][0], (int)(sizeof(block) / (3 * sizeof(float))))

static void lay_points(Layout *l) {
    l->bridge = LAY(l, cage_bridge);
    l->wing = LAY(l, cage_wing);
    l->nostril = LAY(l, cage_nostril);
    l->crease = LAY(l, cage_crease);
    l->mouth = LAY(l, cage_mouth);
    l->eye = LAY(l, cage_eye);
    l->eyepole = LAY(l, cage_eyepole);
    l->brow = LAY(l, cage_brow);
    l->fore = LAY(l, cage_fore);
    l->cheek = LAY(l, cage_cheek);
    l->crown = LAY(l, cage_crown);
    l->neck = LAY(l, cage_neck);
    l->cut = LAY(l, cage_cut);
    l->ear = LAY(l, cage_ear);
}

static void face(Layout *l, int a, int b, int c, int d, int e) {
    FA_ASSERT(l->nface < MAX_FACES);
    int *f = l->face[l->nface++];
    f[0] = a, f[1] = b, f[2] = c, f[3] = d, f[4] = e, f[5] = -1;
    for (int k = 0; k < 5 && f[k] >= 0; k++) l->ncorner++;
}
static void quad(Layout *l, int a, int b, int c, int d) { face(l, a, b, c, d, -1); }
static void tri(Layout *l, int a, int b, int c) { face(l, a, b, c, -1, -1); }

static void lay_nose(Layout *l) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 2; c++) quad(l, BRIDGE(r, c), BRIDGE(r + 1, c), BRIDGE(r + 1, c + 1), BRIDGE(r, c + 1));
    // side wall to the orbital ring
    quad(l, BRIDGE(0, 2), BRIDGE(1, 2), EYE(0, 0), EYE(0, 1));
    quad(l, BRIDGE(1, 2), BRIDGE(2, 2), EYE(0, 9), EYE(0, 0));
    quad(l, BRIDGE(2, 2), BRIDGE(3, 2), CREASE(0), EYE(0, 9));
    // bridge to tip, wing to crease
    quad(l, BRIDGE(3, 0), WING(0, 0), WING(0, 1), BRIDGE(3, 1));
    quad(l, BRIDGE(3, 1), WING(0, 1), WING(0, 2), BRIDGE(3, 2));
    quad(l, BRIDGE(3, 2), WING(0, 2), WING(0, 3), CREASE(0));
    tri(l, CREASE(0), WING(0, 3), CREASE(1));
    for (int r = 0; r < 2; r++)
        for (int c = 0; c < 3; c++) quad(l, WING(r, c), WING(r + 1, c), WING(r + 1, c + 1), WING(r, c + 1));
    quad(l, WING(0, 3), WING(1, 3), CREASE(2), CREASE(1));
    quad(l, WING(1, 3), WING(2, 3), MOUTH(0, 3), CREASE(2));
    // underside: columella, nostril, rim
    quad(l, WING(2, 0), MOUTH(0, 0), MOUTH(0, 1), WING(2, 1));
    quad(l, WING(2, 2), MOUTH(0, 2), MOUTH(0, 3), WING(2, 3));
    const int rim[4] = {WING(2, 1), MOUTH(0, 1), MOUTH(0, 2), WING(2, 2)};
    const int end[4] = {NOSTRIL(0), NOSTRIL(3), NOSTRIL(2), NOSTRIL(1)};
    for (int k = 0; k < 4; k++) quad(l, rim[k], rim[(k + 1) % 4], end[(k + 1) % 4], end[k]);
    quad(l, end[0], end[1], end[2], end[3]);
}

static void lay_forehead(Layout *l) {
    quad(l, BROW(0), BRIDGE(0, 0), BRIDGE(0, 1), BROW(1));
    quad(l, BROW(1), BRIDGE(0, 1), BRIDGE(0, 2), BROW(2));
    quad(l, BROW(2), BRIDGE(0, 2), EYE(0, 1), BROW(5));
    for (int i = 0; i < 4; i++) quad(l, BROW(5 + i), EYE(0, 1 + i), EYE(0, 2 + i), BROW(6 + i));
    // three strips of the glabella become one
    quad(l, FORE(0, 0), BROW(0), BROW(1), BROW(3));
    quad(l, BROW(3), BROW(1), BROW(2), BROW(4));
    quad(l, BROW(4), BROW(2), BROW(5), FORE(0, 1));
    quad(l, FORE(0, 0), BROW(3), BROW(4), FORE(0, 1));
    for (int i = 0; i < 4; i++) quad(l, FORE(0, 1 + i), BROW(5 + i), BROW(6 + i), FORE(0, 2 + i));
    for (int c = 0; c < 5; c++) quad(l, FORE(1, c), FORE(0, c), FORE(0, c + 1), FORE(1, c + 1));
    // temple
    quad(l, BROW(9), EYE(0, 5), EYE(0, 6), BROW(10));
    tri(l, BROW(10), EYE(0, 6), CHEEK(0, 2));
    quad(l, FORE(0, 5), BROW(9), BROW(10), CHEEK(0, 3));
    tri(l, BROW(10), CHEEK(0, 2), CHEEK(0, 3));
    quad(l, FORE(1, 5), FORE(0, 5), CHEEK(0, 3), CHEEK(0, 4));
    quad(l, CROWN(0, 5), FORE(1, 5), CHEEK(0, 4), CHEEK(0, 5));
}

static void lay_eye(Layout *l) {
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 10; c++) quad(l, EYE(r, c), EYE(r + 1, c), EYE(r + 1, c + 1), EYE(r, c + 1));
    for (int c = 0; c < 10; c++) tri(l, EYE(4, c), l->eyepole, EYE(4, c + 1));
}

static void lay_mouth(Layout *l) {
    for (int r = 0; r < 7; r++)
        for (int c = 0; c < 8; c++) quad(l, MOUTH(r, c), MOUTH(r + 1, c), MOUTH(r + 1, c + 1), MOUTH(r, c + 1));
    // the bag's back is zipped from the middle to the corner
    for (int c = 0; c < 3; c++) quad(l, MOUTH(7, c), MOUTH(7, 8 - c), MOUTH(7, 7 - c), MOUTH(7, c + 1));
    tri(l, MOUTH(7, 3), MOUTH(7, 5), MOUTH(7, 4));
}

static void lay_cheek(Layout *l) {
    quad(l, EYE(0, 9), CREASE(0), CHEEK(0, 0), EYE(0, 8));
    quad(l, EYE(0, 8), CHEEK(0, 0), CHEEK(0, 1), EYE(0, 7));
    quad(l, EYE(0, 7), CHEEK(0, 1), CHEEK(0, 2), EYE(0, 6));
    face(l, CREASE(0), CREASE(1), CREASE(2), CHEEK(1, 0), CHEEK(0, 0));
    quad(l, CREASE(2), MOUTH(0, 3), CHEEK(2, 0), CHEEK(1, 0));
    for (int r = 2; r < 7; r++) quad(l, MOUTH(0, r + 1), MOUTH(0, r + 2), CHEEK(r + 1, 0), CHEEK(r, 0));
    for (int r = 0; r < 7; r++)
        for (int c = 0; c < 5; c++) quad(l, CHEEK(r, c), CHEEK(r + 1, c), CHEEK(r + 1, c + 1), CHEEK(r, c + 1));
}

static void lay_crown(Layout *l) {
    for (int c = 0; c < 5; c++) quad(l, CROWN(0, c), FORE(1, c), FORE(1, c + 1), CROWN(0, c + 1));
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < (r < 2 ? 5 : 4); c++)
            quad(l, CROWN(r + 1, c), CROWN(r, c), CROWN(r, c + 1), CROWN(r + 1, c + 1));
    // behind the ear two rows of the skull end
    tri(l, CROWN(3, 4), CROWN(2, 4), CROWN(2, 5));
    quad(l, CROWN(4, 4), CROWN(3, 4), CROWN(2, 5), CROWN(4, 5));
    tri(l, CROWN(5, 4), CROWN(4, 4), CROWN(4, 5));
    quad(l, CROWN(6, 4), CROWN(5, 4), CROWN(4, 5), CROWN(6, 5));
    for (int c = 0; c < 5; c++) {
        quad(l, NECK(0, c), CROWN(6, c), CROWN(6, c + 1), NECK(0, c + 1));
        for (int r = 0; r < 2; r++) quad(l, NECK(r + 1, c), NECK(r, c), NECK(r, c + 1), NECK(r + 1, c + 1));
    }
    quad(l, CHEEK(2, 5), CHEEK(3, 5), NECK(0, 5), CROWN(6, 5));
    quad(l, CHEEK(3, 5), CHEEK(4, 5), NECK(1, 5), NECK(0, 5));
    quad(l, CHEEK(4, 5), CUT(0), NECK(2, 5), NECK(1, 5));
    for (int i = 0; i < 3; i++) quad(l, CHEEK(5 + i, 5), CUT(1 + i), CUT(i), CHEEK(4 + i, 5));
}

static void lay_ear(Layout *l) {
    const int skin[8] = {CROWN(0, 5), CHEEK(0, 5), CHEEK(1, 5), CHEEK(2, 5),
                         CROWN(6, 5), CROWN(4, 5), CROWN(2, 5), CROWN(1, 5)};
    for (int c = 0; c < 8; c++) {
        quad(l, skin[c], skin[(c + 1) % 8], EAR(0, c + 1), EAR(0, c));
        for (int r = 0; r < 5; r++) quad(l, EAR(r, c), EAR(r, c + 1), EAR(r + 1, c + 1), EAR(r + 1, c));
    }
    // the concha is closed by two strips
    quad(l, EAR(5, 0), EAR(5, 1), EAR(5, 2), EAR(5, 7));
    quad(l, EAR(5, 7), EAR(5, 2), EAR(5, 3), EAR(5, 6));
    quad(l, EAR(5, 6), EAR(5, 3), EAR(5, 4), EAR(5, 5));
}

// How much of the mandible's motion each block takes; the lips are told apart by their side of the seam.
static void lay_jaw_weights(Layout *l) {
    // clang-format off
    static const double cheek[8][6] = {
        {0, 0, 0, 0, 0, 0},
        {0, 0, 0, 0, 0.02, 0},
        {0.05, 0.08, 0.12, 0.16, 0.15, 0.05},
        {0.50, 0.48, 0.48, 0.50, 0.45, 0.18},
        {0.90, 0.88, 0.82, 0.70, 0.48, 0.15},
        {0.98, 0.95, 0.84, 0.62, 0.36, 0.14},
        {0.97, 0.92, 0.75, 0.47, 0.21, 0.08},
        {0.97, 0.92, 0.75, 0.46, 0.20, 0.07},
    };
    static const double mouth[8][9] = {
        {0, 0, 0, 0.02, 0.45, 0.90, 1, 1, 1},
        {0, 0, 0, 0.06, 0.45, 0.92, 1, 1, 1},
        {0, 0, 0, 0.10, 0.45, 0.90, 1, 1, 1},
        {0, 0, 0, 0.08, 0.45, 0.92, 1, 1, 1},
        {0, 0, 0, 0.06, 0.45, 0.94, 1, 1, 1},
        {0, 0, 0, 0.06, 0.45, 0.94, 1, 1, 1},
        {0, 0, 0, 0.10, 0.50, 0.94, 1, 1, 1},
        {0, 0, 0, 0.10, 0.50, 0.90, 1, 1, 1},
    };
    // clang-format on
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 6; c++) l->val[CHEEK(r, c)][CAGE_JAW] = cheek[r][c];
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 9; c++) l->val[MOUTH(r, c)][CAGE_JAW] = mouth[r][c];
}

static void lay_charts(Layout *l) {
    // far from a chart its row coordinate must not pull: neighbours continue the rows outward
    for (int i = 0; i < l->n; i++)
        l->val[i][CAGE_MOUTH_V] = -2, l->val[i][CAGE_MOUTH_U] = 4, l->val[i][CAGE_EYE_V] = -1;
    for (int r = 0; r < 8; r++) {
        for (int c = 0; c < 9; c++) {
            double *v = l->val[MOUTH(r, c)];
            v[CAGE_MOUTH_U] = c, v[CAGE_MOUTH_V] = r, v[CAGE_MOUTH] = 1;
        }
        l->val[CHEEK(r, 0)][CAGE_MOUTH_U] = r < 2 ? 3 : r + 1, l->val[CHEEK(r, 0)][CAGE_MOUTH_V] = -1;
    }
    for (int r = 0; r < 5; r++) {
        for (int c = 0; c < 10; c++) {
            double *v = l->val[EYE(r, c)];
            v[CAGE_EYE_V] = r, v[CAGE_EYE_UP] = c == 0 || c == 5 ? 0 : c < 5 ? 1 : -1, v[CAGE_EYE] = 1;
        }
    }
    l->val[l->eyepole][CAGE_EYE_V] = 5, l->val[l->eyepole][CAGE_EYE] = 1;
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 8; c++) l->val[EAR(r, c)][CAGE_EAR] = 1;
}

// Features are exact. Where the shape is known only by and large a few corrections keep it fair; inside the mouth,
// where the surface turns sharply and nobody measures it, the points are plain control points.
static int steps(const Layout *l, int i) {
    if (i >= MOUTH(5, 0) && i < MOUTH(8, 0)) return 0;
    bool fair =
        (i >= l->brow + 3 && i < l->brow + 11) || (i >= l->fore && i < l->ear) || (i >= EYE(0, 4) && i <= EYE(0, 7));
    return fair ? 3 : 40;
}

// Both halves: points on the midline are shared, unused ones dropped.
static FaCode join_halves(Layout *l, FaiCage *cage, FaError *err) {
    int *used = FA_PUSH(l->arena, l->n, int);
    l->full = FA_PUSH(l->arena, l->n, int), l->other = FA_PUSH(l->arena, l->n, int);
    cage->val = FA_PUSH(l->arena, 2 * l->n * CAGE_CHANNELS, double);
    cage->mirror = FA_PUSH(l->arena, 2 * l->n, int);
    cage->steps = FA_PUSH(l->arena, 2 * l->n, int);
    cage->face_start = FA_PUSH(l->arena, 2 * l->nface + 1, int);
    cage->face_vert = FA_PUSH(l->arena, 2 * l->ncorner, int);
    if (!used || !l->full || !l->other || !cage->val || !cage->mirror || !cage->steps || !cage->face_start ||
        !cage->face_vert)
        return FA_FAIL_MEMORY(err);
    for (int f = 0; f < l->nface; f++)
        for (int k = 0; l->face[f][k] >= 0; k++) used[l->face[f][k]] = 1;
    int n = 0;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < l->n; i++) {
            if (!used[i]) continue;
            bool middle = l->val[i][CAGE_X] == 0;
            if (side && middle) {
                l->other[i] = l->full[i];
                continue;
            }
            double *v = cage->val + (size_t)n * CAGE_CHANNELS;
            memcpy(v, l->val[i], sizeof l->val[i]);
            cage->steps[n] = steps(l, i);
            if (side)
                v[CAGE_X] = -v[CAGE_X], l->other[i] = n;
            else
                l->full[i] = n;
            n++;
        }
    }
    cage->nvert = n;
    for (int i = 0; i < l->n; i++)
        if (used[i]) cage->mirror[l->full[i]] = l->other[i], cage->mirror[l->other[i]] = l->full[i];
    for (int side = 0; side < 2; side++) {
        for (int f = 0; f < l->nface; f++) {
            int m = 0;
            while (l->face[f][m] >= 0) m++;
            for (int k = 0; k < m; k++)
                cage->face_vert[cage->ncorner + k] = side ? l->other[l->face[f][m - 1 - k]] : l->full[l->face[f][k]];
            cage->ncorner += m;
            cage->face_start[++cage->nface] = cage->ncorner;
        }
    }
    return FA_OK;
}

FaCode fai_cage_build(FaArena *arena, FaiCage *cage, FaError *err) {
    memset(cage, 0, sizeof *cage);
    Layout l = {.arena = arena};
    l.val = fai_arena_push(arena, MAX_POINTS, sizeof *l.val);
    l.face = fai_arena_push(arena, MAX_FACES, sizeof *l.face);
    if (!l.val || !l.face) return FA_FAIL_MEMORY(err);
    lay_points(&l);
    lay_charts(&l);
    lay_jaw_weights(&l);
    lay_nose(&l);
    lay_forehead(&l);
    lay_eye(&l);
    lay_mouth(&l);
    lay_cheek(&l);
    lay_crown(&l);
    lay_ear(&l);
    return join_halves(&l, cage, err);
}
