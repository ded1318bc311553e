// See src/method/peer_svd.h. Eigen as its manual has it: one fixed-size JacobiSVD per matrix.
#include "bench/peer_svd.h"

#include <Eigen/Dense>
#include <cstddef>

extern "C" void fai_peer_svd(int n, const float *a, int stride, float *u, float *s, float *v) {
    const std::size_t row = static_cast<std::size_t>(stride);
    Eigen::JacobiSVD<Eigen::Matrix3f, Eigen::NoQRPreconditioner> svd;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); i++) {
        Eigen::Matrix3f m;
        for (int e = 0; e < 9; e++) m(e / 3, e % 3) = a[static_cast<std::size_t>(e) * row + i];
        svd.compute(m, Eigen::ComputeFullU | Eigen::ComputeFullV);
        for (int e = 0; e < 9; e++) {
            u[static_cast<std::size_t>(e) * row + i] = svd.matrixU()(e / 3, e % 3);
            v[static_cast<std::size_t>(e) * row + i] = svd.matrixV()(e / 3, e % 3);
        }
        for (int k = 0; k < 3; k++) s[static_cast<std::size_t>(k) * row + i] = svd.singularValues()(k);
    }
}
