// fascia-import FILE: assimp in a box. Started by the library for FBX and the like, never by hand: it is asked for
// documents on its standard input, a socket, and answers there (src/io/import_answer.h). It ends when nobody asks.
#include "confine.h"
#include "io/assimp_import.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ASK_FD = 0, ANSWER_FD = 1 };

static bool take(void *to, size_t size) {
    char *p = to;
    while (size) {
        ssize_t n = read(ASK_FD, p, size);
        if (n == 0 || (n < 0 && errno != EINTR)) return false;
        if (n > 0) p += n, size -= (size_t)n;
    }
    return true;
}

static bool give(const void *from, size_t size) {
    const char *p = from;
    while (size) {
        ssize_t n = write(ANSWER_FD, p, size);
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) p += n, size -= (size_t)n;
    }
    return true;
}

static bool answer(FaCode rc, const FaImportDoc *doc, const FaError *err) {
    FaText bytes = {0};
    fai_answer_pack(rc, doc, err, &bytes);
    bool sent = !bytes.failed && give(bytes.data, bytes.size) && (rc < 0 || give(doc->glb, doc->glb_size));
    fai_text_free(&bytes);
    return sent;
}

int main(int argc, char **argv) {
    FaImportAsk ask;
    struct stat st;
    bool asked = argc == 2 && fstat(ASK_FD, &st) == 0 && S_ISSOCK(st.st_mode);
    if (!asked || !take(&ask, sizeof ask) || ask.magic != FA_ASK_MAGIC) {
        fprintf(stderr,
                "fascia-import is started by fascia and by programs that use libfascia, to read files of others.\n");
        return FA_IMPORT_MISUSED;
    }
    close_range(3, ~0u, 0); // what the caller had open
    fa_threads_set(1);
    confine_self(argv[1], ask.memory, ask.seconds);
    const struct aiScene *scene = NULL;
    FaError err = {0};
    FaCode rc = fai_assimp_open(argv[1], &scene, &err);
    do {
        FaImportDoc doc = {0};
        if (rc >= 0) rc = fai_assimp_document(scene, argv[1], &ask, &doc, &err);
        bool sent = answer(rc, &doc, &err);
        fai_import_doc_free(&doc);
        if (!sent) _exit(1);
    } while (rc >= 0 && take(&ask, sizeof ask) && ask.magic == FA_ASK_MAGIC);
    _exit(0); // what assimp would still do on its way out does not matter to anybody
}
