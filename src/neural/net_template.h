// The mesh that samples are of: one topology for all identities, with the mean neutral and its shapes.
//
// A file beside the shards, written aside and renamed; one changed byte is noticed:
//   0 8 signature   8 8 size of all   16 8 checksum of what follows   24 the numbers, then the arrays in their order
#ifndef FAI_NET_TEMPLATE_H
#define FAI_NET_TEMPLATE_H

#include "base/base.h"

enum { FA_REGION_REST, FA_REGION_UPPER_LIP, FA_REGION_LOWER_LIP, FA_REGION_UPPER_LID, FA_REGION_LOWER_LID };

typedef struct FaTemplate {
    uint64_t key;          // of the samples (FaShard)
    int nvert, ntri;       //
    int nweight;           // shapes, in ARKit's order: 52
    int nclip;             // recordings that poses were taken from
    float *mean;           // mean neutral, m, canonical axes                               (nvert x 3)
    int *tri;              //                                                               (ntri x 3)
    unsigned char *region; // FA_REGION_...                                                 (nvert)
    float *shape;          // deltas of the mean's shapes, m; 0 for one that it lacks       (nweight x nvert x 3)
    char (*clip)[64];      // names of the recordings                                       (nclip)
    char made[512];        // the command, version and seed, for people
} FaTemplate;

FaCode fai_template_write(const char *path, const FaTemplate *template, FaError *err);
// Bounded by the file's size. Free with fai_template_free. FA_E_FORMAT: damaged, or of another version.
FaCode fai_template_read(const char *path, FaTemplate *template, FaError *err);
void fai_template_free(FaTemplate *template); // arrays; empty is fine

#endif
