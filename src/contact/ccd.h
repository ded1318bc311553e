// Continuous tests between two moving primitives: does a vertex meet a triangle, or an edge an edge, while all their
// corners move linearly from t = 0 to t = 1? Never misses: where rounding leaves a doubt, the answer is yes.
//
// A fixed direction n that separates the two primitives at two times separates them at all times in between, because
// every n . (corner - corner) is linear in t; for a direction that turns it is quadratic, and bounded by three numbers.
// So the path is walked from 0 in steps that each have such a witness, checked with a bound on rounding; the step ends
// where the witness does, and the next one comes from the closest points there. The walk ends at 1 (no), or where no
// witness carries on (yes). Any direction is a valid witness, a good one only makes longer steps, so degenerate input
// costs time or a yes, never a miss. The work is bounded.
#ifndef FAI_CCD_H
#define FAI_CCD_H

#include <stdbool.h>

typedef struct FaImpact {
    double t;         // of first contact, not later than the true one, 0..1
    double bary[4];   // vertex-triangle: of the triangle's corners in [0..2], [3] = 1; edge-edge: of a0 a1 b0 b1
    double normal[3]; // unit: from the triangle towards the vertex's side at t = 0; edges: from b to a's side
} FaImpact;

typedef enum FaPairKind { FA_PAIR_VERTEX_TRIANGLE, FA_PAIR_EDGE_EDGE } FaPairKind;

// p: the vertex, then the triangle's corners; at t = 0 and t = 1. min_gap: m, distance that already counts as meeting
// (>= 0; 1.001 of it may). Coordinates that are not finite, or beyond 1e100, always meet.
bool fai_ccd_vertex_triangle(const double p0[4][3], const double p1[4][3], double min_gap, FaImpact *impact);
// p: a0 a1 b0 b1.
bool fai_ccd_edge_edge(const double p0[4][3], const double p1[4][3], double min_gap, FaImpact *impact);

// The same for pairs that may start closer than min_gap: there the gap shrinks to `keep` (0..1) of the distance at
// t = 0, so that they are free to part and to slide, but not to meet.
bool fai_ccd_pair(FaPairKind kind, const double p0[4][3], const double p1[4][3], double min_gap, double keep,
                  FaImpact *impact);

// Are pairs apart all the way in an obvious direction? Bit l: pair l is, for certain; not set says nothing. from, to:
// positions, of which a fourth number behind the last is read too; point: as in p above. size: no coordinate is larger;
// all finite. simd: with AVX2; the result is the same.
enum { FA_CCD_LANES = 4 };
unsigned fai_ccd_apart_many(bool simd, FaPairKind kind, const double (*from)[3], const double (*to)[3],
                            const int point[FA_CCD_LANES][4], double min_gap, double size);

// The distance now, and (as in an impact) where and in which direction; `inside`, nullable: the closest points lie
// within the triangle, or within both edges, not on their ends. The normal is a unit vector also where the distance is
// 0.
double fai_pair_distance(FaPairKind kind, const double p[4][3], double bary[4], double normal[3], bool *inside);

#endif
