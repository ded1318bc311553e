#include "io/gltf/gltf_out.h"

enum { ARRAY_BUFFER = 34962 };

// --- JSON ---------------------------------------------------------------------------------------------------------

static FaJson *member(FaGltfOut *out, FaJson *parent, const char *key, FaJsonType type) {
    FaJson *v = fai_json_get(parent, key);
    if (v || !parent) return fai_json_is(v, type) ? v : NULL;
    v = type == FA_JSON_OBJECT ? fai_json_new_object(out->json) : fai_json_new_array(out->json);
    v = fai_json_set(out->json, parent, key, v);
    out->failed |= !v;
    return v;
}

FaJson *fai_out_object(FaGltfOut *out, FaJson *parent, const char *key) {
    return member(out, parent, key, FA_JSON_OBJECT);
}
FaJson *fai_out_array(FaGltfOut *out, FaJson *parent, const char *key) {
    return member(out, parent, key, FA_JSON_ARRAY);
}

static void set(FaGltfOut *out, FaJson *object, const char *key, FaJson *value) {
    if (object) out->failed |= !fai_json_set(out->json, object, key, value);
}

static FaJson *push(FaGltfOut *out, FaJson *array, FaJson *value) {
    if (!array) return NULL;
    FaJson *v = fai_json_append(out->json, array, value);
    out->failed |= !v;
    return v;
}

FaJson *fai_out_push(FaGltfOut *out, FaJson *array) { return push(out, array, fai_json_new_object(out->json)); }
void fai_out_int(FaGltfOut *out, FaJson *o, const char *key, int64_t v) {
    set(out, o, key, fai_json_new_int(out->json, v));
}
void fai_out_num(FaGltfOut *out, FaJson *o, const char *key, double v) {
    set(out, o, key, fai_json_new_num(out->json, v));
}
void fai_out_str(FaGltfOut *out, FaJson *o, const char *key, const char *s) {
    set(out, o, key, fai_json_new_str(out->json, s));
}
void fai_out_bool(FaGltfOut *out, FaJson *o, const char *key, bool v) {
    set(out, o, key, fai_json_new_bool(out->json, v));
}
void fai_out_push_int(FaGltfOut *out, FaJson *a, int64_t v) { push(out, a, fai_json_new_int(out->json, v)); }
void fai_out_push_float(FaGltfOut *out, FaJson *a, float v) { push(out, a, fai_json_new_float(out->json, v)); }
void fai_out_push_str(FaGltfOut *out, FaJson *a, const char *s) { push(out, a, fai_json_new_str(out->json, s)); }

void fai_out_truncate(FaGltfOut *out, FaJson *parent, const char *key, int n) {
    FaJson *old = fai_json_get(parent, key);
    if (!fai_json_is(old, FA_JSON_ARRAY) || old->count <= n) return;
    if (n <= 0) {
        fai_json_remove(parent, key);
        return;
    }
    FaJson *kept = fai_json_new_array(out->json);
    for (int i = 0; i < n && kept; i++) push(out, kept, fai_json_copy(out->json, fai_json_at(old, i)));
    set(out, parent, key, kept);
}

// --- data ---------------------------------------------------------------------------------------------------------

static void align(FaText *bin) {
    static const char zeros[4] = {0};
    fai_text_bytes(bin, zeros, (4 - bin->size % 4) % 4);
}

void *fai_out_view(FaGltfOut *out, size_t size, int stride, int target, int *view) {
    align(&out->bin);
    size_t at = out->bin.size;
    FaJson *v = fai_out_push(out, fai_out_array(out, out->root, "bufferViews"));
    fai_out_int(out, v, "buffer", out->buffer);
    fai_out_int(out, v, "byteOffset", (int64_t)(out->base + at));
    fai_out_int(out, v, "byteLength", (int64_t)size);
    if (stride) fai_out_int(out, v, "byteStride", stride);
    if (target) fai_out_int(out, v, "target", target);
    *view = out->nview++;
    // one growth for all of it; the caller fills it in
    static const char zeros[4096] = {0};
    for (size_t left = size; left && !out->bin.failed;) {
        size_t n = FA_MIN(left, sizeof zeros);
        fai_text_bytes(&out->bin, zeros, n);
        left -= n;
    }
    if (out->bin.failed) out->failed = true;
    return out->failed ? NULL : out->bin.data + at;
}

// Bounds of rows; `with_zero`: some rows are not listed and are zero.
static void add_bounds(FaGltfOut *out, FaJson *accessor, const float *x, int n, int width, bool with_zero) {
    FaJson *low = fai_out_array(out, accessor, "min"), *high = fai_out_array(out, accessor, "max");
    for (int k = 0; k < width; k++) {
        float a = with_zero || !n ? 0 : x[k], b = a;
        for (int i = 0; i < n; i++) {
            float v = x[(size_t)i * (size_t)width + (size_t)k];
            a = FA_MIN(a, v);
            b = FA_MAX(b, v);
        }
        fai_out_push_float(out, low, a == 0 ? 0 : a); // no negative zero
        fai_out_push_float(out, high, b == 0 ? 0 : b);
    }
}

static FaJson *add_accessor(FaGltfOut *out, int view, size_t offset, FaGltfComp comp, int count, const char *type) {
    FaJson *a = fai_out_push(out, fai_out_array(out, out->root, "accessors"));
    if (view >= 0) fai_out_int(out, a, "bufferView", view);
    if (offset) fai_out_int(out, a, "byteOffset", (int64_t)offset);
    fai_out_int(out, a, "componentType", comp);
    fai_out_int(out, a, "count", count);
    fai_out_str(out, a, "type", type);
    out->naccessor++;
    return a;
}

static FaJson *new_accessor(FaGltfOut *out, int view, size_t offset, int count, int width) {
    static const char *const type[] = {"SCALAR", "VEC2", "VEC3", "VEC4"};
    return add_accessor(out, view, offset, FA_GLTF_F32, count, type[width - 1]);
}

int fai_out_accessor(FaGltfOut *out, int view, FaGltfComp comp, int count, const char *type) {
    add_accessor(out, view, 0, comp, count, type);
    return out->naccessor - 1;
}

int fai_out_floats(FaGltfOut *out, const float *x, int count, int width, bool bounds) {
    int view;
    size_t bytes = (size_t)count * (size_t)width * sizeof *x;
    void *to = fai_out_view(out, bytes, 0, 0, &view);
    if (to) memcpy(to, x, bytes);
    FaJson *a = new_accessor(out, view, 0, count, width);
    if (bounds) add_bounds(out, a, x, count, width, false);
    return out->naccessor - 1;
}

int fai_out_zeros(FaGltfOut *out, int count, int width) {
    if (count == out->zero_count[width - 1]) return out->zeros[width - 1];
    add_bounds(out, new_accessor(out, -1, 0, count, width), NULL, 0, width, true);
    out->zero_count[width - 1] = count;
    return out->zeros[width - 1] = out->naccessor - 1;
}

// --- sparse and dense fields --------------------------------------------------------------------------------------

static int index_size(int total) { return total <= 256 ? 1 : total <= 65536 ? 2 : 4; }

// What the JSON of a sparse accessor takes beyond that of a dense one.
enum { SPARSE_TEXT = 140 };
static bool is_sparse(int count, int total) {
    return (size_t)count * (size_t)(12 + index_size(total)) + SPARSE_TEXT < 12 * (size_t)total;
}

static void put_index(unsigned char *to, int size, int v) {
    for (int i = 0; i < size; i++) to[i] = (unsigned char)(v >> (8 * i));
}

static void add_sparse(FaGltfOut *out, int total, int count, const float *value, int index_view, size_t index_at,
                       int value_view, size_t value_at) {
    static const int comp[] = {0, FA_GLTF_U8, FA_GLTF_U16, 0, FA_GLTF_U32};
    FaJson *a = new_accessor(out, -1, 0, total, 3);
    add_bounds(out, a, value, count, 3, count < total);
    FaJson *sparse = fai_out_object(out, a, "sparse");
    fai_out_int(out, sparse, "count", count);
    FaJson *indices = fai_out_object(out, sparse, "indices"), *values = fai_out_object(out, sparse, "values");
    fai_out_int(out, indices, "bufferView", index_view);
    if (index_at) fai_out_int(out, indices, "byteOffset", (int64_t)index_at);
    fai_out_int(out, indices, "componentType", comp[index_size(total)]);
    fai_out_int(out, values, "bufferView", value_view);
    if (value_at) fai_out_int(out, values, "byteOffset", (int64_t)value_at);
}

void fai_out_fields(FaGltfOut *out, int n, int total, const int *first, const int *row, const float *value,
                    int *accessor) {
    int isize = index_size(total), dense_view = 0, index_view = 0, value_view = 0;
    size_t ndense = 0, nsparse = 0;
    for (int i = 0; i < n; i++) {
        int count = first[i + 1] - first[i];
        if (count && is_sparse(count, total))
            nsparse += (size_t)count;
        else if (count)
            ndense++;
    }
    // views first, since making one may move the bytes; indices last, where alignment costs nothing
    size_t dense_at = 0, value_at = 0, index_at = 0, stride = 12 * (size_t)total;
    if (ndense) fai_out_view(out, ndense * stride, 12, ARRAY_BUFFER, &dense_view);
    size_t dense_base = out->bin.size - ndense * stride;
    if (nsparse) fai_out_view(out, 12 * nsparse, 0, 0, &value_view);
    size_t value_base = out->bin.size - 12 * nsparse;
    if (nsparse) fai_out_view(out, (size_t)isize * nsparse, 0, 0, &index_view);
    size_t index_base = out->bin.size - (size_t)isize * nsparse;
    if (out->failed) return;
    unsigned char *bin = (unsigned char *)out->bin.data;
    for (int i = 0; i < n; i++) {
        int count = first[i + 1] - first[i];
        const int *r = row + first[i];
        const float *v = value + 3 * (size_t)first[i];
        if (!count) {
            accessor[i] = fai_out_zeros(out, total, 3);
            continue;
        }
        accessor[i] = out->naccessor;
        if (!is_sparse(count, total)) {
            for (int k = 0; k < count; k++)
                memcpy(bin + dense_base + dense_at + 12 * (size_t)r[k], v + 3 * (size_t)k, 12);
            add_bounds(out, new_accessor(out, dense_view, dense_at, total, 3), v, count, 3, count < total);
            dense_at += stride;
            continue;
        }
        memcpy(bin + value_base + value_at, v, 12 * (size_t)count);
        for (int k = 0; k < count; k++) put_index(bin + index_base + index_at + (size_t)k * (size_t)isize, isize, r[k]);
        add_sparse(out, total, count, v, index_view, index_at, value_view, value_at);
        value_at += 12 * (size_t)count;
        index_at += (size_t)isize * (size_t)count;
    }
}
