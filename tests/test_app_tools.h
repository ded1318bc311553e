// The program as the app tests run it: RUN gives the exit code, both streams land in `output`, SAID looks for a text
// there.
#ifndef FASCIA_TEST_APP_TOOLS_H
#define FASCIA_TEST_APP_TOOLS_H

#include "test.h"

#define PROGRAM FASCIA_BINARY_DIR "/fascia"

static char output[1 << 20];

static int run(const char *const *args) {
    const char *argv[32] = {PROGRAM};
    int n = 1;
    for (; *args && n < 31; args++) argv[n++] = *args;
    assert_null(*args);
    const char *log = test_path("output.txt");
    int code = test_run(argv, log);
    FILE *file = fopen(log, "rb");
    size_t size = file ? fread(output, 1, sizeof output - 1, file) : 0;
    output[size] = 0;
    if (file) fclose(file);
    return code;
}
#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})
#define SAID(text)                                                                                                     \
    (strstr(output, text) ? (void)0 : (print_error("%s\n", output), assert_non_null(strstr(output, text))))

// A number of the last --json output: the first with this key.
static inline double said_number(const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(output, quoted);
    if (!at) print_error("%s\n", output);
    assert_non_null(at);
    return strtod(at + strlen(quoted), NULL);
}

#endif
