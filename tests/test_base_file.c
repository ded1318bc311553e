// Files that appear whole or not at all: failures, a full disk, and a kill at any moment.
#include "base/file.h"
#include "base/scratch.h"
#include "fascia/output.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void read_back(const char *path, FaBytes *bytes) {
    FaError err = {0};
    CHECK_OK(fai_file_read(path, 0, bytes, &err), &err);
}

static void test_write_and_read(void **state) {
    (void)state;
    const char *path = test_path("a.bin");
    FaError err = {0};
    CHECK_OK(fai_file_write(path, "hello", 5, &err), &err);
    FaBytes b;
    read_back(path, &b);
    assert_int_equal(b.size, 5);
    assert_memory_equal(b.data, "hello", 6);
    fai_bytes_free(&b);
    assert_int_equal(fai_file_read(path, 4, &b, &err), FA_E_LIMIT);
}

static void test_seek_and_large(void **state) {
    (void)state;
    const char *path = test_path("b.bin");
    FaError err = {0};
    FaOutput *o;
    CHECK_OK(fai_output_open(path, &o, &err), &err);
    enum { N = 1 << 20 };
    char *data = calloc(N, 1);
    memset(data, 'x', N);
    CHECK_OK(fai_output_write(o, "head", 4, &err), &err);
    CHECK_OK(fai_output_write(o, data, N, &err), &err);
    assert_false(fai_file_exists(path)); // nothing under the real name before it is complete
    CHECK_OK(fai_output_seek(o, 0, &err), &err);
    CHECK_OK(fai_output_write(o, "HEAD", 4, &err), &err);
    CHECK_OK(fai_output_finish(o, &err), &err);
    FaBytes b;
    read_back(path, &b);
    assert_int_equal(b.size, N + 4);
    assert_memory_equal(b.data, "HEADxxx", 7);
    fai_bytes_free(&b);
    free(data);
}

static void test_failures_name_file_and_remedy(void **state) {
    (void)state;
    FaError err = {0};
    FaBytes b;
    assert_int_equal(fai_file_read(test_path("none"), 0, &b, &err), FA_E_FILE);
    assert_non_null(strstr(err.path, "none"));
    assert_true(err.remedy[0]);
    err = (FaError){0};
    assert_int_equal(fai_file_read(test_dir(), 0, &b, &err), FA_E_FILE);
    err = (FaError){0};
    assert_int_equal(fai_file_write(test_path("no/such/folder/x"), "", 0, &err), FA_E_FILE);
}

static int count_files(const char *part) {
    char **all = test_list(test_dir(), "");
    int n = 0;
    for (char **f = all; *f; f++) n += strstr(*f, part) != NULL;
    test_list_free(all);
    return n;
}

static void test_full_disk_keeps_the_old_file(void **state) {
    (void)state;
    const char *path = test_path("old.bin");
    FaError err = {0};
    CHECK_OK(fai_file_write(path, "old", 3, &err), &err);
    pid_t pid = fork();
    if (pid == 0) {
        // a file size limit is a disk that fills up, without root
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 16, 1 << 16});
        char *big = calloc(1 << 20, 1);
        FaError e = {0};
        _exit(fai_file_write(path, big, 1 << 20, &e) == FA_E_FILE ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    FaBytes b;
    read_back(path, &b);
    assert_memory_equal(b.data, "old", 4);
    fai_bytes_free(&b);
    assert_int_equal(count_files("old.bin"), 1); // no temporary file stays behind
}

// A child rewrites a file over and over while it is killed: whatever is found must be one whole version.
static void test_kill_leaves_old_or_new(void **state) {
    (void)state;
    const char *path = test_path("killed.bin");
    enum { N = 300000, ROUNDS = 40 };
    unsigned char *data = malloc(N);
    FaError err = {0};
    memset(data, 0, N);
    CHECK_OK(fai_file_write(path, data, N, &err), &err);
    int changed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int v = round * 7 + 1;; v++) {
                memset(data, v & 0xFF, N);
                FaError e = {0};
                if (fai_file_write(path, data, N, &e) < 0) _exit(1);
            }
        }
        usleep((useconds_t)(200 + 731 * (round % 11)));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        FaBytes b;
        read_back(path, &b);
        assert_int_equal(b.size, N);
        for (int i = 1; i < N; i++)
            if (b.data[i] != b.data[0]) fail_msg("round %d: byte %d is of another version", round, i);
        changed += b.data[0] != 0;
        fai_bytes_free(&b);
    }
    assert_true(changed > 0); // the child did get to write: the test tests something
    free(data);
}

static void check_path(char *got, const char *want) {
    assert_string_equal(got, want);
    fa_free(got);
}

static void test_paths(void **state) {
    (void)state;
    assert_string_equal(fai_path_base("a/b.c"), "b.c");
    assert_string_equal(fai_path_ext("a.b/c"), "");
    assert_string_equal(fai_path_ext("a/.hidden"), "");
    assert_true(fai_path_has_ext("X.GLB", "glb"));
    check_path(fai_path_join("a/", "b"), "a/b");
    check_path(fai_path_join("", "b"), "b");
    check_path(fai_path_join("/", "b"), "/b");
    check_path(fai_path_dir("b"), ".");
    check_path(fai_path_dir("/b"), "/");
    check_path(fai_path_dir("a/b"), "a");
    check_path(fai_path_stem("a/jawOpen.obj"), "jawOpen");
}

static void holds(const char *path, const char *text) {
    FaBytes b;
    read_back(path, &b);
    assert_int_equal(b.size, strlen(text));
    assert_memory_equal(b.data, text, b.size);
    fai_bytes_free(&b);
}

// Two that belong together get their names together, or not at all.
static void test_together(void **state) {
    (void)state;
    char a[4200], b[4200];
    FaError err = {0};
    snprintf(a, sizeof a, "%s", test_path("take.csv"));
    snprintf(b, sizeof b, "%s", test_path("map.json"));
    CHECK_OK(fai_file_write(a, "old", 3, &err), &err);
    CHECK_OK(fai_file_write(b, "old", 3, &err), &err);
    for (int keep = 0; keep < 2; keep++) {
        fa_outputs_begin();
        CHECK_OK(fai_file_write(a, "newer", 5, &err), &err);
        CHECK_OK(fai_file_write(b, "newer", 5, &err), &err);
        holds(a, "old"), holds(b, "old");
        CHECK_OK(fa_outputs_end(keep, &err), &err);
        holds(a, keep ? "newer" : "old"), holds(b, keep ? "newer" : "old");
    }
    CHECK_OK(fai_file_write(a, "alone", 5, &err), &err); // it is over
    holds(a, "alone");
}

// Through a link, over an old file, beside the rest of a dead run; then a claim on it.
static FaCode write_again(void *user, FaError *err) {
    FaScratch s;
    FaScratchFolder folder = {0};
    FaClaim *claim = NULL;
    char pattern[4300];
    FaCode rc = fai_scratch_open(user, &s, err);
    if (rc >= 0) rc = fai_scratch_finish(&s, err);
    if (rc >= 0) rc = fai_scratch_open(user, &s, err);
    if (rc >= 0) fai_scratch_drop(&s);
    snprintf(pattern, sizeof pattern, "%s.part-XXXXXX", (char *)user);
    if (rc >= 0) rc = fai_scratch_folder_open(pattern, &folder, err);
    if (rc >= 0) {
        rmdir(folder.name);
        fai_scratch_folder_close(&folder);
        rc = fa_claim_new(user, "a test", &claim, err);
    }
    fa_claim_free(claim);
    return rc;
}

static void test_no_memory(void **state) {
    (void)state;
    char link[4200], dead[4200];
    snprintf(link, sizeof link, "%s", test_path("starved_link"));
    snprintf(dead, sizeof dead, "%s", test_path("starved.part-abcdef"));
    assert_int_equal(symlink("starved", link), 0);
    close(open(dead, O_WRONLY | O_CREAT, 0600));
    assert_true(test_starve(write_again, link) > 8);
    assert_int_equal(access(dead, F_OK), -1);
    assert_int_equal(access(test_path(".starved.lock"), F_OK), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_and_read),
        cmocka_unit_test(test_seek_and_large),
        cmocka_unit_test(test_failures_name_file_and_remedy),
        cmocka_unit_test(test_full_disk_keeps_the_old_file),
        cmocka_unit_test(test_kill_leaves_old_or_new),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
