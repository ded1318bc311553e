#include "math/mat3.h"

#include <float.h>

bool fai_m3_inverse(const double a[9], double out[9]) {
    double det = fai_m3_det(a);
    if (det == 0 || !isfinite(det)) return false;
    double m[9] = {a[4] * a[8] - a[5] * a[7], a[2] * a[7] - a[1] * a[8], a[1] * a[5] - a[2] * a[4],
                   a[5] * a[6] - a[3] * a[8], a[0] * a[8] - a[2] * a[6], a[2] * a[3] - a[0] * a[5],
                   a[3] * a[7] - a[4] * a[6], a[1] * a[6] - a[0] * a[7], a[0] * a[4] - a[1] * a[3]};
    for (int i = 0; i < 9; i++) out[i] = m[i] / det;
    return true;
}

// --- singular values: one-sided Jacobi ----------------------------------------------------------------------------
//
// Columns of b = a v are turned against each other until they are at right angles; their lengths are the singular
// values to full relative accuracy, which the eigenvalues of a'a would not give.

// Turn columns p and q of b and of v; false if they are at right angles already.
static bool turn_columns(double b[9], double v[9], int p, int q) {
    double pp = 0, qq = 0, pq = 0;
    for (int i = 0; i < 3; i++) {
        pp += b[3 * i + p] * b[3 * i + p];
        qq += b[3 * i + q] * b[3 * i + q];
        pq += b[3 * i + p] * b[3 * i + q];
    }
    if (fabs(pq) <= DBL_EPSILON * sqrt(pp * qq) || pq == 0) return false;
    double half = (qq - pp) / (2 * pq);
    double t = (half >= 0 ? 1 : -1) / (fabs(half) + sqrt(1 + half * half));
    double c = 1 / sqrt(1 + t * t), s = c * t;
    for (int i = 0; i < 3; i++) {
        double x = b[3 * i + p], y = b[3 * i + q];
        b[3 * i + p] = c * x - s * y;
        b[3 * i + q] = s * x + c * y;
        x = v[3 * i + p];
        y = v[3 * i + q];
        v[3 * i + p] = c * x - s * y;
        v[3 * i + q] = s * x + c * y;
    }
    return true;
}

// Exchange two columns of both and negate one, so that v stays a proper rotation.
static void swap_columns(double b[9], double v[9], double s[3], int p, int q) {
    for (int i = 0; i < 3; i++) {
        double x = b[3 * i + p], y = v[3 * i + p];
        b[3 * i + p] = b[3 * i + q];
        b[3 * i + q] = -x;
        v[3 * i + p] = v[3 * i + q];
        v[3 * i + q] = -y;
    }
    double t = s[p];
    s[p] = s[q];
    s[q] = t;
}

// A unit vector at right angles to the unit vector a.
static void any_perpendicular(const double a[3], double out[3]) {
    int axis = fabs(a[0]) <= fabs(a[1]) ? 0 : 1;
    if (fabs(a[2]) < fabs(a[axis])) axis = 2;
    double e[3] = {axis == 0, axis == 1, axis == 2};
    fai_v3_mad(e, -a[axis], a, out);
    fai_v3_normalize(out);
}

void fai_m3_svd(const double a[9], double u[9], double s[3], double v[9]) {
    double b[9], size = 0;
    for (int i = 0; i < 9; i++) size = fmax(size, fabs(a[i]));
    if (!(size > 0)) size = 1;
    for (int i = 0; i < 9; i++) b[i] = a[i] / size;
    fai_m3_identity(v);
    for (int sweep = 0; sweep < 30; sweep++) {
        bool turned = turn_columns(b, v, 0, 1);
        turned |= turn_columns(b, v, 0, 2);
        turned |= turn_columns(b, v, 1, 2);
        if (!turned) break;
    }
    double column[3][3];
    for (int j = 0; j < 3; j++) s[j] = sqrt(b[j] * b[j] + b[3 + j] * b[3 + j] + b[6 + j] * b[6 + j]);
    if (s[0] < s[1]) swap_columns(b, v, s, 0, 1);
    if (s[1] < s[2]) swap_columns(b, v, s, 1, 2);
    if (s[0] < s[1]) swap_columns(b, v, s, 0, 1);
    for (int j = 0; j < 3; j++) fai_v3_set(column[j], b[j], b[3 + j], b[6 + j]);

    // u's columns are b's, normalised; what has no direction left is chosen at right angles, and the third always is,
    // so that u is a proper rotation and a mirroring shows in the sign of s[2]
    double first[3], second[3], third[3];
    memcpy(first, column[0], sizeof first);
    if (!fai_v3_normalize(first)) fai_v3_set(first, 1, 0, 0);
    fai_v3_mad(column[1], -fai_v3_dot(first, column[1]), first, second);
    fai_v3_normalize(second); // and once more, since what was left may have been rounding only
    fai_v3_mad(second, -fai_v3_dot(first, second), first, second);
    if (!fai_v3_normalize(second)) any_perpendicular(first, second);
    fai_v3_cross(first, second, third);
    s[0] *= size;
    s[1] *= size;
    s[2] = fai_v3_dot(third, column[2]) * size;
    for (int i = 0; i < 3; i++) {
        u[3 * i] = first[i];
        u[3 * i + 1] = second[i];
        u[3 * i + 2] = third[i];
    }
}

void fai_m3_polar(const double a[9], double r[9], double s[9]) {
    double u[9], sigma[3], v[9], vt[9], m[9];
    fai_m3_svd(a, u, sigma, v);
    fai_m3_transpose(v, vt);
    if (s) {
        for (int i = 0; i < 9; i++) m[i] = v[i] * sigma[i % 3];
        fai_m3_mul(m, vt, s);
        // symmetric to the bit
        s[3] = s[1] = (s[1] + s[3]) / 2;
        s[6] = s[2] = (s[2] + s[6]) / 2;
        s[7] = s[5] = (s[5] + s[7]) / 2;
    }
    fai_m3_mul(u, vt, r);
}

// --- quaternions --------------------------------------------------------------------------------------------------

bool fai_q_normalize(double q[4]) {
    double size = fmax(fmax(fabs(q[0]), fabs(q[1])), fmax(fabs(q[2]), fabs(q[3])));
    if (!(size > 0) || !isfinite(size) || !isfinite(q[0] + q[1] + q[2] + q[3])) return false;
    double p[4];
    for (int k = 0; k < 4; k++) p[k] = q[k] / size;
    double length = sqrt(fai_q_dot(p, p));
    for (int k = 0; k < 4; k++) q[k] = p[k] / length;
    return true;
}

void fai_q_to_m3(const double q[4], double m[9]) {
    double x = q[0], y = q[1], z = q[2], w = q[3];
    double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
                   2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                   2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};
    memcpy(m, r, sizeof r);
}

// The largest of the four components is found first: the others follow from it without loss.
void fai_q_from_m3(const double m[9], double q[4]) {
    double four[4] = {1 + m[0] - m[4] - m[8], 1 - m[0] + m[4] - m[8], 1 - m[0] - m[4] + m[8], 1 + m[0] + m[4] + m[8]};
    int big = 3;
    for (int k = 0; k < 3; k++)
        if (four[k] > four[big]) big = k;
    double r[4];
    r[big] = four[big];
    if (big == 3) {
        r[0] = m[7] - m[5];
        r[1] = m[2] - m[6];
        r[2] = m[3] - m[1];
    } else {
        int i = big, j = (big + 1) % 3, k = (big + 2) % 3;
        r[j] = m[3 * j + i] + m[3 * i + j];
        r[k] = m[3 * k + i] + m[3 * i + k];
        r[3] = m[3 * k + j] - m[3 * j + k];
    }
    double sign = r[3] < 0 ? -1 : 1;
    for (int c = 0; c < 4; c++) r[c] *= sign;
    if (!fai_q_normalize(r)) memcpy(r, (double[4]){0, 0, 0, 1}, sizeof r);
    memcpy(q, r, sizeof r);
}

void fai_q_exp(const double r[3], double q[4]) {
    double angle = fai_v3_norm(r);
    // sin(a/2)/a, by its series where the quotient would lose bits
    double a2 = angle * angle;
    double factor = angle < 1e-4 ? 0.5 - a2 / 48 : sin(angle / 2) / angle;
    double w = cos(angle / 2);
    fai_v3_scale(factor, r, q);
    q[3] = w;
}

void fai_q_log(const double q[4], double r[3]) {
    double sign = q[3] < 0 ? -1 : 1, length = fai_v3_norm(q), w = fabs(q[3]);
    // angle / sin(angle / 2): atan2 keeps small and large angles alike
    double factor = length < 1e-8 ? 2 / w : 2 * atan2(length, w) / length;
    fai_v3_scale(sign * factor, q, r);
}

void fai_q_slerp(const double a[4], const double b[4], double t, double out[4]) {
    double sign = fai_q_dot(a, b) < 0 ? -1 : 1, sum = 0, difference = 0, q[4];
    for (int k = 0; k < 4; k++) {
        sum += (sign * b[k] + a[k]) * (sign * b[k] + a[k]);
        difference += (sign * b[k] - a[k]) * (sign * b[k] - a[k]);
    }
    double angle = 2 * atan2(sqrt(difference), sqrt(sum));
    double from = 1 - t, to = t;
    if (angle > 1e-6) {
        from = sin((1 - t) * angle) / sin(angle);
        to = sin(t * angle) / sin(angle);
    }
    for (int k = 0; k < 4; k++) q[k] = from * a[k] + to * sign * b[k];
    if (!fai_q_normalize(q)) memcpy(q, a, sizeof q);
    memcpy(out, q, sizeof q);
}

// --- poses --------------------------------------------------------------------------------------------------------

FaPose fai_pose_mul(const FaPose *a, const FaPose *b) {
    FaPose m;
    fai_pose_apply(a, b->p, m.p);
    fai_q_mul(a->q, b->q, m.q);
    return m;
}

FaPose fai_pose_inverse(const FaPose *a) {
    FaPose m;
    fai_q_conj(a->q, m.q);
    fai_q_rotate(m.q, a->p, m.p);
    fai_v3_scale(-1, m.p, m.p);
    return m;
}
