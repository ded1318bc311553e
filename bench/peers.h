// Baselines on other people's libraries, measured in the same run as ours. C interface; built only where the library is
// there.
#ifndef FASCIA_PEERS_H
#define FASCIA_PEERS_H

#ifdef __cplusplus
extern "C" {
#endif

// Projective dynamics as one writes it in a day on Eigen: float, JacobiSVD per tet (OpenMP), one SimplicialLLT factored
// before the clock starts, alternating local and global steps. Same energies as ours: inertia, anchors, tet strain and
// volume.
typedef struct PeerBody {
    int nnode, ntet, nanchor;
    const double *x0, *mass;               // (nnode x 3), (nnode)
    const int *tet;                        // (ntet x 4)
    const double *tet_strain, *tet_volume; // (ntet)
    const int *anchor_node;                // (nanchor)
    const double *anchor_weight;           // (nanchor)
    double inertia;                        // 1/s2
    int threads;
} PeerBody;
typedef struct PeerProjective PeerProjective;
PeerProjective *peer_projective_new(const PeerBody *body); // 0 on failure
void peer_projective_free(PeerProjective *p);
typedef struct PeerFrame {
    const float *y;        // (nnode x 4)
    const float *anchor;   // (nanchor x 4) or 0
    const float *tet_rest; // 9 rows of stride or 0: posed rest, as FaElasticFrame
    int stride;
} PeerFrame;
typedef struct PeerStop {
    int iterations; // at most
    double energy;  // or when energy_of(u) is no more than this
    double (*energy_of)(void *ctx, const float *u);
    void *ctx;
} PeerStop;
// Iterate from u (nnode x 4, displacements; in and out); how many times. *seconds: of the iterations alone, energy
// checks not included.
int peer_projective_solve(PeerProjective *p, const PeerFrame *frame, const PeerStop *stop, float *u, double *seconds);

#ifdef __cplusplus
}
#endif
#endif
