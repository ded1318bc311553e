// Where flesh is: inside the skin, outside of eyes and bones. Asked at points by the mesher (filled.c).
#ifndef FAI_FILLED_DOMAIN_H
#define FAI_FILLED_DOMAIN_H

#include "build/filled.h"
#include "mesh/closest.h"
#include "mesh/mesh.h"
#include "mesh/winding.h"
#include "rig/mean_head.h"

enum { FA_FILLED_EYES = 8 };
typedef struct FaFilledBall {
    double at[3], r;
} FaFilledBall;

typedef struct FaFilledDomain {
    const FaRig *rig;
    const FaFace *face;
    double size; // of the head against an adult's
    FaMeanHead mean;
    // the skin of the face, closed: holes at the neck or the edge of a mask, of eyes and of a mouth without a bag
    int nvert, ntri, nwall; // tri: walls first (skin, and a bag where the mouth has none), then caps of eyes and cuts
    float *x;               // skin nodes first                                               (nvert x 3)
    int *tri;               //                                                                (ntri x 3)
    int *skin_of;           // a skin node for each vertex: itself, or one it was made from   (nvert)
    int ncap;               // triangles of cuts, the last ones
    FaWinding *winding;
    FaClosest *wall, *outer, *cut; // walls; those that light reaches; where the flesh is cut off (NULL: nowhere)
    int *outer_tri;                // wall of each triangle of `outer`
    FaClosest *bone[2];            // skull, jaw; NULL: none
    FaWinding *bone_winding[2];    //
    float *normal;                 // unit, outwards                                          (nskin x 3)
    unsigned char *exposed;        // light reaches it                                        (nskin)
    unsigned char *held;           // on a cut: see fai_filled_edge                           (nskin)
    unsigned char *hard;           // FaFilledKind: teeth and gums of the skin's own mesh     (nskin)
    signed char *lip, *lid;        // 1 upper, -1 lower, 0 neither                            (nskin)
    float *with_jaw;               // 0 skull .. 1 jaw: the skin, as the shapes have it       (nskin)
    float *opening;   // how the shapes move it with the jaw opened by 14 degrees, m                 (nskin x 3)
    float *jaw_below; // the same of the bone below it                           (nskin)
    float *depth;     // of flesh below it, m, where no bone tells               (nskin)
    FaTopology *topo; // of the skin nodes
    int neye;
    FaFilledBall eye[FA_FILLED_EYES];
    double lip_lo[3], lip_hi[3]; // box of the lips, canonical axes; lo > hi: unknown
    FaArena *arena;
} FaFilledDomain;

typedef struct FaFilledPlace {
    bool inside;       // of the skin and of no eye
    double wall;       // m to the nearest wall
    int near;          // skin node there; where the skin crosses itself, of the wall that the place belongs to
    double cut;        // m to where the flesh is cut off, INFINITY: far
    double eye;        // m to the nearest eyeball, INFINITY: none
    double bone;       // m below the bone's surface; negative: above
    FaFilledKind kind; // what carries the bone; FREE: between skull and jaw, nobody knows
    double on_bone[3]; // the place moved to the bone's surface
} FaFilledPlace;

FaCode fai_filled_domain(const FaRig *rig, const FaFace *face, FaFilledDomain *domain, FaError *err);
void fai_filled_domain_free(FaFilledDomain *domain);
// Thread-safe; wall: the nearest one, within reach (may be INFINITY).
FaHit fai_filled_wall(const FaFilledDomain *domain, const double p[3], double reach);
FaFilledPlace fai_filled_place(const FaFilledDomain *domain, const double p[3], const FaHit *wall);
double fai_filled_bone(const FaFilledDomain *domain, const double p[3]); // `bone` of a place that is inside
// Does the straight way between two points (from share `from` to share `to` of it) leave through a wall?
bool fai_filled_crosses(const FaFilledDomain *domain, const float a[3], const float b[3], double from, double to);
bool fai_filled_in_eye(const FaFilledDomain *domain, const double p[3]);
// Along the skin's edges, is b within reach of a (skin nodes)? Looked for among so many nodes at most.
enum { FA_FILLED_REACH = 400 };
bool fai_filled_near(const FaFilledDomain *domain, int a, int b, double reach);

// Into domain->hard, before lips are told (filled_teeth.c).
FaCode fai_filled_teeth(FaFilledDomain *domain, FaError *err);

// What carries the edge where flesh is cut off, at a skin node: the skull; on a mask that ends at the chin, the jaw.
FaFilledKind fai_filled_edge(const FaFilledDomain *d, int skin);

#endif
