// Inside of FaSolid and FaSolidRest: elements in patches, structures of arrays, and patches in tiles (solid_layout.c),
// shared by solid.c, solid_blocks.c and the kernels. Inside, elements and their corners have an order of their own.
//
// The kernels (solid_kernels.inc) are plain loops over the elements of a patch without branches or sums across
// elements, which the compiler turns into vectors. Nothing is fused or reordered (-ffp-contract=off), so the build for
// AVX2 and the one for any processor give the same bits: the twin is the same source.
#ifndef FAI_SOLID_WORK_H
#define FAI_SOLID_WORK_H

#include "energy/solid.h"

enum {
    FA_SOLID_PATCH = 32, // elements of a patch
    FA_SOLID_CHUNK = 8,  // patches of a tile, which is a task
    FA_SOLID_PAIRS = 10, // blocks of an element: (0,0) (1,1) (2,2) (3,3) (0,1) (0,2) (0,3) (1,2) (1,3) (2,3)
};
#define FA_SOLID_FLOOR 0.2 // smallest singular value of a rest element against x0

// Of the topology. Fillers at the end of the last patch have node 0, no stiffness, and a place that nobody gathers.
typedef struct FaSolidPatch {
    int node[4][FA_SOLID_PATCH];
    int local[4][FA_SOLID_PATCH];       // place of each corner within its tile
    double inverse0[9][FA_SOLID_PATCH]; // Dm0^-1, 1/m
} FaSolidPatch;

// Of the rest shape. ga = row a - 1 of Dm^-1 is the gradient of corner a's shape function; corner 0's is minus their
// sum.
typedef struct FaSolidRestPatch {
    double inverse[9][FA_SOLID_PATCH];                 // Dm^-1, 1/m
    double mu[FA_SOLID_PATCH], lambda[FA_SOLID_PATCH]; // times volume, J
    double volume[FA_SOLID_PATCH];                     // m3
    float inverse_f[9][FA_SOLID_PATCH], mu_f[FA_SOLID_PATCH], lambda_f[FA_SOLID_PATCH];
} FaSolidRestPatch;

struct FaSolid {
    int nnode, ntet, npatch, ntile;
    FaSolidLaw law;
    int *tet;            // as given                                                       (ntet x 4)
    int *order;          // which of them is the k-th here                                 (ntet)
    FaSolidPatch *patch; // (npatch)
    int *tile;           // first place of each tile, then their number                    (ntile + 1)
    int *start;          // of each node in place[], then their number                     (nnode + 1)
    int *place;          // of each node in its tiles                                      (tile[ntile])
    bool avx2;
    FaArena *arena;
};

struct FaSolidRest {
    const FaSolid *solid;
    bool set;
    double *X;               // (nnode x 3)
    double *volume;          // (ntet)
    FaSolidRestPatch *patch; // (npatch)
    // scratch
    double *u, *from, *step; // x - X, damping.from - X, x - damping.from                 (nnode x 4)
    float *u_f, *from_f;     // the first two, for second derivatives                    (nnode x 4)
    double *sum;             // forces on the places of tiles, the last one for fillers  (tile[ntile] + 1, 4 each)
    double *part;            // sums of chunks
    int *count;              // the same
    FaArena *arena;
};

// Forces of a patch: per element energy[l] and corners' forces force[3 corner + axis][l].
typedef struct FaSolidForce {
    _Alignas(64) double energy[FA_SOLID_PATCH];
    double force[12][FA_SOLID_PATCH];
} FaSolidForce;

// Second derivatives of a patch: block[9 pair + 3 column + row][l].
typedef struct FaSolidSecond {
    _Alignas(64) float block[9 * FA_SOLID_PAIRS][FA_SOLID_PATCH];
} FaSolidSecond;

typedef struct FaSolidKernels {
    // Dm^-1, volume of the current rest shape; bad[l] != 0: measure it exactly, it may be crushed
    void (*rest)(const FaSolidPatch *p, const double *X, FaSolidRestPatch *out, unsigned char *bad);
    void (*force)(FaSolidLaw law, const FaSolidPatch *p, const FaSolidRestPatch *r, const double *u, FaSolidForce *out);
    // adds the damping's
    void (*damp)(const FaSolidPatch *p, const FaSolidRestPatch *r, double share, const double *from, const double *step,
                 FaSolidForce *out);
    // second derivatives times a step, in double: per element the change of corners' forces; energies set to 0
    void (*product)(FaSolidLaw law, const FaSolidPatch *p, const FaSolidRestPatch *r, const double *u,
                    const double *step, FaSolidForce *out);
    void (*second)(FaSolidLaw law, const FaSolidPatch *p, const FaSolidRestPatch *r, const float *u,
                   FaSolidSecond *out);
    void (*damp_second)(const FaSolidPatch *p, const FaSolidRestPatch *r, float share, const float *from,
                        FaSolidSecond *out);
    void (*complete)(FaSolidSecond *out); // blocks of corner 0
    void (*deform)(const FaSolidPatch *p, const FaSolidRestPatch *r, const float *u,
                   float (*F)[FA_SOLID_PATCH]); // 9 rows
    void (*volume_ratio)(const FaSolidPatch *p, const FaSolidRestPatch *r, const double *u, double *J);
    void (*scatter)(const FaSolidPatch *p, const FaSolidForce *f,
                    double *sum); // forces added to the places of the tile, 4 numbers each
    void (*gather)(const FaSolid *s, const double *sum, int begin, int end, double *g); // of nodes
} FaSolidKernels;

extern const FaSolidKernels fai_solid_kernels_ref;
#if defined(__x86_64__)
extern const FaSolidKernels fai_solid_kernels_avx2;
#endif
const FaSolidKernels *fai_solid_kernels(const FaSolid *s);

// Fills order, the patches' nodes and places, tile, start, place. s->tet has no bad numbers.
FaCode fai_solid_layout(FaSolid *s, const double *x0, FaError *err);

// Displacements and their kin into the rest's scratch. singles: floats as well.
void fai_solid_prepare(FaSolidRest *r, const double *x, const FaSolidDamping *damping, bool singles);

#endif
