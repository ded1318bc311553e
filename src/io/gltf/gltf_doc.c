// glTF documents: the container, the JSON, the buffers. The stages that follow are in gltf_accessor.c, gltf_meshopt.c,
// gltf_scene.c, gltf_anim.c and gltf_check.c.
//
// Strictness: what is read must be right, or the file is refused with the JSON path; what is only carried along
// (materials, textures, cameras, unknown extensions) is not judged.
#include "io/gltf/gltf_parse.h"

#include <ctype.h>

enum {
    MAX_FILES = 4096,       // external buffers of one document
    BUDGET_BASE = 32 << 20, // what any document may ask for, however small it is
    BUDGET_PER_BYTE = 4,    // and this much per byte of it
};

// --- small helpers shared by the stages ---------------------------------------------------------------------------

static bool over_budget(FaGltf *doc, size_t count, size_t size) {
    size_t bytes, limit;
    if (__builtin_mul_overflow(doc->bytes, (size_t)BUDGET_PER_BYTE, &limit)) limit = SIZE_MAX / 2;
    limit += BUDGET_BASE;
    bool over = __builtin_mul_overflow(count, size, &bytes) || bytes > limit - FA_MIN(doc->spent, limit);
    doc->spent = over ? SIZE_MAX : doc->spent + bytes;
    return over;
}

void *fai_gltf_push(FaGltf *doc, size_t count, size_t size) {
    return over_budget(doc, count, size) ? NULL : fai_arena_push(doc->arena, count, size);
}

FaCode fai_gltf_no_room(const FaGltf *doc, const FaJson *json, FaError *err) {
    if (doc->spent != SIZE_MAX) return FA_FAIL_MEMORY(err);
    return FAIL_AT(err, FA_E_LIMIT, json, "export it again without empty or repeated parts",
                   "the file would need far more memory than its size explains");
}

FaCode fai_gltf_spend(FaGltf *doc, size_t count, size_t size, const FaJson *json, FaError *err) {
    return over_budget(doc, count, size) ? fai_gltf_no_room(doc, json, err) : FA_OK;
}

FaCode fai_gltf_collection(FaGltf *doc, const char *key, bool may_be_empty, FaJson **array, int *count, FaError *err) {
    *count = 0;
    FA_TRY(fai_json_array_or_null(doc->json->root, key, array, err));
    if (!*array) return FA_OK;
    if (!(*array)->count && !may_be_empty) return BAD_AT(err, *array, "\"%s\" is empty: leave it out instead", key);
    if (!(*array)->count) NOTE_AT(doc, "empty-array", *array, "", "\"%s\" is empty: glTF wants it left out", key);
    for (const FaJson *c = (*array)->first; c; c = c->next)
        if (c->type != FA_JSON_OBJECT) return BAD_AT(err, c, "expected an object");
    *count = (*array)->count;
    return FA_OK;
}

FaCode fai_gltf_ref_value(const FaJson *value, int count, const char *what, int *index, FaError *err) {
    double v = value->number;
    if (value->type != FA_JSON_NUMBER || !(v >= 0) || v > INT32_MAX || v != (double)(int)v)
        return BAD_AT(err, value, "expected the number of a %s", what);
    if (v >= count) return BAD_AT(err, value, "there is no %s %d: the file has %d", what, (int)v, count);
    *index = (int)v;
    return FA_OK;
}

FaCode fai_gltf_ref_or(const FaJson *object, const char *key, int count, const char *what, int *index, FaError *err) {
    *index = -1;
    const FaJson *value = fai_json_get(object, key);
    return value ? fai_gltf_ref_value(value, count, what, index, err) : FA_OK;
}

FaCode fai_gltf_ref(const FaJson *object, const char *key, int count, const char *what, int *index, FaError *err) {
    FA_TRY(fai_gltf_ref_or(object, key, count, what, index, err));
    return *index < 0 ? BAD_AT(err, object, "\"%s\" is missing", key) : FA_OK;
}

FaCode fai_gltf_name(const FaJson *object, const char **name, FaError *err) {
    return fai_json_str_or(object, "name", "", name, err);
}

FaCode fai_gltf_weights(FaGltf *doc, const FaJson *object, int ntarget, int *nweight, float **weight, FaError *err) {
    FaJson *a;
    FA_TRY(fai_json_array_or_null(object, "weights", &a, err));
    if (!a) return FA_OK;
    if (a->count != ntarget)
        return FAIL_AT(err, FA_E_FORMAT, a, "give one weight per morph target, or remove the array",
                       "%d weights for %d morph targets", a->count, ntarget);
    *weight = PUSH(doc, ntarget, float);
    if (!*weight) return fai_gltf_no_room(doc, a, err);
    for (const FaJson *c = a->first; c; c = c->next) {
        if (c->type != FA_JSON_NUMBER || !(c->number >= -3e38 && c->number <= 3e38))
            return BAD_AT(err, c, "expected a finite number");
        (*weight)[(*nweight)++] = (float)c->number;
    }
    return FA_OK;
}

const FaJson *fai_gltf_extension(const FaJson *object, const char *name) {
    return fai_json_get(fai_json_get(object, "extensions"), name);
}

// --- GLB ----------------------------------------------------------------------------------------------------------

static uint32_t u32(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

#define BAD_BYTE(err, at, ...)                                                                                         \
    FA_FAIL((err), FA_E_FORMAT, FA_PLACE("byte %zu", (size_t)(at)),                                                    \
            "the file is damaged or incomplete: copy or export it again", __VA_ARGS__)

static FaCode add_chunk(FaGltf *doc, const FaGltfChunk *chunk, FaError *err) {
    if (doc->nchunk == 0 && chunk->type != FA_GLB_JSON)
        return BAD_BYTE(err, chunk->offset, "the first chunk is not JSON");
    if (doc->nchunk == 0 && !chunk->size) return BAD_BYTE(err, chunk->offset, "the JSON chunk is empty");
    if (doc->nchunk > 0 && chunk->type == FA_GLB_JSON)
        return BAD_BYTE(err, chunk->offset, "there is a second JSON chunk");
    if (chunk->type == FA_GLB_BIN && doc->nchunk > 1) {
        bool second = doc->chunk[1].type == FA_GLB_BIN;
        return BAD_BYTE(err, chunk->offset,
                        second ? "there is a second BIN chunk" : "the BIN chunk is not the second one");
    }
    if (chunk->type != FA_GLB_JSON && chunk->type != FA_GLB_BIN)
        fai_note(&doc->notes, "unknown-chunk", FA_PLACE("byte %zu", chunk->offset), "",
                 "a chunk of an unknown type is kept as it is");
    FaGltfChunk *grown = fai_grow_array(doc->chunk, &doc->chunk_room, doc->nchunk + 1, sizeof *grown);
    if (!grown) return FA_FAIL_MEMORY(err);
    doc->chunk = grown;
    doc->chunk[doc->nchunk++] = *chunk;
    return FA_OK;
}

static FaCode split_glb(FaGltf *doc, FaError *err) {
    const unsigned char *p = doc->file.data;
    size_t size = doc->file.size;
    if (size >= 4 && u32(p) != FA_GLB_MAGIC)
        return BAD_BYTE(err, 0, "this is not a GLB file: it does not start with \"glTF\"");
    if (size < 12) return BAD_BYTE(err, size, "the file ends within its header");
    uint32_t version = u32(p + 4), length = u32(p + 8);
    if (version != 2)
        return FA_FAIL(err, FA_E_UNSUPPORTED, "byte 4", "convert it to glTF 2.0", "GLB version %u is not read, only 2",
                       version);
    if (length <= 12) return BAD_BYTE(err, 8, "the header gives a length of %u bytes, which holds no chunk", length);

    // walk the chunks; the declared length and the real one are both limits
    size_t pos = 12, end = FA_MIN((size_t)length, size);
    while (pos < end) {
        if (size - pos < 8) return BAD_BYTE(err, size, "the file ends within a chunk's header");
        if (length - pos < 8) return BAD_BYTE(err, pos, "a chunk goes past the file's length of %u", length);
        FaGltfChunk c = {u32(p + pos + 4), pos, p + pos + 8, u32(p + pos)};
        if (c.size % 4) return BAD_BYTE(err, pos, "a chunk has %zu bytes, which is no multiple of 4", c.size);
        if (c.size > length - pos - 8)
            return BAD_BYTE(err, pos, "a chunk of %zu bytes goes past the file's length of %u", c.size, length);
        if (c.size > size - pos - 8)
            return BAD_BYTE(err, size, "the file ends within a chunk: %zu bytes are missing",
                            c.size - (size - pos - 8));
        FA_TRY(add_chunk(doc, &c, err));
        pos += 8 + c.size;
    }
    if (size < length) return BAD_BYTE(err, size, "the file ends here, its header promises %u bytes", length);
    if (size > length)
        fai_note(&doc->notes, "extra-bytes", FA_PLACE("byte %u", length), "", "%zu bytes follow the end of the GLB",
                 size - length);

    doc->text = (const char *)doc->chunk[0].data;
    doc->text_size = doc->chunk[0].size;
    if (doc->text_size >= 3 && !memcmp(doc->text, "\xEF\xBB\xBF", 3))
        return BAD_BYTE(err, 20, "the JSON chunk starts with a byte order mark");
    // some old exporters pad the JSON with zeros instead of spaces
    size_t padded = doc->text_size;
    while (doc->text_size && !doc->text[doc->text_size - 1]) doc->text_size--;
    if (doc->text_size < padded)
        fai_note(&doc->notes, "zero-padding", FA_PLACE("byte %zu", 20 + doc->text_size), "",
                 "the JSON chunk is padded with zeros instead of spaces");
    return FA_OK;
}

// --- buffers ------------------------------------------------------------------------------------------------------

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// Undo percent-encoding; a lone percent sign stays (files are often named without regard to URI rules).
static size_t percent_decode(const char *s, size_t n, char *out) {
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        int hi = s[i] == '%' && i + 2 < n ? hex_digit(s[i + 1]) : -1, lo = hi >= 0 ? hex_digit(s[i + 2]) : -1;
        out[m++] = lo >= 0 ? (char)(hi << 4 | lo) : s[i];
        if (lo >= 0) i += 2;
    }
    return m;
}

static bool has_scheme(const char *uri) {
    const char *p = uri;
    if (!isalpha((unsigned char)*p)) return *p == ':';
    while (isalnum((unsigned char)*p) || *p == '+' || *p == '-' || *p == '.') p++;
    return *p == ':';
}

FaCode fai_gltf_uri_path(const char *uri, char **path, FaError *err) {
    *path = NULL;
    const char *remedy = "put the file beside the model and refer to it by its name";
    if (has_scheme(uri))
        return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, remedy, "absolute URIs are not read: \"%.80s\"", uri);
    size_t n = strlen(uri);
    char *s = FA_NEW(n + 1, char), *out = FA_NEW(n + 1, char);
    const char *wrong = NULL;
    if (!s || !out) goto no_memory;
    n = percent_decode(uri, n, s);
    if (!n)
        wrong = "an empty URI names no file";
    else if (memchr(s, 0, n))
        wrong = "a URI with a zero byte is not read";
    else if (memchr(s, '\\', n))
        wrong = "a URI with a backslash is not read";
    else if (s[0] == '/' || (n > 1 && isalpha((unsigned char)s[0]) && s[1] == ':'))
        wrong = "absolute paths are not read";

    // copy segment by segment: "." and empty ones go, ".." would leave the folder
    size_t m = 0;
    for (size_t i = 0; i < n && !wrong;) {
        size_t k = i;
        while (k < n && s[k] != '/') k++;
        size_t len = k - i;
        if (len == 2 && !memcmp(s + i, "..", 2)) wrong = "paths with \"..\" leave the model's folder and are not read";
        if (len && !(len == 1 && s[i] == '.')) {
            if (m) out[m++] = '/';
            memcpy(out + m, s + i, len);
            m += len;
        }
        i = k + 1;
    }
    if (!wrong && !m) wrong = "a URI names a folder, not a file";
    fa_free(s);
    if (wrong) {
        fa_free(out);
        return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, remedy, "%s: \"%.80s\"", wrong, uri);
    }
    *path = out;
    return FA_OK;
no_memory:
    fa_free(s);
    fa_free(out);
    return FA_FAIL_MEMORY(err);
}

// Base64 with its padding; returns the number of bytes, or -1 if it is none. out may be NULL to count only.
static ptrdiff_t base64_decode(const char *s, size_t n, unsigned char *out) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    signed char value[256];
    memset(value, -1, sizeof value);
    for (int i = 0; i < 64; i++) value[(unsigned char)alphabet[i]] = (signed char)i;
    if (n % 4) return -1;
    size_t pad = n && s[n - 1] == '=' ? (s[n - 2] == '=' ? 2 : 1) : 0;
    size_t bytes = n / 4 * 3 - pad;
    if (!out) return (ptrdiff_t)bytes;
    size_t m = 0;
    for (size_t i = 0; i < n; i += 4) {
        uint32_t v = 0;
        for (size_t k = 0; k < 4; k++) {
            int d = i + k >= n - pad ? 0 : value[(unsigned char)s[i + k]];
            if (d < 0) return -1;
            v = v << 6 | (uint32_t)d;
        }
        for (int k = 0; k < 3 && m < bytes; k++) out[m++] = (unsigned char)(v >> (16 - 8 * k));
    }
    return (ptrdiff_t)bytes;
}

// The media type before the data: "application/octet-stream", "application/gltf-buffer", or none, and parameters.
static bool known_media(const char *s, size_t n) {
    static const char *const media[] = {"application/octet-stream", "application/gltf-buffer", ""};
    const char *semicolon = memchr(s, ';', n);
    size_t type = semicolon ? (size_t)(semicolon - s) : n;
    if (semicolon && type + 1 == n) return false;
    for (int i = 0; i < FA_COUNT(media); i++)
        if (type == strlen(media[i]) && !memcmp(s, media[i], type)) return true;
    return false;
}

// "data:application/octet-stream;base64,AAAA", or without ";base64" and percent-encoded.
static FaCode load_data_uri(FaGltf *doc, FaGltfBuffer *b, const FaJson *uri, FaError *err) {
    static const char mark[] = ";base64";
    const size_t nmark = sizeof mark - 1;
    const char *s = uri->string + strlen("data:"), *comma = strchr(s, ',');
    if (!comma) return BAD_AT(err, uri, "a data URI without data");
    size_t n = (size_t)(comma - s);
    bool base64 = n >= nmark && !memcmp(comma - nmark, mark, nmark);
    if (base64) n -= nmark;
    if (!known_media(s, n))
        return BAD_AT(err, uri,
                      "the media type of a buffer is application/octet-stream or application/gltf-buffer, not \"%.*s\"",
                      (int)FA_MIN(n, 60), s);

    // padding signs of base64 are sometimes percent-encoded, too
    const char *text = comma + 1;
    size_t length = strlen(text);
    char *plain = NULL;
    if (memchr(text, '%', length)) {
        plain = FA_NEW(length + 1, char);
        if (!plain) return FA_FAIL_MEMORY(err);
        length = percent_decode(text, length, plain);
        text = plain;
    }
    ptrdiff_t bytes = base64 ? base64_decode(text, length, NULL) : (ptrdiff_t)length;
    unsigned char *data = bytes >= 0 ? FA_PUSH(doc->arena, FA_MAX(bytes, 1), unsigned char) : NULL;
    FaCode rc = FA_OK;
    if (bytes >= 0 && !data)
        rc = FA_FAIL_MEMORY(err);
    else if (bytes < 0 || (base64 && base64_decode(text, length, data) < 0))
        rc = BAD_AT(err, uri, "the base64 text is malformed");
    else if (!base64)
        memcpy(data, text, length);
    fa_free(plain);
    *b = (FaGltfBuffer){b->json, FA_GLTF_IN_URI, data, b->size, (size_t)FA_MAX(bytes, 0), NULL};
    return rc;
}

static FaCode load_external(FaGltf *doc, FaGltfBuffer *b, const FaJson *uri, const char *dir, FaError *err) {
    char *relative = NULL;
    FaError inner = {0};
    FaCode rc = fai_gltf_uri_path(uri->string, &relative, &inner);
    if (rc < 0) return FAIL_AT(err, rc, uri, inner.remedy, "%s", inner.what);
    b->home = FA_GLTF_IN_FILE;
    b->path = fai_arena_strndup(doc->arena, relative, strlen(relative));
    fa_free(relative);
    if (!b->path) return FA_FAIL_MEMORY(err);
    if (!dir)
        return FAIL_AT(err, FA_E_UNSUPPORTED, uri, "use a GLB file, or data URIs",
                       "external buffers are not read here: \"%.80s\"", b->path);

    // several buffers in one file are read once
    for (int i = 0; i < doc->nexternal; i++) {
        const FaGltfFile *f = &doc->external[i];
        if (strcmp(f->path, b->path)) continue;
        b->data = f->bytes.data;
        b->have = f->bytes.size;
        return FA_OK;
    }
    if (doc->nexternal >= MAX_FILES)
        return FAIL_AT(err, FA_E_LIMIT, uri, "merge the buffers", "more than %d external buffers", MAX_FILES);
    FaGltfFile *grown = fai_grow_array(doc->external, &doc->external_room, doc->nexternal + 1, sizeof *grown);
    if (!grown) return FA_FAIL_MEMORY(err);
    doc->external = grown;
    FaBytes bytes;
    char *path = fai_path_join(dir, b->path);
    if (!path) return FA_FAIL_MEMORY(err);
    inner = (FaError){0};
    rc = fai_file_read(path, 0, &bytes, &inner);
    fa_free(path);
    if (rc < 0)
        return FAIL_AT(err, rc, uri, "put the file where the model refers to it", "the buffer \"%.80s\": %s", b->path,
                       inner.what);
    doc->external[doc->nexternal++] = (FaGltfFile){b->path, bytes};
    doc->bytes += bytes.size;
    b->data = bytes.data;
    b->have = bytes.size;
    return FA_OK;
}

static FaCode parse_buffer(FaGltf *doc, int i, const FaJson *json, const char *dir, FaError *err) {
    FaGltfBuffer *b = &doc->buffer[i];
    int64_t size;
    b->json = json;
    FA_TRY(fai_json_int(json, "byteLength", 1, INT64_MAX / 2, &size, err));
    b->size = (size_t)size;
    const FaJson *uri = fai_json_get(json, "uri");
    const FaJson *packed = fai_gltf_extension(json, "EXT_meshopt_compression");
    if (uri && uri->type != FA_JSON_STRING) return BAD_AT(err, uri, "expected a string");
    if (uri && strlen(uri->string) != (size_t)uri->string_size) return BAD_AT(err, uri, "a zero byte inside a URI");

    if (uri && !strncmp(uri->string, "data:", 5))
        FA_TRY(load_data_uri(doc, b, uri, err));
    else if (uri)
        FA_TRY(load_external(doc, b, uri, dir, err));
    else if (fai_json_is(fai_json_get(packed, "fallback"), FA_JSON_TRUE))
        return FA_OK;
    else if (doc->is_glb && i == 0) {
        if (doc->nchunk < 2 || doc->chunk[1].type != FA_GLB_BIN)
            return BAD_AT(err, json, "the buffer's data are missing: the GLB has no BIN chunk");
        *b = (FaGltfBuffer){json, FA_GLTF_IN_GLB, doc->chunk[1].data, b->size, doc->chunk[1].size, NULL};
    } else
        return FA_OK; // the specification leaves open where such data come from; whoever needs them fails

    if (b->have < b->size)
        return BAD_AT(err, json, "the buffer has %zu bytes, its byteLength says %zu", b->have, b->size);
    if (b->home == FA_GLTF_IN_GLB && b->have - b->size > 3)
        NOTE_AT(doc, "bin-padding", json, "", "the BIN chunk is %zu bytes longer than its buffer", b->have - b->size);
    return FA_OK;
}

static FaCode parse_buffers(FaGltf *doc, const char *dir, FaError *err) {
    FaJson *array;
    FA_TRY(fai_gltf_collection(doc, "buffers", false, &array, &doc->nbuffer, err));
    doc->buffer = PUSH(doc, doc->nbuffer, FaGltfBuffer);
    if (!doc->buffer) return fai_gltf_no_room(doc, array, err);
    int i = 0;
    for (const FaJson *c = array ? array->first : NULL; c; c = c->next, i++) FA_TRY(parse_buffer(doc, i, c, dir, err));
    return FA_OK;
}

// --- asset and extensions -----------------------------------------------------------------------------------------

// "major.minor" with digits only.
static bool parse_version(const char *s, int *major, int *minor) {
    int *part[2] = {major, minor};
    for (int i = 0; i < 2; i++) {
        if (!isdigit((unsigned char)*s)) return false;
        for (*part[i] = 0; isdigit((unsigned char)*s); s++)
            if (*part[i] < 100000) *part[i] = *part[i] * 10 + (*s - '0');
        if (*s++ != (i ? 0 : '.')) return false;
    }
    return true;
}

static FaCode check_asset(const FaGltf *doc, FaError *err) {
    const FaJson *root = doc->json->root, *asset = fai_json_get(root, "asset");
    if (root->type != FA_JSON_OBJECT)
        return FA_FAIL(err, FA_E_FORMAT, "/", NULL, "the JSON is not an object: this is no glTF file");
    if (!asset)
        return FA_FAIL(err, FA_E_FORMAT, "/", "export it as glTF 2.0",
                       "\"asset\" is missing: this is no glTF 2.0 file");
    if (asset->type != FA_JSON_OBJECT) return BAD_AT(err, asset, "expected an object");
    static const char *const key[] = {"version", "minVersion"};
    int major[2] = {0}, minor[2] = {0};
    for (int i = 0; i < 2; i++) {
        const FaJson *v = fai_json_get(asset, key[i]);
        if (!v && i) return FA_OK;
        if (!v) return BAD_AT(err, asset, "\"version\" is missing");
        if (v->type != FA_JSON_STRING || !parse_version(v->string, &major[i], &minor[i]))
            return BAD_AT(err, v, "expected a version like \"2.0\"");
        if (major[i] != 2 || (i && minor[i] > 0))
            return FAIL_AT(err, FA_E_UNSUPPORTED, v, "convert it to glTF 2.0",
                           "glTF version %.20s is not read, only 2.0", v->string);
    }
    return FA_OK;
}

// Required extensions that fascia reads, or that do not change vertices, shapes and their motion.
static bool extension_is_fine(const char *name) {
    static const char *const fine[] = {"KHR_mesh_quantization",
                                       "EXT_meshopt_compression",
                                       "KHR_draco_mesh_compression", // the last one is judged per mesh
                                       "KHR_animation_pointer",
                                       "KHR_node_visibility",
                                       "KHR_node_hoverability",
                                       "KHR_node_selectability",
                                       "KHR_xmp",
                                       "KHR_xmp_json_ld",
                                       "EXT_mesh_gpu_instancing",
                                       "EXT_structural_metadata",
                                       "EXT_mesh_features",
                                       "FB_ngon_encoding",
                                       "MSFT_lod",
                                       "VRM"};
    for (int i = 0; i < FA_COUNT(fine); i++)
        if (!strcmp(fine[i], name)) return true;
    return strstr(name, "_material") || strstr(name, "_texture") || strstr(name, "_light") || strstr(name, "_audio") ||
           !strncmp(name, "VRMC_", 5);
}

static FaCode check_extensions(FaGltf *doc, FaError *err) {
    static const char *const key[] = {"extensionsUsed", "extensionsRequired"};
    for (int i = 0; i < 2; i++) {
        FaJson *array;
        FA_TRY(fai_json_array_or_null(doc->json->root, key[i], &array, err));
        for (const FaJson *c = array ? array->first : NULL; c; c = c->next) {
            if (c->type != FA_JSON_STRING) return BAD_AT(err, c, "expected the name of an extension");
            if (!strcmp(c->string, "KHR_mesh_quantization")) doc->quantized = true;
            if (i && !extension_is_fine(c->string))
                return FAIL_AT(err, FA_E_UNSUPPORTED, c, "export the file without that extension",
                               "the file requires the extension %.80s, which fascia does not read", c->string);
        }
    }
    return FA_OK;
}

static int array_size(const FaGltf *doc, const char *key) {
    const FaJson *a = fai_json_get(doc->json->root, key);
    return fai_json_is(a, FA_JSON_ARRAY) ? a->count : 0;
}

// --- the whole document -------------------------------------------------------------------------------------------

static FaCode parse_all(FaGltf *doc, const char *dir, FaError *err) {
    FA_TRY(check_asset(doc, err));
    FA_TRY(check_extensions(doc, err));
    doc->nmaterial = array_size(doc, "materials");
    doc->ncamera = array_size(doc, "cameras");
    FA_TRY(parse_buffers(doc, dir, err));
    FA_TRY(fai_gltf_parse_views(doc, err));
    FA_TRY(fai_gltf_decompress(doc, err));
    FA_TRY(fai_gltf_parse_accessors(doc, err));
    FA_TRY(fai_gltf_parse_scene(doc, err));
    FA_TRY(fai_gltf_parse_anims(doc, err));
    return fai_gltf_check_data(doc, err);
}

static bool looks_like_glb(const FaBytes *bytes, const char *path) {
    if (bytes->size >= 4 && u32(bytes->data) == FA_GLB_MAGIC) return true;
    if (!path || !(fai_path_has_ext(path, "glb") || fai_path_has_ext(path, "vrm"))) return false;
    size_t i = 0;
    while (i < bytes->size && isspace(bytes->data[i])) i++;
    return i == bytes->size || bytes->data[i] != '{'; // a .glb that holds JSON is read as what it is
}

// Takes the bytes, also on failure.
static FaCode parse(FaBytes *bytes, const char *path, const char *dir, FaGltf **out, FaError *err) {
    *out = NULL;
    FaGltf *doc = FA_NEW(1, FaGltf);
    FaCode rc = FA_OK;
    if (!doc || !(doc->arena = fai_arena_new(0)) || (path && !(doc->path = fai_strdup(path)))) {
        rc = FA_FAIL_MEMORY(err);
        fai_bytes_free(bytes);
        goto done;
    }
    doc->face.mesh = doc->face.node = doc->face.carrier = -1;
    doc->file = *bytes;
    doc->bytes = bytes->size;
    doc->is_glb = looks_like_glb(bytes, path);
    if (doc->is_glb)
        FA_TRY_GOTO(done, rc, split_glb(doc, err));
    else {
        doc->text = (const char *)bytes->data;
        doc->text_size = bytes->size;
        if (bytes->size >= 3 && !memcmp(bytes->data, "\xEF\xBB\xBF", 3)) {
            doc->text += 3;
            doc->text_size -= 3;
            fai_note(&doc->notes, "byte-order-mark", "line 1", "",
                     "the file starts with a byte order mark, which glTF forbids; it is left out when written");
        }
    }
    FA_TRY_GOTO(done, rc, fai_json_parse(doc->text, doc->text_size, &doc->json, NULL, err));
    if (!doc->is_glb) { // the parser keeps a copy: one is enough
        fai_bytes_free(&doc->file);
        doc->text = doc->json->text;
    }
    rc = parse_all(doc, dir, err);
done:
    if (rc < 0) {
        fai_gltf_free(doc);
        return path ? fai_fail_in(err, rc, path) : rc;
    }
    *out = doc;
    return FA_OK;
}

FaCode fai_gltf_load(const char *path, FaGltf **doc, FaError *err) {
    *doc = NULL;
    FaBytes bytes;
    FA_TRY(fai_file_read(path, 0, &bytes, err));
    char *dir = fai_path_dir(path);
    if (!dir) {
        fai_bytes_free(&bytes);
        return FA_FAIL_MEMORY(err);
    }
    FaCode rc = parse(&bytes, path, dir, doc, err);
    fa_free(dir);
    return rc;
}

FaCode fai_gltf_parse_memory(const void *data, size_t size, const char *dir, FaGltf **doc, FaError *err) {
    *doc = NULL;
    FaBytes bytes = {fai_resize(NULL, size + 1), size};
    if (!bytes.data) return FA_FAIL_MEMORY(err);
    if (size) memcpy(bytes.data, data, size);
    bytes.data[size] = 0;
    return parse(&bytes, NULL, dir, doc, err);
}

void fai_gltf_free(FaGltf *doc) {
    if (!doc) return;
    for (int i = 0; i < doc->nexternal; i++) fai_bytes_free(&doc->external[i].bytes);
    fa_free(doc->external);
    fa_free(doc->chunk);
    fai_json_free(doc->json);
    fai_bytes_free(&doc->file);
    fai_notes_free(&doc->notes);
    fai_arena_free(doc->arena);
    fa_free(doc->path);
    fa_free(doc);
}
