// dataset.json of a set of samples: any text is either this set's, or refused with a word.
#include "fuzz.h"

#include "neural/dataset_folder.h"

#include <stdlib.h>

void fuzz_one(const uint8_t *data, size_t size) {
    FaError err = {0};
    char json[] = "dataset.json";
    const FaFolder f = {.json = json,
                        .key = 0x123,
                        .parameters = "{\"seed\":1,\"physics parameters\":{\"kappa\":14,\"face\":\"\"},\"poses\":10}",
                        .ids = 3,
                        .poses = 10};
    FaCode rc = fai_folder_compare(&f, data, size, &err);
    if (rc < 0 ? !err.what[0] : rc != FA_OK && rc != FA_STALLED) abort();
}
