// One element in double: energy density, stress and second derivatives by F, and their definite variants. The reference
// of the kernels; and PROJECTED and SAFE in production, where only they need singular values.
//
// Projection. For an isotropic W(F) with F = U diag(s) V', d2W/dF2 has a closed eigensystem (Smith, de Goes, Kim 2019):
// in the frame of U and V, a 3x3 matrix W_ij on the diagonal entries, and per pair (i, j) a twist and a flip with
// eigenvalues
//     (W_i + W_j) / (s_i + s_j)   and   (W_i - W_j) / (s_i - s_j)
// which for polynomial laws divide out.
#include "energy/solid_second.h"

#include "math/mat3.h"

#include <float.h>

// mu of the neo-Hookean part and of that of areas, and what (J - 1)^2 / 2 is worth. Mooney-Rivlin is the neo-Hookean
// law with another term: b ((|cof F|^2 - 3) / 2 - 2 (J - 1)).
typedef struct Parts {
    double a, b, bulk; // Pa
} Parts;

static Parts parts_of(FaSolidLaw law, double mu, double lambda) {
    double b = law == FA_SOLID_MOONEY ? FA_MOONEY_AREA * mu : 0;
    return (Parts){mu - b, b, law == FA_SOLID_STVK ? lambda : lambda + (mu - b)};
}

static void cofactors(const double a[9], double c[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            c[3 * i + j] = a[3 * i1 + j1] * a[3 * i2 + j2] - a[3 * i1 + j2] * a[3 * i2 + j1];
        }
}

// H += q d2J/dF2, which is linear in F: d2J / dF_ij dF_kl = sum of eps_ikm eps_jln F_mn.
static void add_second_volume(const double F[9], double q, double *H) {
    for (int i = 0; i < 3; i++)
        for (int d = 1; d < 3; d++)
            for (int j = 0; j < 3; j++)
                for (int e = 1; e < 3; e++) {
                    int k = (i + d) % 3, m = 3 - i - k, l = (j + e) % 3, n = 3 - j - l;
                    double sign = (d == e) ? 1 : -1;
                    H[9 * (3 * i + j) + 3 * k + l] += q * sign * F[3 * m + n];
                }
}

// a x b, entry by entry eps_ikl eps_jmn a_km b_ln: cof F = F x F / 2, so d cof F = F x dF.
static void cross(const double a[9], const double b[9], double out[9]) {
    double sum[9], ca[9], cb[9], both[9];
    for (int i = 0; i < 9; i++) both[i] = a[i] + b[i];
    cofactors(both, sum), cofactors(a, ca), cofactors(b, cb);
    for (int i = 0; i < 9; i++) out[i] = sum[i] - ca[i] - cb[i];
}

// The term of areas. N = cof F - 1: its ones cancelled as in the rest. P is added to.
static double areas(double b, const double G[9], const double c[9], double *P) {
    double N[9], NG[9], trace = G[0] + G[4] + G[8], size = 0, shrink = c[0] + c[4] + c[8];
    for (int i = 0; i < 9; i++) {
        N[i] = (i % 4 == 0 ? trace : 0) - G[i % 3 * 3 + i / 3] + c[i];
        size += N[i] * N[i];
    }
    cross(N, G, NG);
    for (int i = 0; P && i < 9; i++) {
        int t = i % 3 * 3 + i / 3;
        P[i] += b * (G[i] + G[t] + (i % 4 == 0 ? shrink : 0) - c[t] - 2 * c[i] + NG[i]);
    }
    return b * (0.5 * size - shrink - 2 * (G[0] * c[0] + G[1] * c[1] + G[2] * c[2]));
}

// H += b d2(|cof F|^2 / 2).
static void add_second_areas(const double F[9], double b, double *H) {
    double B[9], C[9], t[9], size = 0;
    fai_m3_transpose(F, t);
    fai_m3_mul(F, t, B), fai_m3_mul(t, F, C);
    for (int i = 0; i < 9; i++) size += F[i] * F[i];
    for (int p = 0; p < 9; p++)
        for (int q = 0; q < 9; q++) {
            int i = p / 3, k = p % 3, l = q / 3, n = q % 3;
            H[9 * p + q] += b * (2 * F[p] * F[q] + size * (p == q) - (i == l) * C[3 * n + k] -
                                 F[3 * i + n] * F[3 * l + k] - (k == n) * B[3 * i + l]);
        }
}

// How P and H depend on the law: P = F S + q cof F, H = d(F S) + k cof cof' + q d2J.
double fai_solid_density(FaSolidLaw law, double mu, double lambda, const double G[9], double P[9], double *H) {
    double F[9], E[9], c[9], C[9], size = 0, trace = G[0] + G[4] + G[8];
    cofactors(G, c);
    for (int i = 0; i < 9; i++) F[i] = G[i] + (i % 4 == 0), size += G[i] * G[i];
    cofactors(F, C);
    double more = c[0] + c[4] + c[8] + (G[0] * c[0] + G[1] * c[1] + G[2] * c[2]), j = trace + more, energy;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            E[3 * i + k] =
                0.5 * (G[3 * i + k] + G[3 * k + i] + (G[i] * G[k] + G[3 + i] * G[3 + k] + G[6 + i] * G[6 + k]));
    Parts m = parts_of(law, mu, lambda);
    double bulk = m.bulk, q = bulk * j;
    if (law == FA_SOLID_STVK) {
        double square = 0, FE[9];
        for (int i = 0; i < 9; i++) square += E[i] * E[i];
        fai_m3_mul(F, E, FE);
        energy = mu * square + 0.5 * q * j;
        for (int i = 0; P && i < 9; i++) P[i] = 2 * mu * FE[i] + q * C[i];
    } else {
        energy = m.a * (0.5 * size - more) + 0.5 * q * j;
        q -= m.a;
        for (int i = 0; P && i < 9; i++) {
            double gap = G[i] + G[i / 3 + i % 3 * 3] - (i % 4 == 0 ? trace : 0) - c[i]; // F - cof F
            P[i] = m.a * gap + (q + m.a) * C[i];
        }
        if (m.b > 0) energy += areas(m.b, G, c, P);
    }
    if (!H) return energy;
    for (int a = 0; a < 9; a++)
        for (int b = 0; b < 9; b++) {
            int i = a / 3, k = a % 3, l = b / 3, n = b % 3;
            double h = bulk * C[a] * C[b];
            if (law == FA_SOLID_STVK) {
                double left = 0; // (F F')_il
                for (int o = 0; o < 3; o++) left += F[3 * i + o] * F[3 * l + o];
                h += 2 * mu * (i == l) * E[3 * n + k] + mu * (F[3 * i + n] * F[3 * l + k] + (k == n) * left);
            } else {
                h += m.a * (a == b);
            }
            H[9 * a + b] = h;
        }
    if (m.b > 0) add_second_areas(F, m.b, H);
    add_second_volume(F, q - 2 * m.b, H);
    return energy;
}

// --- definite variants --------------------------------------------------------------------------------------------

// The symmetric 3x3 matrix without its negative part; returns whether there was one.
static bool positive_part(double m[9]) {
    double v[9];
    fai_m3_identity(v);
    for (int sweep = 0; sweep < 12; sweep++) {
        double off = m[1] * m[1] + m[2] * m[2] + m[5] * m[5];
        if (!(off > 1e-40 * (m[0] * m[0] + m[4] * m[4] + m[8] * m[8]))) break;
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                double apq = m[3 * p + q];
                if (apq == 0) continue;
                double theta = (m[4 * q] - m[4 * p]) / (2 * apq);
                double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1),
                       s = t * c;
                for (int k = 0; k < 3; k++) {
                    double a = m[3 * k + p], b = m[3 * k + q];
                    m[3 * k + p] = c * a - s * b, m[3 * k + q] = s * a + c * b;
                }
                for (int k = 0; k < 3; k++) {
                    double a = m[3 * p + k], b = m[3 * q + k];
                    m[3 * p + k] = c * a - s * b, m[3 * q + k] = s * a + c * b;
                }
                for (int k = 0; k < 3; k++) {
                    double a = v[3 * k + p], b = v[3 * k + q];
                    v[3 * k + p] = c * a - s * b, v[3 * k + q] = s * a + c * b;
                }
            }
    }
    double d[3] = {m[0], m[4], m[8]};
    bool negative = false;
    for (int k = 0; k < 3; k++) negative |= d[k] < 0, d[k] = fmax(d[k], 0);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m[3 * i + j] =
                d[0] * v[3 * i] * v[3 * j] + d[1] * v[3 * i + 1] * v[3 * j + 1] + d[2] * v[3 * i + 2] * v[3 * j + 2];
    return negative;
}

bool fai_solid_project(FaSolidLaw law, double mu, double lambda, const double s[3], FaSolidFrame *out) {
    Parts m = parts_of(law, mu, lambda);
    double J = s[0] * s[1] * s[2], q = m.bulk * (J - 1) - (law == FA_SOLID_STVK ? 0 : m.a + 2 * m.b);
    bool changed = false;
    for (int p = 0; p < 3; p++) {
        int i = (p + 1) % 3, j = (p + 2) % 3;
        double sum = m.a + m.b * s[p] * s[p], flip = sum - m.b * s[i] * s[j], twist = sum + m.b * s[i] * s[j];
        if (law == FA_SOLID_STVK) {
            sum = s[i] * s[i] + s[j] * s[j] - 1;
            flip = mu * (sum + s[i] * s[j]), twist = mu * (sum - s[i] * s[j]);
        }
        flip -= q * s[p], twist += q * s[p]; // on (ij + ji)/sqrt 2 resp. (ij - ji)/sqrt 2
        changed |= flip < 0 || twist < 0;
        out->flip[p] = fmax(flip, 0), out->twist[p] = fmax(twist, 0);
        out->scale[4 * p] =
            (law == FA_SOLID_STVK ? mu * (3 * s[p] * s[p] - 1) : m.a + m.b * (s[i] * s[i] + s[j] * s[j])) +
            m.bulk * s[i] * s[j] * s[i] * s[j];
        out->scale[3 * i + j] = out->scale[3 * j + i] = (2 * m.b + m.bulk * s[p] * s[p]) * s[i] * s[j] + q * s[p];
    }
    return positive_part(out->scale) || changed;
}

void fai_solid_safe(FaSolidLaw law, double mu, double lambda, const double s[3], FaSolidFrame *out) {
    // geometric term: 2 mu E's positive part in V's frame, times dF; then mu F (dF'F + F'dF) and the square of cof F;
    // of areas b |d cof F|^2
    Parts part = parts_of(law, mu, lambda);
    double bulk = part.bulk, g[3], m = law == FA_SOLID_STVK ? mu : 0;
    for (int k = 0; k < 3; k++) g[k] = law == FA_SOLID_STVK ? mu * fmax(s[k] * s[k] - 1, 0) : part.a;
    for (int p = 0; p < 3; p++) {
        int i = (p + 1) % 3, j = (p + 2) % 3;
        // entries ij and ji: [ g_j + m s_i^2, m s_i s_j; m s_i s_j, g_i + m s_j^2 ]
        double b = part.b * s[p] * s[p];
        out->pair[p][0] = g[j] + m * s[i] * s[i] + b, out->pair[p][1] = m * s[i] * s[j],
        out->pair[p][2] = g[i] + m * s[j] * s[j] + b;
        out->scale[4 * p] =
            g[p] + 2 * m * s[p] * s[p] + part.b * (s[i] * s[i] + s[j] * s[j]) + bulk * s[i] * s[j] * s[i] * s[j];
        out->scale[3 * i + j] = out->scale[3 * j + i] = (part.b + bulk * s[p] * s[p]) * s[i] * s[j];
    }
}

void fai_solid_pairs(FaSolidFrame *f) {
    for (int p = 0; p < 3; p++) {
        f->pair[p][0] = f->pair[p][2] = 0.5 * (f->flip[p] + f->twist[p]);
        f->pair[p][1] = 0.5 * (f->flip[p] - f->twist[p]);
    }
}

bool fai_solid_density_hessian(FaSolidLaw law, double mu, double lambda, const double G[9], FaSolidHessian kind,
                               double H[81]) {
    double F[9], U[9], s[3], V[9];
    for (int i = 0; i < 9; i++) F[i] = G[i] + (i % 4 == 0);
    fai_m3_svd(F, U, s, V);
    FaSolidFrame f;
    bool indefinite = fai_solid_project(law, mu, lambda, s, &f);
    if (kind == FA_HESSIAN_TRUE) {
        fai_solid_density(law, mu, lambda, G, NULL, H);
        return indefinite;
    }
    if (kind == FA_HESSIAN_SAFE)
        fai_solid_safe(law, mu, lambda, s, &f);
    else
        fai_solid_pairs(&f);
    // in the frame: diagonal entries, and pairs ij, ji
    double K[81] = {0}, T[81] = {0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) K[9 * 4 * i + 4 * j] = f.scale[3 * i + j];
    for (int p = 0; p < 3; p++) {
        int i = (p + 1) % 3, j = (p + 2) % 3, a = 3 * i + j, b = 3 * j + i;
        K[9 * a + a] = f.pair[p][0], K[9 * a + b] = K[9 * b + a] = f.pair[p][1], K[9 * b + b] = f.pair[p][2];
    }
    // H = Q K Q', Q_(ab),(ij) = U_ai V_bj
    for (int r = 0; r < 9; r++)
        for (int c = 0; c < 9; c++)
            for (int k = 0; k < 9; k++) T[9 * r + c] += U[r / 3 * 3 + k / 3] * V[r % 3 * 3 + k % 3] * K[9 * k + c];
    for (int r = 0; r < 9; r++)
        for (int c = 0; c < 9; c++) {
            double sum = 0;
            for (int k = 0; k < 9; k++) sum += T[9 * r + k] * U[c / 3 * 3 + k / 3] * V[c % 3 * 3 + k % 3];
            H[9 * r + c] = sum;
        }
    return indefinite;
}
