// See src/method/peers.h. Plain on purpose: what a good engineer has after a day with Eigen's documentation, compiled
// with the same flags.
#include "bench/peers.h"

#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <chrono>
#include <cmath>
#include <vector>

using Matrix3 = Eigen::Matrix3f;
using Nodes = Eigen::Matrix<float, Eigen::Dynamic, 3>;
using Sparse = Eigen::SparseMatrix<float>;

struct PeerProjective {
    int nnode, ntet, nanchor, threads;
    Nodes x0;
    Eigen::VectorXf inertia; // inertia * mass
    std::vector<int> tet, anchor;
    std::vector<Matrix3> dm_inv;
    std::vector<float> strain, volume, anchor_weight;
    std::vector<Eigen::Matrix<float, 3, 4>> grad;         // of the four hat functions
    std::vector<std::vector<std::pair<int, int>>> around; // node -> (tet, corner): right-hand side without races
    std::vector<Eigen::Matrix<float, 3, 4>> pull;         // per tet: w_s R + w_v P times the gradients
    Eigen::SimplicialLLT<Sparse> llt;
    Nodes rhs;
};

// Closest singular values whose product is d: Gauss-Newton steps onto the constraint, keeping s - x normal to it.
static Eigen::Vector3f with_volume(const Eigen::Vector3f &s, float d) {
    Eigen::Vector3f x = s;
    for (int it = 0; it < 12; it++) {
        Eigen::Vector3f g(x[1] * x[2], x[0] * x[2], x[0] * x[1]), r = s - x;
        float gg = g.squaredNorm();
        if (gg < 1e-12f) break;
        Eigen::Vector3f next = s - g * ((g.dot(r) + x.prod() - d) / gg);
        if ((next - x).norm() < 1e-6f) return next;
        x = next;
    }
    return x;
}

PeerProjective *peer_projective_new(const PeerBody *b) {
    auto *p = new PeerProjective;
    p->nnode = b->nnode, p->ntet = b->ntet, p->nanchor = b->nanchor, p->threads = b->threads;
    p->x0.resize(b->nnode, 3);
    p->inertia.resize(b->nnode);
    for (int i = 0; i < b->nnode; i++) {
        for (int k = 0; k < 3; k++) p->x0(i, k) = (float)b->x0[3 * i + k];
        p->inertia[i] = (float)(b->inertia * b->mass[i]);
    }
    p->tet.assign(b->tet, b->tet + 4 * (size_t)b->ntet);
    p->anchor.assign(b->anchor_node, b->anchor_node + b->nanchor);
    p->anchor_weight.assign(b->anchor_weight, b->anchor_weight + b->nanchor);
    p->around.resize(b->nnode);
    std::vector<Eigen::Triplet<float>> entries;
    for (int i = 0; i < b->nnode; i++) entries.emplace_back(i, i, p->inertia[i]);
    for (int a = 0; a < b->nanchor; a++) entries.emplace_back(p->anchor[a], p->anchor[a], p->anchor_weight[a]);
    for (int t = 0; t < b->ntet; t++) {
        const int *n = b->tet + 4 * t;
        Eigen::Matrix3d dm;
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++) dm(k, c) = b->x0[3 * n[c + 1] + k] - b->x0[3 * n[0] + k];
        Eigen::Matrix3d inv = dm.inverse();
        Eigen::Matrix<double, 3, 4> g; // column i: gradient of node i's hat function
        g.block<3, 3>(0, 1) = inv.transpose();
        g.col(0) = -g.col(1) - g.col(2) - g.col(3);
        p->dm_inv.push_back(inv.cast<float>());
        p->grad.push_back(g.cast<float>());
        p->strain.push_back((float)b->tet_strain[t]);
        p->volume.push_back((float)b->tet_volume[t]);
        for (int i = 0; i < 4; i++) {
            p->around[n[i]].emplace_back(t, i);
            for (int j = 0; j < 4; j++)
                entries.emplace_back(n[i], n[j],
                                     (float)((b->tet_strain[t] + b->tet_volume[t]) * g.col(i).dot(g.col(j))));
        }
    }
    Sparse a(b->nnode, b->nnode);
    a.setFromTriplets(entries.begin(), entries.end());
    p->pull.resize(b->ntet);
    p->rhs.resize(b->nnode, 3);
    p->llt.compute(a);
    if (p->llt.info() != Eigen::Success) {
        delete p;
        return nullptr;
    }
    return p;
}

void peer_projective_free(PeerProjective *p) { delete p; }

static void local(PeerProjective *p, const Nodes &x, const float *tet_rest, int stride) {
#pragma omp parallel for num_threads(p->threads) schedule(static)
    for (int t = 0; t < p->ntet; t++) {
        const int *n = &p->tet[4 * (size_t)t];
        Matrix3 ds, rest = Matrix3::Identity();
        for (int c = 0; c < 3; c++) ds.col(c) = (x.row(n[c + 1]) - x.row(n[0])).transpose();
        Matrix3 f = ds * p->dm_inv[t];
        if (tet_rest)
            for (int e = 0; e < 9; e++) rest(e / 3, e % 3) = tet_rest[(size_t)e * stride + t];
        Eigen::JacobiSVD<Matrix3> svd(f, Eigen::ComputeFullU | Eigen::ComputeFullV);
        Matrix3 u = svd.matrixU(), v = svd.matrixV();
        Eigen::Vector3f s = svd.singularValues();
        if (u.determinant() < 0) u.col(2) = -u.col(2), s[2] = -s[2];
        if (v.determinant() < 0) v.col(2) = -v.col(2), s[2] = -s[2];
        Matrix3 strain = u * v.transpose();
        if (tet_rest) {
            Eigen::JacobiSVD<Matrix3> turn(f * rest.transpose(), Eigen::ComputeFullU | Eigen::ComputeFullV);
            Matrix3 a = turn.matrixU(), b = turn.matrixV();
            if ((a * b.transpose()).determinant() < 0) a.col(2) = -a.col(2);
            strain = a * b.transpose() * rest;
        }
        Matrix3 vol = u * with_volume(s, tet_rest ? rest.determinant() : 1).asDiagonal() * v.transpose();
        p->pull[t] = (p->strain[t] * strain + p->volume[t] * vol) * p->grad[t];
    }
}

int peer_projective_solve(PeerProjective *p, const PeerFrame *frame, const PeerStop *stop, float *u, double *seconds) {
    const float *y = frame->y, *anchor = frame->anchor;
    Nodes x(p->nnode, 3), start(p->nnode, 3);
    for (int i = 0; i < p->nnode; i++)
        for (int k = 0; k < 3; k++) {
            x(i, k) = p->x0(i, k) + u[4 * i + k];
            start(i, k) = p->inertia[i] * (p->x0(i, k) + y[4 * i + k]);
        }
    for (int a = 0; a < p->nanchor; a++)
        for (int k = 0; k < 3; k++)
            start(p->anchor[a], k) += p->anchor_weight[a] * (p->x0(p->anchor[a], k) + (anchor ? anchor[4 * a + k] : 0));
    *seconds = 0;
    int done = 0;
    while (done < stop->iterations && stop->energy_of(stop->ctx, u) > stop->energy) {
        auto begin = std::chrono::steady_clock::now();
        local(p, x, frame->tet_rest, frame->stride);
#pragma omp parallel for num_threads(p->threads) schedule(static)
        for (int i = 0; i < p->nnode; i++) {
            Eigen::Vector3f sum = start.row(i).transpose();
            for (auto &[t, c] : p->around[i]) sum += p->pull[t].col(c);
            p->rhs.row(i) = sum.transpose();
        }
        x = p->llt.solve(p->rhs);
        *seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        for (int i = 0; i < p->nnode; i++)
            for (int k = 0; k < 3; k++) u[4 * i + k] = x(i, k) - p->x0(i, k);
        done++;
    }
    return done;
}
