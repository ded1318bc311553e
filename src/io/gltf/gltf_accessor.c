// Buffer views and accessors: parsed and checked once, then read as floats or integers.
//
// Bounds, in bytes (all sums are checked against what is left, so that nothing wraps):
//     view:      offset + size <= buffer.size
//     accessor:  offset + (count - 1) * stride + element <= view.size
#include "io/gltf/gltf_parse.h"

enum { MAX_COUNT = INT32_MAX / 16 }; // elements of one accessor: count * width fits an int

static const struct {
    const char *name;
    int width, rows, columns;
} type_table[] = {{"SCALAR", 1, 1, 1}, {"VEC2", 2, 2, 1}, {"VEC3", 3, 3, 1}, {"VEC4", 4, 4, 1},
                  {"MAT2", 4, 2, 2},   {"MAT3", 9, 3, 3}, {"MAT4", 16, 4, 4}};

int fai_gltf_comp_size(FaGltfComp comp) {
    switch (comp) {
    case FA_GLTF_I8:
    case FA_GLTF_U8: return 1;
    case FA_GLTF_I16:
    case FA_GLTF_U16: return 2;
    case FA_GLTF_U32:
    case FA_GLTF_F32: return 4;
    }
    return 0;
}

// Bytes from one matrix column to the next: columns start at multiples of four.
static int column_stride(FaGltfComp comp, FaGltfType type) {
    int bytes = type_table[type].rows * fai_gltf_comp_size(comp);
    return type >= FA_GLTF_MAT2 ? (bytes + 3) / 4 * 4 : bytes;
}

int fai_gltf_element_size(FaGltfComp comp, FaGltfType type) {
    return column_stride(comp, type) * type_table[type].columns;
}

// The same without the padding after the last column, which need not be there.
static int element_extent(FaGltfComp comp, FaGltfType type) {
    return fai_gltf_element_size(comp, type) - column_stride(comp, type) +
           type_table[type].rows * fai_gltf_comp_size(comp);
}

// --- views --------------------------------------------------------------------------------------------------------

static FaCode parse_view(FaGltf *doc, const FaJson *json, FaGltfView *v, FaError *err) {
    int64_t offset, size, stride, target;
    v->json = json;
    FA_TRY(fai_gltf_ref(json, "buffer", doc->nbuffer, "buffer", &v->buffer, err));
    const FaGltfBuffer *b = &doc->buffer[v->buffer];
    FA_TRY(fai_json_int_or(json, "byteOffset", 0, INT64_MAX / 2, 0, &offset, err));
    FA_TRY(fai_json_int(json, "byteLength", 1, INT64_MAX / 2, &size, err));
    FA_TRY(fai_json_int_or(json, "byteStride", 4, 252, 0, &stride, err));
    FA_TRY(fai_json_int_or(json, "target", 0, INT32_MAX, 0, &target, err));
    if ((size_t)offset >= b->size)
        return BAD_AT(err, fai_json_get(json, "byteOffset"),
                      "the view starts at byte %lld, past its buffer of %zu bytes", (long long)offset, b->size);
    if ((size_t)size > b->size - (size_t)offset)
        return BAD_AT(err, fai_json_get(json, "byteLength"), "the view ends at byte %llu, its buffer at %zu",
                      (unsigned long long)offset + (unsigned long long)size, b->size);
    if (stride % 4) return BAD_AT(err, fai_json_get(json, "byteStride"), "%lld is no multiple of 4", (long long)stride);
    if (stride > size) return BAD_AT(err, fai_json_get(json, "byteStride"), "the stride is larger than the view");
    if (stride && target == 34963)
        return BAD_AT(err, fai_json_get(json, "byteStride"), "a view of indices has no stride");
    v->offset = (size_t)offset;
    v->size = (size_t)size;
    v->stride = (int)stride;
    v->target = (int)target;
    v->data = b->data ? b->data + v->offset : NULL;
    return FA_OK;
}

FaCode fai_gltf_parse_views(FaGltf *doc, FaError *err) {
    FaJson *array;
    FA_TRY(fai_gltf_collection(doc, "bufferViews", false, &array, &doc->nview, err));
    doc->view = PUSH(doc, doc->nview, FaGltfView);
    if (!doc->view) return fai_gltf_no_room(doc, array, err);
    FaGltfView *v = doc->view;
    for (const FaJson *c = array ? array->first : NULL; c; c = c->next) FA_TRY(parse_view(doc, c, v++, err));
    return FA_OK;
}

// --- accessors ----------------------------------------------------------------------------------------------------

static FaCode parse_component(const FaJson *json, bool index, FaGltfComp *comp, FaError *err) {
    int64_t c;
    FA_TRY(fai_json_int(json, "componentType", 0, INT32_MAX, &c, err));
    *comp = (FaGltfComp)c;
    const FaJson *value = fai_json_get(json, "componentType");
    if (!fai_gltf_comp_size(*comp))
        return FAIL_AT(err, FA_E_UNSUPPORTED, value, NULL, "the component type %d is not read", (int)c);
    if (index && *comp != FA_GLTF_U8 && *comp != FA_GLTF_U16 && *comp != FA_GLTF_U32)
        return BAD_AT(err, value, "indices are unsigned integers, not of type %d", (int)c);
    return FA_OK;
}

static FaCode parse_type(const FaJson *json, FaGltfType *type, FaError *err) {
    const char *name;
    FA_TRY(fai_json_str_or(json, "type", NULL, &name, err));
    if (!name) return BAD_AT(err, json, "\"type\" is missing");
    for (int i = 0; i < FA_COUNT(type_table); i++) {
        if (strcmp(type_table[i].name, name)) continue;
        *type = (FaGltfType)i;
        return FA_OK;
    }
    return FAIL_AT(err, FA_E_UNSUPPORTED, fai_json_get(json, "type"), NULL, "the accessor type \"%.40s\" is not read",
                   name);
}

// Whether `count` elements lie within the view; the last one takes `extent` bytes.
static bool fits(const FaGltfView *v, size_t offset, int count, int stride, int extent) {
    return offset <= v->size && (size_t)extent <= v->size - offset &&
           (size_t)(count - 1) * (size_t)stride <= v->size - offset - (size_t)extent;
}

static FaCode parse_place(const FaGltf *doc, const FaJson *json, FaGltfAccessor *a, FaError *err) {
    int64_t offset;
    int comp = fai_gltf_comp_size(a->comp), element = fai_gltf_element_size(a->comp, a->type);
    const FaJson *at = fai_json_get(json, "byteOffset");
    FA_TRY(fai_gltf_ref_or(json, "bufferView", doc->nview, "buffer view", &a->view, err));
    FA_TRY(fai_json_int_or(json, "byteOffset", 0, INT64_MAX / 2, 0, &offset, err));
    a->offset = (size_t)offset;
    a->stride = element;
    if (a->view < 0) return at ? BAD_AT(err, at, "a byteOffset without a bufferView") : FA_OK;
    const FaGltfView *v = &doc->view[a->view];
    if (v->stride) a->stride = v->stride;
    if (offset % comp)
        return BAD_AT(err, at, "the offset %lld is no multiple of the component's %d bytes", (long long)offset, comp);
    if (a->type >= FA_GLTF_MAT2 && offset % 4)
        return BAD_AT(err, at, "matrix columns start at multiples of 4 bytes, not at %lld", (long long)offset);
    if ((a->offset + v->offset) % (size_t)comp)
        return BAD_AT(err, json, "the data start at byte %zu of the buffer, no multiple of the component's %d bytes",
                      a->offset + v->offset, comp);
    if (a->stride < element)
        return BAD_AT(err, json, "elements of %d bytes at a stride of %d overlap", element, a->stride);
    if (!fits(v, a->offset, a->count, a->stride, element_extent(a->comp, a->type)))
        return BAD_AT(err, json, "%d elements at a stride of %d from byte %zu do not fit into a view of %zu bytes",
                      a->count, a->stride, a->offset, v->size);
    return FA_OK;
}

// Elements one after the other: how many, bytes of a component, from one to the next, of the last.
typedef struct Packed {
    int count, comp, element, extent;
} Packed;

// One of the two views of a sparse accessor.
static FaCode parse_sparse_part(const FaGltf *doc, const FaJson *json, Packed p, int *view, size_t *offset,
                                FaError *err) {
    int64_t at;
    FA_TRY(fai_gltf_ref(json, "bufferView", doc->nview, "buffer view", view, err));
    FA_TRY(fai_json_int_or(json, "byteOffset", 0, INT64_MAX / 2, 0, &at, err));
    *offset = (size_t)at;
    const FaGltfView *v = &doc->view[*view];
    if (v->stride) return BAD_AT(err, fai_json_get(json, "bufferView"), "a view of sparse data has no stride");
    if (at % p.comp)
        return BAD_AT(err, fai_json_get(json, "byteOffset"),
                      "the offset %lld is no multiple of the component's %d bytes", (long long)at, p.comp);
    if ((v->offset + *offset) % (size_t)p.comp)
        return BAD_AT(err, json, "the data start at byte %zu of the buffer, no multiple of the component's %d bytes",
                      v->offset + *offset, p.comp);
    if (!fits(v, *offset, p.count, p.element, p.extent))
        return BAD_AT(err, json, "%d sparse elements from byte %zu do not fit into a view of %zu bytes", p.count,
                      *offset, v->size);
    return FA_OK;
}

static uint32_t read_uint(const unsigned char *p, FaGltfComp comp) {
    uint16_t h;
    uint32_t w;
    switch (comp) {
    case FA_GLTF_I8: return (uint32_t)(int8_t)*p;
    case FA_GLTF_U8: return *p;
    case FA_GLTF_I16: memcpy(&h, p, 2); return (uint32_t)(int16_t)h;
    case FA_GLTF_U16: memcpy(&h, p, 2); return h;
    default: memcpy(&w, p, 4); return w;
    }
}

static FaCode check_sparse_indices(const FaGltf *doc, const FaGltfAccessor *a, const FaJson *json, FaError *err) {
    const unsigned char *p = doc->view[a->index_view].data;
    if (!p) return FA_OK;
    int64_t last = -1;
    int size = fai_gltf_comp_size(a->index_comp);
    for (int i = 0; i < a->nsparse; i++) {
        int64_t index = read_uint(p + a->index_offset + (size_t)i * (size_t)size, a->index_comp);
        if (index <= last)
            return BAD_AT(err, json, "sparse index %d is %lld after %lld: they must increase", i, (long long)index,
                          (long long)last);
        if (index >= a->count)
            return BAD_AT(err, json, "sparse index %d is %lld, the accessor has %d elements", i, (long long)index,
                          a->count);
        last = index;
    }
    return FA_OK;
}

static FaCode parse_sparse(const FaGltf *doc, const FaJson *json, FaGltfAccessor *a, FaError *err) {
    FaJson *sparse, *indices, *values;
    int64_t n;
    a->index_view = a->value_view = -1;
    FA_TRY(fai_json_object_or_null(json, "sparse", &sparse, err));
    if (!sparse) return FA_OK;
    FA_TRY(fai_json_int(sparse, "count", 1, MAX_COUNT, &n, err));
    if (n > a->count)
        return BAD_AT(err, fai_json_get(sparse, "count"), "%lld sparse elements in an accessor of %d", (long long)n,
                      a->count);
    a->nsparse = (int)n;
    FA_TRY(fai_json_object_or_null(sparse, "indices", &indices, err));
    FA_TRY(fai_json_object_or_null(sparse, "values", &values, err));
    if (!indices || !values) return BAD_AT(err, sparse, "\"%s\" is missing", indices ? "values" : "indices");
    FA_TRY(parse_component(indices, true, &a->index_comp, err));
    int size = fai_gltf_comp_size(a->index_comp);
    const Packed index = {a->nsparse, size, size, size},
                 value = {a->nsparse, fai_gltf_comp_size(a->comp), fai_gltf_element_size(a->comp, a->type),
                          element_extent(a->comp, a->type)};
    FA_TRY(parse_sparse_part(doc, indices, index, &a->index_view, &a->index_offset, err));
    FA_TRY(parse_sparse_part(doc, values, value, &a->value_view, &a->value_offset, err));
    return check_sparse_indices(doc, a, indices, err);
}

// min and max hold one number per component; whether they are true is seen with the data.
static FaCode check_bounds_form(const FaJson *json, const char *key, int width, FaError *err) {
    FaJson *a;
    FA_TRY(fai_json_array_or_null(json, key, &a, err));
    if (!a) return FA_OK;
    if (a->count != width) return BAD_AT(err, a, "%d numbers for elements of %d components", a->count, width);
    for (const FaJson *c = a->first; c; c = c->next)
        if (c->type != FA_JSON_NUMBER) return BAD_AT(err, c, "expected a number");
    return FA_OK;
}

FaCode fai_gltf_misplaced(const FaJson *object, FaError *err) {
    static const char *const name[] = {"KHR_mesh_quantization", "KHR_animation_pointer", "KHR_draco_mesh_compression",
                                       "EXT_meshopt_compression"};
    for (int i = 0; i < FA_COUNT(name); i++) {
        const FaJson *e = fai_gltf_extension(object, name[i]);
        if (e) return BAD_AT(err, e, "%s changes how data are read, and means nothing at this place", name[i]);
    }
    return FA_OK;
}

static FaCode parse_accessor(FaGltf *doc, const FaJson *json, FaGltfAccessor *a, FaError *err) {
    int64_t count;
    a->json = json;
    FA_TRY(parse_component(json, false, &a->comp, err));
    FA_TRY(parse_type(json, &a->type, err));
    FA_TRY(fai_json_int(json, "count", 1, MAX_COUNT, &count, err));
    a->count = (int)count;
    a->width = type_table[a->type].width;
    const FaJson *normalized = fai_json_get(json, "normalized");
    if (normalized && normalized->type != FA_JSON_TRUE && normalized->type != FA_JSON_FALSE)
        return BAD_AT(err, normalized, "expected true or false");
    a->normalized = fai_json_is(normalized, FA_JSON_TRUE);
    if (a->normalized && fai_gltf_comp_size(a->comp) == 4)
        return BAD_AT(err, normalized, "only 8- and 16-bit integers can be normalized");
    FA_TRY(parse_place(doc, json, a, err));
    FA_TRY(parse_sparse(doc, json, a, err));
    FA_TRY(check_bounds_form(json, "min", a->width, err));
    FA_TRY(check_bounds_form(json, "max", a->width, err));
    return fai_gltf_misplaced(json, err);
}

FaCode fai_gltf_parse_accessors(FaGltf *doc, FaError *err) {
    FaJson *array;
    FA_TRY(fai_gltf_collection(doc, "accessors", false, &array, &doc->naccessor, err));
    doc->accessor = PUSH(doc, doc->naccessor, FaGltfAccessor);
    if (!doc->accessor) return fai_gltf_no_room(doc, array, err);
    FaGltfAccessor *a = doc->accessor;
    for (const FaJson *c = array ? array->first : NULL; c; c = c->next) FA_TRY(parse_accessor(doc, c, a++, err));
    return FA_OK;
}

// --- reading ------------------------------------------------------------------------------------------------------

bool fai_gltf_has_data(const FaGltf *doc, int accessor) {
    const FaGltfAccessor *a = &doc->accessor[accessor];
    if (a->view >= 0 && !doc->view[a->view].data) return false;
    return !a->nsparse || (doc->view[a->index_view].data && doc->view[a->value_view].data);
}

static FaCode need_data(const FaGltf *doc, int accessor, FaError *err) {
    if (fai_gltf_has_data(doc, accessor)) return FA_OK;
    return FAIL_AT(err, FA_E_FORMAT, doc->accessor[accessor].json, "export the file with its buffers",
                   "the buffer of this accessor has no data");
}

const void *fai_gltf_bytes(const FaGltf *doc, int accessor) {
    const FaGltfAccessor *a = &doc->accessor[accessor];
    const unsigned char *p = a->view >= 0 ? doc->view[a->view].data : NULL;
    return p ? p + a->offset : NULL;
}

// Where component c of an element starts, in bytes.
static void component_offsets(FaGltfComp comp, FaGltfType type, int offset[16]) {
    int rows = type_table[type].rows, size = fai_gltf_comp_size(comp), column = column_stride(comp, type);
    for (int c = 0; c < type_table[type].width; c++) offset[c] = c / rows * column + c % rows * size;
}

// `count` elements from p; floats as they are, integers as they are or scaled to 0..1 and -1..1.
static void read_floats(const FaGltfAccessor *a, const unsigned char *p, int count, int stride, float *out) {
    int offset[16], width = a->width;
    component_offsets(a->comp, a->type, offset);
    if (a->comp == FA_GLTF_F32 && stride == 4 * width) {
        memcpy(out, p, (size_t)count * (size_t)stride);
        return;
    }
#define READ(T, expr)                                                                                                  \
    for (int i = 0; i < count; i++, p += stride, out += width)                                                         \
        for (int c = 0; c < width; c++) {                                                                              \
            T v;                                                                                                       \
            memcpy(&v, p + offset[c], sizeof v);                                                                       \
            out[c] = expr;                                                                                             \
        }
    switch (a->comp) {
    case FA_GLTF_F32: READ(float, v) break;
    case FA_GLTF_U32: READ(uint32_t, (float)v) break;
    case FA_GLTF_U16:
        if (a->normalized) READ(uint16_t, (float)v / 65535.0f) else READ(uint16_t, v) break;
    case FA_GLTF_I16:
        if (a->normalized) READ(int16_t, FA_MAX((float)v / 32767.0f, -1.0f)) else READ(int16_t, v) break;
    case FA_GLTF_U8:
        if (a->normalized) READ(uint8_t, (float)v / 255.0f) else READ(uint8_t, v) break;
    case FA_GLTF_I8:
        if (a->normalized) READ(int8_t, FA_MAX((float)v / 127.0f, -1.0f)) else READ(int8_t, v) break;
    }
#undef READ
}

static int sparse_row(const FaGltf *doc, const FaGltfAccessor *a, int i) {
    const unsigned char *p = doc->view[a->index_view].data + a->index_offset;
    return (int)read_uint(p + (size_t)i * (size_t)fai_gltf_comp_size(a->index_comp), a->index_comp);
}

void fai_gltf_floats_of(const FaGltf *doc, const FaGltfAccessor *a, float *out) {
    size_t width = (size_t)a->width;
    const unsigned char *p = a->view >= 0 ? doc->view[a->view].data : NULL;
    if (p)
        read_floats(a, p + a->offset, a->count, a->stride, out);
    else
        memset(out, 0, (size_t)a->count * width * sizeof *out);
    int element = fai_gltf_element_size(a->comp, a->type);
    for (int i = 0; i < a->nsparse; i++) {
        const unsigned char *v = doc->view[a->value_view].data + a->value_offset + (size_t)i * (size_t)element;
        read_floats(a, v, 1, element, out + (size_t)sparse_row(doc, a, i) * width);
    }
}

FaCode fai_gltf_floats(const FaGltf *doc, int accessor, float *out, FaError *err) {
    FA_TRY(need_data(doc, accessor, err));
    fai_gltf_floats_of(doc, &doc->accessor[accessor], out);
    return FA_OK;
}

FaCode fai_gltf_sparse(const FaGltf *doc, int accessor, int *row, float *value, FaError *err) {
    FA_TRY(need_data(doc, accessor, err));
    const FaGltfAccessor *a = &doc->accessor[accessor];
    if (!a->nsparse) return FA_OK;
    for (int i = 0; i < a->nsparse; i++) row[i] = sparse_row(doc, a, i);
    read_floats(a, doc->view[a->value_view].data + a->value_offset, a->nsparse, fai_gltf_element_size(a->comp, a->type),
                value);
    return FA_OK;
}

FaCode fai_gltf_uints(const FaGltf *doc, int accessor, uint32_t *out, FaError *err) {
    FA_TRY(need_data(doc, accessor, err));
    const FaGltfAccessor *a = &doc->accessor[accessor];
    FA_ASSERT(a->comp != FA_GLTF_F32);
    int offset[16] = {0}, width = a->width, element = fai_gltf_element_size(a->comp, a->type);
    component_offsets(a->comp, a->type, offset);
    const unsigned char *p = fai_gltf_bytes(doc, accessor);
    if (!p)
        memset(out, 0, (size_t)a->count * (size_t)width * sizeof *out);
    else
        for (int i = 0; i < a->count; i++, p += a->stride)
            for (int c = 0; c < width; c++)
                out[(size_t)i * (size_t)width + (size_t)c] = read_uint(p + offset[c], a->comp);
    for (int i = 0; i < a->nsparse; i++) {
        const unsigned char *v = doc->view[a->value_view].data + a->value_offset + (size_t)i * (size_t)element;
        uint32_t *to = out + (size_t)sparse_row(doc, a, i) * (size_t)width;
        for (int c = 0; c < width; c++) to[c] = read_uint(v + offset[c], a->comp);
    }
    return FA_OK;
}
