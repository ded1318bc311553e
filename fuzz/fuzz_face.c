// .face files: whatever the bytes say, nothing is read past the end, nothing is allocated that is not there, and what
// is accepted is sound. Size and checksum are set right first, or no change would get past them. Build with FASCIA_FUZZ
// (clang) and run: fuzz_face -max_len=1048576 CORPUS tests/data/fuzz
#include "fuzz.h"

#include "base/base.h"
#include "face/face.h"
#include "face/face_file.h"
#include "fascia/face.h"

#include <stdlib.h>

static void use(const uint8_t *data, size_t size) {
    FaError err = {0};
    FaFace *f = NULL, *again = NULL;
    if (fai_face_unpack(data, size, &f, &err) < 0) {
        if (f || !err.what[0]) abort();
        return;
    }
    if (fai_face_check(f, &err) < 0) abort();
    char *json = NULL, *text = NULL;
    unsigned char *packed = NULL;
    size_t n = 0;
    if (fa_face_report(f, &json, &err) < 0 || fa_face_summary(f, &text, &err) < 0 || !json || !text) abort();
    if (fai_face_pack(f, &packed, &n, &err) < 0 || fai_face_unpack(packed, n, &again, &err) < 0) abort();
    if (fai_face_hash(f) != fai_face_hash(again) || fa_face_stages(f) != fa_face_stages(again)) abort();
    if (strcmp(fa_face_rig_path(f), fa_face_rig_path(again)) != 0) abort();
    fa_free(json);
    fa_free(text);
    fa_free(packed);
    fa_face_free(again);
    fa_face_free(f);
}

static void mend(uint8_t *data, size_t size) {
    const uint8_t head[12] = {0x89, 'F', 'A', 'C', 'E', 0x0d, 0x0a, 0x1a, 1, 0, 0, 0};
    uint64_t total = size, sum = fai_hash64(data + 32, size - 32, 1);
    memcpy(data, head, sizeof head);
    memcpy(data + 16, &total, 8);
    memcpy(data + 24, &sum, 8);
}

void fuzz_one(const uint8_t *data, size_t size) { fuzz_mended(data, size, 32, mend, use); }
