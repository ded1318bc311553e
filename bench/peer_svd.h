// The peer of bench svd: Eigen's JacobiSVD on the same matrices (bench/peers/eigen_svd.cpp), built where a C++ compiler
// and Eigen 3 are found; FA_HAVE_EIGEN_PEER says so.
#ifndef FAI_PEER_SVD_H
#define FAI_PEER_SVD_H

#ifdef __cplusplus
extern "C" {
#endif

// Row-major entries in rows of `stride`, as math/svd.h. u and v orthogonal, s sorted and positive: Eigen's convention.
void fai_peer_svd(int n, const float *a, int stride, float *u, float *s, float *v);

#ifdef __cplusplus
}
#endif

#endif
