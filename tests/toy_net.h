// A network for tests that was not trained: it weakens every pose of a head a little, along the shapes' own principal
// directions, and adds something small and crooked. On the shipped head's simulated skin, level 0.
#ifndef FASCIA_TOY_NET_H
#define FASCIA_TOY_NET_H

#include "neural/net.h"

// seed 0: the residual is 0, and f(d) = -0.1 d for a small difference that it can see. Free with fai_net_free.
void toy_net(uint64_t seed, FaNet *net);

#endif
