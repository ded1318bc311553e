#include "face/face_file.h"

#include "base/file.h"
#include "base/text.h"
#include "fascia/face.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static const unsigned char SIGNATURE[8] = {0x89, 'F', 'A', 'C', 'E', 0x0d, 0x0a, 0x1a};
enum { HEADER = 32, CHUNK = 16 };

// Chunks of the table that begin with a version and a count of what they have entries for. Another version is passed
// over, with a note.
typedef struct Head {
    const char *tag;
    uint32_t version;
    size_t count; // in FaFace, an int
    const char *note, *remedy, *text;
} Head;
static const Head HEADS[] = {{"stif", 2, offsetof(FaFace, stiff_edges), "stiffness-version",
                              "build the face again with --equilibrium",
                              "its optimised stiffness is of another fascia and is not used"}};

static const Head *head_of(const char *tag) {
    for (int i = 0; i < FA_COUNT(HEADS); i++)
        if (!strcmp(HEADS[i].tag, tag)) return &HEADS[i];
    return NULL;
}

// Regions are told by their names, not their order.
enum { REGION_NAME = 32 };
static bool is_region(const FaFaceArray *a) { return !strcmp(a->tag, "REGN"); }

// Rows from this one that share its chunk.
static int rows_of_chunk(int first) {
    int n = 1;
    if (is_region(&fai_face_array[first])) return 1;
    while (first + n < FA_FACE_NARRAY && !strcmp(fai_face_array[first].tag, fai_face_array[first + n].tag)) n++;
    return n;
}

static uint32_t swap32(uint32_t v) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap32(v);
#else
    return v;
#endif
}

static uint64_t swap64(uint64_t v) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(v);
#else
    return v;
#endif
}

// --- writing --------------------------------------------------------------------------------------------------------

typedef struct Writer {
    FaText text;
    size_t chunk; // where the open one begins
} Writer;

static void put_u32(Writer *w, uint32_t v) {
    v = swap32(v);
    fai_text_bytes(&w->text, &v, 4);
}

static void put_u64(Writer *w, uint64_t v) {
    v = swap64(v);
    fai_text_bytes(&w->text, &v, 8);
}

static void put_f64(Writer *w, double v) {
    uint64_t bits;
    memcpy(&bits, &v, 8);
    put_u64(w, bits);
}

// Values of four bytes, ints or floats.
static void put_array(Writer *w, const void *data, size_t n) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (size_t i = 0; i < n; i++) put_u32(w, ((const uint32_t *)data)[i]);
#else
    fai_text_bytes(&w->text, data, 4 * n);
#endif
}

static void put_text(Writer *w, const char *s) {
    size_t n = s ? strlen(s) : 0;
    put_u32(w, (uint32_t)n);
    fai_text_bytes(&w->text, s ? s : "", n);
}

static void open_chunk(Writer *w, const char *tag) {
    w->chunk = w->text.size;
    fai_text_bytes(&w->text, tag, 4);
    put_u32(w, 0);
    put_u64(w, 0);
}

static void close_chunk(Writer *w) {
    static const char zeros[8] = {0};
    if (w->text.failed) return;
    uint64_t size = swap64(w->text.size - w->chunk - CHUNK);
    memcpy(w->text.data + w->chunk + 8, &size, 8);
    fai_text_bytes(&w->text, zeros, (8 - w->text.size % 8) % 8);
}

// Rows of the table that share a chunk. Nothing where one is not there.
static void put_rows(Writer *w, const FaFace *f, int first, int n) {
    const FaFaceArray *a = &fai_face_array[first];
    const Head *head = head_of(a->tag);
    for (int i = 0; i < n; i++)
        if (!fai_face_array_get(f, a + i)) return;
    open_chunk(w, a->tag);
    if (is_region(a)) {
        char name[REGION_NAME] = {0};
        memcpy(name, a->what, strlen(a->what));
        fai_text_bytes(&w->text, name, sizeof name);
    }
    if (head) {
        int count;
        memcpy(&count, (const char *)f + head->count, sizeof count);
        put_u32(w, head->version);
        put_u32(w, (uint32_t)count);
    }
    for (int i = 0; i < n; i++) {
        const void *data = fai_face_array_get(f, a + i);
        if (a[i].size == 4)
            put_array(w, data, fai_face_numbers(f, a + i));
        else
            fai_text_bytes(&w->text, data, fai_face_numbers(f, a + i));
    }
    close_chunk(w);
}

static void put_stages(Writer *w, const FaFace *f, unsigned stages) {
    for (int i = 0, n; i < FA_FACE_NARRAY; i += n) {
        n = rows_of_chunk(i);
        if (fai_face_array[i].stage & stages) put_rows(w, f, i, n);
    }
}

static void put_jaw(Writer *w, const FaJaw *jaw) {
    open_chunk(w, "JAW ");
    put_u32(w, jaw->found);
    for (int i = 0; i < 4; i++) put_u32(w, (uint32_t)jaw->shape[i]);
    put_u32(w, 0);
    for (int k = 0; k < 3; k++) put_f64(w, jaw->hinge[k]);
    for (int k = 0; k < 3; k++) put_f64(w, jaw->axis[k]);
    put_f64(w, jaw->open_angle);
    for (int k = 0; k < 3; k++) put_f64(w, jaw->open_slide[k]);
    for (int i = 0; i < 12; i++) put_f64(w, jaw->slide[i / 3][i % 3]);
    for (int i = 0; i < 12; i++) put_f64(w, jaw->turn[i / 3][i % 3]);
    put_f64(w, jaw->residual);
    close_chunk(w);
    if (!jaw->nmore) return;
    open_chunk(w, "jawp"); // small letters: files of before have none, and readers of before pass it over
    put_u32(w, (uint32_t)jaw->nmore);
    put_u32(w, 0);
    for (int i = 0; i < jaw->nmore; i++) {
        const FaJawShape *m = &jaw->more[i];
        put_u32(w, (uint32_t)m->shape);
        put_u32(w, 0);
        put_f64(w, m->open);
        for (int k = 0; k < 6; k++) put_f64(w, k < 3 ? m->turn[k] : m->slide[k - 3]);
    }
    close_chunk(w);
}

static void put_bone(Writer *w, const FaBone *b) {
    open_chunk(w, "BONE");
    fai_text_bytes(&w->text, b->name, sizeof b->name);
    put_u32(w, b->kind);
    put_u32(w, b->with_jaw);
    put_u32(w, b->closed);
    put_u32(w, (uint32_t)b->nvert);
    put_u32(w, (uint32_t)b->ntri);
    put_u32(w, 0);
    put_array(w, b->x, 3 * (size_t)b->nvert);
    put_array(w, b->tri, 3 * (size_t)b->ntri);
    close_chunk(w);
}

static void put_notes(Writer *w, const FaNotes *notes) {
    open_chunk(w, "note");
    put_u32(w, (uint32_t)notes->count);
    for (int i = 0; i < notes->count; i++) {
        const FaNote *n = &notes->note[i];
        put_u32(w, (uint32_t)n->count);
        put_text(w, n->code);
        put_text(w, n->text);
        put_text(w, n->where);
        put_text(w, n->remedy);
    }
    close_chunk(w);
}

// No control characters: it will be shown to people.
static bool sound_path(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 32 || s[i] == 127) return false;
    return n > 0 && n < PATH_MAX;
}

// Shapes, numbers per entry, entries; starts, items, values. Nothing for none.
static void put_columns(Writer *w, const char *tag, const FaColumns *c) {
    if (c->nshape == 0) return;
    const size_t n = (size_t)c->first[c->nshape];
    open_chunk(w, tag);
    put_u32(w, (uint32_t)c->nshape);
    put_u32(w, (uint32_t)c->width);
    put_u32(w, (uint32_t)n);
    put_array(w, c->first, (size_t)c->nshape + 1);
    put_array(w, c->item, n);
    put_array(w, c->value, n * (size_t)c->width);
    close_chunk(w);
}

static void put_name(Writer *w, const char name[64]) {
    char text[64] = {0};
    memcpy(text, name, strnlen(name, sizeof text - 1));
    fai_text_bytes(&w->text, text, sizeof text);
}

static void put_volumes_made(Writer *w, const FaVolumesMade *m) {
    if (m->version == 0) return;
    open_chunk(w, "volr");
    put_u32(w, (uint32_t)m->version);
    put_u32(w, (uint32_t)m->inverted);
    put_u32(w, (uint32_t)m->left_out);
    put_u64(w, m->key);
    put_f64(w, m->least);
    put_f64(w, m->volume);
    put_name(w, m->worst);
    put_name(w, m->folded);
    put_name(w, m->swollen);
    close_chunk(w);
}

static void put_stiff_made(Writer *w, const FaStiffMade *m) {
    const float value[] = {m->before, m->uniform, m->after, m->mean[0], m->mean[1], m->mean[2]};
    if (m->nshape <= 0) return;
    open_chunk(w, "stir");
    put_u32(w, (uint32_t)m->nshape);
    put_u32(w, (uint32_t)m->iterations);
    for (int i = 0; i < FA_COUNT(value); i++) put_f64(w, (double)value[i]);
    close_chunk(w);
}

// How fine the flesh of muscles is, then flesh and muscles as bytes that src/muscle knows and checks.
enum { MUSCLES_VERSION = 1 };
static void put_muscles(Writer *w, const FaFace *f) {
    if (f->flesh_size <= 0) return;
    open_chunk(w, "musc");
    put_u32(w, MUSCLES_VERSION);
    put_u32(w, (uint32_t)f->flesh_size);
    fai_text_bytes(&w->text, f->muscles, f->muscles_size);
    close_chunk(w);
    if (!f->shapes_size) return;
    open_chunk(w, "mshp");
    put_u32(w, MUSCLES_VERSION);
    put_u32(w, 0);
    fai_text_bytes(&w->text, f->shapes, f->shapes_size);
    close_chunk(w);
}

static void put_head(Writer *w, const FaFace *f) {
    const int counts[] = {f->nvert, f->nskin, f->layers,  f->ntri,
                          f->ntet,  f->nbone, FA_REGIONS, fai_face_filled(f) ? f->nnode : 0};
    open_chunk(w, "HEAD");
    put_u64(w, f->rig_hash);
    for (int i = 0; i < FA_COUNT(counts); i++) put_u32(w, (uint32_t)counts[i]);
    close_chunk(w);
}

// The order is that of the first files, so that the same face is the same bytes; readers take any.
static void put_face(Writer *w, const FaFace *f, const char *rig) {
    put_head(w, f);
    put_stages(w, f, FA_NEED_FACE);
    put_stages(w, f, FA_NEED_FILLED);
    put_jaw(w, &f->jaw);
    for (int i = 0; i < f->nbone; i++) put_bone(w, &f->bone[i]);
    for (int i = 0; i < FA_FACE_NCOLUMNS; i++) {
        put_columns(w, fai_face_columns[i].tag, fai_face_columns_get(f, &fai_face_columns[i]));
        if (fai_face_columns[i].stage == FA_NEED_VOLUMES) put_volumes_made(w, &f->volumes_made);
    }
    put_stages(w, f, FA_NEED_MATERIALS);
    put_notes(w, &f->notes);
    put_stages(w, f, FA_NEED_EQUILIBRIUM);
    if (f->stiff_anchor) put_stiff_made(w, &f->stiff_made);
    put_stages(w, f, FA_NEEDS & ~(unsigned)(FA_NEED_FACE | FA_NEED_MATERIALS | FA_NEED_EQUILIBRIUM));
    put_muscles(w, f);
    if (rig && sound_path(rig, strlen(rig))) {
        open_chunk(w, "rigp");
        put_text(w, rig);
        close_chunk(w);
    }
}

static FaCode pack(const FaFace *face, const char *rig, unsigned char **data, size_t *size, FaError *err) {
    Writer w = {0};
    *data = NULL;
    *size = 0;
    fai_text_bytes(&w.text, SIGNATURE, sizeof SIGNATURE);
    put_u32(&w, FA_FACE_VERSION);
    put_u32(&w, 0);
    put_u64(&w, 0);
    put_u64(&w, 0);
    put_face(&w, face, rig);
    if (w.text.failed) {
        fai_text_free(&w.text);
        return FA_FAIL_MEMORY(err);
    }
    uint64_t total = swap64(w.text.size),
             sum = swap64(fai_hash64(w.text.data + HEADER, w.text.size - HEADER, FA_FACE_VERSION));
    memcpy(w.text.data + 16, &total, 8);
    memcpy(w.text.data + 24, &sum, 8);
    *data = (unsigned char *)w.text.data;
    *size = w.text.size;
    return FA_OK;
}

FaCode fai_face_pack(const FaFace *face, unsigned char **data, size_t *size, FaError *err) {
    return pack(face, face->rig_path, data, size, err);
}

// What the file says of its rig: the bare name where both lie in one folder, so that they can move together; else the
// whole path. Empty where there is no such folder (any more).
static FaCode rig_text(const FaFace *face, const char *path, char out[PATH_MAX], FaError *err) {
    char folder[PATH_MAX], ours[PATH_MAX];
    size_t n = face->rig_path ? strlen(face->rig_path) : 0;
    out[0] = 0;
    while (n > 1 && face->rig_path[n - 1] == '/') n--; // a folder of shapes
    if (n == 0 || n >= PATH_MAX) return FA_OK;
    char *rig = fai_strndup(face->rig_path, n), *dir = rig ? fai_path_dir(rig) : NULL, *own = fai_path_dir(path),
         *whole = NULL;
    FaCode rc = rig && dir && own ? FA_OK : FA_FAIL_MEMORY(err);
    const char *name = rig ? fai_path_base(rig) : "";
    if (rc < 0) {
    } else if (!strcmp(name, ".") || !strcmp(name, "..") || !name[0]) {
        if (!realpath(rig, out)) out[0] = 0;
    } else if (realpath(dir, folder)) {
        bool beside = realpath(own, ours) && !strcmp(folder, ours);
        if (!beside && !(whole = fai_path_join(folder, name))) rc = FA_FAIL_MEMORY(err);
        if (rc >= 0 && (size_t)snprintf(out, PATH_MAX, "%s", beside ? name : whole) >= PATH_MAX) out[0] = 0;
    }
    fa_free(rig);
    fa_free(dir);
    fa_free(own);
    fa_free(whole);
    return rc;
}

FaCode fa_face_save(const FaFace *face, const char *path, FaError *err) {
    unsigned char *data;
    size_t size;
    char rig[PATH_MAX];
    FA_TRY(rig_text(face, path, rig, err));
    FA_TRY(pack(face, rig, &data, &size, err));
    FaCode rc = fai_file_write(path, data, size, err);
    fa_free(data);
    return fai_fail_in(err, rc, path);
}

// --- reading --------------------------------------------------------------------------------------------------------

typedef struct Reader {
    const unsigned char *at, *end; // of the chunk being read
    bool short_read;               // it ended too early
} Reader;

static uint32_t get_u32(Reader *r) {
    uint32_t v = 0;
    if (r->end - r->at < 4) return r->short_read = true, 0;
    memcpy(&v, r->at, 4);
    r->at += 4;
    return swap32(v);
}

static uint64_t get_u64(Reader *r) {
    uint64_t v = 0;
    if (r->end - r->at < 8) return r->short_read = true, 0;
    memcpy(&v, r->at, 8);
    r->at += 8;
    return swap64(v);
}

static double get_f64(Reader *r) {
    uint64_t bits = get_u64(r);
    double v;
    memcpy(&v, &bits, 8);
    return v;
}

static int get_count(Reader *r) {
    uint32_t v = get_u32(r);
    if (v > INT_MAX / 64) r->short_read = true;
    return v > INT_MAX / 64 ? 0 : (int)v;
}

// A text of the chunk, copied; NULL (and short_read) where it would end outside.
static char *get_text(Reader *r, FaArena *arena) {
    uint32_t n = get_u32(r);
    if ((size_t)(r->end - r->at) < n) return r->short_read = true, NULL;
    r->at += n;
    return fai_arena_strndup(arena, (const char *)r->at - n, n);
}

// n values of four bytes, which must be there: nothing is allocated for more.
static FaCode get_array(Reader *r, FaArena *arena, size_t n, void *out, FaError *err) {
    if ((size_t)(r->end - r->at) / 4 < n) return r->short_read = true, FA_OK;
    void *data = fai_arena_push(arena, n, 4);
    if (!data) return FA_FAIL_MEMORY(err);
    memcpy(data, r->at, 4 * n);
    r->at += 4 * n;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (size_t i = 0; i < n; i++) ((uint32_t *)data)[i] = swap32(((uint32_t *)data)[i]);
#endif
    *(void **)out = data;
    return FA_OK;
}

static void read_head(Reader *r, FaFace *f, int *nregion, int *nbone) {
    f->rig_hash = get_u64(r);
    f->nvert = get_count(r);
    f->nskin = get_count(r);
    f->layers = get_count(r);
    f->ntri = get_count(r);
    f->ntet = get_count(r);
    *nbone = get_count(r);
    *nregion = get_count(r);
    const int filled = get_count(r); // nodes of filled flesh, which has no layers
    if (f->layers > FA_FACE_LAYERS || (f->layers > 0 && filled > 0)) r->short_read = true, f->layers = 0;
    f->nnode = f->layers ? (int)FA_MIN((int64_t)f->nskin * (f->layers + 1), INT_MAX / 4) : filled;
}

static void read_jaw(Reader *r, FaJaw *jaw) {
    jaw->found = get_u32(r) != 0;
    for (int i = 0; i < 4; i++) jaw->shape[i] = (int)get_u32(r);
    get_u32(r);
    for (int k = 0; k < 3; k++) jaw->hinge[k] = get_f64(r);
    for (int k = 0; k < 3; k++) jaw->axis[k] = get_f64(r);
    jaw->open_angle = get_f64(r);
    for (int k = 0; k < 3; k++) jaw->open_slide[k] = get_f64(r);
    for (int i = 0; i < 12; i++) jaw->slide[i / 3][i % 3] = get_f64(r);
    for (int i = 0; i < 12; i++) jaw->turn[i / 3][i % 3] = get_f64(r);
    jaw->residual = get_f64(r);
}

static FaCode read_muscles(Reader *r, FaFace *f, FaError *err) {
    if (get_u32(r) != MUSCLES_VERSION) {
        if (!r->short_read)
            fai_note(&f->notes, "muscles-version", "", "build it again: fascia muscle build RIG -o FACE",
                     "its muscles are of another fascia and are not used");
        r->at = r->end;
        return FA_OK;
    }
    f->flesh_size = get_count(r);
    if (f->flesh_size < 1 || f->flesh_size > FA_FLESH_MOST) r->short_read = true;
    const size_t n = (size_t)(r->end - r->at);
    unsigned char *data = FA_PUSH(f->arena, n, unsigned char);
    if (!data) return FA_FAIL_MEMORY(err);
    memcpy(data, r->at, n);
    f->muscles = data, f->muscles_size = n;
    r->at = r->end;
    return FA_OK;
}

// Muscles of the rig's shapes, as bytes: of another version they are made again.
static FaCode read_muscle_shapes(Reader *r, FaFace *f, FaError *err) {
    const bool known = get_u32(r) == MUSCLES_VERSION;
    get_u32(r);
    const size_t n = r->short_read ? 0 : (size_t)(r->end - r->at);
    unsigned char *data = known && n ? FA_PUSH(f->arena, n, unsigned char) : NULL;
    if (known && n && !data) return FA_FAIL_MEMORY(err);
    if (data) memcpy(data, r->at, n);
    f->shapes = data, f->shapes_size = data ? n : 0;
    r->at = r->end;
    return FA_OK;
}

// posed: with turns and slides; files of before ("jawm") have how far each shape opens it only.
static void read_jaw_more(Reader *r, bool posed, FaJaw *jaw) {
    jaw->nmore = get_count(r);
    get_u32(r);
    if (jaw->nmore > FA_JAW_MORE) r->short_read = true, jaw->nmore = 0;
    for (int i = 0; i < jaw->nmore; i++) {
        FaJawShape *m = &jaw->more[i];
        *m = (FaJawShape){.shape = (int)get_u32(r)};
        get_u32(r);
        m->open = get_f64(r);
        for (int k = 0; k < 6 && posed; k++) *(k < 3 ? &m->turn[k] : &m->slide[k - 3]) = get_f64(r);
    }
}

static FaCode read_bone(Reader *r, FaArena *arena, FaBone *b, FaError *err) {
    if (r->end - r->at < (ptrdiff_t)sizeof b->name) return r->short_read = true, FA_OK;
    memcpy(b->name, r->at, sizeof b->name);
    b->name[sizeof b->name - 1] = 0;
    r->at += sizeof b->name;
    uint32_t kind = get_u32(r);
    b->kind = kind < FA_BONE_KINDS ? (FaBoneKind)kind : FA_BONE_OTHER;
    b->with_jaw = get_u32(r) != 0;
    b->closed = get_u32(r) != 0;
    b->nvert = get_count(r);
    b->ntri = get_count(r);
    get_u32(r);
    FA_TRY(get_array(r, arena, 3 * (size_t)b->nvert, &b->x, err));
    return r->short_read ? FA_OK : get_array(r, arena, 3 * (size_t)b->ntri, &b->tri, err);
}

static FaCode read_notes(Reader *r, FaNotes *notes, FaError *err) {
    FaArena *arena = fai_arena_new(0);
    if (!arena) return FA_FAIL_MEMORY(err);
    int n = get_count(r);
    for (int i = 0; i < n && !r->short_read; i++) {
        int count = get_count(r);
        char *part[4] = {NULL};
        for (int k = 0; k < 4; k++) part[k] = get_text(r, arena);
        if (r->short_read) break;
        if (!part[0] || !part[1] || !part[2] || !part[3]) {
            fai_arena_free(arena);
            return FA_FAIL_MEMORY(err);
        }
        if (count > 0) fai_note_count(notes, count, part[0], part[2], part[3], "%s", part[1]);
    }
    fai_arena_free(arena);
    return FA_OK;
}

static FaCode read_rig_path(Reader *r, FaFace *f, FaError *err) {
    uint32_t n = get_u32(r);
    const char *at = (const char *)r->at;
    if (r->short_read || (size_t)(r->end - r->at) < n) return r->short_read = true, FA_OK;
    if (!sound_path(at, n))
        return FA_FAIL(err, FA_E_FORMAT, "chunk rigp", "build the face again: fascia build RIG -o FACE",
                       "this is no path of a rig");
    r->at += n;
    return (f->rig_path = fai_arena_strndup(f->arena, at, n)) ? FA_OK : FA_FAIL_MEMORY(err);
}

static void read_stiff_made(Reader *r, FaStiffMade *m) {
    float *value[] = {&m->before, &m->uniform, &m->after, &m->mean[0], &m->mean[1], &m->mean[2]};
    m->nshape = get_count(r);
    m->iterations = get_count(r);
    for (int i = 0; i < FA_COUNT(value); i++) {
        double v = get_f64(r);
        *value[i] = v >= 0 && v <= 1e6 ? (float)v : 0;
    }
}

static FaCode read_columns(Reader *r, FaArena *arena, int width, FaColumns *c, FaError *err) {
    c->nshape = get_count(r);
    c->width = get_count(r);
    int n = get_count(r);
    if (c->width != width) r->short_read = true;
    if (!r->short_read) FA_TRY(get_array(r, arena, (size_t)c->nshape + 1, &c->first, err));
    if (!r->short_read) FA_TRY(get_array(r, arena, (size_t)n, &c->item, err));
    if (!r->short_read) FA_TRY(get_array(r, arena, (size_t)n * (size_t)width, &c->value, err));
    if (!r->short_read && c->first[c->nshape] != n) r->short_read = true;
    return FA_OK;
}

static void get_name(Reader *r, char name[64]) {
    if (r->short_read || r->end - r->at < 64) {
        r->short_read = true;
        return;
    }
    memcpy(name, r->at, 64);
    name[63] = 0;
    for (char *c = name; *c; c++)
        if ((unsigned char)*c < ' ') *c = '?';
    r->at += 64;
}

// Of another version: the volumes can be used, and are known to be older.
static void read_volumes_made(Reader *r, FaVolumesMade *m) {
    m->version = get_count(r);
    if (m->version != FA_VOLUMES_VERSION) {
        m->version = 0;
        r->at = r->end;
        return;
    }
    m->inverted = get_count(r);
    m->left_out = get_count(r);
    m->key = get_u64(r);
    double *value[] = {&m->least, &m->volume};
    for (int i = 0; i < FA_COUNT(value); i++) {
        *value[i] = get_f64(r);
        if (!isfinite(*value[i])) *value[i] = 0;
    }
    get_name(r, m->worst);
    get_name(r, m->folded);
    get_name(r, m->swollen);
}

// One array of the table. Nothing is allocated for more bytes than there are.
static FaCode read_row(Reader *r, FaFace *f, const FaFaceArray *a, FaError *err) {
    const size_t n = fai_face_numbers(f, a);
    void *data = NULL;
    if (a->size == 4)
        FA_TRY(get_array(r, f->arena, n, &data, err));
    else if ((size_t)(r->end - r->at) < n)
        r->short_read = true;
    else {
        if (!(data = fai_arena_push(f->arena, n, a->size))) return FA_FAIL_MEMORY(err);
        memcpy(data, r->at, n);
        r->at += n;
    }
    if (data) fai_face_array_set(f, a, data);
    return FA_OK;
}

static FaCode read_region(Reader *r, FaFace *f, FaError *err) {
    char name[REGION_NAME];
    if (r->end - r->at < (ptrdiff_t)sizeof name) return r->short_read = true, FA_OK;
    memcpy(name, r->at, sizeof name);
    name[sizeof name - 1] = 0;
    r->at += sizeof name;
    for (int i = 0; i < FA_FACE_NARRAY; i++)
        if (is_region(&fai_face_array[i]) && !strcmp(name, fai_face_array[i].what))
            return read_row(r, f, &fai_face_array[i], err);
    r->at = r->end; // a region of a later version
    return FA_OK;
}

// Version and count of a chunk; false: it is of another version.
static bool read_chunk_head(Reader *r, FaFace *f, const Head *head) {
    if (get_u32(r) != head->version) {
        if (!r->short_read) fai_note(&f->notes, head->note, "", head->remedy, "%s", head->text);
        r->at = r->end;
        return false;
    }
    const int count = get_count(r);
    memcpy((char *)f + head->count, &count, sizeof count);
    return true;
}

// A chunk of the table, from its first row.
static FaCode read_rows(Reader *r, FaFace *f, int first, FaError *err) {
    const FaFaceArray *a = &fai_face_array[first];
    const Head *head = head_of(a->tag);
    if (is_region(a)) return read_region(r, f, err);
    if (head && !read_chunk_head(r, f, head)) return FA_OK;
    for (int i = 0, n = rows_of_chunk(first); i < n && !r->short_read; i++) FA_TRY(read_row(r, f, a + i, err));
    return FA_OK;
}

static FaCode read_chunk(Reader *r, const char tag[5], FaFace *f, int nbone, FaError *err) {
    for (int i = 0; i < FA_FACE_NARRAY; i++)
        if (!strcmp(tag, fai_face_array[i].tag)) return read_rows(r, f, i, err);
    for (int i = 0; i < FA_FACE_NCOLUMNS; i++) {
        const FaFaceColumns *c = &fai_face_columns[i];
        if (!strcmp(tag, c->tag)) return read_columns(r, f->arena, c->width, fai_face_columns_get(f, c), err);
    }
    if (!strcmp(tag, "JAW "))
        read_jaw(r, &f->jaw);
    else if (!strcmp(tag, "jawm") || !strcmp(tag, "jawp"))
        read_jaw_more(r, tag[3] == 'p', &f->jaw);
    else if (!strcmp(tag, "BONE")) {
        if (f->nbone >= nbone)
            return FA_FAIL(err, FA_E_FORMAT, "chunk BONE", "build the face again: fascia build RIG -o FACE",
                           "there are more bones than HEAD says");
        return read_bone(r, f->arena, &f->bone[f->nbone++], err);
    } else if (!strcmp(tag, "note"))
        return read_notes(r, &f->notes, err);
    else if (!strcmp(tag, "musc"))
        return read_muscles(r, f, err);
    else if (!strcmp(tag, "mshp"))
        return read_muscle_shapes(r, f, err);
    else if (!strcmp(tag, "stir"))
        read_stiff_made(r, &f->stiff_made);
    else if (!strcmp(tag, "volr"))
        read_volumes_made(r, &f->volumes_made);
    else if (!strcmp(tag, "rigp"))
        return read_rig_path(r, f, err);
    else if (tag[0] >= 'a' && tag[0] <= 'z')
        r->at = r->end;
    else
        return FA_FAIL(err, FA_E_UNSUPPORTED, FA_PLACE("chunk %s", tag),
                       "use the fascia that wrote the file, or a newer one",
                       "it holds a part that this version does not know");
    return FA_OK;
}

static FaCode check_header(const unsigned char *data, size_t size, FaError *err) {
    if (size < HEADER || memcmp(data, SIGNATURE, 5) != 0)
        return FA_FAIL(err, FA_E_FORMAT, NULL, "make one with fascia build RIG -o FACE", "this is no .face file");
    if (memcmp(data, SIGNATURE, sizeof SIGNATURE) != 0)
        return FA_FAIL(err, FA_E_FORMAT, NULL, "copy it again as binary", "the file was changed by a transfer as text");
    Reader r = {data + 8, data + HEADER, false};
    uint32_t version = get_u32(&r);
    get_u32(&r);
    uint64_t total = get_u64(&r), sum = get_u64(&r);
    if (version > FA_FACE_VERSION)
        return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "update fascia, or build the face again with this one",
                       "it was written by a newer fascia: format %u, this one reads up to %d", version,
                       FA_FACE_VERSION);
    if (version == 0)
        return FA_FAIL(err, FA_E_FORMAT, NULL, "build the face again: fascia build RIG -o FACE", "the version is 0");
    if (total != size)
        return FA_FAIL(err, FA_E_FORMAT, NULL, "copy it again, or build the face again",
                       "the file has %zu bytes and should have %llu: it is cut off or damaged", size,
                       (unsigned long long)total);
    if (sum != fai_hash64(data + HEADER, size - HEADER, version))
        return FA_FAIL(err, FA_E_FORMAT, NULL, "copy it again, or build the face again",
                       "the checksum does not match: the file is damaged");
    return FA_OK;
}

static FaCode read_chunks(const unsigned char *data, size_t size, FaFace *f, FaError *err) {
    size_t at = HEADER;
    int nbone = 0, nregion = 0;
    bool head = false;
    while (at < size) {
        char tag[5] = {0};
        if (size - at < CHUNK)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("byte %zu", at), "build the face again: fascia build RIG -o FACE",
                           "a chunk is cut off");
        memcpy(tag, data + at, 4);
        for (int k = 0; k < 4; k++)
            if (tag[k] < 32 || tag[k] > 126)
                return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("byte %zu", at),
                               "build the face again: fascia build RIG -o FACE", "a chunk has no name");
        Reader r = {data + at + 8, data + at + CHUNK, false};
        uint64_t n = get_u64(&r);
        at += CHUNK;
        if (n > size - at)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("chunk %s", tag),
                           "build the face again: fascia build RIG -o FACE", "it is longer than the file");
        r = (Reader){data + at, data + at + n, false};
        if (!head && strcmp(tag, "HEAD") != 0)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("chunk %s", tag),
                           "build the face again: fascia build RIG -o FACE", "HEAD must come first");
        if (!strcmp(tag, "HEAD")) {
            if (head)
                return FA_FAIL(err, FA_E_FORMAT, "chunk HEAD", "build the face again: fascia build RIG -o FACE",
                               "there are two");
            head = true;
            read_head(&r, f, &nregion, &nbone);
            // a bone's chunk has at least its own head
            if (!r.short_read && (size_t)nbone > size / CHUNK)
                return FA_FAIL(err, FA_E_FORMAT, "chunk HEAD", "build the face again: fascia build RIG -o FACE",
                               "%d bones do not fit into the file", nbone);
            if (!r.short_read && !(f->bone = FA_PUSH(f->arena, nbone, FaBone))) return FA_FAIL_MEMORY(err);
        } else
            FA_TRY(read_chunk(&r, tag, f, nbone, err));
        if (r.short_read || r.at != r.end)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("chunk %s", tag),
                           "build the face again: fascia build RIG -o FACE",
                           "its size does not fit the counts in HEAD");
        at += n;
        at += FA_MIN((8 - at % 8) % 8, size - at);
    }
    if (!head)
        return FA_FAIL(err, FA_E_FORMAT, NULL, "build the face again: fascia build RIG -o FACE", "the file is empty");
    if (f->nbone != nbone)
        return FA_FAIL(err, FA_E_FORMAT, "bones", "build the face again: fascia build RIG -o FACE",
                       "%d of %d are there", f->nbone, nbone);
    return fai_face_check(f, err);
}

FaCode fai_face_unpack(const unsigned char *data, size_t size, FaFace **face, FaError *err) {
    *face = NULL;
    FA_TRY(check_header(data, size, err));
    FaFace *f = FA_NEW(1, FaFace);
    if (!f) return FA_FAIL_MEMORY(err);
    f->arena = fai_arena_new(0);
    FaCode rc = f->arena ? read_chunks(data, size, f, err) : FA_FAIL_MEMORY(err);
    if (rc < 0)
        fa_face_free(f);
    else
        *face = f;
    return rc;
}

// A bare name is a file beside the face's own.
static FaCode resolve_rig(FaFace *f, const char *path, FaError *err) {
    if (!f->rig_path || f->rig_path[0] == '/') return FA_OK;
    char *dir = fai_path_dir(path), *whole = dir ? fai_path_join(dir, f->rig_path) : NULL;
    f->rig_path = whole ? fai_arena_strndup(f->arena, whole, strlen(whole)) : NULL;
    fa_free(dir);
    fa_free(whole);
    return f->rig_path ? FA_OK : FA_FAIL_MEMORY(err);
}

FaCode fa_face_load(const char *path, FaFace **face, FaError *err) {
    FaBytes bytes;
    *face = NULL;
    FA_TRY(fai_file_read(path, 0, &bytes, err));
    FaCode rc = fai_face_unpack(bytes.data, bytes.size, face, err);
    fai_bytes_free(&bytes);
    if (rc >= 0 && (rc = resolve_rig(*face, path, err)) < 0) {
        fa_face_free(*face);
        *face = NULL;
    }
    return fai_fail_in(err, rc, path);
}
