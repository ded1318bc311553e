// What is asked of an importer and what it answers, and both as bytes between two processes of one machine.
//
// ask:     FaImportAsk as it is in memory
// answer:  FaAnswerHead, texts, GLB. Texts of a failure: what, place, remedy; of a document: each note's count, code,
//          text, where, remedy. A text is its length (uint32) and its bytes.
//
// The importer may be broken or hostile by then: all of an answer is checked before any of it is used, lengths against
// the limits below before anything is allocated.
#ifndef FAI_IMPORT_ANSWER_H
#define FAI_IMPORT_ANSWER_H

#include "base/text.h"
#include "io/gltf/gltf.h"

// How the document stands against the file.
typedef struct FaScenePlace {
    double unit;    // metres per unit of the file
    double turn[9]; // of the root, row-major
} FaScenePlace;

typedef struct FaImportAsk {
    uint64_t magic;
    uint64_t memory; // the importer's limits, set by itself before it opens the file: bytes
    uint64_t seconds;
    double unit;     // metres per unit as the user says; 0: as the file says
    uint32_t up;     // FaUp, likewise
    uint32_t placed; // 1: as `place` and `origin` say, found from the first document
    FaScenePlace place;
    double origin_unit;
    uint64_t origin_up;
} FaImportAsk;

typedef struct FaAnswerHead {
    uint64_t magic;
    int32_t code;   // FA_OK, or what failed
    uint32_t nnote; //
    uint64_t text_size, glb_size;
    FaScenePlace place;
    double origin_unit;
    uint64_t origin_up;
    uint64_t sum; // of this head with 0 here, the texts and the GLB
} FaAnswerHead;

// A document made of a file, by whichever process.
typedef struct FaImportDoc {
    FaScenePlace place;
    FaGltfOrigin origin;
    FaNotes notes;
    const char *glb; // in `own`
    size_t glb_size;
    FaText own;
} FaImportDoc;

#define FA_ASK_MAGIC 0x31304b5341494146u    // "FAIASK01"; the number is the version of both
#define FA_ANSWER_MAGIC 0x3130534e41494146u // "FAIANS01"
enum { FA_IMPORT_MISUSED = 64 };            // how the importer exits where it does not understand what it is asked
enum { FA_ANSWER_NOTES = 1000, FA_ANSWER_TEXT = 4096, FA_ANSWER_TEXTS = 8 << 20 };

extern const double fai_upright[9]; // z up to y up, a turn of the root

void fai_import_doc_free(FaImportDoc *doc);

// The head and the texts as bytes; the GLB follows them as it is. code below 0: what err says.
void fai_answer_pack(FaCode code, const FaImportDoc *doc, const FaError *err, FaText *bytes);
uint64_t fai_answer_sum(const FaAnswerHead *head, const void *texts, const void *glb);
// May an answer have this head? max: of texts and GLB together, bytes.
bool fai_answer_head_fits(const FaAnswerHead *head, uint64_t max);
FaCode fai_answer_broken(FaError *err); // the failure that is an answer without sense
// Reads an answer. bytes is taken over by doc (freed on failure). An importer's own failure becomes err.
FaCode fai_answer_read(FaText *bytes, FaImportDoc *doc, FaError *err);

#endif
