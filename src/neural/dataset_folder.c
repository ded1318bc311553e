#include "neural/dataset_folder.h"

#include "base/file.h"
#include "base/json.h"
#include "base/scratch.h"
#include "base/text.h"
#include "fascia/json.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 24, SUM_AT = 16 }; // of a shard's file: neural/shard.h
enum { JSON_MOST = 1 << 20 };

char *fai_folder_shard(const FaFolder *f, int person) {
    char name[32];
    snprintf(name, sizeof name, "%06d.shard", person);
    return fai_path_join(f->dir, name);
}

// --- is it ours ----------------------------------------------------------------------------------------------------

FaCode fai_folder_make(const FaFolder *f, FaError *err) {
    if (mkdir(f->dir, 0777) == 0 || errno == EEXIST) {
        if (fai_dir_exists(f->dir)) return FA_OK;
        errno = ENOTDIR;
    }
    return fai_fail_errno(err, f->dir, "make the folder");
}

// Files of others: what has no dot in front and is not made by a set.
static FaCode check_empty(const char *dir, FaError *err) {
    DIR *d = opendir(dir);
    if (!d) return fai_fail_errno(err, dir, "read");
    char other[100] = "";
    for (struct dirent *e; !other[0] && (e = readdir(d));)
        if (e->d_name[0] != '.' && !strstr(e->d_name, ".part-") && strcmp(e->d_name, "template") != 0)
            snprintf(other, sizeof other, "%s", e->d_name);
    closedir(d);
    if (!other[0]) return FA_OK;
    return fai_fail_in(err,
                       FA_FAIL(err, FA_E_ARG, NULL, "name an empty folder, or a new one",
                               "the folder holds other files (%s), and no dataset.json", other),
                       dir);
}

static void value_text(const FaJson *v, char *text, size_t size) {
    snprintf(text, size, "%.*s", v && v->src ? FA_MIN(v->src_size, 80) : 7, v && v->src ? v->src : "nothing");
}

// The first parameter that differs, named.
static FaCode compare(const char *path, const FaJson *have, const FaJson *want, const char *prefix, FaError *err) {
    for (const FaJson *w = want ? want->first : NULL; w; w = w->next) {
        const FaJson *h = fai_json_get(have, w->key);
        FaPlace name = fai_place("%s%s", prefix, w->key);
        if (w->type == FA_JSON_OBJECT && fai_json_is(h, FA_JSON_OBJECT)) {
            FaPlace inner = fai_place("%s.", name.text);
            FA_TRY(compare(path, h, w, inner.text, err));
            continue;
        }
        bool same = h && h->src && w->src && h->src_size == w->src_size && !memcmp(h->src, w->src, (size_t)h->src_size);
        if (same) continue;
        char is[96], asked[96];
        value_text(h, is, sizeof is);
        value_text(w, asked, sizeof asked);
        return fai_fail_in(err,
                           FA_FAIL(err, FA_E_ARG, name.text, "name another folder, or give the same parameters",
                                   "the set in this folder has %s %s, this run asks for %s", name.text, is, asked),
                           path);
    }
    return FA_OK;
}

static FaCode not_a_set(const char *path, FaError *err) {
    return fai_fail_in(err,
                       FA_FAIL(err, FA_E_FORMAT, NULL, "name another folder, or remove this one",
                               "it is not the dataset.json of a set of samples"),
                       path);
}

FaCode fai_folder_compare(const FaFolder *f, const void *json, size_t size, FaError *err) {
    FaJsonDoc *have = NULL, *want = NULL;
    FaCode rc = fai_json_parse(json, size, &have, NULL, err);
    if (rc >= 0) rc = fai_json_parse(f->parameters, strlen(f->parameters), &want, NULL, err);
    if (rc >= 0) {
        const FaJson *old = fai_json_get(have->root, "parameters");
        rc = fai_json_is(old, FA_JSON_OBJECT) ? compare(f->json, old, want->root, "", err) : not_a_set(f->json, err);
    }
    char key[32];
    snprintf(key, sizeof key, "%016llx", (unsigned long long)f->key);
    const FaJson *old_key = rc >= 0 ? fai_json_get(have->root, "key") : NULL;
    if (rc >= 0 && !(fai_json_is(old_key, FA_JSON_STRING) && !strcmp(old_key->string, key)))
        rc = not_a_set(f->json, err);
    const FaJson *ids = rc >= 0 ? fai_json_get(have->root, "ids") : NULL;
    if (rc >= 0 && fai_json_is(ids, FA_JSON_NUMBER) && ids->number == (double)f->ids) rc = FA_STALLED;
    fai_json_free(have);
    fai_json_free(want);
    return fai_fail_in(err, rc, f->json);
}

FaCode fai_folder_name(FaFolder *f, const char *dir, FaError *err) {
    f->dir = fai_strdup(dir);
    f->json = fai_path_join(dir, "dataset.json");
    f->mesh = fai_path_join(dir, "template");
    return f->dir && f->json && f->mesh ? FA_OK : FA_FAIL_MEMORY(err);
}

FaCode fai_folder_open(const FaFolder *f, FaError *err) {
    if (!fai_file_exists(f->json)) return check_empty(f->dir, err);
    struct stat st;
    if (stat(f->json, &st) == 0 && st.st_size > JSON_MOST) return not_a_set(f->json, err);
    FaBytes bytes;
    FA_TRY(fai_file_read_own(f->json, &bytes, err));
    FaCode rc = fai_folder_compare(f, bytes.data, bytes.size, err);
    fai_bytes_free(&bytes);
    return rc;
}

void fai_folder_close(FaFolder *f) {
    fa_free(f->dir);
    fa_free(f->json);
    fa_free(f->mesh);
    f->dir = f->json = f->mesh = NULL;
}

// --- writing -------------------------------------------------------------------------------------------------------

static void write_counts(FaJsonWriter *w, const FaFolderCounts *c) {
    char hash[32];
    fa_json_begin(w, "counts", '{');
    fa_json_int(w, "people", c->people);
    fa_json_int(w, "samples", c->samples);
    fa_json_int(w, "dropped", c->dropped);
    fa_json_end(w);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)c->hash);
    fa_json_text(w, "hash", c->hash ? hash : NULL);
}

FaCode fai_folder_record(const FaFolder *f, const FaFolderCounts *counts, FaError *err) {
    FaJsonWriter *w;
    char *text, key[32];
    snprintf(key, sizeof key, "%016llx", (unsigned long long)f->key);
    FA_TRY(fa_json_new(&w, err));
    fa_json_begin(w, NULL, '{');
    fa_json_text(w, "what", "samples for fascia train");
    fa_json_text(w, "version", FA_VERSION_TEXT);
    fa_json_text(w, "command", f->command);
    fa_json_text(w, "key", key);
    fa_json_raw(w, "parameters", f->parameters);
    fa_json_raw(w, "clips", f->clips);
    fa_json_int(w, "ids", f->ids);
    if (counts) write_counts(w, counts);
    fa_json_end(w);
    FA_TRY(fa_json_finish(w, &text, err));
    FaCode rc = fai_file_write(f->json, text, strlen(text), err);
    fa_free(text);
    return rc;
}

bool fai_folder_has_template(const FaFolder *f) {
    FaTemplate have;
    if (!fai_file_exists(f->mesh) || fai_template_read(f->mesh, &have, NULL) < 0) return false;
    bool ours = have.key == f->key;
    fai_template_free(&have);
    return ours;
}

FaCode fai_folder_template(const FaFolder *f, const FaTemplate *mesh, FaError *err) {
    unlink(f->mesh); // what is there is none of this set
    return fai_template_write(f->mesh, mesh, err);
}

// --- looking -------------------------------------------------------------------------------------------------------

FaCode fai_folder_look(const FaFolder *f, int person, FaFolderShard *found, FaError *err) {
    unsigned char head[HEAD];
    FaShard s;
    char *path = fai_folder_shard(f, person);
    *found = (FaFolderShard){0};
    if (!path) return FA_FAIL_MEMORY(err);
    FaCode rc = FA_STALLED;
    FaError damaged = {0};
    if (fai_file_start(path, head, HEAD) == HEAD) {
        FaCode got = fai_shard_read(path, &s, &damaged);
        bool ours = got >= 0 && s.key == f->key && s.identity == (uint64_t)person && s.npose + s.dropped == f->poses;
        if (ours) {
            struct stat st;
            memcpy(&found->sum, head + SUM_AT, sizeof found->sum);
            found->samples = s.npose;
            found->dropped = s.dropped;
            found->bytes = stat(path, &st) == 0 ? (double)st.st_size : 0;
            rc = FA_OK;
        }
        if (got >= 0) fai_shard_free(&s);
        if (got == FA_E_MEMORY) rc = FA_FAIL_MEMORY(err);
    }
    fa_free(path);
    return rc;
}
