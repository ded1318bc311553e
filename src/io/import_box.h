// The box: assimp in a process of its own, the program fascia-import (import/), spoken with over a socket.
//
// The helper limits itself before it opens the file: memory, processor time, no files but those of the model's folder,
// no network, no further processes (import/confine.h). This side keeps the clock, bounds what it takes, and checks it
// (import_answer.h). Whatever becomes of the helper, the caller gets a document or an error with a remedy.
//
// box_open, box_ask once or twice, box_close. No signal reaches the caller, and no descriptor the helper.
#ifndef FAI_IMPORT_BOX_H
#define FAI_IMPORT_BOX_H

#include "io/import_answer.h"

#include <sys/types.h>

typedef struct FaBoxLimits {
    uint64_t memory;  // address space of the helper, bytes
    uint64_t answer;  // largest answer, bytes
    uint64_t cpu;     // processor seconds
    double wall;      // seconds in all
    const char *tool; // path of the helper; NULL: where it is found
} FaBoxLimits;
FaBoxLimits fai_box_limits(const char *path); // by the size of the file

typedef struct FaBox {
    bool open;
    int fd;
    pid_t pid;       // 0: reaped
    double deadline; // fai_seconds()
    FaBoxLimits limits;
} FaBox;

FaCode fai_box_open(FaBox *box, const char *path, const FaBoxLimits *limits, FaError *err);
FaCode fai_box_ask(FaBox *box, const FaImportAsk *ask, FaImportDoc *doc, FaError *err);
void fai_box_close(FaBox *box); // fine also if it was not opened

#endif
