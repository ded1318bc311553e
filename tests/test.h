// What every test includes: cmocka in its order, numeric checks that print what they saw, data and scratch folders.
#ifndef FASCIA_TEST_H
#define FASCIA_TEST_H

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "fascia/fascia.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_NEAR(a, b, tol) test_near((a), (b), (tol), #a, __FILE__, __LINE__)
void test_near(double a, double b, double tol, const char *what, const char *file, int line);

// The call succeeds, or the test prints the error and fails.
#define CHECK_OK(expr, err) test_ok((expr), (err), #expr, __FILE__, __LINE__)
void test_ok(FaCode code, const FaError *err, const char *what, const char *file, int line);

// A path below the data folder ($FASCIA_DATA, or shared/data beside the source tree); NULL, with a message, if absent.
// Valid until 8 further calls.
const char *test_data(const char *rel);
#define TEST_DATA_OR_SKIP(var, rel)                                                                                    \
    const char *var = test_data(rel);                                                                                  \
    if (!var) skip()

// A scratch folder of this process, made on first use below the build folder, removed at exit; and a path in it.
const char *test_dir(void);
const char *test_path(const char *name);

const char *test_animal(const char *name); // a rig of our zoo, coarse, written there: its path

// Unpack a .tar.xz of the data folder once below the build folder; the folder's path, NULL (with a message) if absent.
const char *test_unpack(const char *rel);

// Files below a folder whose names end in ext (".glb"), sorted; NULL-terminated; free with test_list_free.
char **test_list(const char *dir, const char *ext);
void test_list_free(char **list);

// How often a test repeats the same code, over rigs, frames or clips: `all`; with FASCIA_SHORT=1, as tools/soak has it
// under the sanitizers, `few`.
int test_few(int all, int few);

// Run a program without a shell; NULL-terminated arguments; its exit code, -1 if it cannot run. stdout and stderr go to
// the file named (nullable), else are inherited.
int test_run(const char *const *argv, const char *output);
bool test_program(const char *name); // is it on the PATH

// Allocation failure: the n-th allocation from now fails (1 = the next), all others succeed. 0 stops it.
void test_fail_alloc(long n);
bool test_alloc_failed(void);  // has the failure been delivered
long test_alloc_balance(void); // blocks alive that came through the hook

// The attempt again and again, its first, second, third, ... allocation failing (beyond the hundredth some of them;
// with sanitizers fewer): it gives FA_E_MEMORY with a sentence, or does without (a note may be dropped), and leaves
// nothing. It frees what it made. Returns how often it gave up.
typedef FaCode TestAttempt(void *user, FaError *err);
int test_starve(TestAttempt *attempt, void *user);

// A row of docs/figures/trust.md: inputs of an attack that were tried. Sums are printed when the program ends, where
// tools/table_trust finds them. Failing allocations, kills and failing calls are counted by what makes them.
void test_attack(const char *attack, long tried);

#endif
