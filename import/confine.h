// What this process gives up before it reads a file of unknown origin. It is plain Linux without privileges; what a
// kernel does not have is left out, the rest still holds.
#ifndef FASCIA_CONFINE_H
#define FASCIA_CONFINE_H

#include <stdint.h>

// memory: address space in bytes (not under the sanitizers, which need terabytes of it); seconds: of processor time.
// path: the model; it and its folder stay readable, nothing can be written, started or connected to.
void confine_self(const char *path, uint64_t memory, uint64_t seconds);

#endif
