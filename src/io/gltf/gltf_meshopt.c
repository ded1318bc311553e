// EXT_meshopt_compression: views whose bytes are stored compressed elsewhere, decoded with libmeshoptimizer.
//
// A file may also carry the plain bytes as a fallback; those are used where they exist. Decoded sizes are bounded
// before anything is allocated: the codecs reach 1:64 on zeros, and views may share compressed bytes.
#include "io/gltf/gltf_parse.h"

#ifdef FA_HAVE_MESHOPT
#include <meshoptimizer.h>
#endif

enum { DECODED_BASE = 64 << 20, DECODED_PER_BYTE = 16 };

typedef enum Mode { ATTRIBUTES, TRIANGLES, INDICES } Mode;
typedef enum Filter { NONE, OCTAHEDRAL, QUATERNION, EXPONENTIAL } Filter;

typedef struct Packed {
    const unsigned char *data;
    size_t size;
    size_t count, stride; // of the decoded elements
    Mode mode;
    Filter filter;
} Packed;

static FaCode parse_word(const FaJson *json, const char *key, const char *const *words, int nword, int absent,
                         int *value, FaError *err) {
    const char *s;
    FA_TRY(fai_json_str_or(json, key, NULL, &s, err));
    *value = absent;
    if (!s) return absent < 0 ? BAD_AT(err, json, "\"%s\" is missing", key) : FA_OK;
    for (int i = 0; i < nword; i++) {
        if (strcmp(words[i], s)) continue;
        *value = i;
        return FA_OK;
    }
    return FAIL_AT(err, FA_E_UNSUPPORTED, fai_json_get(json, key),
                   "export the file with an older encoder, or without compression", "the %s \"%.40s\" is not read", key,
                   s);
}

static FaCode parse_packed(const FaGltf *doc, const FaJson *json, Packed *p, FaError *err) {
    static const char *const modes[] = {"ATTRIBUTES", "TRIANGLES", "INDICES"};
    static const char *const filters[] = {"NONE", "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL"};
    int buffer, mode, filter;
    int64_t offset, size, stride, count;
    if (json->type != FA_JSON_OBJECT) return BAD_AT(err, json, "expected an object");
    FA_TRY(fai_gltf_ref(json, "buffer", doc->nbuffer, "buffer", &buffer, err));
    const FaGltfBuffer *b = &doc->buffer[buffer];
    FA_TRY(fai_json_int_or(json, "byteOffset", 0, INT64_MAX / 2, 0, &offset, err));
    FA_TRY(fai_json_int(json, "byteLength", 1, INT64_MAX / 2, &size, err));
    FA_TRY(fai_json_int(json, "byteStride", 1, 256, &stride, err));
    FA_TRY(fai_json_int(json, "count", 1, INT32_MAX, &count, err));
    FA_TRY(parse_word(json, "mode", modes, FA_COUNT(modes), -1, &mode, err));
    FA_TRY(parse_word(json, "filter", filters, FA_COUNT(filters), NONE, &filter, err));
    if ((size_t)offset >= b->size || (size_t)size > b->size - (size_t)offset)
        return BAD_AT(err, json, "the compressed bytes %lld to %lld lie outside their buffer of %zu bytes",
                      (long long)offset, (long long)(offset + size), b->size);
    if (!b->data) return BAD_AT(err, json, "the buffer of the compressed bytes has no data");

    // what the decoders take for granted
    const FaJson *at = fai_json_get(json, "byteStride");
    if (mode == ATTRIBUTES && stride % 4) return BAD_AT(err, at, "%lld is no multiple of 4", (long long)stride);
    if (mode != ATTRIBUTES && stride != 2 && stride != 4)
        return BAD_AT(err, at, "compressed indices have 2 or 4 bytes, not %lld", (long long)stride);
    if (mode == TRIANGLES && count % 3)
        return BAD_AT(err, fai_json_get(json, "count"), "%lld indices make no whole number of triangles",
                      (long long)count);
    if (mode != ATTRIBUTES && filter != NONE)
        return BAD_AT(err, fai_json_get(json, "filter"), "indices have no filter");
    if ((filter == OCTAHEDRAL && stride != 4 && stride != 8) || (filter == QUATERNION && stride != 8))
        return BAD_AT(err, at, "the filter %s does not go with a stride of %lld", filters[filter], (long long)stride);
    *p = (Packed){b->data + offset, (size_t)size, (size_t)count, (size_t)stride, (Mode)mode, (Filter)filter};
    return FA_OK;
}

#ifdef FA_HAVE_MESHOPT
static FaCode decode(const Packed *p, unsigned char *out, const FaJson *json, FaError *err) {
    int rc = 0;
    switch (p->mode) {
    case ATTRIBUTES: rc = meshopt_decodeVertexBuffer(out, p->count, p->stride, p->data, p->size); break;
    case TRIANGLES: rc = meshopt_decodeIndexBuffer(out, p->count, p->stride, p->data, p->size); break;
    case INDICES: rc = meshopt_decodeIndexSequence(out, p->count, p->stride, p->data, p->size); break;
    }
    if (rc)
        return BAD_AT(err, json, "the compressed data are damaged, or of a newer version (meshoptimizer error %d)", rc);
    switch (p->filter) {
    case NONE: break;
    case OCTAHEDRAL: meshopt_decodeFilterOct(out, p->count, p->stride); break;
    case QUATERNION: meshopt_decodeFilterQuat(out, p->count, p->stride); break;
    case EXPONENTIAL: meshopt_decodeFilterExp(out, p->count, p->stride); break;
    }
    return FA_OK;
}
#endif

static FaCode decompress_view(FaGltf *doc, FaGltfView *v, const FaJson *json, size_t *room, FaError *err) {
    Packed p = {0};
    FA_TRY(parse_packed(doc, json, &p, err));
    if (v->data) return FA_OK;
#ifdef FA_HAVE_MESHOPT
    size_t bytes = p.count * p.stride; // at most 2^31 * 256
    if (bytes < v->size) return BAD_AT(err, json, "%zu decoded bytes for a view of %zu", bytes, v->size);
    if (bytes > *room)
        return FAIL_AT(err, FA_E_LIMIT, json, "decompress the file first: gltf-transform dequantize in.glb out.glb",
                       "the compressed data would grow to more than %d times the file's size", DECODED_PER_BYTE);
    *room -= bytes;
    unsigned char *out = FA_PUSH(doc->arena, bytes, unsigned char);
    if (!out) return FA_FAIL_MEMORY(err);
    FA_TRY(decode(&p, out, json, err));
    v->data = out;
    return FA_OK;
#else
    (void)room;
    return FAIL_AT(err, FA_E_UNSUPPORTED, json, "decompress the file first: gltf-transform dequantize in.glb out.glb",
                   "this fascia was built without EXT_meshopt_compression");
#endif
}

FaCode fai_gltf_decompress(FaGltf *doc, FaError *err) {
    size_t limit, room;
    if (__builtin_mul_overflow(doc->bytes, (size_t)DECODED_PER_BYTE, &limit)) limit = SIZE_MAX / 2;
    limit += DECODED_BASE;
    room = limit;
    for (int i = 0; i < doc->nview; i++) {
        const FaJson *json = fai_gltf_extension(doc->view[i].json, "EXT_meshopt_compression");
        if (json) FA_TRY(decompress_view(doc, &doc->view[i], json, &room, err));
    }
    doc->bytes += limit - room;
    return FA_OK;
}
