// A network's template laid over a rig: which of its nodes each vertex of the rig follows, and the rig's neutral and
// shapes as the template has them. docs/method/neural.md, "Run-time".
#ifndef FAI_LAY_H
#define FAI_LAY_H

#include "fascia/neural.h"
#include "math/csr.h"
#include "neural/net.h"

typedef struct FaLay {
    double scale, turn[9], move[3]; // template = scale turn x + move, x of the rig
    FaCsr carry;                    // nodes of the template for each vertex of the rig            (nvert x net nvert)
    float *neutral;                 // the rig's, m                                          (net nvert x 3)
    float *shape;                   // the rig's, m                                 (nshape x net nvert x 3)
} FaLay;

// FA_E_MESH where the rig is no face that the network knows: too few shapes known by name, half of a face, lips that
// the wrong way round move. report is filled as far as it got.
FaCode fai_lay(const FaNet *net, const FaRig *rig, FaLay *lay, FaNeuralReport *report, FaError *err);
void fai_lay_free(FaLay *lay); // empty is fine

#endif
