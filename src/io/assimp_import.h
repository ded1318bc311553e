// Assimp in this process: the importer's side of foreign.h. Built only where assimp is.
#ifndef FAI_ASSIMP_IMPORT_H
#define FAI_ASSIMP_IMPORT_H

#include "io/import_answer.h"

struct aiScene;

FaCode fai_assimp_open(const char *path, const struct aiScene **scene, FaError *err);
FaCode fai_assimp_document(const struct aiScene *scene, const char *path, const FaImportAsk *ask, FaImportDoc *doc,
                           FaError *err);
void fai_assimp_close(const struct aiScene *scene); // NULL is fine

#endif
