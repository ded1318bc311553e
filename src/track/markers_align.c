// Iterated closest points: [BM92] Besl & McKay 1992 from many orientations, then, near the surface, the tangent-plane
// distance of [CM92] Chen & Medioni 1992, which does not creep along smooth skin. Markers are glued onto the skin: how
// far they stand off, all alike, is found along with the pose; without it a face's worth of markers would sink in.
#include "track/markers_align.h"

#include "base/task.h"
#include "io/clip_tools.h"
#include "math/mat3.h"

#include <math.h>

enum { STARTS = 96, COARSE = 12, KEPT = 6, FINE = 40, MOST_POINTS = 160 };
static const double MOVING = 0.04;     // of the largest displacement: the part of the face that is aligned to first
static const double LIFT_MOST = 0.008; // m: no marker is thicker
static const double RIVAL = 20;        // degrees: what is closer is the same alignment

bool fai_procrustes(int n, const double *p, const double *q, FaPose *pose) {
    double pc[3] = {0}, qc[3] = {0}, h[9] = {0}, r[9], u[9], s[3], v[9];
    if (n < 3) return false;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) pc[k] += p[3 * i + k] / n, qc[k] += q[3 * i + k] / n;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < 3; j++) h[3 * k + j] += (q[3 * i + k] - qc[k]) * (p[3 * i + j] - pc[j]);
    fai_m3_svd(h, u, s, v);
    if (!(s[1] > 1e-6 * s[0])) return false; // on a line: the turn about it is free
    double vt[9], t[3];
    fai_m3_transpose(v, vt);
    fai_m3_mul(u, vt, r);
    fai_q_from_m3(r, pose->q);
    fai_m3_mulv(r, pc, t);
    fai_v3_sub(qc, t, pose->p);
    return true;
}

FaCode fai_closest_of(const FaMesh *mesh, const int *tri, int n, FaClosest **closest, FaError *err) {
    int *corner = FA_NEW(3 * (size_t)FA_MAX(n, 1), int);
    if (!corner) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < n; i++) memcpy(corner + 3 * (size_t)i, mesh->tri + 3 * (size_t)tri[i], 3 * sizeof *corner);
    FaMesh part = {.nvert = mesh->nvert, .x = mesh->x, .ntri = n, .tri = corner};
    FaCode rc = fai_closest_new(&part, NULL, closest, err);
    fa_free(corner);
    return rc;
}

// --- one alignment ------------------------------------------------------------------------------------------------

// Triangles to search in, and what is needed to know their normals.
typedef struct Target {
    const FaClosest *closest;
    const FaMesh *mesh;
    const int *tri;      // the triangle that each of closest's is
    const float *normal; // of the vertices                                  (nvert x 3)
} Target;

typedef struct Cloud {
    int n;
    const double *p; // (n x 3)
    double *q;       // scratch: matched points, placed points             (n x 3 each)
    double *placed;
    double *normal; // of the surface at q                                (n x 3)
    double *d2;     // and its copy to sort                               (n each)
    double *sorted;
    double limit; // squared distance that the worst tenth exceeds
    double lift;  // m: how far the points stand off the surface
} Cloud;

static void match_point(Cloud *c, const Target *target, int i) {
    const double *x = c->placed + 3 * i;
    float f[3] = {(float)x[0], (float)x[1], (float)x[2]};
    FaHit hit = fai_closest_point(target->closest, f, INFINITY);
    double *q = c->q + 3 * i, *n = c->normal + 3 * i, d[3];
    memset(n, 0, 3 * sizeof *n);
    for (int k = 0; k < 3; k++) q[k] = hit.tri >= 0 ? (double)hit.point[k] : x[k];
    for (int k = 0; hit.tri >= 0 && k < 3; k++) {
        double corner[3];
        fai_v3_load(target->normal, target->mesh->tri[3 * (size_t)target->tri[hit.tri] + k], corner);
        fai_v3_mad(n, (double)hit.bary[k], corner, n);
    }
    fai_v3_normalize(n);
    fai_v3_mad(q, c->lift, n, q);
    fai_v3_sub(x, q, d);
    c->d2[i] = c->sorted[i] = fai_v3_dot(d, d);
}

// Closest points of the placed cloud; returns the trimmed mean of squared distances.
static double match(Cloud *c, const Target *target, const FaPose *pose) {
    for (int i = 0; i < c->n; i++) {
        fai_pose_apply(pose, c->p + 3 * i, c->placed + 3 * i);
        match_point(c, target, i);
    }
    fai_sort_doubles(c->sorted, c->n);
    int keep = c->n - c->n / 10;
    double sum = 0;
    for (int i = 0; i < keep; i++) sum += c->sorted[i];
    c->limit = c->sorted[keep - 1];
    return sum / keep;
}

static bool step_points(Cloud *c, FaPose *pose) {
    int n = 0;
    double *p = c->placed; // placed points are not needed after the match
    for (int i = 0; i < c->n; i++) {
        if (c->d2[i] > c->limit) continue;
        memmove(p + 3 * n, c->p + 3 * i, 3 * sizeof *p);
        memmove(c->q + 3 * n, c->q + 3 * i, 3 * sizeof *p);
        n++;
    }
    return fai_procrustes(n, p, c->q, pose);
}

enum { DOF = 7 };

// Solve a symmetric positive definite system (lower triangle) in place; false if it is not.
static bool solve(double a[DOF][DOF], double b[DOF]) {
    for (int j = 0; j < DOF; j++) {
        for (int k = 0; k < j; k++) a[j][j] -= a[j][k] * a[j][k];
        if (!(a[j][j] > 0)) return false;
        a[j][j] = sqrt(a[j][j]);
        for (int i = j + 1; i < DOF; i++) {
            for (int k = 0; k < j; k++) a[i][j] -= a[i][k] * a[j][k];
            a[i][j] /= a[j][j];
        }
    }
    for (int i = 0; i < DOF; i++) {
        for (int k = 0; k < i; k++) b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (int i = DOF - 1; i >= 0; i--) {
        for (int k = i + 1; k < DOF; k++) b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
    return true;
}

// [CM92]: minimise the sum of (n . (w x y + t + y - q) - h)^2 over turn w, shift t and lift h, about the cloud's
// centre.
static bool step_planes(Cloud *c, FaPose *pose) {
    double a[DOF][DOF] = {{0}}, b[DOF] = {0}, centre[3] = {0}, spread = 0;
    for (int i = 0; i < c->n; i++) fai_v3_mad(centre, 1.0 / c->n, c->placed + 3 * i, centre);
    for (int i = 0; i < c->n; i++) {
        if (c->d2[i] > c->limit) continue;
        const double *n = c->normal + 3 * i;
        double y[3], row[DOF], d[3];
        fai_v3_sub(c->placed + 3 * i, centre, y);
        fai_v3_sub(c->placed + 3 * i, c->q + 3 * i, d);
        fai_v3_cross(y, n, row);
        memcpy(row + 3, n, 3 * sizeof *n);
        row[6] = -1;
        spread += fai_v3_dot(y, y);
        double e = fai_v3_dot(n, d);
        for (int j = 0; j < DOF; j++) {
            b[j] -= row[j] * e;
            for (int k = 0; k <= j; k++) a[j][k] += row[j] * row[k];
        }
    }
    for (int j = 0; j < DOF; j++) a[j][j] += j < 3 ? 1e-5 * spread : 1e-5 * c->n; // damped: a ball has no turn
    if (!solve(a, b)) return false;
    FaPose turn = {.p = {0}}, moved = *pose;
    fai_q_exp(b, turn.q);
    double arm[3];
    fai_v3_sub(pose->p, centre, arm);
    fai_q_rotate(turn.q, arm, arm);
    for (int k = 0; k < 3; k++) moved.p[k] = centre[k] + arm[k] + b[3 + k];
    fai_q_mul(turn.q, pose->q, moved.q);
    fai_q_normalize(moved.q);
    c->lift = fmin(LIFT_MOST, fmax(0, c->lift + b[6]));
    *pose = moved;
    return true;
}

// Steps while they help, by points or by planes. Returns the trimmed mean square.
static double refine(Cloud *c, const Target *target, int steps, bool planes, FaPose *pose) {
    double best = match(c, target, pose);
    for (int i = 0; i < steps; i++) {
        FaPose next = *pose;
        double lift = c->lift;
        if (!(planes ? step_planes(c, &next) : step_points(c, &next))) break;
        double e = match(c, target, &next);
        if (!(e < best * (1 - 1e-7))) {
            c->lift = lift;
            match(c, target, pose);
            break;
        }
        best = e;
        *pose = next;
    }
    return best;
}

// --- many starts --------------------------------------------------------------------------------------------------

// The 24 turns of a cube, each also turned by 45 degrees about one of three axes: none is further than 46 degrees away.
static void start_turn(int i, double q[4]) {
    static const double face[6][4] = {{0, 0, 0, 1},
                                      {1, 0, 0, 0},
                                      {M_SQRT1_2, 0, 0, M_SQRT1_2},
                                      {-M_SQRT1_2, 0, 0, M_SQRT1_2},
                                      {0, 0, M_SQRT1_2, M_SQRT1_2},
                                      {0, 0, -M_SQRT1_2, M_SQRT1_2}};
    double quarter[3] = {0, (i / 6 % 4) * M_PI_2, 0}, extra[3] = {0}, a[4], b[4];
    if (i / 24) extra[i / 24 - 1] = M_PI_4;
    fai_q_exp(quarter, a);
    fai_q_exp(extra, b);
    fai_q_mul(face[i % 6], a, q);
    fai_q_mul(b, q, q);
}

typedef struct Search {
    Target moving, outside;
    Cloud cloud[STARTS];
    FaPose pose[STARTS];
    double e[STARTS];
    double centre[3], target[3];
} Search;

static void search(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    Search *s = ctx;
    for (int i = begin; i < end; i++) {
        double c[3];
        start_turn(i, s->pose[i].q);
        fai_q_rotate(s->pose[i].q, s->centre, c);
        fai_v3_sub(s->target, c, s->pose[i].p);
        s->e[i] = refine(&s->cloud[i], &s->moving, COARSE, false, &s->pose[i]);
    }
}

static double turn_between(const FaPose *a, const FaPose *b) {
    return 2 * acos(fmin(1, fabs(fai_q_dot(a->q, b->q)))) * (180 / M_PI);
}

// The best of the starts (their errors are marked as used), refined one after the other.
static void pick(Search *s, FaAlignment *out) {
    FaPose fine[KEPT];
    double e[KEPT];
    int best = 0;
    for (int k = 0; k < KEPT; k++) {
        int found = 0;
        for (int i = 1; i < STARTS; i++)
            if (s->e[i] < s->e[found]) found = i;
        fine[k] = s->pose[found];
        Cloud *c = &s->cloud[found];
        refine(c, &s->moving, FINE, true, &fine[k]);
        refine(c, &s->outside, FINE, false, &fine[k]);
        e[k] = refine(c, &s->outside, FINE, true, &fine[k]);
        // what came to the same place is done with: keep room for others
        for (int i = 0; i < STARTS; i++)
            if (i == found || turn_between(&s->pose[i], &s->pose[found]) < 5) s->e[i] = INFINITY;
        if (e[k] < e[best]) best = k;
    }
    *out = (FaAlignment){.pose = fine[best], .rms = sqrt(e[best]), .rival_rms = INFINITY};
    for (int k = 0; k < KEPT; k++) {
        double turn = turn_between(&fine[k], &fine[best]);
        if (turn > RIVAL && sqrt(e[k]) < out->rival_rms) out->rival_rms = sqrt(e[k]), out->rival_turn = turn;
    }
}

static FaCode moving_part(const FaRig *rig, const FaMarkerFace *face, Search *s, FaArena *arena, FaClosest **moving,
                          FaError *err) {
    int *tri = FA_PUSH(arena, FA_MAX(face->ntri, 1), int), n = 0;
    if (!tri) return FA_FAIL_MEMORY(err);
    for (int pass = 0; pass < 2 && !n; pass++) // all of the outside where nothing moves
        for (int i = 0; i < face->ntri; i++) {
            bool moves = true;
            for (int k = 0; k < 3; k++)
                moves &= (double)face->move[rig->mesh.tri[3 * (size_t)face->tri[i] + k]] >= MOVING * (double)face->most;
            if (moves || pass) tri[n++] = face->tri[i];
        }
    double sum[3] = {0};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            double x[3];
            fai_v3_load(rig->mesh.x, rig->mesh.tri[3 * (size_t)tri[i] + k], x);
            fai_v3_add(sum, x, sum);
        }
    fai_v3_scale(1.0 / (3.0 * n), sum, s->target);
    s->moving = s->outside;
    s->moving.tri = tri;
    FA_TRY(fai_closest_of(&rig->mesh, tri, n, moving, err));
    s->moving.closest = *moving;
    return FA_OK;
}

static FaCode make_clouds(Search *s, FaArena *arena, int n, const double *p, FaError *err) {
    // of a large cloud every k-th point
    int stride = (n + MOST_POINTS - 1) / MOST_POINTS, m = 0;
    double *some = FA_PUSH(arena, 3 * (size_t)n, double);
    if (!some) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < n; i += stride) memcpy(some + 3 * (size_t)m++, p + 3 * (size_t)i, 3 * sizeof *p);
    for (int i = 0; i < m; i++) fai_v3_mad(s->centre, 1.0 / m, some + 3 * (size_t)i, s->centre);
    for (int i = 0; i < STARTS; i++) {
        double *room = FA_PUSH(arena, 11 * (size_t)m, double);
        if (!room) return FA_FAIL_MEMORY(err);
        s->cloud[i] = (Cloud){.n = m,
                              .p = some,
                              .q = room,
                              .placed = room + 3 * m,
                              .normal = room + 6 * m,
                              .d2 = room + 9 * m,
                              .sorted = room + 10 * m};
    }
    return FA_OK;
}

FaCode fai_markers_align(const FaRig *rig, const FaMarkerFace *face, const FaClosest *outside, int n, const double *p,
                         FaAlignment *out, FaError *err) {
    *out = (FaAlignment){.pose = fai_pose_identity()};
    if (n < 4)
        return FA_FAIL(err, FA_E_FORMAT, NULL, "give their places with --map",
                       "%d markers are too few to find out where they are on the face", n);
    if (!face->ntri)
        return FA_FAIL(err, FA_E_MESH, NULL, "give a map of the markers", "no part of the rig's surface is outside");
    FaArena *arena = fai_arena_new(0);
    if (!arena) return FA_FAIL_MEMORY(err);
    FaClosest *moving = NULL;
    Search *s = FA_PUSH(arena, 1, Search);
    FaCode rc = s ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        s->outside = (Target){outside, &rig->mesh, face->tri, face->normal};
        rc = moving_part(rig, face, s, arena, &moving, err);
    }
    if (rc >= 0) rc = make_clouds(s, arena, n, p, err);
    if (rc >= 0) {
        fai_parallel(STARTS, 1, search, s);
        pick(s, out);
    }
    fai_closest_free(moving);
    fai_arena_free(arena);
    return rc;
}
