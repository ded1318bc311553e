#include "test.h"

#include "base/base.h"
#include "base/sanitized.h"
#include "fascia/head.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void test_near(double a, double b, double tol, const char *what, const char *file, int line) {
    if (fabs(a - b) <= tol) return;
    print_error("%s = %.17g, expected %.17g +- %g (off by %g)\n", what, a, b, tol, fabs(a - b));
    _fail(file, line);
}

void test_ok(FaCode code, const FaError *err, const char *what, const char *file, int line) {
    if (code >= 0) return;
    char text[1200] = "";
    if (err) fa_error_text(err, text, sizeof text);
    print_error("%s: %s: %s\n", what, fa_code_name(code), text);
    _fail(file, line);
}

static char *slot(void) {
    static char ring[8][4096];
    static int at;
    return ring[at++ % 8];
}

const char *test_data(const char *rel) {
    const char *root = getenv("FASCIA_DATA");
    char *path = slot();
    snprintf(path, 4096, "%s/%s", root ? root : FASCIA_SOURCE_DIR "/../shared/data", rel);
    if (access(path, R_OK) == 0) return path;
    print_message("skipped: %s is not there (set FASCIA_DATA to the data folder)\n", rel);
    return NULL;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static char scratch[4096];
static pid_t scratch_owner;

static void remove_scratch(void) {
    if (scratch[0] && getpid() == scratch_owner) nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_dir(void) {
    if (!scratch[0]) {
        snprintf(scratch, sizeof scratch, "%s/scratch-XXXXXX", FASCIA_BINARY_DIR);
        if (!mkdtemp(scratch)) abort();
        scratch_owner = getpid();
        atexit(remove_scratch);
    }
    return scratch;
}

int test_few(int all, int few) { return getenv("FASCIA_SHORT") && few < all ? few : all; }

// FASCIA_ONLY=NAME: only the cases of that name, where * and ? stand for anything. Of the whole program: before main.
__attribute__((constructor)) static void only_some(void) {
    if (getenv("FASCIA_ONLY")) cmocka_set_test_filter(getenv("FASCIA_ONLY"));
}

const char *test_path(const char *name) {
    char *path = slot();
    snprintf(path, 4096, "%.2000s/%.2000s", test_dir(), name);
    return path;
}

const char *test_unpack(const char *rel) {
    const char *archive = test_data(rel);
    if (!archive) return NULL;
    const char *base = strrchr(rel, '/');
    char *dir = slot();
    snprintf(dir, 4096, "%s/data-%s", FASCIA_BINARY_DIR, base ? base + 1 : rel);
    if (access(dir, R_OK) == 0) return dir;
    // several tests may come here at once: unpack aside, the first rename wins
    char temp[4200];
    snprintf(temp, sizeof temp, "%s-XXXXXX", dir);
    if (!mkdtemp(temp)) return NULL;
    const char *argv[] = {"tar", "-xJf", archive, "-C", temp, NULL};
    if (test_run(argv, NULL) != 0) {
        print_message("skipped: tar could not unpack %s\n", rel);
        return NULL;
    }
    chmod(temp, 0755);
    if (rename(temp, dir) != 0) nftw(temp, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return dir;
}

const char *test_animal(const char *name) {
    FaError err = {0};
    for (int i = 0; i < fa_zoo_count(); i++) {
        FaZooAnimal a = fa_zoo_animal(i);
        if (strcmp(a.name, name)) continue;
        const char *path = test_path(FA_PLACE("%s%s", name, a.ext));
        CHECK_OK(fa_zoo_save(i, 0, NULL, path, &err), &err);
        return path;
    }
    fail_msg("there is no animal '%s'", name);
    return NULL;
}

static char **list;
static int list_count;
static const char *list_ext;

static int list_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
    (void)st, (void)ftw;
    size_t n = strlen(path), e = strlen(list_ext);
    if (flag != FTW_F || n < e || strcmp(path + n - e, list_ext)) return 0;
    list = realloc(list, (size_t)(list_count + 2) * sizeof *list);
    if (!list || !(list[list_count++] = strdup(path))) abort();
    return 0;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

char **test_list(const char *dir, const char *ext) {
    list = calloc(1, sizeof *list);
    list_count = 0;
    list_ext = ext;
    nftw(dir, list_one, 16, FTW_PHYS);
    qsort(list, (size_t)list_count, sizeof *list, by_name);
    list[list_count] = NULL;
    return list;
}

void test_list_free(char **files) {
    for (char **f = files; f && *f; f++) free(*f);
    free(files);
}

// --- rows for the table of attacks --------------------------------------------------------------------------------

static struct {
    const char *attack;
    long tried;
} rows[16];
static pid_t rows_owner;

static void print_rows(void) {
    for (int i = 0; i < 16 && rows[i].attack && getpid() == rows_owner; i++)
        printf("attack: %s: %ld\n", rows[i].attack, rows[i].tried);
}

void test_attack(const char *attack, long tried) {
    if (!rows_owner) {
        rows_owner = getpid();
        atexit(print_rows);
    }
    int i = 0;
    while (i < 16 && rows[i].attack && strcmp(rows[i].attack, attack)) i++;
    if (i == 16) abort();
    rows[i].attack = attack;
    rows[i].tried += tried;
}

// What a library for faults, preloaded into the program that has just run, made of it (fault_calls.c).
static void count_fault(int code) {
    if (code && getenv("FASCIA_KILL_AT")) test_attack("kills before a call that changes files", 1);
    if (code && getenv("FASCIA_FAIL_AT")) test_attack("calls that fail as on a full disk", 1);
}

// --- programs -----------------------------------------------------------------------------------------------------

int test_run(const char *const *argv, const char *output) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) return -1;
    if (pid == 0) {
        if (output) {
            int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0644);
            if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0) _exit(127);
        }
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    count_fault(code);
    return code;
}

bool test_program(const char *name) {
    char path[4096];
    const char *p = getenv("PATH");
    while (p && *p) {
        size_t n = strcspn(p, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)n, p, name);
        if (access(path, X_OK) == 0) return true;
        p += n + (p[n] == ':');
    }
    return false;
}

// --- allocation failure -------------------------------------------------------------------------------------------

static long countdown, balance;
static bool delivered;

static void *failing_resize(void *user, void *old, size_t size) {
    (void)user;
    if (size == 0) {
        if (old) __atomic_sub_fetch(&balance, 1, __ATOMIC_RELAXED);
        free(old);
        return NULL;
    }
    if (__atomic_load_n(&countdown, __ATOMIC_RELAXED) > 0 && __atomic_sub_fetch(&countdown, 1, __ATOMIC_RELAXED) == 0) {
        delivered = true;
        return NULL;
    }
    void *p = realloc(old, size);
    if (p && !old) __atomic_add_fetch(&balance, 1, __ATOMIC_RELAXED);
    return p;
}

void test_fail_alloc(long n) {
    if (delivered) test_attack("allocations that fail", 1);
    fa_allocator_set(&(FaAllocator){failing_resize, NULL});
    countdown = n;
    delivered = false;
}

bool test_alloc_failed(void) { return delivered; }
long test_alloc_balance(void) { return balance; }

int test_starve(TestAttempt *attempt, void *user) {
    int failures = 0;
    bool done = false;
    const double all = FA_SANITIZED ? 30 : 100, more = FA_SANITIZED ? 1.25 : 1.05;
    for (double k = 1; !done; k = k < all ? k + 1 : ceil(more * k)) {
        FaError err = {0};
        long before = test_alloc_balance();
        test_fail_alloc((long)k);
        FaCode rc = attempt(user, &err);
        done = !test_alloc_failed();
        test_fail_alloc(0);
        if (done) test_ok(rc, &err, "with all the memory it wants", __FILE__, __LINE__);
        if (rc < 0 && rc != FA_E_MEMORY) print_error("allocation %.0f: %s: %s\n", k, fa_code_name(rc), err.what);
        assert_true(rc >= 0 || (rc == FA_E_MEMORY && err.what[0]));
        if (test_alloc_balance() != before) print_error("allocation %.0f failing leaves something behind\n", k);
        assert_int_equal(test_alloc_balance(), before);
        failures += rc < 0;
    }
    fa_allocator_set(NULL);
    return failures;
}
