// Containers: where the bytes of a document go, as GLB or as JSON with files beside it.
//
// GLB out of a GLB: the BIN chunk as it was, new bytes after it. Out of a .gltf: all buffers and images become one BIN
// chunk. A .gltf out of a GLB: the BIN chunk becomes NAME.bin. Out of a .gltf: buffers and images are copied beside it
// if it goes to another folder: files that others use are never changed. New bytes of a .gltf are always a buffer of
// their own, NAME_fascia.bin.
#include "io/gltf/gltf_out.h"

#include <errno.h>
#include <sys/stat.h>

// --- the packed buffer --------------------------------------------------------------------------------------------

static size_t packed_size(const FaGltfOut *out) {
    const FaGltfSegment *last = out->nsegment ? &out->segment[out->nsegment - 1] : NULL;
    return last ? last->at + last->size : 0;
}

static size_t aligned(size_t n) { return (n + 3) / 4 * 4; }

static FaCode add_segment(FaGltfOut *out, const void *data, size_t size, size_t *at, FaError *err) {
    FaGltfSegment *s = fai_grow_array(out->segment, &out->segment_room, out->nsegment + 1, sizeof *s);
    if (!s) return FA_FAIL_MEMORY(err);
    out->segment = s;
    *at = aligned(packed_size(out));
    s[out->nsegment++] = (FaGltfSegment){data, size, *at};
    return FA_OK;
}

static FaJson *first_buffer(FaGltfOut *out) {
    FaJson *buffers = fai_out_array(out, out->root, "buffers");
    return fai_json_count(buffers) ? fai_json_at(buffers, 0) : fai_out_push(out, buffers);
}

static void shift_view(FaGltfOut *out, FaJson *view, const int *index, const size_t *offset) {
    const FaJson *b = fai_json_get(view, "buffer"), *at = fai_json_get(view, "byteOffset");
    if (!b) return;
    int old = (int)b->number;
    if (index[old] != old) fai_out_int(out, view, "buffer", index[old]);
    if (offset[old]) fai_out_int(out, view, "byteOffset", (int64_t)offset[old] + (at ? (int64_t)at->number : 0));
}

// All buffers that have data become the first one; placeholders of compressed data follow.
static FaCode merge_buffers(FaGltfOut *out, int *index, size_t *offset, FaError *err) {
    const FaGltf *src = out->src;
    FaJson *old = fai_json_get(out->root, "buffers"), *merged = fai_json_new_array(out->json), *first = NULL;
    int nhollow = 0;
    for (int i = 0; i < src->nbuffer; i++)
        if (src->buffer[i].data && !first) first = fai_json_copy(out->json, fai_json_at(old, i));
    if (!first) first = fai_json_new_object(out->json);
    if (!merged || !first || !fai_json_append(out->json, merged, first)) return FA_FAIL_MEMORY(err);
    fai_json_remove(first, "uri");
    for (int i = 0; i < src->nbuffer; i++) {
        const FaGltfBuffer *b = &src->buffer[i];
        if (b->data) {
            FA_TRY(add_segment(out, b->data, b->size, &offset[i], err));
            continue;
        }
        index[i] = ++nhollow;
        if (!fai_json_append(out->json, merged, fai_json_copy(out->json, fai_json_at(old, i))))
            return FA_FAIL_MEMORY(err);
    }
    // a document whose data come from elsewhere altogether: the first buffer of a GLB must be there all the same
    static const char nothing[4] = {0};
    size_t at;
    if (!out->nsegment) FA_TRY(add_segment(out, nothing, sizeof nothing, &at, err));
    if (!fai_json_set(out->json, out->root, "buffers", merged)) return FA_FAIL_MEMORY(err);
    static const char *const packed[] = {"EXT_meshopt_compression", "KHR_meshopt_compression"};
    const FaJson *views = fai_json_get(out->root, "bufferViews");
    for (FaJson *v = views ? views->first : NULL; v; v = v->next) {
        shift_view(out, v, index, offset);
        for (int k = 0; k < FA_COUNT(packed); k++) {
            FaJson *e = fai_json_get(fai_json_get(v, "extensions"), packed[k]);
            if (e) shift_view(out, e, index, offset);
        }
    }
    return FA_OK;
}

static bool needs_merging(const FaGltf *src) {
    for (int i = 1; i < src->nbuffer; i++)
        if (src->buffer[i].data) return true;
    return src->nbuffer && !src->buffer[0].data;
}

static const char *mime_of(const FaBytes *b) {
    static const struct {
        const char *magic;
        size_t at, n;
        const char *mime;
    } known[] = {{"\x89PNG\r\n\x1a\n", 0, 8, "image/png"},
                 {"\xff\xd8\xff", 0, 3, "image/jpeg"},
                 {"WEBP", 8, 4, "image/webp"},
                 {"\xabKTX 20\xbb", 0, 8, "image/ktx2"},
                 {"ftypavif", 4, 8, "image/avif"}};
    for (int i = 0; i < FA_COUNT(known); i++)
        if (b->size >= known[i].at + known[i].n && !memcmp(b->data + known[i].at, known[i].magic, known[i].n))
            return known[i].mime;
    return NULL;
}

// The relative path of an image or buffer that is a file, or NULL (data URI, web address, unusable). fa_free it.
static char *file_of(const FaJson *owner) {
    const FaJson *uri = fai_json_get(owner, "uri");
    char *path = NULL;
    if (!fai_json_is(uri, FA_JSON_STRING) || !strncmp(uri->string, "data:", 5)) return NULL;
    return fai_gltf_uri_path(uri->string, &path, NULL) < 0 ? NULL : path;
}

// Images beside a .gltf move into the GLB; those that cannot be read stay outside.
static FaCode embed_image(FaGltfOut *out, FaJson *image, const char *dir, FaError *err) {
    char *rel = file_of(image), *path = rel ? fai_path_join(dir, rel) : NULL;
    FaBytes bytes = {0};
    const char *mime = path && fai_file_read(path, 0, &bytes, NULL) >= 0 ? mime_of(&bytes) : NULL;
    fa_free(rel);
    fa_free(path);
    FaBytes *grown = mime ? fai_grow_array(out->file, &out->file_room, out->nfile + 1, sizeof *grown) : NULL;
    if (!grown) {
        fai_bytes_free(&bytes);
        return mime ? FA_FAIL_MEMORY(err) : FA_OK;
    }
    out->file = grown;
    out->file[out->nfile++] = bytes;
    size_t at;
    FA_TRY(add_segment(out, bytes.data, bytes.size, &at, err));
    FaJson *view = fai_out_push(out, fai_out_array(out, out->root, "bufferViews"));
    fai_out_int(out, view, "buffer", 0);
    fai_out_int(out, view, "byteOffset", (int64_t)at);
    fai_out_int(out, view, "byteLength", (int64_t)bytes.size);
    fai_json_remove(image, "uri");
    fai_out_int(out, image, "bufferView", out->nview++);
    if (!fai_json_get(image, "mimeType")) fai_out_str(out, image, "mimeType", mime);
    return FA_OK;
}

static FaCode embed_images(FaGltfOut *out, FaError *err) {
    const FaJson *images = fai_json_get(out->root, "images");
    if (!images || !out->src->path) return FA_OK;
    char *dir = fai_path_dir(out->src->path);
    if (!dir) return FA_FAIL_MEMORY(err);
    FaCode rc = FA_OK;
    for (FaJson *c = images->first; c && rc >= 0; c = c->next) rc = embed_image(out, c, dir, err);
    fa_free(dir);
    return rc;
}

// Everything that the document has into one buffer.
static FaCode pack_all(FaGltfOut *out, FaError *err) {
    const FaGltf *src = out->src;
    size_t at;
    if (needs_merging(src)) {
        int *index = FA_NEW(src->nbuffer, int);
        size_t *offset = FA_NEW(src->nbuffer, size_t);
        FaCode rc = index && offset ? merge_buffers(out, index, offset, err) : FA_FAIL_MEMORY(err);
        fa_free(index);
        fa_free(offset);
        FA_TRY(rc);
    } else if (src->nbuffer) {
        FA_TRY(add_segment(out, src->buffer[0].data, src->buffer[0].size, &at, err));
        fai_json_remove(first_buffer(out), "uri");
    }
    return embed_images(out, err);
}

static FaCode pack(FaGltfOut *out, FaError *err) {
    const FaGltf *src = out->src;
    bool has_bin = src->nbuffer && src->buffer[0].home == FA_GLTF_IN_GLB;
    size_t at;
    out->packed = out->glb || has_bin;
    if (has_bin)
        FA_TRY(add_segment(out, src->buffer[0].data, src->buffer[0].have, &at, err));
    else if (out->glb)
        FA_TRY(pack_all(out, err));
    out->had = packed_size(out);
    out->buffer = out->glb ? 0 : src->nbuffer;
    out->base = out->glb ? aligned(out->had) : 0;
    return FA_OK;
}

FaCode fai_gltf_out_open(FaGltfOut *out, const FaGltf *src, const char *path, FaError *err) {
    *out = (FaGltfOut){.src = src, .path = path, .nview = src->nview, .naccessor = src->naccessor};
    out->glb = !fai_path_has_ext(path, "gltf");
    FA_TRY(fai_json_parse(src->text, src->text_size, &out->json, NULL, err));
    out->root = out->json->root;
    return pack(out, err);
}

void fai_gltf_out_close(FaGltfOut *out) {
    for (int i = 0; i < out->nfile; i++) fai_bytes_free(&out->file[i]);
    fa_free(out->file);
    fa_free(out->segment);
    fai_json_free(out->json);
    fai_text_free(&out->bin);
    *out = (FaGltfOut){0};
}

bool fai_gltf_out_shorten(FaGltfOut *out, size_t size) {
    FaGltfSegment *last = out->nsegment ? &out->segment[out->nsegment - 1] : NULL;
    if (!last || !out->packed || size <= last->at || size > last->at + last->size) return false;
    last->size = size - last->at;
    if (out->glb) out->base = aligned(size);
    return true;
}

// --- files --------------------------------------------------------------------------------------------------------

// A file name as a URI: what the syntax reserves is escaped, the rest stays readable.
static char *uri_of(const char *name) {
    FaText t = {0};
    for (const char *c = name; *c; c++) {
        if ((unsigned char)*c <= ' ' || strchr("%#?\\\"<>^`{|}:", *c))
            fai_text_printf(&t, "%%%02X", (unsigned)(unsigned char)*c);
        else
            fai_text_bytes(&t, c, 1);
    }
    if (!t.failed) return t.data;
    fai_text_free(&t);
    return NULL;
}

static bool uri_in_use(const FaGltfOut *out, const char *name) {
    const FaJson *buffers = fai_json_get(out->root, "buffers");
    for (const FaJson *c = buffers ? buffers->first : NULL; c; c = c->next) {
        char *file = file_of(c);
        bool same = file && !strcmp(file, name);
        fa_free(file);
        if (same) return true;
    }
    return false;
}

// What is called so already belongs to the .gltf that is still there: it must not change before that one is replaced.
static bool is_taken(const char *path, const char *name) {
    struct stat st;
    char *dir = fai_path_dir(path), *full = dir ? fai_path_join(dir, name) : NULL;
    bool taken = full && lstat(full, &st) == 0;
    fa_free(dir);
    fa_free(full);
    return taken;
}

// NAME.bin, NAME_fascia.bin, ... that no buffer of the document refers to and no file has.
static char *free_name(const FaGltfOut *out, const char *path, const char *ending) {
    char *stem = fai_path_stem(path);
    FaText t = {0};
    for (int i = 0; stem && i < 1000; i++) {
        t.size = 0;
        fai_text_str(&t, stem);
        fai_text_str(&t, ending);
        if (i) fai_text_printf(&t, "%d", i + 1);
        fai_text_str(&t, ".bin");
        if (t.failed || (!uri_in_use(out, t.data) && !is_taken(path, t.data))) break;
    }
    fa_free(stem);
    if (!t.failed) return t.data;
    fai_text_free(&t);
    return NULL;
}

// The packed buffer without new bytes.
static FaCode write_packed(FaOutput *o, const FaGltfOut *out, FaError *err) {
    static const char zeros[4] = {0};
    size_t at = 0;
    for (int i = 0; i < out->nsegment; i++) {
        const FaGltfSegment *s = &out->segment[i];
        FA_TRY(fai_output_write(o, zeros, s->at - at, err));
        FA_TRY(fai_output_write(o, s->data, s->size, err));
        at = s->at + s->size;
    }
    return FA_OK;
}

static FaCode beside(const char *path, const char *name, char **full, FaError *err) {
    char *dir = fai_path_dir(path);
    *full = dir ? fai_path_join(dir, name) : NULL;
    fa_free(dir);
    return *full ? FA_OK : FA_FAIL_MEMORY(err);
}

// The packed buffer, or the new bytes, as a file beside the .gltf.
static FaCode write_beside(const FaGltfOut *out, const char *name, bool packed, FaError *err) {
    char *full;
    FaOutput *o = NULL;
    FA_TRY(beside(out->path, name, &full, err));
    FaCode rc = fai_output_open(full, &o, err);
    if (rc >= 0) rc = packed ? write_packed(o, out, err) : fai_output_write(o, out->bin.data, out->bin.size, err);
    if (rc >= 0)
        rc = fai_output_finish(o, err);
    else
        fai_output_abandon(o);
    fa_free(full);
    return rc;
}

static void remove_beside(const FaGltfOut *out, char *const own[2]) {
    char *full;
    for (int i = 0; i < 2; i++)
        if (own[i] && beside(out->path, own[i], &full, NULL) >= 0) {
            remove(full);
            fa_free(full);
        }
}

// --- files that go along ------------------------------------------------------------------------------------------

static FaCode make_folders(char *path, FaError *err) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        int why = errno;
        *slash = '/';
        if (!made)
            return fai_fail_in(
                err,
                FA_FAIL(err, FA_E_FILE, NULL, "check the permissions", "cannot make its folder: %s", strerror(why)),
                path);
    }
    return FA_OK;
}

// Put a file that the document refers to beside its new place. One that is there already must be the same.
static FaCode copy_along(const char *to, const void *data, size_t size, FaError *err) {
    FaBytes old = {0};
    if (fai_file_exists(to) && fai_file_read(to, 0, &old, NULL) >= 0) {
        bool same = old.size == size && !memcmp(old.data, data, size);
        fai_bytes_free(&old);
        if (same) return FA_OK;
        return fai_fail_in(err,
                           FA_FAIL(err, FA_E_FILE, NULL,
                                   "write to another folder, or write a .glb, which needs no other files",
                                   "another file of this name is there already; it is not replaced"),
                           to);
    }
    return fai_file_write(to, data, size, err);
}

static bool same_folder(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static FaCode copy_one(const FaGltf *src, const char *rel, const char *from_dir, const char *to_dir, FaError *err) {
    const FaBytes *known = NULL;
    FaBytes bytes = {0};
    for (int i = 0; i < src->nexternal && !known; i++)
        if (!strcmp(src->external[i].path, rel)) known = &src->external[i].bytes;
    char *from = fai_path_join(from_dir, rel), *to = fai_path_join(to_dir, rel);
    FaCode rc = from && to ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0 && !known) {
        // an image that is missing was missing before
        if (fai_file_read(from, 0, &bytes, NULL) < 0)
            fai_log(FA_LOG_WARN, "io", -1, "%s: cannot be read, and is not copied along", from);
        else
            known = &bytes;
    }
    if (rc >= 0 && known) rc = make_folders(to, err);
    if (rc >= 0 && known) rc = copy_along(to, known->data, known->size, err);
    fai_bytes_free(&bytes);
    fa_free(from);
    fa_free(to);
    return rc;
}

// Buffers and images that the written JSON still refers to as files of the source's folder.
static FaCode copy_files(const FaGltf *src, const FaJson *root, const char *path, char *const own[2], FaError *err) {
    static const char *const kind[] = {"buffers", "images"};
    if (!src->path) return FA_OK;
    char *from = fai_path_dir(src->path), *to = fai_path_dir(path);
    FaCode rc = from && to ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0 && !same_folder(from, to)) {
        for (int k = 0; k < 2; k++) {
            const FaJson *list = fai_json_get(root, kind[k]);
            for (const FaJson *c = list ? list->first : NULL; c && rc >= 0; c = c->next) {
                char *rel = file_of(c);
                bool ours = false;
                for (int i = 0; i < 2 && rel && k == 0; i++) ours |= own[i] && !strcmp(rel, own[i]);
                if (rel && !ours) rc = copy_one(src, rel, from, to, err);
                fa_free(rel);
            }
        }
    }
    fa_free(from);
    fa_free(to);
    return rc;
}

// --- writing ------------------------------------------------------------------------------------------------------

// The JSON with what stood around it: spaces, a last line end.
static void write_text(const FaGltfOut *out, FaText *text) {
    const FaJsonDoc *json = out->json;
    const char *start = json->root->src, *end = start + json->root->src_size;
    fai_text_bytes(text, json->text, (size_t)(start - json->text));
    fai_json_write(json->root, text);
    fai_text_bytes(text, end, (size_t)(json->text + json->size - end));
}

static void put32(unsigned char *p, size_t v) {
    for (int i = 0; i < 4; i++) p[i] = (unsigned char)(v >> (8 * i));
}

// Of the BIN chunk.
static size_t bin_size(const FaGltfOut *out) { return out->bin.size ? out->base + out->bin.size : packed_size(out); }

static size_t other_chunks(const FaGltf *src) {
    size_t n = 0;
    for (int i = 1; src->is_glb && i < src->nchunk; i++)
        if (src->chunk[i].type != FA_GLB_BIN) n += 8 + src->chunk[i].size;
    return n;
}

// The header of a GLB with that of its JSON chunk, and that of the BIN chunk.
static FaCode glb_heads(const FaGltfOut *out, const FaText *text, unsigned char head[20], unsigned char chunk[8],
                        FaError *err) {
    size_t size = bin_size(out);
    size_t total = 20 + aligned(text->size) + (size ? 8 + aligned(size) : 0) + other_chunks(out->src);
    if (total > UINT32_MAX)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "write .gltf instead, or allow a larger bake error",
                       "a GLB cannot be larger than 4 GiB, this one would have %zu bytes", total);
    put32(head, FA_GLB_MAGIC);
    put32(head + 4, 2);
    put32(head + 8, total);
    put32(head + 12, aligned(text->size));
    put32(head + 16, FA_GLB_JSON);
    put32(chunk, aligned(size));
    put32(chunk + 4, FA_GLB_BIN);
    return FA_OK;
}

static FaCode write_glb(const FaGltfOut *out, const FaText *text, FaError *err) {
    static const char spaces[4] = "    ", zeros[4] = {0};
    const FaGltf *src = out->src;
    size_t size = bin_size(out);
    size_t json_pad = aligned(text->size) - text->size, bin_pad = aligned(size) - size;
    unsigned char head[20], chunk[8];
    FA_TRY(glb_heads(out, text, head, chunk, err));
    FaOutput *o;
    FA_TRY(fai_output_open(out->path, &o, err));
    FaCode rc = fai_output_write(o, head, sizeof head, err);
    if (rc >= 0) rc = fai_output_write(o, text->data, text->size, err);
    if (rc >= 0) rc = fai_output_write(o, spaces, json_pad, err);
    if (rc >= 0 && size) rc = fai_output_write(o, chunk, sizeof chunk, err);
    if (rc >= 0) rc = write_packed(o, out, err);
    if (rc >= 0 && out->bin.size) rc = fai_output_write(o, zeros, out->base - packed_size(out), err);
    if (rc >= 0) rc = fai_output_write(o, out->bin.data, out->bin.size, err);
    if (rc >= 0) rc = fai_output_write(o, zeros, bin_pad, err);
    for (int i = 1; src->is_glb && i < src->nchunk && rc >= 0; i++)
        if (src->chunk[i].type != FA_GLB_BIN)
            rc = fai_output_write(o, src->file.data + src->chunk[i].offset, 8 + src->chunk[i].size, err);
    if (rc >= 0) return fai_output_finish(o, err);
    fai_output_abandon(o);
    return rc;
}

static FaCode name_buffer(FaGltfOut *out, FaJson *buffer, const char *ending, char **name, FaError *err) {
    *name = free_name(out, out->path, ending);
    char *uri = *name ? uri_of(*name) : NULL;
    if (!uri) return FA_FAIL_MEMORY(err);
    fai_out_str(out, buffer, "uri", uri);
    fa_free(uri);
    return FA_OK;
}

// The lengths of the buffers that we write, and the files of those that are files: own[0] is the packed one, own[1] has
// the new bytes (fa_free both).
static FaCode settle_buffers(FaGltfOut *out, char *own[2], FaError *err) {
    size_t size = out->glb ? bin_size(out) : packed_size(out);
    if (size) {
        // the padding of a BIN chunk is not part of its buffer: as long as nothing follows it, the length stays
        FaJson *b = first_buffer(out);
        const FaJson *length = fai_json_get(b, "byteLength");
        bool stays = length && length->number <= (double)size && size == out->had && out->nsegment == 1;
        if (!stays) fai_out_int(out, b, "byteLength", (int64_t)size);
        if (!out->glb) FA_TRY(name_buffer(out, b, "", &own[0], err));
    }
    if (!out->bin.size || out->glb) return FA_OK;
    FaJson *b = fai_out_push(out, fai_out_array(out, out->root, "buffers"));
    fai_out_int(out, b, "byteLength", (int64_t)out->bin.size);
    return name_buffer(out, b, "_fascia", &own[1], err);
}

// --- what the replaced document had --------------------------------------------------------------------------------

// Is it a name that free_name gives? Others are the user's.
static bool is_own_name(const char *name, const char *stem) {
    size_t n = strlen(stem), end = strlen(name);
    if (strncmp(name, stem, n) != 0 || end < n + 4 || strcmp(name + end - 4, ".bin") != 0) return false;
    const char *rest = name + n;
    if (!strncmp(rest, "_fascia", 7)) rest += 7;
    rest += strspn(rest, "0123456789");
    return rest == name + end - 4;
}

// Files of the .gltf that was at `path`, by name; of the text that it had. The new one does not refer to them.
static void remove_old(const FaGltfOut *out, const FaBytes *old) {
    FaJsonDoc *json = NULL;
    char *stem = fai_path_stem(out->path), *dir = fai_path_dir(out->path);
    bool ok = stem && dir && fai_json_parse((const char *)old->data, old->size, &json, NULL, NULL) >= 0;
    const FaJson *buffers = ok ? fai_json_get(json->root, "buffers") : NULL;
    for (const FaJson *c = buffers ? buffers->first : NULL; c; c = c->next) {
        char *file = file_of(c), *full = file ? fai_path_join(dir, file) : NULL;
        if (full && is_own_name(file, stem) && !uri_in_use(out, file)) remove(full);
        fa_free(file);
        fa_free(full);
    }
    fai_json_free(json);
    fa_free(stem);
    fa_free(dir);
}

// The one rename that switches from the old set of files to the new one.
static FaCode write_gltf(const FaGltfOut *out, const FaText *text, FaError *err) {
    struct stat st;
    FaBytes old = {0};
    if (stat(out->path, &st) == 0 && S_ISREG(st.st_mode) && (old.data = FA_NEW((size_t)st.st_size + 1, unsigned char)))
        old.size = fai_file_start(out->path, old.data, (size_t)st.st_size);
    FaCode rc = fai_file_write(out->path, text->data, text->size, err);
    if (rc >= 0 && old.size) remove_old(out, &old);
    fai_bytes_free(&old);
    return rc;
}

static FaCode write_document(FaGltfOut *out, char *const own[2], FaError *err) {
    const FaGltf *src = out->src;
    FaText text = {0};
    if (out->bin.failed || out->failed) return FA_FAIL_MEMORY(err);
    FaCode rc = copy_files(src, out->root, out->path, own, err);
    for (int i = 0; i < 2 && rc >= 0; i++)
        if (own[i]) rc = write_beside(out, own[i], i == 0, err);
    write_text(out, &text);
    if (rc >= 0 && text.failed) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = out->glb ? write_glb(out, &text, err) : write_gltf(out, &text, err);
    if (rc < 0) remove_beside(out, own);
    size_t now = text.size + packed_size(out) + out->bin.size, before = src->text_size + out->had;
    out->added = now > before ? now - before : 0;
    fai_text_free(&text);
    return rc;
}

FaCode fai_gltf_out_write(FaGltfOut *out, FaError *err) {
    char *own[2] = {NULL, NULL};
    FaCode rc = out->failed ? FA_FAIL_MEMORY(err) : settle_buffers(out, own, err);
    if (rc >= 0) rc = write_document(out, own, err);
    fa_free(own[0]);
    fa_free(own[1]);
    return rc < 0 ? fai_fail_in(err, rc, out->path) : rc;
}

FaCode fai_gltf_out_bytes(FaGltfOut *out, FaText *glb, FaError *err) {
    static const char spaces[4] = "    ", zeros[4] = {0};
    char *own[2] = {NULL, NULL};
    FaText text = {0};
    unsigned char head[20], chunk[8];
    FA_ASSERT(out->glb && !out->nsegment);
    FaCode rc = out->bin.failed ? FA_FAIL_MEMORY(err) : settle_buffers(out, own, err);
    if (rc >= 0) write_text(out, &text);
    if (rc >= 0 && (text.failed || out->failed)) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = glb_heads(out, &text, head, chunk, err);
    if (rc >= 0) {
        fai_text_bytes(glb, head, sizeof head);
        fai_text_bytes(glb, text.data, text.size);
        fai_text_bytes(glb, spaces, aligned(text.size) - text.size);
        if (out->bin.size) fai_text_bytes(glb, chunk, sizeof chunk);
        fai_text_bytes(glb, out->bin.data, out->bin.size);
        fai_text_bytes(glb, zeros, aligned(out->bin.size) - out->bin.size);
        if (glb->failed) rc = FA_FAIL_MEMORY(err);
    }
    fai_text_free(&text);
    return rc;
}

FaCode fai_gltf_copy(const FaGltf *src, const char *path, FaError *err) {
    bool glb = !fai_path_has_ext(path, "gltf");
    if (glb == src->is_glb) {
        // as it was read, whatever its padding and its last bytes are
        char *none[2] = {NULL, NULL};
        FaCode rc = copy_files(src, src->json->root, path, none, err);
        const void *data = glb ? src->file.data : (const void *)src->text;
        if (rc >= 0) rc = fai_file_write(path, data, glb ? src->file.size : src->text_size, err);
        return fai_fail_in(err, rc, path);
    }
    FaGltfOut out;
    FaCode rc = fai_gltf_out_open(&out, src, path, err);
    if (rc >= 0) rc = fai_gltf_out_write(&out, err);
    fai_gltf_out_close(&out);
    return fai_fail_in(err, rc, path);
}
