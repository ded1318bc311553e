// Runs a fuzz target over files: the seeds, and every input that once found a fault.
// usage: fuzz_NAME FILE|FOLDER... [--flips FILE|FOLDER...]   Files over 1 MiB are passed over, as a fuzzer would not
// make them. Those after --flips are also tried with one byte changed: at 400 places of each; with FASCIA_FULL=1 at
// every place of the first 64 KiB, in four ways.
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ran, slow;
static bool flips;
static long flipped;

static void run(const char *path, const uint8_t *data, size_t size) {
    struct timespec a, b; // of this process: a machine that is busy with others is no fault
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    LLVMFuzzerTestOneInput(data, size);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    double s = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
    if (s <= 1.0) return;
    fprintf(stderr, "%s: %.2f s\n", path, s);
    slow++;
}

static void flip(const char *path, uint8_t *data, size_t size) {
    static const uint8_t change[] = {0x01, 0x80, 0x20, 0xff};
    const char *full = getenv("FASCIA_FULL");
    bool all = full && full[0] == '1';
    size_t places = all && size < 1 << 16 ? size : all ? 1 << 16 : 400;
    for (size_t i = 0; i < places && i < size; i++) {
        size_t at = all ? i : i * size / (size < places ? size : places);
        for (size_t k = 0; k < (all ? sizeof change : 1); k++) {
            uint8_t was = data[at];
            data[at] ^= change[(k + i) % sizeof change];
            run(path, data, size);
            data[at] = was;
            flipped++;
        }
    }
}

static int run_file(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
    (void)ftw;
    if (flag != FTW_F || st->st_size > 1 << 20) return 0;
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    uint8_t *data = malloc((size_t)st->st_size + 1);
    if (!data) exit(2);
    size_t n = fread(data, 1, (size_t)st->st_size, f);
    fclose(f);
    run(path, data, n);
    if (flips) flip(path, data, n);
    free(data);
    ran++;
    return 0;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--flips"))
            flips = true;
        else
            nftw(argv[i], run_file, 16, FTW_PHYS);
    }
    printf("%d inputs, %d over a second\n", ran, slow);
    printf("attack: seeds and past findings: %d\n", ran);
    if (flips) printf("attack: bytes changed in a file that we read back: %ld\n", flipped); // tools/table_trust
    return slow > 0;
}
