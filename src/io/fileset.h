// Several files that appear together: written into a hidden folder beside their place, then renamed. A kill leaves the
// old set, or one that the next to write or read there completes.
#ifndef FAI_FILESET_H
#define FAI_FILESET_H

#include "base/base.h"

typedef struct FaFileSet FaFileSet;
// dir: where the files will be; made at the end if it does not exist (its parent must).
FaCode fai_fileset_open(const char *dir, FaFileSet **set, FaError *err);
FaCode fai_fileset_add(FaFileSet *set, const char *name, const void *data, size_t size, FaError *err); // final name
FaCode fai_fileset_append(FaFileSet *set, const void *data, size_t size, FaError *err); // to the last one added
FaCode fai_fileset_rename(FaFileSet *set, int i, const char *name, FaError *err); // change the final name of the i-th
int fai_fileset_count(const FaFileSet *set);
const char *fai_fileset_dir(const FaFileSet *set);       // the final folder, without slashes at its end
FaCode fai_fileset_finish(FaFileSet *set, FaError *err); // frees the set, also on failure
void fai_fileset_abandon(FaFileSet *set);                // NULL is fine
void fai_fileset_recover(const char *dir);               // complete what a killed run had begun to put in place

#endif
