// C3D (c3d.org): blocks of 512 bytes: a header, named parameters, frames of points and analog samples.
//
//     header   byte 0: first block of the parameters (from 1); byte 1: 0x50; then 16-bit words, counted from 1:
//              2 points | 3 analog samples per frame | 4, 5 first and last frame | 7-8 scale | 9 first data block |
//              11-12 rate
//     params   4 bytes, the last of which is 83 + processor: 1 Intel, 2 DEC, 3 MIPS: the byte order of everything and
//              the kind of its floats. Then entries: i8 length of the name (below 0: locked), i8 id (below 0: a group,
//              above: a parameter of that group), name, i16 bytes from here to the next entry (0: the last), and for a
//              parameter i8 type (-1 text, 1 byte, 2 i16, 4 float), u8 dimensions, u8 each, data.
//     frame    per point x y z and a word whose sign says "missing": i16 times the scale, or floats if the scale is
//              below 0; then the analog samples, which are passed over.
//
// The parameters count, not the header, where both say something. Frames: of what POINT:FRAMES, POINT:LONG_FRAMES and
// TRIAL:ACTUAL_START/END_FIELD state, the most that the file has room for (16 bits overflow at nine minutes of 120 Hz);
// if none fits, those there are, "frames-missing". A processor that is none, no points, a scale of 0, data outside of
// the file: error. A rate that is none: error unless one is given. Parameters that run out of the file end there.
#include "base/number.h"
#include "io/clip_tools.h"
#include "io/markers.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

enum { BLOCK = 512, INTEL = 1, DEC = 2, MIPS = 3, MAX_ENTRIES = 65536 };

typedef struct Param {
    int group; // id, above 0
    const unsigned char *name;
    int name_size;
    int type; // -1 text, 1 byte, 2 i16, 4 float
    int ndim;
    int dim[7];
    const unsigned char *data;
    size_t count; // elements that are there
} Param;

typedef struct C3d {
    const unsigned char *data;
    size_t size;
    int processor;
    Param *param; // (nparam)
    int nparam, room;
    int point, trial, ours; // ids of the groups POINT, TRIAL, FASCIA; 0: absent
    const FaMarkerOptions *options;
    FaArena *arena;
    FaError *err;

    int npoint, nanalog;
    double scale, rate, declared;
    size_t start, frame_size;
    int nframe;
    int64_t announced;
    FaNotes notes;
} C3d;

// --- numbers ------------------------------------------------------------------------------------------------------

static unsigned word_at(const C3d *c, const unsigned char *b) {
    return c->processor == MIPS ? (unsigned)(b[0] << 8 | b[1]) : (unsigned)(b[1] << 8 | b[0]);
}

static float float_at(const C3d *c, const unsigned char *b) {
    uint32_t u;
    if (c->processor == MIPS)
        u = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    else if (c->processor == INTEL)
        u = (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
    else
        u = (uint32_t)b[1] << 24 | (uint32_t)b[0] << 16 | (uint32_t)b[3] << 8 | b[2];
    float v;
    if (c->processor != DEC) {
        memcpy(&v, &u, sizeof v);
        return v;
    }
    // VAX F: the words swapped; 0.1m 2^(e-128) where IEEE has 1.m 2^(e-127); no infinities, no denormals; a negative
    // sign with exponent 0 is no number
    int exponent = (int)(u >> 23 & 255);
    if (!exponent) return u >> 31 ? NAN : 0;
    double m = (double)((u & 0x7FFFFF) | 0x800000) * (u >> 31 ? -1 : 1);
    return (float)ldexp(m, exponent - 128 - 24);
}

static double number_at(const C3d *c, const Param *p, size_t i) {
    if (p->type == 4) return float_at(c, p->data + 4 * i);
    if (p->type == 2) return word_at(c, p->data + 2 * i); // counts are unsigned in all files of today
    return p->data[i];
}

// --- parameters ---------------------------------------------------------------------------------------------------

static bool name_is(const unsigned char *name, int size, const char *word) {
    return strlen(word) == (size_t)size && !strncasecmp((const char *)name, word, (size_t)size);
}

// What stands after the name of a parameter; false if it does not fit into the file.
static bool read_param(const C3d *c, size_t pos, Param *p) {
    if (pos + 2 > c->size) return false;
    p->type = (signed char)c->data[pos];
    p->ndim = c->data[pos + 1];
    pos += 2;
    if (p->ndim > FA_COUNT(p->dim) || pos + (size_t)p->ndim > c->size) return false;
    size_t size = p->type == 4 ? 4 : p->type == 2 ? 2 : 1;
    p->count = 1;
    for (int i = 0; i < p->ndim; i++) {
        p->dim[i] = c->data[pos++];
        p->count *= (size_t)p->dim[i]; // at most 255^7 < 2^56
    }
    p->data = c->data + pos;
    return p->count <= (c->size - pos) / size && (p->type == -1 || p->type == 1 || p->type == 2 || p->type == 4);
}

static FaCode read_params(C3d *c, size_t start) {
    size_t pos = start + 4;
    int seen = 0;
    while (pos + 4 <= c->size) {
        int n = abs((signed char)c->data[pos]), id = (signed char)c->data[pos + 1];
        const unsigned char *name = c->data + pos + 2;
        size_t offset = pos + 2 + (size_t)n;
        if (n == 0 || id == 0 || offset + 2 > c->size) break;
        if (++seen > MAX_ENTRIES)
            return FA_FAIL(c->err, FA_E_LIMIT, FA_PLACE("byte %zu", pos), NULL, "more than %d parameters", MAX_ENTRIES);
        if (id < 0 && name_is(name, n, "POINT") && !c->point) c->point = -id;
        if (id < 0 && name_is(name, n, "TRIAL") && !c->trial) c->trial = -id;
        if (id < 0 && name_is(name, n, "FASCIA") && !c->ours) c->ours = -id;
        Param p = {.group = id, .name = name, .name_size = n};
        if (id > 0 && read_param(c, offset + 2, &p)) {
            Param *grown = c->nparam < c->room ? c->param : fai_grow_array(c->param, &c->room, c->nparam + 1, sizeof p);
            if (!grown) return FA_FAIL_MEMORY(c->err);
            c->param = grown;
            c->param[c->nparam++] = p;
        }
        unsigned next = word_at(c, c->data + offset);
        if (next == 0) break;
        pos = offset + next;
    }
    return FA_OK;
}

static const Param *find(const C3d *c, int group, const char *name) {
    for (int i = 0; group && i < c->nparam; i++)
        if (c->param[i].group == group && name_is(c->param[i].name, c->param[i].name_size, name)) return &c->param[i];
    return NULL;
}

static double number_or(const C3d *c, const char *name, double absent) {
    const Param *p = find(c, c->point, name);
    return p && p->count && p->type != -1 ? number_at(c, p, 0) : absent;
}

// --- the layout ---------------------------------------------------------------------------------------------------

// A field number of TRIAL: two 16-bit words, the low one first in files of any processor; -1: not there.
static int64_t field_number(const C3d *c, const char *name) {
    const Param *p = find(c, c->trial, name);
    if (!p || !p->count || p->type == -1) return -1;
    double v = number_at(c, p, 0);
    if (p->type == 2 && p->count >= 2) v += 65536 * number_at(c, p, 1);
    return v >= 0 && v < 0x1p40 ? (int64_t)v : -1;
}

static void find_frames(C3d *c) {
    int64_t fits = (int64_t)((c->size - c->start) / c->frame_size), best = 0, most = 0, stated[4] = {0};
    double frames = number_or(c, "FRAMES", 0), more = number_or(c, "LONG_FRAMES", 0);
    int64_t first = field_number(c, "ACTUAL_START_FIELD"), last = field_number(c, "ACTUAL_END_FIELD");
    if (frames >= 1 && frames < 0x1p40) stated[0] = (int64_t)frames;
    if (more >= 1 && more < 0x1p40) stated[1] = (int64_t)more;
    if (first >= 0 && last >= first) stated[2] = last - first + 1;
    if (!stated[0] && !stated[1] && !stated[2]) {
        int64_t a = word_at(c, c->data + 6), b = word_at(c, c->data + 8);
        if (b >= a) stated[3] = b - a + 1;
    }
    for (int i = 0; i < 4; i++) {
        if (stated[i] <= fits) best = FA_MAX(best, stated[i]);
        most = FA_MAX(most, stated[i]);
    }
    c->announced = best ? best : most; // none fits: the file is cut
    c->nframe = (int)FA_MIN(FA_MIN(c->announced, fits), INT32_MAX);
}

static FaCode read_layout(C3d *c) {
    const unsigned char *h = c->data;
    double used = number_or(c, "USED", 0), start = number_or(c, "DATA_START", 0);
    c->npoint = used >= 1 && used <= 65535 ? (int)used : (int)word_at(c, h + 2);
    c->nanalog = (int)word_at(c, h + 4);
    c->scale = number_or(c, "SCALE", float_at(c, h + 12));
    c->rate = number_or(c, "RATE", 0);
    if (!(c->rate > 0) || !isfinite(c->rate)) c->rate = float_at(c, h + 20);
    if (!(start >= 2)) start = word_at(c, h + 16);
    if (!c->npoint)
        return FA_FAIL(c->err, FA_E_FORMAT, "POINT:USED", "export it with its markers", "the file holds no points");
    if (!isfinite(c->scale) || c->scale == 0)
        return FA_FAIL(c->err, FA_E_FORMAT, "POINT:SCALE", "export it again", "the scale of the points is no scale");
    if ((!(c->rate > 0) || !isfinite(c->rate)) && !(c->options && c->options->fps > 0))
        return FA_FAIL(c->err, FA_E_FORMAT, "POINT:RATE", "give the frame rate (--fps)", "the frame rate is no rate");
    if (!(start >= 2) || !((start - 1) * BLOCK < (double)c->size))
        return FA_FAIL(c->err, FA_E_FORMAT, "POINT:DATA_START", "check that the file is complete",
                       "the frames start outside of the file");
    c->start = ((size_t)start - 1) * BLOCK;
    c->frame_size = (4 * (size_t)c->npoint + (size_t)c->nanalog) * (c->scale < 0 ? 4 : 2);
    find_frames(c);
    if (c->nframe < 1)
        return FA_FAIL(c->err, FA_E_FORMAT, FA_PLACE("byte %zu", c->start), "check that the file is complete",
                       "there are no frames");
    return fai_markers_room(c->size, c->nframe, c->npoint, c->err);
}

// LABELS, LABELS2, ...: one list, padded with spaces.
static FaCode read_labels(C3d *c, const char **name) {
    enum { PAGES = 300 };
    int n = 0;
    for (int page = 1; page <= PAGES && n < c->npoint; page++) {
        const Param *p = find(c, c->point, page == 1 ? "LABELS" : FA_PLACE("LABELS%d", page));
        if (!p || p->type != -1 || p->ndim < 1) break;
        size_t width = (size_t)p->dim[0], rows = width ? p->count / width : 0;
        for (size_t r = 0; r < rows && n < c->npoint; r++, n++) {
            const char *text = (const char *)p->data + r * width;
            size_t size = strnlen(text, width);
            name[n] = fai_clip_name(c->arena, text, size, true);
            if (!name[n]) return FA_FAIL_MEMORY(c->err);
        }
    }
    return fai_markers_names(c->arena, name, c->npoint, &c->notes, c->err);
}

static void read_unit(C3d *c) {
    const Param *p = find(c, c->point, "UNITS");
    if (!p || p->type != -1 || !p->count) return;
    size_t width = p->ndim ? (size_t)p->dim[0] : 1;
    const char *text = (const char *)p->data;
    size_t size = strnlen(text, FA_MIN(width, p->count));
    c->declared = fai_unit_named(text, size);
    bool said = false;
    for (size_t i = 0; i < size; i++) said |= text[i] != ' ';
    if (said && !(c->declared > 0))
        fai_note(&c->notes, "unit-unknown", "POINT:UNITS", "give the unit",
                 "the file's unit '%.*s' is not known; it was found by size", (int)FA_MIN(size, 16), text);
}

// --- frames -------------------------------------------------------------------------------------------------------

static int read_frames(const C3d *c, FaMarkerTake *take) {
    double known = fai_markers_unit(c->options, c->declared), unit = known > 0 ? known : 1;
    bool floats = c->scale < 0;
    size_t word = floats ? 4 : 2;
    int bad = 0;
    for (int f = 0; f < c->nframe; f++) {
        const unsigned char *b = c->data + c->start + (size_t)f * c->frame_size;
        for (int m = 0; m < c->npoint; m++, b += 4 * word) {
            double v[3];
            bool seen = floats ? float_at(c, b + 12) >= 0 : (int16_t)word_at(c, b + 6) >= 0, finite = true;
            for (int k = 0; seen && k < 3; k++) {
                v[k] = floats ? float_at(c, b + 4 * k) : fabs(c->scale) * (int16_t)word_at(c, b + 2 * k);
                finite &= isfinite((float)(unit * v[k]));
            }
            if (seen && !finite) bad += bad < INT32_MAX;
            float *x = take->x + 3 * ((size_t)f * (size_t)c->npoint + (size_t)m);
            for (int k = 0; seen && finite && k < 3; k++) x[k] = (float)(unit * v[k]);
        }
    }
    return bad;
}

static FaCode parse(C3d *c, FaMarkerTake **out) {
    if (c->size < BLOCK || c->data[1] != 0x50)
        return FA_FAIL(c->err, FA_E_FORMAT, "byte 1", "check that it is a C3D file", "the file is no C3D file");
    size_t params = c->data[0] ? ((size_t)c->data[0] - 1) * BLOCK : BLOCK;
    if (params < BLOCK || params + 4 > c->size)
        return FA_FAIL(c->err, FA_E_FORMAT, "byte 0", "check that the file is complete",
                       "the parameters are outside of the file");
    c->processor = c->data[params + 3] - 83;
    if (c->processor < INTEL || c->processor > MIPS)
        return FA_FAIL(c->err, FA_E_UNSUPPORTED, FA_PLACE("byte %zu", params + 3), "export it for Intel processors",
                       "processor %d is none of Intel (1), DEC (2) and MIPS (3)", c->processor);
    FA_TRY(read_params(c, params));
    FA_TRY(read_layout(c));
    read_unit(c);
    const char **name = FA_PUSH(c->arena, c->npoint, const char *);
    if (!name) return FA_FAIL_MEMORY(c->err);
    FA_TRY(read_labels(c, name));
    double rate = c->rate > 0 && isfinite(c->rate) ? c->rate : c->options->fps;
    FA_TRY(fa_markers_new(c->nframe, c->npoint, name, rate, out, c->err));
    FaMarkerTake *take = *out;
    fai_notes_copy(&take->notes, &c->notes);
    const Param *tag = find(c, c->ours, "RIG");
    if (tag && tag->type == -1) take->mesh = fai_rig_tag_read((const char *)tag->data, tag->count);
    FaMarkerFacts facts = {.declared = c->declared, .zero_missing = true, .nan_cells = read_frames(c, take)};
    if (c->announced > c->nframe)
        fai_note(&take->notes, "frames-missing", "", "check that the file is complete",
                 "%lld frames are announced, %d are there", (long long)c->announced, c->nframe);
    FA_TRY(fai_markers_rate(take, rate, c->options, c->err));
    return fai_markers_finish(take, &facts, c->options, c->err);
}

bool fai_markers_c3d_sniff(const void *data, size_t size) {
    const unsigned char *b = data;
    if (size < BLOCK || b[1] != 0x50 || b[0] < 2) return false;
    // text can begin like this ("2P..."), but has no processor there
    size_t params = ((size_t)b[0] - 1) * BLOCK;
    return params + 4 > size || (b[params + 3] > 83 && b[params + 3] <= 83 + MIPS);
}

FaCode fai_markers_c3d_parse(const void *data, size_t size, const FaMarkerOptions *options, FaMarkerTake **take,
                             FaError *err) {
    *take = NULL;
    C3d c = {.data = data, .size = size, .options = options, .err = err, .arena = fai_arena_new(0)};
    FaMarkerTake *made = NULL;
    FaCode rc = c.arena ? parse(&c, &made) : FA_FAIL_MEMORY(err);
    if (rc >= 0)
        *take = made;
    else
        fa_markers_free(made);
    fai_notes_free(&c.notes);
    fa_free(c.param);
    fai_arena_free(c.arena);
    return rc;
}

// --- writing: Intel, floats, mm -----------------------------------------------------------------------------------

static void put_word(FaText *t, unsigned v) {
    fai_text_bytes(t, (unsigned char[]){(unsigned char)v, (unsigned char)(v >> 8)}, 2);
}

static void put_float(FaText *t, float v) {
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    put_word(t, u & 0xFFFF);
    put_word(t, u >> 16);
}

static void put_zeros(FaText *t, size_t n) {
    static const char zero[BLOCK];
    for (; n > 0; n -= FA_MIN(n, sizeof zero)) fai_text_bytes(t, zero, FA_MIN(n, sizeof zero));
}

static void put_byte(FaText *t, int v) { fai_text_bytes(t, &(char){(char)v}, 1); }

static void put_group(FaText *t, int id, const char *name) {
    put_byte(t, (int)strlen(name));
    put_byte(t, -id);
    fai_text_str(t, name);
    put_word(t, 3); // the offset itself and an empty description
    put_byte(t, 0);
}

// The start of a parameter, up to its data of `bytes` bytes; a byte 0 (no description) is to follow the data.
static void put_param(FaText *t, int id, const char *name, int type, int ndim, const int *dim, size_t bytes) {
    put_byte(t, (int)strlen(name));
    put_byte(t, id);
    fai_text_str(t, name);
    put_word(t, (unsigned)(2 + 2 + (size_t)ndim + bytes + 1));
    put_byte(t, type);
    put_byte(t, ndim);
    for (int i = 0; i < ndim; i++) put_byte(t, dim[i]);
}

static void put_number(FaText *t, int id, const char *name, double v, bool real) {
    put_param(t, id, name, real ? 4 : 2, 0, NULL, real ? 4 : 2);
    if (real)
        put_float(t, (float)v);
    else
        put_word(t, (unsigned)v);
    put_byte(t, 0);
}

// Pages of at most 255 names, of as many as the 16-bit offset allows.
static void put_labels(FaText *t, const FaMarkerTake *take) {
    size_t width = 4;
    for (int m = 0; m < take->nmarker; m++) width = FA_MAX(width, strlen(take->name[m]));
    int rows = (int)FA_MIN(255, 32000 / width);
    for (int from = 0, page = 1; from < take->nmarker; from += rows, page++) {
        int n = FA_MIN(rows, take->nmarker - from);
        put_param(t, 1, page == 1 ? "LABELS" : FA_PLACE("LABELS%d", page), -1, 2, (int[]){(int)width, n},
                  width * (size_t)n);
        for (int m = from; m < from + n; m++) {
            size_t size = strlen(take->name[m]);
            fai_text_bytes(t, take->name[m], size);
            for (; size < width; size++) put_byte(t, ' ');
        }
        put_byte(t, 0);
    }
}

static void put_params(FaText *t, const FaMarkerTake *take, int blocks, int start) {
    const char head[4] = {1, 0x50, (char)FA_MIN(blocks, 255), 83 + INTEL};
    fai_text_bytes(t, head, 4);
    put_group(t, 1, "POINT");
    put_number(t, 1, "USED", take->nmarker, false);
    put_number(t, 1, "SCALE", -1, true);
    put_number(t, 1, "RATE", take->fps, true);
    put_number(t, 1, "DATA_START", start, false);
    put_number(t, 1, "FRAMES", FA_MIN(take->nframe, 65535), false);
    put_param(t, 1, "UNITS", -1, 1, (int[]){2}, 2);
    fai_text_bytes(t, "mm", 3);
    put_labels(t, take);
    put_group(t, 2, "ANALOG");
    put_number(t, 2, "USED", 0, false);
    put_group(t, 3, "TRIAL");
    for (int i = 0; i < 2; i++) {
        unsigned field = i ? (unsigned)take->nframe : 1;
        put_param(t, 3, i ? "ACTUAL_END_FIELD" : "ACTUAL_START_FIELD", 2, 1, (int[]){2}, 4);
        put_word(t, field & 0xFFFF);
        put_word(t, field >> 16);
        put_byte(t, 0);
    }
    if (take->mesh) {
        char tag[FA_RIG_TAG + 1];
        fai_rig_tag(take->mesh, tag);
        put_group(t, 4, "FASCIA");
        put_param(t, 4, "RIG", -1, 1, (int[]){FA_RIG_TAG}, FA_RIG_TAG);
        fai_text_bytes(t, tag, FA_RIG_TAG + 1);
    }
    put_byte(t, 0); // a name of no length ends the list
}

static void put_header(FaText *t, const FaMarkerTake *take, int start) {
    size_t from = t->size;
    fai_text_bytes(t, "\x02\x50", 2);
    put_word(t, (unsigned)take->nmarker);
    put_word(t, 0);
    put_word(t, 1);
    put_word(t, (unsigned)FA_MIN(take->nframe, 65535));
    put_word(t, 0);
    put_float(t, -1);
    put_word(t, (unsigned)start);
    put_word(t, 0);
    put_float(t, (float)take->fps);
    put_zeros(t, BLOCK - (t->size - from));
}

static FaCode check_writable(const FaMarkerTake *take, FaError *err) {
    if (take->nmarker > 65535)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "save it as .csv", "a C3D file holds at most 65535 markers");
    for (int m = 0; m < take->nmarker; m++) {
        size_t n = strlen(take->name[m]);
        if (n > 127 || take->name[m][0] == ' ' || take->name[m][n - 1] == ' ' || strpbrk(take->name[m], "\t"))
            return FA_FAIL(err, FA_E_UNSUPPORTED, FA_PLACE("marker %d", m), "save it as .csv, or rename the marker",
                           "a name over 127 bytes, with tabs or with spaces around it cannot stand in a C3D file");
    }
    // a C3D file has no times: an even rate is all it can say
    for (int f = 0; f < take->nframe; f++)
        if (fabs(take->time[f] - f / take->fps) > 0.5 / take->fps)
            return FA_FAIL(err, FA_E_UNSUPPORTED, FA_PLACE("frame %d", f), "save it as .csv or .trc, or resample it",
                           "the frames are not evenly spaced in time, which C3D cannot say");
    return FA_OK;
}

FaCode fai_markers_c3d_write(const FaMarkerTake *take, FaText *out, FaError *err) {
    FA_TRY(check_writable(take, err));
    FaText params = {0};
    put_params(&params, take, 0, 0); // once for their size
    size_t blocks = (params.size + BLOCK - 1) / BLOCK;
    bool failed = params.failed;
    fai_text_free(&params);
    if (failed) return FA_FAIL_MEMORY(err);
    if (blocks + 2 > 65535)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "save it as .csv", "the names are too long for a C3D file");
    int start = (int)blocks + 2;
    put_header(out, take, start);
    put_params(out, take, (int)blocks, start);
    if (!out->failed) put_zeros(out, ((size_t)start - 1) * BLOCK - out->size);
    size_t n = (size_t)take->nframe * (size_t)take->nmarker;
    for (size_t i = 0; i < n && !out->failed; i++) {
        for (int k = 0; k < 3; k++) {
            float mm = (float)(1000 * (double)take->x[3 * i + (size_t)k]);
            if (take->ok[i] && !isfinite(mm))
                return FA_FAIL(err, FA_E_UNSUPPORTED, FA_PLACE("marker '%.80s'", take->name[i % (size_t)take->nmarker]),
                               "save it as .csv", "a position is too large for millimetres");
            put_float(out, take->ok[i] ? mm : 0);
        }
        put_float(out, take->ok[i] ? 0 : -1);
    }
    if (!out->failed && out->size % BLOCK) put_zeros(out, BLOCK - out->size % BLOCK);
    return out->failed ? FA_FAIL_MEMORY(err) : FA_OK;
}
