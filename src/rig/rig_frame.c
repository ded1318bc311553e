// Unit and axes of a rig.
//
// Axes: eyes and brows lie above mouth and jaw, left shapes lie left of right ones, and the face lies in front of the
// middle of the head. Up and front come from these centroids; left follows from the two and is compared with what the
// shapes say, which uncovers mirrored files and swapped names. What the format says decides only where shapes are
// silent.
//
// Unit: the region that shapes move is a face, 0.05 to 0.32 m across, whatever else the mesh holds (body, hair);
// without shapes the whole mesh must look like a head or a body. The candidates differ by a factor of ten at least, the
// windows by less, so that at most one fits.
#include "rig/rig_frame.h"

#include "base/number.h"
#include "rig/names.h"
#include "rig/stats.h"

#include <math.h>

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static bool normalise(double a[3]) {
    double n = sqrt(dot(a, a));
    for (int k = 0; k < 3; k++) a[k] = n > 0 ? a[k] / n : 0;
    return n > 0;
}

static void apply(const double m[9], const float *x, double out[3]) {
    for (int k = 0; k < 3; k++)
        out[k] = m[3 * k] * (double)x[0] + m[3 * k + 1] * (double)x[1] + m[3 * k + 2] * (double)x[2];
}

// "0.24", the same in every locale.
static const char *rounded(FaArena *arena, double v) {
    char text[FA_NUMBER_SIZE];
    fai_format_double(text, round(v * 100) / 100);
    const char *copy = fai_arena_strndup(arena, text, strlen(text));
    return copy ? copy : "?";
}

// --- what the shapes say ------------------------------------------------------------------------------------------

typedef struct Evidence {
    double up[3], left[3]; // unit vectors
    bool has_up, has_left;
    double centre[3];    // where shapes move, on average
    double lo[3], hi[3]; // box of the vertices that shapes move distinctly
    double face;         // its longest side; 0: no shapes
} Evidence;

// Where a shape moves most: mean position weighted by squared displacement.
static bool centroid(const FaFrameInput *in, const FaDraftShape *s, double c[3]) {
    double sum = 0;
    c[0] = c[1] = c[2] = 0;
    for (int i = 0; i < s->count; i++) {
        double d[3], p[3];
        apply(in->scale, s->delta + 3 * (size_t)i, d);
        apply(in->scale, in->mesh->x + 3 * (size_t)s->row[i], p);
        double m = dot(d, d);
        sum += m;
        for (int k = 0; k < 3; k++) c[k] += m * p[k];
    }
    for (int k = 0; k < 3; k++) c[k] = sum > 0 ? c[k] / sum : 0;
    return sum > 0 && isfinite(sum);
}

// The largest squared motion of a shape.
static double largest(const FaFrameInput *in, const FaDraftShape *s) {
    double most = 0, d[3];
    for (int i = 0; i < s->count; i++) {
        apply(in->scale, s->delta + 3 * (size_t)i, d);
        most = fmax(most, dot(d, d));
    }
    return most;
}

// Grow the box by the vertices that the shape moves by a fifth of its largest motion at least.
static void grow_box(const FaFrameInput *in, const FaDraftShape *s, Evidence *e) {
    double most = largest(in, s), d[3], p[3];
    for (int i = 0; i < s->count; i++) {
        apply(in->scale, s->delta + 3 * (size_t)i, d);
        if (!(dot(d, d) >= 0.04 * most) || most == 0) continue;
        apply(in->scale, in->mesh->x + 3 * (size_t)s->row[i], p);
        for (int k = 0; k < 3; k++) {
            e->lo[k] = fmin(e->lo[k], p[k]);
            e->hi[k] = fmax(e->hi[k], p[k]);
        }
    }
}

static void mean_motion(const FaFrameInput *in, const FaDraftShape *s, double out[3]) {
    out[0] = out[1] = out[2] = 0;
    for (int i = 0; i < s->count; i++) {
        double d[3];
        apply(in->scale, s->delta + 3 * (size_t)i, d);
        for (int k = 0; k < 3; k++) out[k] += sqrt(dot(d, d)) * d[k];
    }
    normalise(out);
}

typedef struct Means {
    double upper[3], lower[3], left[3], right[3], all[3], jaw[3];
    int nupper, nlower, nleft, nright, nall;
    bool has_jaw;
} Means;

static void add_mean(double sum[3], int *n, const double c[3]) {
    for (int k = 0; k < 3; k++) sum[k] += c[k];
    ++*n;
}

static void gather(const FaFrameInput *in, Evidence *e, Means *m) {
    bool present[FA_ARKIT_COUNT][3] = {0};
    double most = 0;
    *m = (Means){0};
    for (int i = 0; i < in->nshape; i++) most = fmax(most, largest(in, &in->shape[i]));
    for (int k = 0; k < 3; k++) e->lo[k] = INFINITY, e->hi[k] = -INFINITY;
    for (int i = 0; i < in->nshape; i++)
        if (in->shape[i].arkit >= 0 && in->shape[i].count) present[in->shape[i].arkit][in->shape[i].half + 1] = true;
    for (int i = 0; i < in->nshape; i++) {
        const FaDraftShape *s = &in->shape[i];
        double c[3];
        // a shape of rounding errors "moves" feet as much as lips, and makes a face as tall as the body
        if (largest(in, s) < FA_NOISE_SHARE * FA_NOISE_SHARE * most || !centroid(in, s, c)) continue;
        grow_box(in, s, e);
        add_mean(m->all, &m->nall, c);
        if (s->arkit < 0) continue;
        const char *name = fa_arkit_name(s->arkit);
        if (!strncmp(name, "eye", 3) || !strncmp(name, "brow", 4)) add_mean(m->upper, &m->nupper, c);
        if (!strncmp(name, "mouth", 5) || !strncmp(name, "jaw", 3)) add_mean(m->lower, &m->nlower, c);
        if (!strcmp(name, "jawOpen") && !m->has_jaw) {
            mean_motion(in, s, m->jaw);
            m->has_jaw = true;
        }
        // jawLeft and mouthLeft are directions, not places
        bool direction = !strncmp(name, "jaw", 3) || !strcmp(name, "mouthLeft") || !strcmp(name, "mouthRight");
        bool left = s->half > 0 || (!s->half && strstr(name, "Left"));
        bool right = s->half < 0 || (!s->half && strstr(name, "Right"));
        // sides by pairs only, so that a rig with more left than right shapes does not lean
        if (!direction && (left || right) && present[fai_arkit_mirror(s->arkit)][1 - s->half])
            add_mean(left ? m->left : m->right, left ? &m->nleft : &m->nright, c);
    }
}

// The difference of two means as a direction, if it is at least `least` long.
static bool direction(const double a[3], int na, const double b[3], int nb, double least, double out[3]) {
    if (!na || !nb) return false;
    for (int k = 0; k < 3; k++) out[k] = a[k] / na - b[k] / nb;
    bool enough = sqrt(dot(out, out)) >= least;
    return normalise(out) && enough;
}

static void find_evidence(const FaFrameInput *in, const double extent[3], const double middle[3], Evidence *e) {
    *e = (Evidence){0};
    Means m;
    gather(in, e, &m);
    if (!m.nall) return;
    for (int k = 0; k < 3; k++) {
        e->face = fmax(e->face, e->hi[k] - e->lo[k]);
        e->centre[k] = m.all[k] / m.nall;
    }
    e->has_up = direction(m.upper, m.nupper, m.lower, m.nlower, 0.15 * e->face, e->up);
    e->has_left = direction(m.left, m.nleft, m.right, m.nright, 0.1 * e->face, e->left);
    // the jaw falls and goes back: without the part along the front its motion points down. On a body the face lies
    // above the middle, not before it
    double front[3], all = fmax(extent[0], fmax(extent[1], extent[2]));
    if (!e->has_up && m.has_jaw && all < 5 * e->face && direction(m.all, m.nall, middle, 1, 0.25 * e->face, front)) {
        for (int k = 0; k < 3; k++) e->up[k] = -m.jaw[k] + dot(m.jaw, front) * front[k];
        e->has_up = normalise(e->up);
    }
}

// Extents and middle of the vertices in faces along three directions; the outermost thousandth on each side is left
// out. With a band only the vertices between lo and hi along band[] count.
typedef struct Band {
    double dir[3], lo, hi;
} Band;

static FaCode measure(const FaFrameInput *in, const double axes[9], const Band *band, double extent[3],
                      double middle[3], FaError *err) {
    const FaMesh *mesh = in->mesh;
    bool *used = FA_NEW(mesh->nvert, bool);
    float *value = FA_NEW(mesh->nvert, float);
    if (!used || !value) {
        fa_free(used);
        fa_free(value);
        return FA_FAIL_MEMORY(err);
    }
    int corners = mesh->nface ? mesh->face_start[mesh->nface] : 0;
    for (int c = 0; c < corners; c++) used[mesh->face_vert[c]] = true;
    for (int k = 0; k < 3; k++) {
        size_t n = 0;
        for (int v = 0; v < mesh->nvert; v++) {
            double p[3];
            if (corners && !used[v]) continue;
            apply(in->scale, mesh->x + 3 * (size_t)v, p);
            double along = band ? dot(band->dir, p) : 0;
            if (!band || (along >= band->lo && along <= band->hi)) value[n++] = (float)dot(axes + 3 * k, p);
        }
        size_t trim = n < 64 ? 0 : FA_MAX(n / 1000, (size_t)1); // one stray vertex may be in any mesh
        double lo = n ? (double)fai_select(value, n, trim) : 0, hi = n ? (double)fai_select(value, n, n - 1 - trim) : 0;
        extent[k] = hi - lo;
        middle[k] = 0.5 * (lo + hi);
    }
    fa_free(used);
    fa_free(value);
    return FA_OK;
}

// --- axes ---------------------------------------------------------------------------------------------------------

// The signed axis nearest to a direction, `skip` (-1: none) left out; its cosine.
static double nearest_axis(const double d[3], int skip, int *axis, int *sign) {
    *axis = skip == 0 ? 1 : 0;
    for (int k = 0; k < 3; k++)
        if (k != skip && fabs(d[k]) > fabs(d[*axis])) *axis = k;
    *sign = d[*axis] < 0 ? -1 : 1;
    return fabs(d[*axis]);
}

static void set_axes(double axes[9], const double up[3], const double front[3]) {
    double left[3];
    cross(up, front, left);
    for (int k = 0; k < 3; k++) { // + 0: no negative zeros
        axes[k] = left[k] + 0.0;
        axes[3 + k] = up[k] + 0.0;
        axes[6 + k] = front[k] + 0.0;
    }
}

static void set_axis(double d[3], int axis, int sign) {
    d[0] = d[1] = d[2] = 0;
    d[axis] = sign;
}

// A direction of the world that the format speaks of, in the mesh's own axes.
static void from_world(const FaFrameInput *in, int axis, int sign, double d[3]) {
    const double *r = in->hints->rest;
    bool turned = false;
    for (int i = 0; i < 9; i++) turned |= r[i] != 0;
    for (int k = 0; k < 3; k++) d[k] = sign * (turned ? r[3 * axis + k] : (double)(k == axis));
}

// Onto the nearest axis if it is within 30 degrees: heads are held a little up or down. False: left as it is.
static bool snap(double d[3]) {
    int axis, sign;
    if (nearest_axis(d, -1, &axis, &sign) < 0.866) return false;
    set_axis(d, axis, sign);
    return true;
}

// How far the face lies in front of the middle of the head, square to up. The head is the slice of the mesh at the
// height of the face, so that a body's chest and feet have no say.
static FaCode face_offset(const FaFrameInput *in, const Evidence *e, const double up[3], double offset[3],
                          FaError *err) {
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    Band band = {{up[0], up[1], up[2]}, 0, 0};
    for (int k = 0; k < 3; k++) {
        band.lo += fmin(up[k] * e->lo[k], up[k] * e->hi[k]);
        band.hi += fmax(up[k] * e->lo[k], up[k] * e->hi[k]);
    }
    double extent[3], middle[3];
    FA_TRY(measure(in, identity, &band, extent, middle, err));
    for (int k = 0; k < 3; k++) offset[k] = e->centre[k] - middle[k];
    double along = dot(offset, up);
    for (int k = 0; k < 3; k++) offset[k] -= along * up[k];
    return FA_OK;
}

// Front, square to up: by the place of the face in the head, by the sides, or the usual one. *sure: by a clear place.
static FaCode find_front(const FaFrameInput *in, const Evidence *e, const double up[3], double front[3], bool *sure,
                         FaError *err) {
    *sure = false;
    double length = 0;
    if (e->face > 0) {
        FA_TRY(face_offset(in, e, up, front, err));
        length = sqrt(dot(front, front));
        *sure = length >= 0.2 * e->face;
        if (*sure || (!e->has_left && length >= 0.1 * e->face)) return normalise(front), FA_OK;
    }
    if (e->has_left) {
        cross(e->left, up, front);
        if (normalise(front)) return FA_OK;
    }
    // y up faces +z, z up faces -y, as glTF and Blender have it
    double z[3];
    from_world(in, 2, 1, z);
    if (fabs(dot(z, up)) < 0.7)
        memcpy(front, z, sizeof z);
    else
        from_world(in, 1, -1, front);
    double along = dot(front, up);
    for (int k = 0; k < 3; k++) front[k] -= along * up[k];
    normalise(front);
    return FA_OK;
}

// A muzzle holds the mouth far in front of the eyes, and a line between them leans back as on a head that looks up.
// Where the format says which way is up, and the sides agree that the head is not turned otherwise, it is believed up
// to 55 degrees: animals are more frequent than heads modelled looking at the ceiling.
static bool is_muzzle(const FaFrameInput *in, const Evidence *e, const double custom[3]) {
    double front[3];
    if (!in->hints->up || !e->has_left || fabs(dot(e->left, custom)) > 0.15 || dot(e->up, custom) < 0.574) return false;
    cross(e->left, custom, front);
    return normalise(front) && dot(e->up, front) < 0;
}

static FaCode find_axes(const FaFrameInput *in, const Evidence *e, FaFrame *frame, FaError *err) {
    FaUp given = in->options ? in->options->up : FA_UP_AUTO;
    double up[3], front[3];
    const char *how;
    bool tilted = false;
    int axis, sign;
    double custom[3];
    from_world(in, (given ? given : in->hints->up) == FA_UP_Z ? 2 : 1, 1, custom);
    if (given != FA_UP_AUTO) {
        memcpy(up, custom, sizeof up);
        snap(up);
        if (e->has_up && dot(e->up, up) < 0.5)
            fai_note(in->notes, "axes-suspect", "", "leave --up out to go by the shapes",
                     "the shapes do not agree that %s is up", given == FA_UP_Z ? "z" : "y");
        how = "given";
    } else if (e->has_up) {
        memcpy(up, e->up, sizeof up);
        tilted = !snap(up);
        if (tilted && is_muzzle(in, e, custom)) {
            memcpy(up, custom, sizeof up);
            tilted = !snap(up);
            fai_note(in->notes, "axes-muzzle", "", "none needed for a muzzle; a head that looks up: turn it upright",
                     "the mouth lies far in front of the eyes");
        }
        bool agrees = !in->hints->up || dot(up, custom) > 0.86;
        how = agrees ? "by the shapes" : "by the shapes, against the format's custom";
    } else {
        memcpy(up, custom, sizeof up);
        snap(up);
        how = in->hints->up ? "by the format" : "assumed";
    }
    bool sure;
    FA_TRY(find_front(in, e, up, front, &sure, err));
    if (!tilted) {
        int up_axis, up_sign;
        double upright = nearest_axis(up, -1, &up_axis, &up_sign);
        double cosine = nearest_axis(front, up_axis, &axis, &sign);
        tilted = cosine < 0.8 && e->has_up && e->has_left;
        if (!tilted && upright == 1) set_axis(front, axis, sign);
    }
    set_axes(frame->axes, up, front);
    frame->axes_how = how;
    if (tilted)
        fai_note(in->notes, "axes-tilted", "", "turn the head to face along an axis in a modelling program",
                 "the head is turned against the file's axes by more than 30 degrees");
    if (e->has_left && sure && dot(frame->axes, e->left) < -0.5)
        fai_note(in->notes, "mirrored", "",
                 "if the names mean the viewer's sides, swap them with --map; else mirror the mesh",
                 "left shapes move the subject's right side: the mesh is mirrored, or the names are swapped");
    return FA_OK;
}

// --- unit ---------------------------------------------------------------------------------------------------------

typedef struct Size {
    double face;   // longest side of what shapes move, file units; 0: no shapes
    double all[3]; // extents of the mesh, canonical axes, strays left out
} Size;

static bool within(double v, double lo, double hi) { return v >= lo && v <= hi; }

// A body is tall against its thickness, a head is not.
static bool body_like(const Size *s) { return fmin(s->all[0], s->all[2]) < 0.35 * s->all[1]; }

static double guess_unit(const Size *s) {
    // decimetres are rare (MakeHuman; heads scaled for a web page): shapes only, and after the others
    static const double units[] = {1, 0.01, 0.001, 0.1};
    for (int i = 0; i < 4 && s->face > 0; i++)
        if (within(s->face * units[i], 0.05, 0.32) && within(s->all[1] * units[i], 0.1, 2.6)) return units[i];
    // shapes too small or too large for a face say nothing: go by the whole
    for (int i = 0; i < 3; i++) {
        double h = s->all[1] * units[i];
        if (body_like(s) ? within(h, 1.2, 2.3) : within(h, 0.14, 0.40)) return units[i];
    }
    // last of all a head in decimetres: no unit anybody declares, but files on the web have it
    if (s->face > 0 && within(s->face * 0.1, 0.05, 0.32) && within(s->all[1] * 0.1, 0.14, 0.40)) return 0.1;
    return 0;
}

// Whether a head can have that size. The face decides where there is one: a body, a stage or a giant's club say
// nothing.
static bool plausible(const Size *s, double unit) {
    if (s->face > 0) return within(s->face * unit, 0.02, 0.8) && s->all[1] * unit >= 0.08;
    return within(s->all[1] * unit, 0.08, 3.0);
}

// Of the file, which may have been brought to metres on the way.
static const char *unit_word(const FaFrameInput *in, double unit) {
    static const struct {
        double unit;
        const char *word;
    } known[] = {{1, "metres"},          {0.1, "decimetres"}, {0.01, "centimetres"},
                 {0.001, "millimetres"}, {0.0254, "inches"},  {0.3048, "feet"}};
    if (in->hints->file_unit > 0) unit *= in->hints->file_unit;
    for (int i = 0; i < FA_COUNT(known); i++)
        if (fabs(unit / known[i].unit - 1) < 1e-9) return known[i].word;
    char text[FA_NUMBER_SIZE];
    fai_format_double(text, unit);
    return fai_arena_printf(in->arena, "units of %s m", text);
}

// "a mesh 1.75 m tall with a face 0.16 m across"
static const char *would_be(FaArena *arena, const Size *s, double unit) {
    const char *text = s->face > 0 ? fai_arena_printf(arena, "a mesh %s m tall with a face %s m across",
                                                      rounded(arena, s->all[1] * unit), rounded(arena, s->face * unit))
                                   : fai_arena_printf(arena, "a mesh %s m tall", rounded(arena, s->all[1] * unit));
    return text ? text : "?";
}

// "by height 0.24 m", "by the face's size 0.17 m"
static const char *how_measured(const FaFrameInput *in, const Size *s, double unit) {
    bool face = within(s->face * unit, 0.05, 0.32) && !within(s->all[1] * unit, 0.14, 0.40);
    return fai_arena_printf(in->arena, "by %s %s m", face ? "the face's size" : "height",
                            rounded(in->arena, (face ? s->face : s->all[1]) * unit));
}

// The unit was taken all the same; what its size speaks for (0: nothing) is named beside it.
static void note_suspect(const FaFrameInput *in, const Size *s, double unit, double guess, const char *said) {
    fai_note(in->notes, "unit-suspect", "", "give the unit: --unit m|cm|mm|in|ft, or metres per unit",
             "lengths %s in %s make %s%s%s", said, unit_word(in, unit), would_be(in->arena, s, unit),
             guess > 0 ? "; by their size they are " : "", guess > 0 ? unit_word(in, guess) : "");
}

static FaCode find_unit(const FaFrameInput *in, const Size *s, FaFrame *frame, FaError *err) {
    FaUnit option = in->options ? in->options->unit : FA_UNIT_AUTO;
    bool any_size = in->options && in->options->any_size;
    double declared = in->hints->unit, guess = guess_unit(s);
    if (!isfinite(option) || option < 0)
        return FA_FAIL(err, FA_E_ARG, NULL, "give metres per unit, above 0", "the unit of length is no length");
    if (option > 0) {
        frame->unit = option;
        frame->unit_how = "given";
        if (!plausible(s, frame->unit) && guess > 0) note_suspect(in, s, frame->unit, guess, "given");
    } else if (declared > 0 && (plausible(s, declared) || !in->hints->unit_is_custom)) {
        frame->unit = declared;
        frame->unit_how = "declared by the file";
        if (!plausible(s, declared)) note_suspect(in, s, declared, guess, "declared");
    } else if (guess > 0) {
        frame->unit = guess;
        frame->unit_how = how_measured(in, s, guess);
        if (declared > 0)
            fai_note(in->notes, "unit-suspect", "", "give the unit with --unit if that is wrong",
                     "lengths declared in %s would make %s: taken as %s, %s", unit_word(in, declared),
                     would_be(in->arena, s, declared), unit_word(in, guess), would_be(in->arena, s, guess));
    } else if (any_size) {
        frame->unit = declared > 0 ? declared : 1;
        frame->unit_how = declared > 0 ? "declared by the file" : "assumed";
        fai_note(in->notes, "unit-unknown", "", "give the unit: --unit m|cm|mm|in|ft, or metres per unit",
                 "the mesh is %s units tall, which is no head in m, cm or mm: taken as %s",
                 rounded(in->arena, s->all[1]), unit_word(in, frame->unit));
    } else {
        return FA_FAIL(err, FA_E_MESH, NULL, "give it: --unit m|cm|mm|in|ft, or metres per unit",
                       "cannot tell the unit: the mesh is %s units tall, which is no head in m, cm or mm",
                       rounded(in->arena, s->all[1]));
    }
    return frame->unit_how ? FA_OK : FA_FAIL_MEMORY(err);
}

FaCode fai_frame_find(const FaFrameInput *in, FaFrame *frame, FaError *err) {
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    Size size = {0};
    Evidence e;
    double middle[3];
    FA_TRY(measure(in, identity, NULL, size.all, middle, err));
    find_evidence(in, size.all, middle, &e);
    FA_TRY(find_axes(in, &e, frame, err));
    FA_TRY(measure(in, frame->axes, NULL, size.all, middle, err));
    size.face = e.face;
    return find_unit(in, &size, frame, err);
}
