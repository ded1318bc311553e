// Runs a fuzz target over files: the seeds, and every input that once found a fault.
// usage: fuzz_NAME FILE|FOLDER...   Files over 1 MiB are passed over, as a fuzzer would not make them.
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ran, slow;

static int run_file(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
    (void)ftw;
    if (flag != FTW_F || st->st_size > 1 << 20) return 0;
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    uint8_t *data = malloc((size_t)st->st_size + 1);
    if (!data) exit(2);
    size_t n = fread(data, 1, (size_t)st->st_size, f);
    fclose(f);
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    LLVMFuzzerTestOneInput(data, n);
    clock_gettime(CLOCK_MONOTONIC, &b);
    double s = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
    if (s > 1.0) {
        fprintf(stderr, "%s: %.2f s\n", path, s);
        slow++;
    }
    free(data);
    ran++;
    return 0;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) nftw(argv[i], run_file, 16, FTW_PHYS);
    printf("%d inputs, %d over a second\n", ran, slow);
    return slow > 0;
}
