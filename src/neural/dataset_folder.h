// The folder of a set: dataset.json, which says what it is of, the template, and a shard per person.
//
//     DIR/dataset.json    parameters, in words and numbers; counts and hash once it is whole
//     DIR/template        FaTemplate
//     DIR/000000.shard    FaShard, one per person; whole or not there
// Each file is written aside and renamed. A person in the making is claimed by a lock beside the shard's place, so that
// runs share a folder; a lock ends with its process.
#ifndef FAI_DATASET_FOLDER_H
#define FAI_DATASET_FOLDER_H

#include "fascia/dataset.h"
#include "fascia/output.h"
#include "neural/net_template.h"
#include "neural/shard.h"

typedef struct FaFolder {
    char *dir, *json, *mesh; // paths: of itself, dataset.json, template
    uint64_t key;
    const char *parameters; // JSON object; borrowed
    const char *clips;      // JSON array; borrowed
    const char *command;    // or ""; borrowed
    int ids, poses;
} FaFolder;

// What is recorded of a whole set.
typedef struct FaFolderCounts {
    int people;
    int64_t samples, dropped;
    uint64_t hash; // 0: the set is not whole
} FaFolderCounts;

FaCode fai_folder_name(FaFolder *f, const char *dir, FaError *err); // its paths. Free with fai_folder_close
void fai_folder_close(FaFolder *f);
FaCode fai_folder_make(const FaFolder *f, FaError *err); // if it is not there
// May it be used? FA_STALLED: a set of the same parameters and as many people is there. FA_E_ARG: other files are, or a
// set of other parameters, which are named.
FaCode fai_folder_open(const FaFolder *f, FaError *err);
FaCode fai_folder_compare(const FaFolder *f, const void *json, size_t size, FaError *err); // dataset.json alone
FaCode fai_folder_record(const FaFolder *f, const FaFolderCounts *counts, FaError *err);   // counts NULL: work begins
bool fai_folder_has_template(const FaFolder *f);                                           // whole, and of this set
FaCode fai_folder_template(const FaFolder *f, const FaTemplate *mesh, FaError *err);

char *fai_folder_shard(const FaFolder *f, int person); // path; NULL: no memory
// What a person's shard is: its check sum, samples and poses dropped. FA_STALLED: it is not there, or not whole, or of
// another set: it has to be made.
typedef struct FaFolderShard {
    uint64_t sum;
    int samples, dropped;
    double bytes;
} FaFolderShard;
FaCode fai_folder_look(const FaFolder *f, int person, FaFolderShard *found, FaError *err);

#endif
