// The answer of the importer's process, which may be broken or hostile: nothing of it is believed. Both as it is, and
// with its size and check sum put right, which a hostile importer would do; what passes goes on as a rig.
#include "io/import_answer.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_answer(const uint8_t *data, size_t size, bool right) {
    FaText bytes = {0};
    fai_text_bytes(&bytes, data, size);
    if (right) {
        FaAnswerHead head;
        memcpy(&head, bytes.data, sizeof head);
        head.magic = FA_ANSWER_MAGIC;
        uint64_t rest = size - sizeof head;
        head.text_size = head.text_size % (rest + 1);
        head.glb_size = rest - head.text_size;
        const char *texts = bytes.data + sizeof head;
        head.sum = fai_answer_sum(&head, texts, texts + head.text_size);
        memcpy(bytes.data, &head, sizeof head);
    }
    FaImportDoc doc;
    FaError err = {0};
    FaRig *rig;
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    read_answer(data, size, false);
    if (size >= sizeof(FaAnswerHead)) read_answer(data, size, true);
    return 0;
}
