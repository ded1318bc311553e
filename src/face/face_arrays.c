#include "face/columns.h"
#include "face/face.h"

#include <stddef.h>

// --- the table ------------------------------------------------------------------------------------------------------

const char *const fai_region_name[FA_REGIONS] = {
#define X(region, name) name,
    FA_FACE_REGIONS(X)
#undef X
};

#define TYPE_OF(type)                                                                                                  \
    _Generic((type *)0, int * : FA_ARRAY_INT, float * : FA_ARRAY_FLOAT, unsigned char * : FA_ARRAY_BYTE)

const FaFaceArray fai_face_array[FA_FACE_NARRAY] = {
#define X(tag, field, type, per, width, values, stage, what)                                                           \
    {tag, offsetof(FaFace, field), TYPE_OF(type), sizeof(type), FA_PER_##per, width, values, FA_NEED_##stage, what},
    FA_FACE_ARRAYS(X)
#undef X
#define X(r, name)                                                                                                     \
    {"REGN",                                                                                                           \
     offsetof(FaFace, region[FA_REGION_##r]),                                                                          \
     FA_ARRAY_FLOAT,                                                                                                   \
     sizeof(float),                                                                                                    \
     FA_PER_SKIN,                                                                                                      \
     1,                                                                                                                \
     FA_RANGE(0, 1),                                                                                                   \
     FA_NEED_FACE,                                                                                                     \
     name},
        FA_FACE_REGIONS(X)
#undef X
};

const FaFaceColumns fai_face_columns[FA_FACE_NCOLUMNS] = {
#define X(tag, field, per, width, most, stage, what)                                                                   \
    {tag, offsetof(FaFace, field), FA_PER_##per, width, most, FA_NEED_##stage, what},
    FA_FACE_COLUMNS(X)
#undef X
};

int fai_face_count(const FaFace *f, FaPer per) {
    const int count[FA_PERS] = {
#define X(per, field) f->field,
        FA_FACE_COUNTS(X)
#undef X
    };
    return per < FA_PERS ? count[per] : 0;
}

size_t fai_face_numbers(const FaFace *f, const FaFaceArray *a) {
    return (size_t)fai_face_count(f, a->per) * (size_t)a->width;
}

// Pointers of several types are read and written as bytes: none of them is looked at as another.
void *fai_face_array_get(const FaFace *f, const FaFaceArray *a) {
    void *data;
    memcpy(&data, (const char *)f + a->at, sizeof data);
    return data;
}

void fai_face_array_set(FaFace *f, const FaFaceArray *a, void *data) { memcpy((char *)f + a->at, &data, sizeof data); }

FaColumns *fai_face_columns_get(const FaFace *f, const FaFaceColumns *c) { return (FaColumns *)((char *)f + c->at); }

FaCode fai_face_allocate(FaFace *f, unsigned stage, FaError *err) {
    void *data[FA_FACE_NARRAY] = {0};
    for (int i = 0; i < FA_FACE_NARRAY; i++) {
        const FaFaceArray *a = &fai_face_array[i];
        if (a->stage == stage && !(data[i] = fai_arena_push(f->arena, fai_face_numbers(f, a), a->size)))
            return FA_FAIL_MEMORY(err);
    }
    for (int i = 0; i < FA_FACE_NARRAY; i++)
        if (data[i]) fai_face_array_set(f, &fai_face_array[i], data[i]);
    return FA_OK;
}

// --- the check ------------------------------------------------------------------------------------------------------

static const char *const remedy = "build the face again: fascia build RIG -o FACE";

static FaCode check_indices(const FaFace *f, const FaFaceArray *a, const int *v, FaError *err) {
    const int least = (int)a->values.least, limit = fai_face_count(f, a->values.of);
    for (size_t i = 0, n = fai_face_numbers(f, a); i < n; i++)
        if (v[i] < least || v[i] >= limit)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("%s %zu", a->what, i), remedy, "index %d is not in %d..%d", v[i],
                           least, limit - 1);
    return FA_OK;
}

static FaCode check_numbers(const FaFace *f, const FaFaceArray *a, const void *data, FaError *err) {
    for (size_t i = 0, n = fai_face_numbers(f, a); i < n; i++) {
        const float v = a->type == FA_ARRAY_FLOAT ? ((const float *)data)[i]
                        : a->type == FA_ARRAY_INT ? (float)((const int *)data)[i]
                                                  : (float)((const unsigned char *)data)[i];
        if (!(v >= a->values.least && v <= a->values.most))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("%s %zu", a->what, i), remedy,
                           "a value is not a number or out of range");
    }
    return FA_OK;
}

// Arrays of a stage are there together; every face has those of its first, and columns come with their stage's arrays.
static FaCode check_stage(const FaFace *f, unsigned stage, FaError *err) {
    const char *missing = NULL;
    bool any = stage == FA_NEED_FACE;
    for (int i = 0; i < FA_FACE_NCOLUMNS; i++)
        any |= fai_face_columns[i].stage == stage && fai_face_columns_get(f, &fai_face_columns[i])->nshape != 0;
    for (int i = 0; i < FA_FACE_NARRAY; i++) {
        const FaFaceArray *a = &fai_face_array[i];
        if (a->stage != stage) continue;
        if (fai_face_array_get(f, a))
            any = true;
        else
            missing = a->what;
    }
    return any && missing ? FA_FAIL(err, FA_E_FORMAT, missing, remedy, "it is missing") : FA_OK;
}

FaCode fai_face_check_arrays(const FaFace *f, FaError *err) {
    for (unsigned stage = 1; stage <= FA_STAGES; stage <<= 1) FA_TRY(check_stage(f, stage, err));
    for (int i = 0; i < FA_FACE_NARRAY; i++) {
        const FaFaceArray *a = &fai_face_array[i];
        const void *data = fai_face_array_get(f, a);
        if (!data) continue;
        FA_TRY(a->values.of < FA_PERS ? check_indices(f, a, data, err) : check_numbers(f, a, data, err));
    }
    for (int i = 0; i < FA_FACE_NCOLUMNS; i++) {
        const FaFaceColumns *c = &fai_face_columns[i];
        FA_TRY(
            fai_columns_check(fai_face_columns_get(f, c), c->what, c->width, fai_face_count(f, c->per), c->most, err));
    }
    return FA_OK;
}

// --- the stages -----------------------------------------------------------------------------------------------------

unsigned fa_face_stages(const FaFace *f) {
    unsigned there = FA_NEEDS;
    for (int i = 0; i < FA_FACE_NARRAY; i++)
        if (!fai_face_array_get(f, &fai_face_array[i])) there &= ~fai_face_array[i].stage;
    for (int i = 0; i < FA_FACE_NCOLUMNS; i++)
        if (fai_face_columns_get(f, &fai_face_columns[i])->nshape == 0) there &= ~fai_face_columns[i].stage;
    return there;
}

// --- the fingerprint ------------------------------------------------------------------------------------------------

static uint64_t hash_columns(const FaColumns *c, uint64_t h) {
    const int head[] = {c->nshape, c->width};
    h = fai_hash64(head, sizeof head, h);
    if (c->nshape == 0) return h;
    const size_t n = (size_t)c->first[c->nshape];
    h = fai_hash64(c->first, ((size_t)c->nshape + 1) * sizeof(int), h);
    h = fai_hash64(c->item, n * sizeof(int), h);
    return fai_hash64(c->value, n * (size_t)c->width * sizeof(float), h);
}

// Field by field: between some of them are bytes that nobody set.
static uint64_t hash_jaw(const FaJaw *j, uint64_t h) {
    const int found = j->found;
    h = fai_hash64(&found, sizeof found, h);
    h = fai_hash64(j->shape, sizeof j->shape, h);
    h = fai_hash64(j->hinge, sizeof j->hinge, h);
    h = fai_hash64(j->axis, sizeof j->axis, h);
    h = fai_hash64(&j->open_angle, sizeof j->open_angle, h);
    h = fai_hash64(j->open_slide, sizeof j->open_slide, h);
    h = fai_hash64(j->slide, sizeof j->slide, h);
    for (int i = 0; i < j->nmore; i++) h = fai_jaw_shape_hash(&j->more[i], h);
    return fai_hash64(j->turn, sizeof j->turn, h);
}

static uint64_t hash_bone(const FaBone *b, uint64_t h) {
    const int head[] = {(int)b->kind, b->with_jaw, b->closed, b->nvert, b->ntri};
    h = fai_hash64(head, sizeof head, h);
    h = fai_hash64(b->x, 3 * (size_t)b->nvert * sizeof(float), h);
    return fai_hash64(b->tri, 3 * (size_t)b->ntri * sizeof(int), h);
}

uint64_t fai_face_hash(const FaFace *f) {
    uint64_t h = fai_hash64(&f->layers, sizeof f->layers, f->rig_hash);
    for (int per = 0; per < FA_PERS; per++) {
        const int n = fai_face_count(f, (FaPer)per);
        h = fai_hash64(&n, sizeof n, h);
    }
    for (int i = 0; i < FA_FACE_NARRAY; i++) {
        const FaFaceArray *a = &fai_face_array[i];
        const void *data = fai_face_array_get(f, a);
        h = fai_hash64(a->what, strlen(a->what), h ^ (data != NULL));
        if (data) h = fai_hash64(data, fai_face_numbers(f, a) * a->size, h);
    }
    for (int i = 0; i < FA_FACE_NCOLUMNS; i++) h = hash_columns(fai_face_columns_get(f, &fai_face_columns[i]), h);
    h = hash_jaw(&f->jaw, h);
    for (int i = 0; i < f->nbone; i++) h = hash_bone(&f->bone[i], h);
    return h;
}
