// Contact of a surface with itself and with rigid colliders: what may touch, what did on the way, how to answer.
//
// A frame of a simulation, with x_from the last frame's end (nothing crosses there) and x_to where the solver wants to
// go:
//     fai_contact_begin(c, x_from, colliders...)           sticky bonds break or stay; rows are cleared
//     do {  fai_contact_collect(c, x_from, x_to)           continuous tests along the path add response rows (they
//     stay)
//           solve with fai_contact_rows(c)                 -> x_to
//     } while (new rows meet on the way, a few times)
//     fai_contact_limit(c, x_from, x_to)                   what still would cross is stopped short of its impact
//     fai_contact_end(c, x_to, v)                          friction; new bonds where lips touched
// Positions are floats, nnode x 3, exactly those that the frame will output: the guarantee holds for the file.
// Pairs that share a vertex, or that the rest pose has crossing already, are left out (counted).
// Pairs of triangles that do not cross at x_from do not cross after limit, as far as the surface alone can see to that:
// a collider that runs into a stopped surface is counted (struck). The result does not depend on the number of threads;
// the generator of sticky breaking is seeded and counter-based.
#ifndef FAI_CONTACT_H
#define FAI_CONTACT_H

#include "base/base.h"
#include "contact/rows.h"
#include "fascia/clip.h"

typedef struct FaContactOptions {
    double gap;       // m, tau of eq. 5.16; 0: 1e-5
    double stiffness; // N/m per contact row; > 0
    double friction;  // 0..1: share of the tangential velocity that a touching vertex loses per frame at 60 Hz (5.4.1)
    double sticky_stiffness; // N/m per bond; 0: no bonds
    double sticky_length;    // m: where sticky_break of the bonds break ...; 0: 2 mm
    double sticky_break;     // ... in one step of 1/60 s (eq. 5.17: p_break(2 mm) = 0.1); > 0.018 = p_break(0); 0: 0.1
    double nearby;           // m: reach of fai_contact_nearby; 0: it is not used
    double soft;             // m: over which its rows' stiffness comes up, which begins that much before they touch
    int max_rows;            // at most, half of them bonds; the deepest stay, the rest is counted; 0: 4096
    uint64_t seed;
} FaContactOptions;

typedef struct FaContactSurface {
    int nnode, ntri;
    const int *tri;             // node indices, facing outwards                                    (ntri x 3)
    const float *x0;            // rest positions                                                   (nnode x 3)
    const unsigned char *touch; // bit 0: contact, bit 1: sticky, bit 2: hangs free, so that bonds do not ask where
                                // the artist's own pose has it; NULL: all, contact and sticky. A triangle takes
                                // part if all its corners do                                       (nnode)
} FaContactSurface;

// A rigid, animated mesh facing outwards, closed or not; its own frame is where it is when the face is at rest.
typedef struct FaContactBody {
    int nvert, ntri;
    const float *x; // own frame                                                        (nvert x 3)
    const int *tri;
} FaContactBody;

typedef struct FaContactStats {
    int candidates;      // pairs tested continuously in the last collect
    int rows, bonds;     // now
    int found;           // new rows in the last collect
    int limited;         // nodes stopped short in the last limit
    int rounds;          // of the last limit
    int broken, made;    // bonds, in this frame
    int dropped;         // rows over max_rows, in this frame
    bool held;           // the way in the last limit was so long that too many pairs meet, or this one and those before
                         // took too much work together: all stays at x_from
    int struck;          // pairs in the last limit in which a collider ran into what had been stopped: they may cross
    int stuck;           // pairs in the last limit that met already at x_from: they may touch or cross
    int crossed_at_rest; // pairs of triangles; left out
    int touching_at_rest; // pairs of vertex and triangle, edge and edge, at the same place; left out
} FaContactStats;

typedef struct FaContact FaContact;

// Everything is copied; memory for a frame is set aside. Free with fai_contact_free.
FaCode fai_contact_new(const FaContactSurface *surface, int ncollider, const FaContactBody *collider,
                       const FaContactOptions *options, FaContact **c, FaError *err);
void fai_contact_free(FaContact *c);
// Where contact has the surface at rest: x (nnode x 3) is changed where lips lie on each other at a distance of exactly
// nothing, and is theirs parted by 1e-5 m each. A simulation whose rest positions are these ends no frame crossed.
// How many points.
int fai_contact_part(const FaContact *c, float *x);
void fai_contact_reset(FaContact *c, const float *x); // no bonds, no rows

// h: s, of this step. pose: of each collider at the end of the step (head frame); vertices move linearly in between.
// NULL: as given to fai_contact_new. In the first step after a reset colliders stand still.
void fai_contact_begin(FaContact *c, double h, const float *x_from, const FaPose *pose);
// After begin: the artist's own pose at the end of the step, as displacements from rest (m, nnode x 4). What crosses
// there by more than pressed lips do, or where lips cross at rest, is held no farther from it (contact/own_pose.c).
void fai_contact_own_pose(FaContact *c, const float *u);
// After collect: how many edges x has much longer than that pose does (2.5 times, or more than 0.8 of their length at
// rest where the pose crushes them): rows that a solver has not yet brought together do this. 0 without rows.
int fai_contact_strained(const FaContact *c, const float *x);
int fai_contact_collect(FaContact *c, const float *x_from,
                        const float *x_to); // how many new rows meet on the way (others are near)
// Instead of collect, without a path: rows of each vertex with the triangles within options.nearby of x that face it,
// pushing along that surface's normal from whichever side it is on; together as stiff as one. They change evenly with
// x; what travels farther than the reach in a step is missed. How many rows.
int fai_contact_nearby(FaContact *c, const float *x);
// Is there no work left for this step? Then collect finds nothing more, and limit stops everything.
bool fai_contact_spent(const FaContact *c);
bool fai_contact_clear(
    const FaContact *c); // the last collect saw nothing meet, known pairs included: limit would change nothing
const FaRow *fai_contact_rows(const FaContact *c, int *nrow);
int fai_contact_limit(FaContact *c, const float *x_from, float *x_to); // how many nodes were stopped short
void fai_contact_end(FaContact *c, const float *x_to, float *v);       // v: m/s, nnode x 4, changed where things touch
FaContactStats fai_contact_stats(const FaContact *c);

// State between frames (bonds, generator's counter): for snapshots. Same size always.
size_t fai_contact_state_size(const FaContact *c);
void fai_contact_save(const FaContact *c, void *state);
FaCode fai_contact_load(FaContact *c, const void *state, FaError *err);

#endif
