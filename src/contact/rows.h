// Response rows: what contact and sticky bonds hand to a solver. Each is a linear function of up to four nodes.
//
// Solvers work with displacements u from the rest positions X0, so a row carries its value at u = 0:
//     s(u) = offset + sum of weight[j] u[node[j]]          (3-vector; thesis 001 eq. 5.14)
// PUSH  (eq. 5.15-5.16)  E = k/2 min(n.s - gap, 0)^2       n points so that n.s > 0 is "not crossed"
//       soft > 0, for Newton's method (others take it as 0): the stiffness comes up evenly with the depth p = gap -
//       n.s,
//                        E = k p^3 / (6 soft) up to p = soft, k/2 (p - soft/2)^2 + k soft^2 / 24 beyond
//       friction > 0, for Newton's method (others have none): E += friction f(|t|), t the part of s - stick across n;
//                        f' rises as 2y - y^2, y = |t| / slip, up to 1 at y = 1 and stays there. The force never
//                        exceeds `friction`; convex and once differentiable, so that a line search stays one
// PULL  (eq. 5.17)       E = k/2 |s|^2                      a sticky bond of zero rest length
#ifndef FAI_ROWS_H
#define FAI_ROWS_H

typedef enum FaRowKind { FA_ROW_PUSH, FA_ROW_PULL } FaRowKind;

typedef struct FaRow {
    int node[4];     // -1 = unused slot
    float weight[4]; // signed barycentric weights
    float offset[3]; // m: sum of weight[j] X0[node[j]], minus the point on a collider, rounded once from double
    float normal[3]; // PUSH: unit
    float gap;       // PUSH: m, tau of eq. 5.16
    float stiffness; // N/m
    float soft;      // PUSH: m
    FaRowKind kind;
    float friction; // PUSH: N, at most: Coulomb's coefficient times a normal force known before the solve; 0: none
    float slip;     // m: how far it gives before it slides
    float stick[3]; // m: s where nothing pulls
} FaRow;

#endif
