// The answer of the importer's process, which may be broken or hostile: nothing of it is believed. Both as it is, and
// with its size and check sum put right, which a hostile importer would do; what passes goes on as a rig.
#include "fuzz.h"

#include "io/import_answer.h"

#include <stdlib.h>

static void mend(uint8_t *data, size_t size) {
    FaAnswerHead head;
    memcpy(&head, data, sizeof head);
    head.magic = FA_ANSWER_MAGIC;
    uint64_t rest = size - sizeof head;
    head.text_size = head.text_size % (rest + 1);
    head.glb_size = rest - head.text_size;
    const uint8_t *texts = data + sizeof head;
    head.sum = fai_answer_sum(&head, texts, texts + head.text_size);
    memcpy(data, &head, sizeof head);
}

static void use(const uint8_t *data, size_t size) {
    FaText bytes = {0};
    FaImportDoc doc;
    FaError err = {0};
    FaRig *rig;
    fai_text_bytes(&bytes, data, size);
    FaCode rc = fai_answer_read(&bytes, &doc, &err);
    if (bytes.data || (rc < 0) != !doc.glb || (rc < 0 && !err.what[0])) abort();
    if (rc >= 0) {
        rc = fai_gltf_made_rig(doc.glb, doc.glb_size, "x.fbx", &doc.origin, &doc.notes,
                               &(FaRigOptions){.any_size = true}, &rig, &err);
        if (rc < 0 && !err.what[0]) abort();
        if (rc >= 0 && fa_rig_check(rig, &err) < 0) abort();
        fa_rig_free(rig);
    }
    fai_import_doc_free(&doc);
}

void fuzz_one(const uint8_t *data, size_t size) {
    if (size > 0) fuzz_mended(data, size, sizeof(FaAnswerHead), mend, use);
}
