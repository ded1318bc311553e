// The numbers of a document: finite, within their declared bounds, indices that exist, times that increase.
//
// Every accessor is read once, whether used or not. What is wrong in data that fascia reads (positions, indices, skins,
// animation) or that nobody uses refuses the file; in data that is only carried along (normals, tangents, colours,
// texture coordinates) it refuses only where so much is wrong that the accessor must point at the wrong bytes, and is
// noted else: a NaN in one tangent of a hat should not lose the artist a face.
#include "io/gltf/gltf_parse.h"

#include "base/number.h"

#include <float.h>
#include <math.h>

enum {
    SCAN_BASE = 256 << 20, // bytes of accessors that may be read in all, so that overlapping ones cannot stall us
    SCAN_PER_BYTE = 16,
    USE_READ = 1,   // fascia reads it
    USE_LOOKS = 2,  // it is carried along
    SEEN_TIMES = 4, // checked as ...
    SEEN_QUATERNIONS = 8,
    SEEN_UNIT = 16,
    SEEN_COLOUR = 32,
};

typedef struct Range {
    double min, max; // over all elements, one component
} Range;

typedef struct Check {
    FaGltf *doc;
    unsigned char *use; // (naccessor)
    uint32_t *max;      // largest integer of each accessor, 0 for floats and where there are no data (naccessor)
    int *skin;          // 1 + the skin with the fewest joints of each mesh, 0 = none           (nmesh)
    float *scratch;     // a dense copy
    size_t room;        // floats in scratch
    size_t left;        // bytes that may still be read
} Check;

static FaCode account(Check *k, const FaGltfAccessor *a, FaError *err) {
    size_t bytes = (size_t)a->count * (size_t)fai_gltf_element_size(a->comp, a->type);
    if (a->view < 0) bytes = (size_t)a->nsparse * (size_t)fai_gltf_element_size(a->comp, a->type);
    if (bytes > k->left)
        return FAIL_AT(err, FA_E_LIMIT, a->json, "export the file again",
                       "the accessors cover the same bytes more than %d times", SCAN_PER_BYTE);
    k->left -= bytes;
    return FA_OK;
}

// All elements as floats, as stored or normalised. Only called where the file holds bytes for them, so that the copy is
// in proportion to the file.
static FaCode read_copy(Check *k, const FaGltfAccessor *a, const float **out, FaError *err) {
    size_t n = (size_t)a->count * (size_t)a->width;
    FA_TRY(account(k, a, err));
    if (n > k->room) {
        float *grown = fai_resize(k->scratch, n * sizeof *grown);
        if (!grown) return FA_FAIL_MEMORY(err);
        k->scratch = grown;
        k->room = n;
    }
    fai_gltf_floats_of(k->doc, a, k->scratch);
    *out = k->scratch;
    return FA_OK;
}

static FaCode read_all(Check *k, int accessor, const float **out, FaError *err) {
    return read_copy(k, &k->doc->accessor[accessor], out, err);
}

// --- one accessor -------------------------------------------------------------------------------------------------

static bool finite_bits(const unsigned char *p) {
    uint32_t bits;
    memcpy(&bits, p, 4);
    return (bits & 0x7F800000u) != 0x7F800000u;
}

// First element with a NaN or an infinity, or -1. Packed data are checked in blocks that the compiler can vectorise.
static int find_not_finite(const unsigned char *p, int count, int stride, int width) {
    if (stride == 4 * width) {
        size_t n = (size_t)count * (size_t)width, i = 0;
        for (; i + 256 <= n; i += 256) {
            uint32_t bad = 0, bits[256];
            memcpy(bits, p + 4 * i, sizeof bits);
            for (int j = 0; j < 256; j++) bad |= (bits[j] & 0x7F800000u) == 0x7F800000u;
            if (bad) break;
        }
        for (; i < n; i++)
            if (!finite_bits(p + 4 * i)) return (int)(i / (size_t)width);
        return -1;
    }
    for (int i = 0; i < count; i++, p += stride)
        for (int c = 0; c < width; c++)
            if (!finite_bits(p + 4 * c)) return i;
    return -1;
}

// Extend the ranges by `count` elements. Matrices are left out by the caller, so components are packed.
static void find_ranges(const unsigned char *p, int count, int stride, int width, FaGltfComp comp, Range *range) {
#define SCAN(T)                                                                                                        \
    for (int c = 0; c < width; c++) {                                                                                  \
        const unsigned char *q = p + (size_t)c * sizeof(T);                                                            \
        T lo, hi, v;                                                                                                   \
        memcpy(&lo, q, sizeof v);                                                                                      \
        hi = lo;                                                                                                       \
        for (int i = 1; i < count; i++) {                                                                              \
            memcpy(&v, q + (size_t)i * (size_t)stride, sizeof v);                                                      \
            lo = v < lo ? v : lo;                                                                                      \
            hi = v > hi ? v : hi;                                                                                      \
        }                                                                                                              \
        range[c].min = fmin(range[c].min, (double)lo);                                                                 \
        range[c].max = fmax(range[c].max, (double)hi);                                                                 \
    }
    switch (comp) {
    case FA_GLTF_I8: SCAN(int8_t) break;
    case FA_GLTF_U8: SCAN(uint8_t) break;
    case FA_GLTF_I16: SCAN(int16_t) break;
    case FA_GLTF_U16: SCAN(uint16_t) break;
    case FA_GLTF_U32: SCAN(uint32_t) break;
    case FA_GLTF_F32: SCAN(float) break;
    }
#undef SCAN
}

// A number for a message, spelled the same in every locale.
static FaPlace number(double v) {
    char text[FA_NUMBER_SIZE];
    fai_format_float(text, (float)v);
    return fai_place("%s", text);
}

// min and max are a checksum on the layout: values far outside mean that the accessor reads the wrong bytes. Bounds
// that are merely rounded or stale (edited vertices) are noted.
static FaCode check_bounds(Check *k, const FaGltfAccessor *a, const Range *range, bool strict, FaError *err) {
    const FaJson *min = fai_json_get(a->json, "min"), *max = fai_json_get(a->json, "max");
    double extent = 0;
    for (int c = 0; min && max && c < a->width; c++)
        extent = fmax(extent, fai_json_at(max, c)->number - fai_json_at(min, c)->number);
    for (int side = 0; side < 2; side++) {
        const FaJson *array = side ? max : min;
        for (int c = 0; array && c < a->width; c++) {
            const FaJson *value = fai_json_at(array, c);
            double said = value->number, found = side ? range[c].max : range[c].min,
                   out = side ? found - said : said - found, size = fmax(fabs(said), fabs(found));
            // a shape that moves all by the same has bounds that differ by rounding alone
            if (strict && extent > 0 && out >= 0.5 * extent && out > 1e-6 * size)
                return BAD_AT(err, value, "the data reach %s where the declared %s is %s", number(found).text,
                              side ? "maximum" : "minimum", number(said).text);
            if (fabs(found - said) > (a->comp == FA_GLTF_F32 ? 1e-5 * fmax(size, extent) : 0))
                NOTE_AT(k->doc, "bounds-wrong", value, "export the file again",
                        "the declared bounds of an accessor are not those of its data");
        }
    }
    return FA_OK;
}

// With data in a view: the plain elements, or all of them after sparse ones were replaced.
static FaCode scan_ranges(Check *k, int accessor, Range *range, FaError *err) {
    const FaGltf *doc = k->doc;
    const FaGltfAccessor *a = &doc->accessor[accessor];
    for (int c = 0; c < a->width; c++) range[c] = (Range){DBL_MAX, -DBL_MAX};
    if (a->view >= 0 && !a->nsparse) {
        find_ranges(fai_gltf_bytes(doc, accessor), a->count, a->stride, a->width, a->comp, range);
    } else if (a->view < 0) {
        find_ranges(doc->view[a->value_view].data + a->value_offset, a->nsparse,
                    fai_gltf_element_size(a->comp, a->type), a->width, a->comp, range);
        for (int c = 0; a->nsparse < a->count && c < a->width; c++)
            range[c] = (Range){fmin(range[c].min, 0), fmax(range[c].max, 0)};
    } else {
        FaGltfAccessor raw = *a; // bounds are given before normalisation
        const float *x = NULL;
        raw.normalized = false;
        FA_TRY(read_copy(k, &raw, &x, err));
        find_ranges((const unsigned char *)x, a->count, 4 * a->width, a->width, FA_GLTF_F32, range);
    }
    return FA_OK;
}

static FaCode check_finite(Check *k, int accessor, bool strict, bool *finite, FaError *err) {
    const FaGltf *doc = k->doc;
    const FaGltfAccessor *a = &doc->accessor[accessor];
    int at = -1;
    if (a->view >= 0) at = find_not_finite(fai_gltf_bytes(doc, accessor), a->count, a->stride, a->width);
    if (at < 0 && a->nsparse)
        at = find_not_finite(doc->view[a->value_view].data + a->value_offset, a->nsparse, 4 * a->width, a->width);
    *finite = at < 0;
    if (at < 0) return FA_OK;
    if (strict) return BAD_AT(err, a->json, "element %d is not a finite number", at);
    NOTE_AT(k->doc, "not-finite", a->json, "export the file again",
            "an attribute that fascia does not read holds NaN or infinity");
    return FA_OK;
}

static FaCode check_accessor(Check *k, int accessor, FaError *err) {
    const FaGltfAccessor *a = &k->doc->accessor[accessor];
    bool strict = k->use[accessor] != USE_LOOKS, finite = true;
    if ((a->view < 0 && !a->nsparse) || !fai_gltf_has_data(k->doc, accessor)) return FA_OK;
    FA_TRY(account(k, a, err));
    if (a->comp == FA_GLTF_F32) FA_TRY(check_finite(k, accessor, strict, &finite, err));
    bool bounds = fai_json_get(a->json, "min") || fai_json_get(a->json, "max");
    if (a->type >= FA_GLTF_MAT2 || !finite || (a->comp == FA_GLTF_F32 && !bounds)) return FA_OK;
    Range range[4];
    FA_TRY(scan_ranges(k, accessor, range, err));
    if (a->comp != FA_GLTF_F32)
        for (int c = 0; c < a->width; c++)
            if (range[c].max > k->max[accessor]) k->max[accessor] = (uint32_t)fmin(range[c].max, UINT32_MAX);
    return bounds ? check_bounds(k, a, range, strict, err) : FA_OK;
}

// --- by use -------------------------------------------------------------------------------------------------------

static void mark(Check *k, int accessor, int use) {
    if (accessor >= 0) k->use[accessor] |= (unsigned char)use;
}

static void mark_uses(Check *k) {
    const FaGltf *doc = k->doc;
    for (int m = 0; m < doc->nmesh; m++)
        for (int i = 0; i < doc->mesh[m].nprim; i++) {
            const FaGltfPrim *p = &doc->mesh[m].prim[i];
            for (const FaJson *c = fai_json_get(p->json, "attributes")->first; c; c = c->next)
                mark(k, (int)c->number, USE_LOOKS);
            const FaJson *targets = fai_json_get(p->json, "targets");
            for (const FaJson *t = targets ? targets->first : NULL; t; t = t->next)
                for (const FaJson *c = t->first; c; c = c->next) mark(k, (int)c->number, USE_LOOKS);
            mark(k, p->indices, USE_READ);
            mark(k, p->position, USE_READ);
            for (int t = 0; t < p->ntarget; t++) mark(k, p->target[t], USE_READ);
            for (int j = 0; j < p->njoints; j++) mark(k, p->joints[j], USE_READ), mark(k, p->weights[j], USE_READ);
        }
    for (int i = 0; i < doc->nskin; i++) mark(k, doc->skin[i].inverse_bind, USE_READ);
    for (int i = 0; i < doc->nanim; i++)
        for (int s = 0; s < doc->anim[i].nsampler; s++)
            mark(k, doc->anim[i].sampler[s].input, USE_READ), mark(k, doc->anim[i].sampler[s].output, USE_READ);
}

// Marks an accessor as checked in one way; false if it was already, or has nothing to check.
static bool first_time(Check *k, int accessor, int seen) {
    const FaGltfAccessor *a = &k->doc->accessor[accessor];
    if ((k->use[accessor] & seen) || a->view < 0 || !fai_gltf_has_data(k->doc, accessor)) return false;
    k->use[accessor] |= (unsigned char)seen;
    return true;
}

// Normals and tangents have length 1; some zero or short ones are common, a quarter of them is not.
static FaCode check_unit(Check *k, const FaJson *json, int accessor, bool tangent, FaError *err) {
    const FaGltfAccessor *a = &k->doc->accessor[accessor];
    const float *x = NULL;
    if (a->width != (tangent ? 4 : 3) || (a->comp != FA_GLTF_F32 && !a->normalized) ||
        !first_time(k, accessor, SEEN_UNIT))
        return FA_OK;
    FA_TRY(read_all(k, accessor, &x, err));
    int odd = 0;
    for (int i = 0; i < a->count; i++, x += a->width) {
        float l2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
        bool unit = l2 == 0 || (l2 > 0.5625f && l2 < 1.5625f); // length 0.75 to 1.25
        odd += !unit || (tangent && fabsf(fabsf(x[3]) - 1) > 0.1f);
    }
    if (odd >= (a->count + 3) / 4) return BAD_AT(err, json, "%d of %d elements are not unit vectors", odd, a->count);
    if (odd)
        NOTE_AT(k->doc, "normals-not-unit", json, "recompute the normals",
                "some normals or tangents are not unit vectors");
    return FA_OK;
}

static FaCode check_colour(Check *k, const FaJson *json, int accessor, FaError *err) {
    const FaGltfAccessor *a = &k->doc->accessor[accessor];
    const float *x = NULL;
    if (a->comp != FA_GLTF_F32 || a->type >= FA_GLTF_MAT2 || !first_time(k, accessor, SEEN_COLOUR)) return FA_OK;
    FA_TRY(read_all(k, accessor, &x, err));
    size_t n = (size_t)a->count * (size_t)a->width, odd = 0;
    for (size_t i = 0; i < n; i++) odd += !(x[i] >= -0.001f && x[i] <= 1.001f);
    if (odd >= (n + 7) / 8)
        return FAIL_AT(err, FA_E_FORMAT, json,
                       "clamp the colours, or store the data as a custom attribute such as _DATA",
                       "%zu of %zu colour values are outside 0 to 1", odd, n);
    if (odd) NOTE_AT(k->doc, "colours-out-of-range", json, "", "some vertex colours are outside 0 to 1");
    return FA_OK;
}

static FaCode check_prim(Check *k, const FaGltfPrim *p, FaError *err) {
    const FaGltf *doc = k->doc;
    const FaJson *attributes = fai_json_get(p->json, "attributes");
    for (const FaJson *c = attributes->first; c; c = c->next) {
        int i = (int)c->number;
        if (!strcmp(c->key, "NORMAL")) FA_TRY(check_unit(k, c, i, false, err));
        if (!strcmp(c->key, "TANGENT")) FA_TRY(check_unit(k, c, i, true, err));
        if (!strncmp(c->key, "COLOR_", 6)) FA_TRY(check_colour(k, c, i, err));
    }
    if (p->indices < 0) return FA_OK;
    FA_ASSERT(attributes->first); // the reader refuses primitives without
    int nvert = doc->accessor[(int)attributes->first->number].count;
    const FaJson *at = fai_json_get(p->json, "indices");
    FaGltfComp comp = doc->accessor[p->indices].comp;
    uint32_t max = k->max[p->indices], restart = comp == FA_GLTF_U8 ? 0xFF : comp == FA_GLTF_U16 ? 0xFFFF : 0xFFFFFFFFu;
    if (max == restart) return BAD_AT(err, at, "index %u is reserved for restarting a strip", max);
    if (max >= (uint32_t)nvert) return BAD_AT(err, at, "index %u, but there are %d vertices", max, nvert);
    return FA_OK;
}

// A joint that does not exist may stand where its weight is zero.
static FaCode check_joints(Check *k, const FaGltfMesh *m, int skin, FaError *err) {
    const FaGltf *doc = k->doc;
    int njoint = doc->skin[skin].njoint;
    for (int i = 0; i < m->nprim; i++) {
        const FaGltfPrim *p = &m->prim[i];
        for (int set = 0; set < p->njoints; set++) {
            int joints = p->joints[set], weights = p->weights[set];
            if (k->max[joints] < (uint32_t)njoint || !fai_gltf_has_data(doc, weights)) continue;
            const FaGltfAccessor *a = &doc->accessor[joints];
            FA_TRY(account(k, a, err));
            size_t n = 4 * (size_t)a->count;
            uint32_t *j = FA_NEW(n, uint32_t);
            float *w = FA_NEW(n, float);
            FaCode rc = !j || !w ? FA_FAIL_MEMORY(err) : FA_OK;
            if (rc >= 0) rc = fai_gltf_uints(doc, joints, j, err);
            if (rc >= 0) rc = fai_gltf_floats(doc, weights, w, err);
            for (size_t v = 0; rc >= 0 && v < n; v++) {
                if (j[v] < (uint32_t)njoint || w[v] == 0) continue;
                char key[24];
                snprintf(key, sizeof key, "JOINTS_%d", set);
                rc = BAD_AT(err, fai_json_get(fai_json_get(p->json, "attributes"), key),
                            "vertex %zu follows joint %u, but skin %d has %d", v / 4, j[v], skin, njoint);
            }
            fa_free(j);
            fa_free(w);
            FA_TRY(rc);
        }
    }
    return FA_OK;
}

static FaCode check_skin(Check *k, const FaGltfSkin *s, FaError *err) {
    const float *m = NULL;
    if (s->inverse_bind < 0 || k->doc->accessor[s->inverse_bind].view < 0 ||
        !fai_gltf_has_data(k->doc, s->inverse_bind))
        return FA_OK;
    FA_TRY(read_all(k, s->inverse_bind, &m, err));
    for (int i = 0; i < s->njoint; i++, m += 16)
        if (fabsf(m[3]) > 1e-3f || fabsf(m[7]) > 1e-3f || fabsf(m[11]) > 1e-3f || fabsf(m[15] - 1) > 1e-3f)
            return BAD_AT(err, fai_json_get(s->json, "inverseBindMatrices"),
                          "matrix %d is not affine: its last row is not 0 0 0 1", i);
    return FA_OK;
}

// --- animation ----------------------------------------------------------------------------------------------------

static FaCode check_times(Check *k, const FaGltfSampler *s, FaError *err) {
    const float *t = NULL;
    if (!first_time(k, s->input, SEEN_TIMES)) return FA_OK;
    const FaJson *at = fai_json_get(s->json, "input");
    FA_TRY(read_all(k, s->input, &t, err));
    if (t[0] < 0)
        return BAD_AT(err, at, "the first key is at %s s: times start at 0 or later", number((double)t[0]).text);
    for (int i = 1; i < k->doc->accessor[s->input].count; i++)
        if (!(t[i] > t[i - 1]))
            return FAIL_AT(err, FA_E_FORMAT, at, "export the animation again, sampled at a fixed rate",
                           "key %d at %s s does not come after key %d at %s s", i, number((double)t[i]).text, i - 1,
                           number((double)t[i - 1]).text);
    return FA_OK;
}

// Lengths a few per cent off come from quantised or rounded exports and are normalised; others are no rotations.
static FaCode check_quaternions(Check *k, const FaGltfChannel *c, const FaGltfSampler *s, FaError *err) {
    const float *q = NULL;
    if (c->node < 0 || c->path != FA_GLTF_ROTATION || !first_time(k, s->output, SEEN_QUATERNIONS)) return FA_OK;
    FA_TRY(read_all(k, s->output, &q, err));
    int step = s->interp == FA_GLTF_CUBIC ? 3 : 1;
    for (int i = step / 2; i < k->doc->accessor[s->output].count; i += step) {
        const float *v = q + 4 * (size_t)i;
        float l2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3];
        if (!(l2 > 0.9f && l2 < 1.1f))
            return BAD_AT(err, fai_json_get(c->json, "sampler"),
                          "the rotation at key %d is a quaternion of length %s instead of 1", i / step,
                          number(sqrt((double)l2)).text);
    }
    return FA_OK;
}

static FaCode check_anims(Check *k, FaError *err) {
    const FaGltf *doc = k->doc;
    for (int i = 0; i < doc->nanim; i++) {
        const FaGltfAnim *a = &doc->anim[i];
        for (int s = 0; s < a->nsampler; s++) FA_TRY(check_times(k, &a->sampler[s], err));
        for (int c = 0; c < a->nchannel; c++)
            FA_TRY(check_quaternions(k, &a->channel[c], &a->sampler[a->channel[c].sampler], err));
    }
    return FA_OK;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode check_all(Check *k, FaError *err) {
    const FaGltf *doc = k->doc;
    mark_uses(k);
    for (int i = 0; i < doc->naccessor; i++) FA_TRY(check_accessor(k, i, err));
    for (int m = 0; m < doc->nmesh; m++)
        for (int i = 0; i < doc->mesh[m].nprim; i++) FA_TRY(check_prim(k, &doc->mesh[m].prim[i], err));
    for (int i = 0; i < doc->nskin; i++) FA_TRY(check_skin(k, &doc->skin[i], err));
    // of the skins that one mesh is used with, the smallest decides
    for (int i = 0; i < doc->nnode; i++) {
        const FaGltfNode *n = &doc->node[i];
        if (n->mesh < 0 || n->skin < 0) continue;
        int *skin = &k->skin[n->mesh];
        if (!*skin || doc->skin[n->skin].njoint < doc->skin[*skin - 1].njoint) *skin = n->skin + 1;
    }
    for (int m = 0; m < doc->nmesh; m++)
        if (k->skin[m]) FA_TRY(check_joints(k, &doc->mesh[m], k->skin[m] - 1, err));
    return check_anims(k, err);
}

FaCode fai_gltf_check_data(FaGltf *doc, FaError *err) {
    Check k = {.doc = doc,
               .use = FA_NEW(doc->naccessor, unsigned char),
               .max = FA_NEW(doc->naccessor, uint32_t),
               .skin = FA_NEW(doc->nmesh, int)};
    size_t limit;
    if (__builtin_mul_overflow(doc->bytes, (size_t)SCAN_PER_BYTE, &limit)) limit = SIZE_MAX / 2;
    k.left = limit + SCAN_BASE;
    FaCode rc = k.use && k.max && k.skin ? check_all(&k, err) : FA_FAIL_MEMORY(err);
    fa_free(k.use);
    fa_free(k.max);
    fa_free(k.skin);
    fa_free(k.scratch);
    return rc;
}
