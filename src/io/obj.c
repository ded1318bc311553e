// The OBJ parser. Two passes: the first counts, so that arrays have their exact size and memory stays in proportion to
// the file; the second reads. Line numbers are counted only when something is wrong.
#include "io/obj.h"

#include "base/number.h"

#include <float.h>
#include <math.h>

enum { MAX_VERT = 1 << 27 };               // keeps 3 x nvert and byte sizes well inside int and size_t
static const size_t MAX_FILE = 0x7fffffff; // so that corners fit an int

typedef enum Word {
    W_END, // of the text
    W_V,
    W_VT,
    W_F,
    W_MATERIAL, // usemtl
    W_ELEMENT,  // points and lines
    W_FREEFORM, // curves and surfaces
    W_SILENT,   // known and of no interest here
    W_UNKNOWN
} Word;

typedef struct Scan {
    const char *text;
    const char *p;
    const char *end;
    char eol; // '\n', or '\r' in files that know no other
} Scan;

// Something passed over: how often, and where first.
typedef struct Tally {
    int count;
    const char *first;
} Tally;

// --- scanning -----------------------------------------------------------------------------------------------------

static Scan scan_begin(const FaBytes *bytes) {
    const char *text = (const char *)bytes->data;
    Scan s = {text, text, text + bytes->size, '\n'};
    if (bytes->size >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) s.p += 3;
    if (bytes->size && !memchr(text, '\n', bytes->size)) s.eol = '\r';
    return s;
}

static int line_of(const Scan *s, const char *at) {
    int line = 1;
    for (const char *p = s->text; (p = memchr(p, s->eol, (size_t)(at - p))); p++) line++;
    return line;
}

// ZBrush ends its files with a zero byte.
static inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' || c == 0; }

// To the next argument, or to the end of the line. A backslash at the end of a line joins it with the next one.
static inline const char *skip_blank(const Scan *s, const char *p) {
    for (;; p++) {
        while (p < s->end && *p != s->eol && is_blank(*p)) p++;
        if (p == s->end || *p != '\\') return p;
        const char *q = p + 1;
        while (q < s->end && *q != s->eol && is_blank(*q)) q++;
        if (q == s->end) return q;
        if (*q != s->eol) return p;
        p = q;
    }
}

static const char *next_eol(const Scan *s, const char *p) {
    const char *q = p < s->end ? memchr(p, s->eol, (size_t)(s->end - p)) : NULL;
    return q ? q : s->end;
}

// Past the end of the line that p is in, joined ones included.
static const char *skip_line(const Scan *s, const char *p) {
    p = skip_blank(s, p);
    if (p < s->end && *p == '#') p = next_eol(s, p);
    for (;;) {
        const char *q = next_eol(s, p), *last = q;
        if (q == s->end) return q;
        while (last > p && is_blank(last[-1])) last--;
        bool joined = last > p && last[-1] == '\\';
        p = q + 1;
        if (!joined) return p;
    }
}

static inline bool at_line_end(const Scan *s, const char *p) { return p == s->end || *p == s->eol || *p == '#'; }
static inline bool at_break(const Scan *s, const char *p) { return at_line_end(s, p) || is_blank(*p) || *p == '\\'; }

static Word classify(const char *w, size_t n) {
    static const struct {
        const char *text;
        Word word;
    } known[] = {
        {"vt", W_VT},
        {"vn", W_SILENT},
        {"v", W_V},
        {"f", W_F},
        {"usemtl", W_MATERIAL},
        {"mtllib", W_SILENT},
        {"l", W_ELEMENT},
        {"p", W_ELEMENT},
        {"o", W_SILENT},
        {"g", W_SILENT},
        {"s", W_SILENT},
        {"fo", W_F},
        {"vp", W_FREEFORM},
        {"cstype", W_FREEFORM},
        {"deg", W_FREEFORM},
        {"bmat", W_FREEFORM},
        {"step", W_FREEFORM},
        {"curv", W_FREEFORM},
        {"curv2", W_FREEFORM},
        {"surf", W_FREEFORM},
        {"parm", W_FREEFORM},
        {"trim", W_FREEFORM},
        {"hole", W_FREEFORM},
        {"scrv", W_FREEFORM},
        {"sp", W_FREEFORM},
        {"end", W_FREEFORM},
        {"con", W_FREEFORM},
        {"mg", W_SILENT},
        {"bevel", W_SILENT},
        {"c_interp", W_SILENT},
        {"d_interp", W_SILENT},
        {"lod", W_SILENT},
        {"usemap", W_SILENT},
        {"maplib", W_SILENT},
        {"shadow_obj", W_SILENT},
        {"trace_obj", W_SILENT},
        {"ctech", W_SILENT},
        {"stech", W_SILENT},
        {"vw", W_SILENT},
        {"call", W_UNKNOWN},
    };
    for (int i = 0; i < FA_COUNT(known); i++)
        if (strlen(known[i].text) == n && !memcmp(known[i].text, w, n)) return known[i].word;
    return W_UNKNOWN;
}

// The next statement's keyword; s->p is left behind it. *at is where the keyword begins.
static inline Word next_word(Scan *s, const char **at) {
    const char *p = s->p;
    for (;;) {
        p = skip_blank(s, p);
        if (p == s->end) break;
        if (*p == s->eol)
            p++;
        else if (*p == '#')
            p = next_eol(s, p); // comments are never joined: they hold Windows paths
        else
            break;
    }
    *at = p;
    if (p == s->end) {
        s->p = p;
        return W_END;
    }
    // the two frequent ones first
    if (p + 1 < s->end && (p[1] == ' ' || p[1] == '\t') && (*p == 'v' || *p == 'f')) {
        s->p = p + 1;
        return *p == 'v' ? W_V : W_F;
    }
    const char *q = p;
    while (!at_break(s, q)) q++;
    s->p = q;
    return classify(p, (size_t)(q - p));
}

// --- values -------------------------------------------------------------------------------------------------------

static FaCode fail_number(const Scan *s, const char *p, const char *what, FaError *err) {
    char shown[24];
    int n = 0;
    while (n < FA_COUNT(shown) - 1 && p + n < s->end && p[n] != s->eol && (unsigned char)p[n] > ' ') n++;
    for (int i = 0; i < n; i++) shown[i] = (unsigned char)p[i] < 0x7f ? p[i] : '?';
    shown[n] = 0;
    if (n == 0)
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", line_of(s, p)), "the file may be cut off: export it again",
                       "%s ends too early", what);
    bool comma = memchr(shown, ',', (size_t)n) != NULL;
    return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", line_of(s, p)),
                   comma ? "write numbers with a decimal point, not a comma" : "export the file again",
                   "%s has '%s' where a number should be", what, shown);
}

static FaCode read_vertex(Scan *s, double v[3], FaError *err) {
    for (int i = 0; i < 3; i++) {
        const char *p = skip_blank(s, s->p), *q = fai_parse_double(p, s->end, &v[i]);
        if (!q || !at_break(s, q)) return fail_number(s, p, "a vertex", err);
        if (!(fabs(v[i]) <= FLT_MAX))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", line_of(s, p)),
                           "delete the broken vertices in the program the mesh comes from, and export it again",
                           "a vertex coordinate is %s", isnan(v[i]) ? "not a number" : "infinite");
        s->p = q;
    }
    s->p = s->p < s->end && *s->p == s->eol ? s->p + 1 : skip_line(s, s->p);
    return FA_OK;
}

// u, then v (0 if absent). Texture coordinates are no reason to refuse a mesh: broken ones become 0 and are noted.
static void read_uv(Scan *s, float uv[2], Tally *bad) {
    for (int i = 0; i < 2; i++) {
        const char *p = skip_blank(s, s->p);
        double d = 0;
        const char *q = at_line_end(s, p) && i > 0 ? p : fai_parse_double(p, s->end, &d);
        if (!q || !(fabs(d) <= FLT_MAX)) {
            d = 0;
            if (bad->count++ == 0) bad->first = p;
        }
        uv[i] = (float)d;
        s->p = q ? q : p;
    }
    s->p = skip_line(s, s->p);
}

static FaCode fail_corner(const Scan *s, const char *p, FaError *err) {
    return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", line_of(s, p)), "corners are v, v/vt, v//vn or v/vt/vn",
                   "a face corner is malformed");
}

// One index, as it counts from 0. `have` is how many there are so far, which negative ones count back from.
static FaCode resolve(const Scan *s, const char *p, int64_t i, int have, const char *what, int *out, FaError *err) {
    int64_t k = i > 0 ? i - 1 : i + have;
    if (i == 0 || k < 0 || k >= MAX_VERT)
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", line_of(s, p)),
                       i == 0 ? "OBJ counts from 1" : "the file may be cut off or joined from parts: export it again",
                       "a face refers to %s %lld of %d", what, (long long)i, have);
    *out = (int)k;
    return FA_OK;
}

// v, v/vt, v//vn or v/vt/vn. *vt is -1 where there is none; with vt NULL it is of no interest. Normals are passed over.
static FaCode read_corner(Scan *s, int nvert, int nuv, int *v, int *vt, FaError *err) {
    const char *p = s->p;
    int64_t i;
    const char *q = fai_parse_int(p, s->end, &i);
    if (!q) return fail_corner(s, p, err);
    FA_TRY(resolve(s, p, i, nvert, "vertex", v, err));
    if (vt) *vt = -1;
    if (q < s->end && *q == '/') {
        p = ++q;
        if (!at_break(s, q) && *q != '/') {
            q = fai_parse_int(p, s->end, &i);
            if (!q) return fail_corner(s, p, err);
            if (vt) FA_TRY(resolve(s, p, i, nuv, "texture coordinate", vt, err));
        }
        if (q < s->end && *q == '/') {
            p = ++q;
            if (!at_break(s, q) && !(q = fai_parse_int(p, s->end, &i))) return fail_corner(s, p, err);
        }
    }
    if (!at_break(s, q)) return fail_corner(s, q, err);
    s->p = q;
    return FA_OK;
}

// --- the whole file -----------------------------------------------------------------------------------------------

typedef struct Counts {
    int64_t vert, uv, face, corner;
} Counts;

static Counts count_all(Scan s) {
    Counts n = {0};
    const char *at;
    for (Word w; (w = next_word(&s, &at)) != W_END;) {
        if (w == W_V)
            n.vert++;
        else if (w == W_VT)
            n.uv++;
        else if (w == W_F) {
            n.face++;
            for (;;) {
                s.p = skip_blank(&s, s.p);
                if (at_line_end(&s, s.p)) break;
                n.corner++;
                do s.p++;
                while (!at_break(&s, s.p)); // a lone backslash counts as a corner, and is refused later
            }
        }
        s.p = skip_line(&s, s.p);
    }
    return n;
}

// What the second pass keeps track of.
typedef struct Reading {
    FaObj *obj;
    int corner;        // corners stored
    bool any_uv;       // some corner has one
    int max_v, max_vt; // largest indices seen, and where: they may stand before what they refer to
    const char *max_v_at, *max_vt_at;
    const char *last_vertex; // behind the last vertex line
    bool face_before;        // a face stands before it
    Tally material, element, freeform, unknown, small, bad_uv;
} Reading;

static void tally(Tally *t, const char *at) {
    if (t->count++ == 0) t->first = at;
}

static FaCode read_face(Reading *r, Scan *s, const char *at, FaError *err) {
    FaObj *o = r->obj;
    int first = r->corner;
    for (;;) {
        s->p = skip_blank(s, s->p);
        if (at_line_end(s, s->p)) break;
        const char *here = s->p;
        int v, vt;
        FA_TRY(read_corner(s, o->nvert, o->nuv, &v, &vt, err));
        if (v > r->max_v) r->max_v = v, r->max_v_at = here;
        if (vt > r->max_vt) r->max_vt = vt, r->max_vt_at = here;
        o->face_vert[r->corner] = v;
        if (o->face_uv) o->face_uv[r->corner] = vt;
        r->any_uv |= vt >= 0;
        r->corner++;
    }
    s->p = skip_line(s, s->p);
    if (r->corner - first < 3) { // no surface: nothing to keep
        r->corner = first;
        tally(&r->small, at);
        return FA_OK;
    }
    o->face_start[++o->nface] = r->corner;
    return FA_OK;
}

static FaCode read_all(Reading *r, Scan s, FaError *err) {
    FaObj *o = r->obj;
    const char *at;
    for (Word w; (w = next_word(&s, &at)) != W_END;) {
        switch (w) {
        case W_V:
            FA_TRY(read_vertex(&s, o->x + 3 * (size_t)o->nvert, err));
            o->nvert++;
            r->last_vertex = s.p;
            r->face_before = o->nface > 0 || r->small.count > 0;
            continue;
        case W_VT: read_uv(&s, o->uv + 2 * (size_t)o->nuv++, &r->bad_uv); continue;
        case W_F: FA_TRY(read_face(r, &s, at, err)); continue;
        case W_MATERIAL: tally(&r->material, at); break;
        case W_ELEMENT: tally(&r->element, at); break;
        case W_FREEFORM: tally(&r->freeform, at); break;
        case W_UNKNOWN: tally(&r->unknown, at); break;
        default: break;
        }
        s.p = skip_line(&s, s.p);
    }
    return FA_OK;
}

// Indices may stand before what they refer to, so the upper end is checked once all is read.
static FaCode check_range(const Reading *r, const Scan *s, FaError *err) {
    const FaObj *o = r->obj;
    bool vert = r->max_v >= o->nvert;
    if (!vert && r->max_vt < o->nuv) return FA_OK;
    return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", line_of(s, vert ? r->max_v_at : r->max_vt_at)),
                   "the file may be cut off or joined from parts: export it again",
                   "a face refers to %s %d, but there are only %d", vert ? "vertex" : "texture coordinate",
                   (vert ? r->max_v : r->max_vt) + 1, vert ? o->nvert : o->nuv);
}

static void note_tally(FaNotes *notes, const Scan *s, const Tally *t, const char *code, const char *remedy,
                       const char *text) {
    if (t->count) fai_note_count(notes, t->count, code, FA_PLACE("line %d", line_of(s, t->first)), remedy, "%s", text);
}

// Faces that use a vertex twice. One mark per vertex, so that a face of any size costs what it is long.
static FaCode note_degenerate(FaObj *o, FaError *err) {
    int *seen = FA_NEW(o->nvert, int);
    if (!seen) return FA_FAIL_MEMORY(err);
    int count = 0, first = -1;
    for (int f = 0; f < o->nface; f++) {
        bool twice = false;
        for (int c = o->face_start[f]; c < o->face_start[f + 1]; c++) {
            int v = o->face_vert[c];
            twice |= seen[v] == f + 1;
            seen[v] = f + 1;
        }
        if (twice && count++ == 0) first = f;
    }
    fa_free(seen);
    if (count)
        fai_note_count(&o->notes, count, "degenerate-faces", FA_PLACE("face %d", first),
                       "merge or delete them in the program the mesh comes from",
                       "faces use a vertex twice; they are kept as they are");
    return FA_OK;
}

static void note_all(const Reading *r, const Scan *s) {
    FaNotes *n = &r->obj->notes;
    note_tally(n, s, &r->material, "materials-dropped", "use glTF where materials must be kept",
               "the materials of OBJ files are not kept");
    note_tally(n, s, &r->element, "lines-and-points-dropped", "", "lines and points are passed over, only faces count");
    note_tally(n, s, &r->freeform, "free-form-dropped", "convert them to polygons and export the file again",
               "free-form curves and surfaces are passed over");
    note_tally(n, s, &r->small, "faces-without-area", "", "faces with fewer than three corners are passed over");
    note_tally(n, s, &r->bad_uv, "bad-uvs", "", "texture coordinates that are not numbers are taken as 0");
    note_tally(n, s, &r->unknown, "unknown-statements", "check that the file is what it should be",
               "statements that OBJ does not have are passed over");
}

static FaCode check_text(const FaBytes *bytes, FaError *err) {
    const unsigned char *d = bytes->data;
    if (bytes->size > MAX_FILE)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "split it, or convert it to .glb", "OBJ files over 2 GB are not read");
    if (bytes->size >= 2 && ((d[0] == 0xFF && d[1] == 0xFE) || (d[0] == 0xFE && d[1] == 0xFF)))
        return FA_FAIL(err, FA_E_FORMAT, "line 1", "save it as UTF-8", "the text is UTF-16");
    return FA_OK;
}

static FaCode alloc_arrays(FaObj *o, const Counts *n, FaArena *arena, FaError *err) {
    if (n->vert > MAX_VERT || n->uv > MAX_VERT || n->corner > INT32_MAX)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser mesh", "meshes over %d vertices are not read", MAX_VERT);
    o->x = FA_NEW(3 * n->vert, double);
    o->uv = FA_PUSH(arena, 2 * n->uv, float);
    o->face_start = FA_PUSH(arena, n->face + 1, int);
    o->face_vert = FA_PUSH(arena, n->corner, int);
    o->face_uv = n->uv ? FA_PUSH(arena, n->corner, int) : NULL;
    if (!o->x || !o->uv || !o->face_start || !o->face_vert || (n->uv && !o->face_uv)) return FA_FAIL_MEMORY(err);
    return FA_OK;
}

FaCode fai_obj_parse(FaBytes *bytes, FaArena *arena, FaObj *obj, FaError *err) {
    *obj = (FaObj){.text = *bytes};
    *bytes = (FaBytes){0};
    FA_TRY(check_text(&obj->text, err));
    Scan s = scan_begin(&obj->text);
    Counts n = count_all(s);
    if (n.vert == 0)
        return FA_FAIL(err, FA_E_FORMAT, NULL, "check that it is an OBJ file with 'v' lines",
                       "no vertices in the file");
    FA_TRY(alloc_arrays(obj, &n, arena, err));

    Reading r = {.obj = obj, .max_v = -1, .max_vt = -1};
    FA_TRY(read_all(&r, s, err));
    FA_TRY(check_range(&r, &s, err));
    if (!r.any_uv) obj->face_uv = NULL;
    obj->tail = r.face_before ? 0 : (size_t)(r.last_vertex - s.text);
    note_all(&r, &s);
    return note_degenerate(obj, err);
}

FaCode fai_obj_load(const char *path, FaArena *arena, FaObj *obj, FaError *err) {
    *obj = (FaObj){0};
    FaBytes bytes;
    FA_TRY(fai_file_read(path, MAX_FILE, &bytes, err));
    return fai_fail_in(err, fai_obj_parse(&bytes, arena, obj, err), path);
}

void fai_obj_free(FaObj *obj) {
    fa_free(obj->x);
    fai_bytes_free(&obj->text);
    fai_notes_free(&obj->notes);
    *obj = (FaObj){0};
}

// --- another file of the same mesh --------------------------------------------------------------------------------

// Compare one face with the one at the same place; faces without area do not count on either side.
static FaCode compare_face(Scan *s, const char *at, const FaObj *like, const char *what, int nvert, int *nface,
                           FaError *err) {
    int known = *nface < like->nface, corners = 0;
    const int *start = like->face_start + *nface;
    const int want = known ? start[1] - start[0] : 0;
    bool same = true;
    for (;; corners++) {
        s->p = skip_blank(s, s->p);
        if (at_line_end(s, s->p)) break;
        int v;
        FA_TRY(read_corner(s, nvert, 0, &v, NULL, err));
        same &= corners < want && like->face_vert[start[0] + corners] == v;
    }
    s->p = skip_line(s, s->p);
    if (corners < 3) return FA_OK;
    if (!same || corners != want)
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", line_of(s, at)),
                       "export all files from one mesh, keeping the order of vertices and faces",
                       "face %d differs from the same face of %s", *nface + 1, what);
    ++*nface;
    return FA_OK;
}

static bool same_tail(const Scan *s, const FaObj *like) {
    size_t rest = (size_t)(s->end - s->p);
    return like->tail && rest == like->text.size - like->tail && !memcmp(s->p, like->text.data + like->tail, rest);
}

FaCode fai_obj_read_like(const FaBytes *bytes, const FaObj *like, const char *what, double *x, FaError *err) {
    FA_TRY(check_text(bytes, err));
    Scan s = scan_begin(bytes);
    int nvert = 0, nface = 0;
    const char *at;
    for (Word w; (w = next_word(&s, &at)) != W_END;) {
        if (w == W_V) {
            double spare[3];
            FA_TRY(read_vertex(&s, nvert < like->nvert ? x + 3 * (size_t)nvert : spare, err));
            nvert++;
            // exporters write the same faces in the same words: then there is nothing left to read
            if (nvert == like->nvert && nface == 0 && same_tail(&s, like)) return FA_OK;
        } else if (w == W_F) {
            FA_TRY(compare_face(&s, at, like, what, nvert, &nface, err));
        } else {
            s.p = skip_line(&s, s.p);
        }
    }
    if (nvert != like->nvert)
        return FA_FAIL(err, FA_E_FORMAT, NULL, "export all files from one mesh, keeping the order of vertices",
                       "the file has %d vertices, %s has %d", nvert, what, like->nvert);
    if (nface && nface != like->nface)
        return FA_FAIL(err, FA_E_FORMAT, NULL, "export all files from one mesh, keeping the order of faces",
                       "the file has %d faces, %s has %d", nface, what, like->nface);
    return FA_OK;
}

bool fai_obj_sniff(const void *data, size_t size) {
    FaBytes bytes = {(unsigned char *)(uintptr_t)data, size};
    Scan s = scan_begin(&bytes);
    const char *at;
    Word w = next_word(&s, &at);
    return w != W_END && w != W_UNKNOWN && s.p < s.end && is_blank(*s.p);
}
