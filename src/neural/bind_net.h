// A network bound to a rig: the file of libfascia-rt (neural/rt_layout.h), made in memory.
#ifndef FAI_BIND_NET_H
#define FAI_BIND_NET_H

#include "fascia/neural.h"
#include "neural/net.h"
#include "neural/rt_layout.h"

struct FaNeural {
    unsigned char *data;
    size_t size;
    FaRtNumbers n;
    size_t at[FA_RT_SECTIONS + 1]; // of the sections in data
};

FaCode fai_neural_bind_net(const FaNet *net, const FaRig *rig, FaNeuralPrecision precision, FaNeural **bound,
                           FaNeuralReport *report, FaError *err);
// The network that ships, from the program's own bytes; FA_E_UNSUPPORTED: none is built in.
FaCode fai_neural_shipped_net(FaNet *net, FaError *err);
// A value of the basis as it is stored, times its target's scale, m: coordinate i (node x 3 + k) of target t.
float fai_neural_basis(const FaNeural *b, int t, int i);

#endif
