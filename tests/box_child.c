// Stands in for fascia-import in test_io_box, and does what a broken or taken over one might do: named by the file that
// it is given. `confined` gives up what the real one does, and counts what it can still do.
#include "import/confine.h"
#include "io/import_answer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const void *data, size_t size) {
    if (write(1, data, size) != (ssize_t)size) _exit(1);
}

// An answer that is right but for what the caller changes.
static FaText honest(void) {
    static const char glb[] = "not a GLB at all";
    FaImportDoc doc = {.place = {.unit = 1, .turn = {1, 0, 0, 0, 1, 0, 0, 0, 1}}, .glb = glb, .glb_size = sizeof glb};
    fai_note(&doc.notes, "vertex-order", "", "a remedy", "a text\nwith \x1b[31m colours");
    FaText bytes = {0};
    fai_answer_pack(FA_OK, &doc, NULL, &bytes);
    fai_text_bytes(&bytes, glb, sizeof glb);
    fai_notes_free(&doc.notes);
    return bytes;
}

static void say_wrong(const char *what) {
    FaText t = honest();
    FaAnswerHead *head = (FaAnswerHead *)t.data;
    if (!strcmp(what, "sum")) t.data[t.size - 1] ^= 1;
    if (!strcmp(what, "code")) head->code = 7;
    if (!strcmp(what, "large")) head->glb_size = UINT64_MAX - 5;
    if (!strcmp(what, "over")) head->glb_size = 1 << 30; // more than it may, and than it has
    if (!strcmp(what, "nan")) head->place.unit = (double)(0.0f / 0.0f);
    if (!strcmp(what, "version")) head->magic++;
    if (!strcmp(what, "cut")) t.size -= 5;
    say(t.data, t.size);
    fai_text_free(&t);
}

static bool writes(const char *path) {
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    return fd >= 0 && write(fd, "x", 1) == 1;
}

// A bit per thing that must not work, and one if what must work does not.
static int try_out(const char *path) {
    confine_self(path, 1ull << 30, 5);
    signal(SIGXFSZ, SIG_IGN);
    char beside[4096];
    snprintf(beside, sizeof beside, "%s.new", path);
    int bad = 0;
    bad |= open("/etc/passwd", O_RDONLY) >= 0 ? 1 : 0;
    bad |= writes(beside) ? 2 : 0;
    bad |= socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 4 : 0;
    pid_t child = fork();
    if (child == 0) _exit(0);
    bad |= child > 0 ? 8 : 0;
    char *argv[] = {(char *)"true", NULL};
    execv("/bin/true", argv); // exits with 0 if it works, which the caller takes for a failure
    bad |= open(path, O_RDONLY) < 0 ? 16 : 0;
    return 64 + bad;
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    const char *name = strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1 : argv[1];
    char act[64];
    snprintf(act, sizeof act, "%.*s", (int)strcspn(name, "."), name);
    if (!strcmp(act, "confined")) return try_out(argv[1]);
    FaImportAsk ask;
    if (!strcmp(act, "deaf")) return 0;
    if (read(0, &ask, sizeof ask) != (ssize_t)sizeof ask) return 2;
    if (!strcmp(act, "crash")) raise(SIGSEGV);
    if (!strcmp(act, "abort")) raise(SIGABRT);
    if (!strcmp(act, "exit")) return 1;
    if (!strcmp(act, "misused")) return FA_IMPORT_MISUSED;
    if (!strcmp(act, "hang")) pause();
    if (!strcmp(act, "shut")) close(0), close(1), pause(); // gone for the other side, yet alive
    char noise[4096];
    memset(noise, 0x5a, sizeof noise);
    if (!strcmp(act, "garbage")) say(noise, sizeof noise);
    while (!strcmp(act, "flood")) say(noise, sizeof noise);
    while (!strcmp(act, "drip")) say("F", 1), usleep(20000);
    say_wrong(act);
    return 0;
}
