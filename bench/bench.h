// Benchmarks: figures with accuracy beside speed, one JSON object each. A library beside the library: the program and
// the tests link it, users of libfascia do not.
#ifndef FASCIA_BENCH_H
#define FASCIA_BENCH_H

#include "fascia/rig.h"

/// Run a benchmark by name; *json is one object as documented in docs/guide/cli.md. rig and clip are nullable.
FaCode fa_bench(const char *name, const FaRig *rig, const FaClip *clip, char **json, FaError *err);
const char *const *fa_bench_names(void); // NULL-terminated

#endif
