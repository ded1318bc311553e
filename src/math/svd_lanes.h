// The singular value decomposition of 3x3 matrices, in lanes: included by a kernel after lanes.h is set up.
//
// One-sided Jacobi (Hestenes): columns of B = A V are turned in pairs until all are at right angles; V itself is never
// formed. Their directions are U's, and V's follow from A'u. Three thoughts make it quick and exact:
//
// - The turns are not normalised (fast Givens). A column is b / sqrt(g); turning by tan t with |t| <= 1
//       b_p += alpha b_q,  b_q -= beta b_p,   g_p, g_q *= 1 + t^2,      alpha = gamma g_p, beta = gamma g_q, t^2 =
//       alpha beta
//   needs one root and one division for gamma, the smaller root of  a (1 - gamma^2 g_p g_q) - gamma (g_q n_p - g_p n_q)
//   = 0, with a = b_p.b_q, n = |b|^2. Nothing is squared that is not tested against its own size: A'A never appears, so
//   small singular values keep their digits.
// - A lane is done with the sweep in which all turns were small: what one turn undoes of another is their product,
// below
//   rounding then. Lanes that are done are frozen, so that a matrix's bits do not depend on its neighbours.
// - U and V are completed by cross products: proper rotations, and mirroring shows in the sign of s[2] alone.
//
// Matrices are row-major arrays of nine. Several groups of lanes are turned together, since one alone would wait for
// its roots.
#ifndef FAI_SVD_LANES_H
#define FAI_SVD_LANES_H

#include "math/lanes.h"

// Groups turned together. One under sanitizers, whose compilers take minutes for more; the bits are the same.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SVD_GROUPS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SVD_GROUPS 1
#endif
#endif
#ifndef SVD_GROUPS
#define SVD_GROUPS 3
#endif
enum { SVD_SWEEPS = 12 }; // at most; four or five are usual
#define SVD_RIGHT 1e-13f  // squared cosine of what counts as a right angle
#define SVD_SMALL 1e-7f   // squared cosine, and
#define SVD_TURN 1e-6f    // squared tangent, of turns that upset others by no more than that

typedef struct SvdColumns {
    FaV b[9]; // columns, unnormalised
    FaV g[3]; // their scales
} SvdColumns;

FA_LANE FaV dot3(FaV a0, FaV a1, FaV a2, FaV b0, FaV b1, FaV b2) { return v_fma(a2, b2, v_fma(a1, b1, a0 * b0)); }

FA_LANE void cross3(const FaV *a, const FaV *b, FaV *out) {
    out[0] = v_fms(a[1], b[2], a[2] * b[1]);
    out[1] = v_fms(a[2], b[0], a[0] * b[2]);
    out[2] = v_fms(a[0], b[1], a[1] * b[0]);
}

// Some vector at right angles to a unit vector, of length 0.7..1.
FA_LANE void perpendicular3(const FaV *a, FaV *out) {
    FaVm m = v_gt(v_abs(a[0]), v_abs(a[2]));
    FaV zero = v_set(0);
    out[0] = v_if(m, zero - a[1], zero);
    out[1] = v_if(m, a[0], zero - a[2]);
    out[2] = v_if(m, zero, a[1]);
}

// Scale to a largest entry in [1, 4), exactly. Returns the power of two taken out.
FA_LANE FaV svd_scale(const FaV *a, FaV *scaled) {
    FaV m0 = v_max(v_max(v_abs(a[0]), v_abs(a[1])), v_abs(a[2]));
    FaV m1 = v_max(v_max(v_abs(a[3]), v_abs(a[4])), v_abs(a[5]));
    FaV m2 = v_max(v_max(v_abs(a[6]), v_abs(a[7])), v_abs(a[8]));
    FaV power = v_power(v_max(v_max(m0, m1), m2)), inverse = v_power_inverse(power);
    for (int i = 0; i < 9; i++) scaled[i] = a[i] * inverse;
    return power;
}

// A matrix times another.
FA_LANE void mul33(const FaV *a, const FaV *b, FaV *out) {
    for (int i = 0; i < 9; i += 3)
        for (int j = 0; j < 3; j++) out[i + j] = dot3(a[i], a[i + 1], a[i + 2], b[j], b[3 + j], b[6 + j]);
}

// Turn columns p and q of all groups to right angles, step by step in all of them. more: lanes whose turn was large
// enough to upset the others.
FA_LANE void svd_turn(SvdColumns *c, int groups, int p, int q, const FaVm *live, FaVm *more) {
    FaV a[SVD_GROUPS], d[SVD_GROUPS], h[SVD_GROUPS];
    FaVm on[SVD_GROUPS];
    for (int k = 0; k < groups; k++) {
        const FaV *b = c[k].b, *g = c[k].g;
        FaV np = dot3(b[p], b[3 + p], b[6 + p], b[p], b[3 + p], b[6 + p]);
        FaV nq = dot3(b[q], b[3 + q], b[6 + q], b[q], b[3 + q], b[6 + q]);
        a[k] = dot3(b[p], b[3 + p], b[6 + p], b[q], b[3 + q], b[6 + q]);
        d[k] = v_fms(g[q], np, g[p] * nq);
        FaV a2 = a[k] * a[k], nn = np * nq;
        h[k] = v_fma(d[k], d[k], v_set(4) * (g[p] * g[q]) * a2);
        on[k] = v_both(live[k], v_gt(a2, v_set(SVD_RIGHT) * nn));
        more[k] = v_either(more[k], v_both(on[k], v_gt(a2, v_set(SVD_SMALL) * nn)));
    }
    for (int k = 0; k < groups; k++) h[k] = v_sqrt(h[k]);
    for (int k = 0; k < groups; k++) h[k] = v_keep(on[k], (a[k] + a[k]) / (d[k] + v_copysign(h[k], d[k])));
    for (int k = 0; k < groups; k++) {
        FaV *b = c[k].b, *g = c[k].g, alpha = h[k] * g[p], beta = h[k] * g[q], t2 = alpha * beta;
        more[k] = v_either(more[k], v_gt(t2, v_set(SVD_TURN)));
        for (int i = 0; i < 9; i += 3) {
            FaV bp = b[i + p];
            b[i + p] = v_fma(alpha, b[i + q], bp);
            b[i + q] = v_fnma(beta, bp, b[i + q]);
        }
        g[p] = v_fma(g[p], t2, g[p]);
        g[q] = v_fma(g[q], t2, g[q]);
    }
}

// All columns to right angles.
FA_LANE void svd_columns(SvdColumns *c, int groups) {
    FaVm live[SVD_GROUPS];
    for (int k = 0; k < groups; k++) {
        live[k] = v_all();
        for (int j = 0; j < 3; j++) c[k].g[j] = v_set(1);
    }
    for (int sweep = 0; sweep < SVD_SWEEPS; sweep++) {
        FaVm more[SVD_GROUPS], any = v_none();
        for (int k = 0; k < groups; k++) more[k] = v_none();
        svd_turn(c, groups, 0, 1, live, more);
        svd_turn(c, groups, 0, 2, live, more);
        svd_turn(c, groups, 1, 2, live, more);
        for (int k = 0; k < groups; k++) any = v_either(any, live[k] = v_both(live[k], more[k]));
        if (!v_any(any)) break;
    }
}

// The two largest columns, in order of size, and their squares; flat: the second is rounding of the first, or both are
// zero.
FA_LANE FaVm svd_largest(const SvdColumns *c, FaV *b1, FaV *b2, FaV *n1, FaV *n2) {
    const FaV *b = c->b, *g = c->g;
    FaV n[3];
    for (int j = 0; j < 3; j++) n[j] = dot3(b[j], b[3 + j], b[6 + j], b[j], b[3 + j], b[6 + j]);
    // the true squares are n / g
    FaVm m01 = v_gt(n[1] * g[0], n[0] * g[1]);
    FaV nw = v_if(m01, n[1], n[0]), gw = v_if(m01, g[1], g[0]), nl = v_if(m01, n[0], n[1]), gl = v_if(m01, g[0], g[1]);
    FaVm m2w = v_gt(n[2] * gw, nw * g[2]), m2l = v_gt(n[2] * gl, nl * g[2]);
    *n1 = v_if(m2w, n[2], nw);
    *n2 = v_if(m2w, nw, v_if(m2l, n[2], nl));
    FaV g1 = v_if(m2w, g[2], gw), g2 = v_if(m2w, gw, v_if(m2l, g[2], gl));
    for (int i = 0; i < 3; i++) {
        FaV x = b[3 * i], y = b[3 * i + 1], z = b[3 * i + 2];
        FaV win = v_if(m01, y, x), lose = v_if(m01, x, y);
        b1[i] = v_if(m2w, z, win);
        b2[i] = v_if(m2w, win, v_if(m2l, z, lose));
    }
    return v_gt(v_set(2.5e-13f) * (*n1 * g2) + v_set(1e-30f), *n2 * g1);
}

// What of a group is known while U, s and V are completed: b becomes u1, u2; w becomes v1, v2.
typedef struct SvdPair {
    FaV b1[3], b2[3], w1[3], w2[3];
    FaV s1, s2;
    FaVm flat, none;
} SvdPair;

// u1 from the largest column, v1 from A' u1. One division serves both lengths.
FA_LANE void svd_first(const FaV *a, const SvdColumns *c, SvdPair *f) {
    const FaV zero = v_set(0), one = v_set(1);
    FaV n1, n2, *b1 = f->b1, *w1 = f->w1;
    f->flat = svd_largest(c, b1, f->b2, &n1, &n2);
    f->none = v_lt(n1, v_set(1e-30f));
    for (int j = 0; j < 3; j++) w1[j] = dot3(a[j], a[3 + j], a[6 + j], b1[0], b1[1], b1[2]);
    b1[0] = v_if(f->none, one, b1[0]), w1[0] = v_if(f->none, one, w1[0]), n1 = v_if(f->none, one, n1);
    FaV p = v_sqrt(n1), q = v_sqrt(dot3(w1[0], w1[1], w1[2], w1[0], w1[1], w1[2]));
    FaV both = one / (p * q), r = both * q;
    for (int i = 0; i < 3; i++) b1[i] = v_fma(b1[i], r, zero), w1[i] = v_fma(w1[i], both * p, zero);
    f->s1 = v_if(f->none, zero, q * r);
}

// u2 from the next column, v2 from A' u2: at right angles to the first beyond doubt; any such where there is no second.
FA_LANE void svd_second(const FaV *a, SvdPair *f) {
    const FaV zero = v_set(0), one = v_set(1);
    FaV *b1 = f->b1, *b2 = f->b2, *w1 = f->w1, *w2 = f->w2, across[3];
    FaV along = dot3(b1[0], b1[1], b1[2], b2[0], b2[1], b2[2]);
    perpendicular3(b1, across);
    for (int i = 0; i < 3; i++) b2[i] = v_if(f->flat, across[i], v_fnma(along, b1[i], b2[i]));
    for (int j = 0; j < 3; j++) w2[j] = dot3(a[j], a[3 + j], a[6 + j], b2[0], b2[1], b2[2]);
    along = dot3(w1[0], w1[1], w1[2], w2[0], w2[1], w2[2]);
    perpendicular3(w1, across);
    for (int i = 0; i < 3; i++) w2[i] = v_if(f->flat, across[i], v_fnma(along, w1[i], w2[i]));
    FaV p = v_sqrt(dot3(b2[0], b2[1], b2[2], b2[0], b2[1], b2[2]));
    FaV q = v_sqrt(dot3(w2[0], w2[1], w2[2], w2[0], w2[1], w2[2]));
    FaV both = one / (p * q), r = both * q;
    for (int i = 0; i < 3; i++) b2[i] = v_fma(b2[i], r, zero), w2[i] = v_fma(w2[i], both * p, zero);
    f->s2 = v_min(v_if(f->flat, zero, q * r), f->s1);
}

// The third ones, and their value with its sign. + 0: a frozen lane's zeros may have changed their sign.
FA_LANE void svd_third(const FaV *a, const SvdPair *f, FaV *u, FaV *s, FaV *v) {
    const FaV zero = v_set(0);
    FaV u3[3], v3[3], w[3];
    cross3(f->b1, f->b2, u3);
    cross3(f->w1, f->w2, v3);
    for (int i = 0; i < 3; i++) w[i] = dot3(a[3 * i], a[3 * i + 1], a[3 * i + 2], v3[0], v3[1], v3[2]);
    s[0] = f->s1;
    s[1] = f->s2;
    s[2] = v_max(v_min(dot3(u3[0], u3[1], u3[2], w[0], w[1], w[2]), f->s2), zero - f->s2) + zero;
    for (int i = 0; i < 3; i++) {
        u[3 * i] = f->b1[i], u[3 * i + 1] = f->b2[i], u[3 * i + 2] = u3[i] + zero;
        v[3 * i] = f->w1[i], v[3 * i + 1] = f->w2[i], v[3 * i + 2] = v3[i] + zero;
    }
}

// Decompose the scaled matrices a of some groups; start (nullable): rotations V to begin with, near the results.
FA_LANE void svd_groups(int groups, FaV (*a)[9], FaV (*start)[9], FaV (*u)[9], FaV (*s)[3], FaV (*v)[9]) {
    SvdColumns c[SVD_GROUPS];
    SvdPair f[SVD_GROUPS];
    for (int k = 0; k < groups; k++) {
        if (start)
            mul33(a[k], start[k], c[k].b);
        else
            for (int e = 0; e < 9; e++) c[k].b[e] = a[k][e];
    }
    svd_columns(c, groups);
    for (int k = 0; k < groups; k++) svd_first(a[k], &c[k], &f[k]);
    for (int k = 0; k < groups; k++) svd_second(a[k], &f[k]);
    for (int k = 0; k < groups; k++) svd_third(a[k], &f[k], u[k], s[k], v[k]);
}

// --- the closest rotation only ------------------------------------------------------------------------------------

enum { POLAR_STEPS = 9, NEAR_STEPS = 6 }; // at most; four or five, and three or four are usual

// Rows of the cofactor matrix: a^-T times the determinant, which is returned. Symmetric to the bit where a is.
FA_LANE FaV cofactors(const FaV *a, FaV *c) {
    cross3(a + 3, a + 6, c);
    cross3(a + 6, a, c + 3);
    cross3(a, a + 3, c + 6);
    return dot3(a[0], a[1], a[2], c[0], c[1], c[2]);
}

FA_LANE FaV square9(const FaV *a) {
    FaV s0 = a[0] * a[0], s1 = a[1] * a[1], s2 = a[2] * a[2];
    for (int e = 3; e < 9; e += 3)
        s0 = v_fma(a[e], a[e], s0), s1 = v_fma(a[e + 1], a[e + 1], s1), s2 = v_fma(a[e + 2], a[e + 2], s2);
    return s0 + s1 + s2;
}

// Newton (Higham): X = (z X + X^-T / z) / 2 from the scaled matrices a, z balancing the first step. From then on all
// singular values are 1 or more, so the determinant alone tells how far they are: below 1 + 3e-4 one more step is
// exact. hard: lanes that are mirrored, nearly flat or do not converge; for them r is of no use.
FA_LANE void polar_newton(int groups, FaV (*a)[9], FaV (*r)[9], FaVm *hard) {
    const FaV half = v_set(0.5f), one = v_set(1), least = v_set(0.02f);
    FaVm live[SVD_GROUPS];
    for (int k = 0; k < groups; k++) {
        FaV c[9], det = cofactors(a[k], c);
        live[k] = v_gt(det, least);
        hard[k] = v_not(live[k]);
        det = v_max(det, least);
        FaV z = v_sqrt(v_sqrt(square9(c) / v_max(square9(a[k]), least)) / det), over = half / (z * det);
        z = half * z;
        for (int e = 0; e < 9; e++) r[k][e] = v_fma(z, a[k][e], over * c[e]);
    }
    for (int step = 0; step < POLAR_STEPS; step++) {
        FaVm any = v_none();
        for (int k = 0; k < groups; k++) {
            FaV c[9], det = cofactors(r[k], c), over = half / v_max(det, half);
            for (int e = 0; e < 9; e++) r[k][e] = v_if(live[k], v_fma(half, r[k][e], over * c[e]), r[k][e]);
            live[k] = v_both(live[k], v_gt(det, v_set(1.0003f)));
            any = v_either(any, live[k]);
        }
        if (!v_any(any)) break;
    }
    for (int k = 0; k < groups; k++) {
        hard[k] = v_either(hard[k], live[k]);
        for (int e = 0; e < 9; e++) r[k][e] = v_fma(r[k][e], one, v_set(0));
    }
}

// The cofactors of I + y and its determinant, both less those of I: c is cof(I + y) - I, returned is det(I + y) - 1. As
// many digits as y has, however small, and nothing at all where y is nothing.
FA_LANE FaV cofactors_less_one(const FaV *y, FaV *c) {
    const FaV one = v_set(1);
    FaV x0 = one + y[0], x4 = one + y[4], x8 = one + y[8];
    c[0] = v_fnma(y[5], y[7], v_fma(y[4], x8, y[8]));
    c[4] = v_fnma(y[2], y[6], v_fma(y[8], x0, y[0]));
    c[8] = v_fnma(y[1], y[3], v_fma(y[0], x4, y[4]));
    c[1] = v_fms(y[5], y[6], y[3] * x8), c[2] = v_fms(y[3], y[7], x4 * y[6]);
    c[3] = v_fms(y[2], y[7], y[1] * x8), c[5] = v_fms(y[1], y[6], x0 * y[7]);
    c[6] = v_fms(y[1], y[5], y[2] * x4), c[7] = v_fms(y[2], y[3], x0 * y[5]);
    return v_fma(y[2], c[2], v_fma(y[1], c[1], v_fma(x0, c[0], y[0])));
}

// The same for matrices I + y of order 1, in place, y becoming R - I with y's digits: Newton on y, each step scaled by
// 1 / (1 + g), which centres the singular values on 1 as well as the determinant 1 + d can tell. Between I + y and its
// inverse transposed the step weighs with a and b, a + b - 1 = (g^2 - 2 g d - d) / (2 (1 + g) (1 + d)).
FA_LANE void polar_near(int groups, FaV (*y)[9], FaVm *hard) {
    const FaV zero = v_set(0), half = v_set(0.5f), one = v_set(1), third = v_set(1.0f / 3);
    FaVm live[SVD_GROUPS];
    for (int k = 0; k < groups; k++) live[k] = v_all(), hard[k] = v_none();
    for (int step = 0; step < NEAR_STEPS; step++) {
        FaVm any = v_none();
        for (int k = 0; k < groups; k++) {
            FaV c[9], d = cofactors_less_one(y[k], c), det = one + d, g = v_min(third * d, one), s = one + g,
                      over = half / (s * det);
            FaV a = over * det, b = over * (s * s), shift = over * v_fms(g, g - (d + d), d);
            if (step == 0) {
                live[k] = v_both(v_gt(d, v_set(-0.9f)), v_lt(d, v_set(7)));
                hard[k] = v_not(live[k]);
            }
            for (int e = 0; e < 9; e++) {
                FaV next = v_fma(a, y[k][e], v_fma(b, c[e], e % 4 ? zero : shift));
                y[k][e] = v_if(live[k], next, y[k][e]);
            }
            // from the second step on all values are 1 or more, so that d bounds what is left: d^2 / 4 after this step
            if (step) live[k] = v_both(live[k], v_not(v_lt(d, v_set(4e-4f))));
            any = v_either(any, live[k]);
        }
        if (!v_any(any)) break;
    }
    for (int k = 0; k < groups; k++) hard[k] = v_either(hard[k], live[k]);
}

// The rotation U V' of one group by its decomposition.
FA_LANE void polar_svd(FaV (*a)[9], FaV *r) {
    FaV u[1][9], s[1][3], v[1][9];
    svd_groups(1, a, NULL, u, s, v);
    for (int e = 0; e < 9; e++) {
        const FaV *x = u[0] + e / 3 * 3, *y = v[0] + e % 3 * 3;
        r[e] = dot3(x[0], x[1], x[2], y[0], y[1], y[2]) + v_set(0);
    }
}

#endif
