// The face as data: what it was built from, whether it is sound, what it fits.
#include "face/face.h"

#include "face/tetra.h"
#include "fascia/face.h"
#include "mesh/mesh.h"

#include <math.h>

const char *const fai_bone_kind_name[FA_BONE_KINDS] = {"skull", "jaw", "teeth_upper", "teeth_lower", "eye", "other"};

uint64_t fai_face_rig_hash(const FaRig *rig) {
    const FaMesh *m = &rig->mesh;
    const int counts[3] = {m->nvert, m->ntri, rig->nshape};
    uint64_t h = fai_hash64(counts, sizeof counts, 0x66616365);
    h = fai_hash64(m->x, 3 * (size_t)m->nvert * sizeof(float), h);
    h = fai_hash64(m->tri, 3 * (size_t)m->ntri * sizeof(int), h);
    for (int i = 0; i < rig->nshape; i++) h = fai_hash64(rig->shape[i].name, strlen(rig->shape[i].name) + 1, h);
    return h;
}

FaCode fa_face_fits(const FaFace *face, const FaRig *rig, FaError *err) {
    static const char *const remedy = "build it again from this rig: fascia build RIG -o FACE";
    if (face->nvert != rig->mesh.nvert)
        return FA_FAIL(err, FA_E_ARG, NULL, remedy, "the face was built for %d vertices, the rig has %d", face->nvert,
                       rig->mesh.nvert);
    if (face->rig_hash != fai_face_rig_hash(rig))
        return FA_FAIL(err, FA_E_ARG, NULL, remedy,
                       "the face was built for another rig: neutral, triangles or shape names differ");
    int most = -1; // shape that the jaw knows
    for (int i = 0; i < 4; i++) most = FA_MAX(most, face->jaw.shape[i]);
    for (int i = 0; i < face->jaw.nmore; i++) most = FA_MAX(most, face->jaw.more[i].shape);
    if (most >= rig->nshape)
        return FA_FAIL(err, FA_E_ARG, NULL, remedy, "the face's jaw needs a shape that the rig does not have");
    return FA_OK;
}

const char *fa_face_rig_path(const FaFace *face) { return face->rig_path ? face->rig_path : ""; }

const FaNotes *fa_face_notes(const FaFace *face) { return &face->notes; }

void fa_face_free(FaFace *face) {
    if (!face) return;
    fai_notes_free(&face->notes);
    fai_arena_free(face->arena);
    fa_free(face);
}

bool fa_face_filled(const FaFace *f) { return fai_face_filled(f); }

// --- prisms or filled -----------------------------------------------------------------------------------------------

// How many tets each node is from the skin; at most that.
static int levels(const FaFace *f, int *level) {
    int most = 0;
    for (int i = 0; i < f->nnode; i++) level[i] = i < f->nskin ? 0 : f->nnode;
    for (bool changed = true; changed;) {
        changed = false;
        for (int t = 0; t < f->ntet; t++) {
            const int *v = f->tet + 4 * (size_t)t;
            const int least = FA_MIN(FA_MIN(level[v[0]], level[v[1]]), FA_MIN(level[v[2]], level[v[3]])) + 1;
            for (int k = 0; k < 4; k++)
                if (level[v[k]] > least && least <= f->nnode) level[v[k]] = least, changed = true;
        }
    }
    for (int i = 0; i < f->nnode; i++)
        if (level[i] < f->nnode) most = FA_MAX(most, level[i]);
    return most;
}

// Those of one level to the one above: first how many take of each, then what they take.
static void hand_on(const FaFace *f, const int *level, int from, double *mass, double *takers) {
    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < f->ntet; t++)
            for (int k = 0; k < 16; k++) {
                const int i = f->tet[4 * (size_t)t + (size_t)(k / 4)], j = f->tet[4 * (size_t)t + (size_t)(k % 4)];
                if (level[i] != from || level[j] != from - 1) continue;
                if (pass == 0)
                    takers[i]++;
                else
                    mass[j] += mass[i] / takers[i];
            }
}

FaCode fai_face_column_mass(const FaFace *f, double *column, FaError *err) {
    for (int i = 0; !fai_face_filled(f) && i < f->nskin; i++) {
        column[i] = 0;
        for (int l = 0; l <= f->layers; l++) column[i] += (double)f->mass[(size_t)l * (size_t)f->nskin + (size_t)i];
    }
    if (!fai_face_filled(f)) return FA_OK;
    int *level = FA_NEW(f->nnode, int);
    double *mass = FA_NEW(2 * (size_t)f->nnode, double);
    FaCode rc = level && mass ? FA_OK : FA_FAIL_MEMORY(err);
    for (int i = 0; rc >= 0 && i < f->nnode; i++) mass[i] = (double)f->mass[i];
    for (int from = rc >= 0 ? levels(f, level) : 0; from > 0; from--) hand_on(f, level, from, mass, mass + f->nnode);
    for (int i = 0; rc >= 0 && i < f->nskin; i++) column[i] = mass[i];
    fa_free(level);
    fa_free(mass);
    return rc;
}

// --- the check ------------------------------------------------------------------------------------------------------

static FaCode check_jaw(const FaJaw *jaw, FaError *err) {
    double length = 0;
    bool finite = isfinite(jaw->open_angle) && isfinite(jaw->residual);
    for (int k = 0; k < 3; k++) {
        length += jaw->axis[k] * jaw->axis[k];
        finite &= isfinite(jaw->hinge[k]) && isfinite(jaw->open_slide[k]);
        for (int i = 0; i < 4; i++) finite &= isfinite(jaw->slide[i][k]) && isfinite(jaw->turn[i][k]);
    }
    if (!finite || (jaw->found && !(fabs(length - 1) < 1e-6)))
        return FA_FAIL(err, FA_E_FORMAT, "jaw", "build the face again: fascia build RIG -o FACE",
                       "the jaw's motion is no rigid motion");
    for (int i = 0; i < 4; i++)
        if (jaw->shape[i] < -1)
            return FA_FAIL(err, FA_E_FORMAT, "jaw", "build the face again: fascia build RIG -o FACE",
                           "shape %d does not exist", jaw->shape[i]);
    for (int i = 0; i < jaw->nmore; i++) {
        const FaJawShape *m = &jaw->more[i];
        bool good = m->shape >= 0 && isfinite(m->open);
        for (int k = 0; k < 3; k++) good &= isfinite(m->turn[k]) && isfinite(m->slide[k]);
        if (!good)
            return FA_FAIL(err, FA_E_FORMAT, "jaw", "build the face again: fascia build RIG -o FACE",
                           "what shape %d does to it is no motion", m->shape);
    }
    return FA_OK;
}

static FaCode check_bone(const FaBone *b, int i, FaError *err) {
    static const char *const remedy = "build the face again: fascia build RIG -o FACE";
    if (b->nvert < 0 || b->ntri < 0 || (int)b->kind < 0 || b->kind >= FA_BONE_KINDS ||
        !memchr(b->name, 0, sizeof b->name))
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("bone %d", i), remedy, "a bone's counts, kind or name are wrong");
    for (size_t k = 0; k < 3 * (size_t)b->ntri; k++)
        if (b->tri[k] < 0 || b->tri[k] >= b->nvert)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("bone %d, corner %zu", i, k), remedy, "index %d is not in 0..%d",
                           b->tri[k], b->nvert - 1);
    for (size_t k = 0; k < 3 * (size_t)b->nvert; k++)
        if (!(b->x[k] >= -1e3f && b->x[k] <= 1e3f))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("bone %d, coordinate %zu", i, k), remedy,
                           "a value is not a number or out of range");
    return FA_OK;
}

static FaCode check_bones(const FaFace *f, FaError *err) {
    if (f->nbone < 0 || (f->nbone > 0 && !f->bone))
        return FA_FAIL(err, FA_E_FORMAT, "bones", NULL, "%d bones", f->nbone);
    for (int i = 0; i < f->nbone; i++) FA_TRY(check_bone(&f->bone[i], i, err));
    return FA_OK;
}

// Beyond its numbers' ranges: what each node and vertex says of others.
static FaCode check_maps(const FaFace *f, FaError *err) {
    static const char *const remedy = "build the face again: fascia build RIG -o FACE";
    for (int i = 0; i < f->nskin; i++) {
        if (f->node_of_vertex[f->skin_vertex[i]] != i)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("skin node %d", i), remedy, "its vertex belongs to another node");
        if (f->to_skull[i] + f->to_jaw[i] > 1.00001f)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("node %d", i), remedy, "skull and jaw hold more than all of it");
    }
    for (size_t v = 0; v < (size_t)f->nvert; v++) {
        const int *r = f->ride_node + 3 * v;
        if ((r[0] < 0) != (r[1] < 0) || (r[0] < 0) != (r[2] < 0))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("rider %zu", v), remedy, "it rides on fewer than three nodes");
    }
    return FA_OK;
}

static FaCode check_elements(const FaFace *f, FaError *err) {
    static const char *const remedy = "build the face again: fascia build RIG -o FACE";
    for (int t = 0; t < f->ntet; t++)
        if (!(fai_tet_volume(f->x0, f->tet + 4 * (size_t)t) > 0))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", t), remedy, "it has no positive volume");
    for (int t = 0; t < f->ntri; t++) {
        const int *v = f->tri + 3 * (size_t)t;
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0])
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("triangle %d", t), remedy, "it repeats a node");
    }
    return FA_OK;
}

// No node of filled flesh without a tet; of prisms there is none by their making.
static FaCode check_corners(const FaFace *f, FaError *err) {
    unsigned char *has = fai_face_filled(f) ? FA_NEW(f->nnode, unsigned char) : NULL;
    int lost = -1;
    if (!fai_face_filled(f)) return FA_OK;
    if (!has) return FA_FAIL_MEMORY(err);
    for (size_t k = 0; k < 4 * (size_t)f->ntet; k++) has[f->tet[k]] = 1;
    for (int i = 0; i < f->nnode && lost < 0; i++)
        if (!has[i]) lost = i;
    fa_free(has);
    if (lost < 0) return FA_OK;
    return FA_FAIL(err, FA_E_MESH, FA_PLACE("node %d", lost), "build the face again: fascia build RIG -o FACE",
                   "it is the corner of no tet");
}

static FaCode check_counts(const FaFace *f, FaError *err) {
    const bool filled = fai_face_filled(f);
    if (f->nvert <= 0 || f->nskin < 3 || f->layers < 0 || f->layers > FA_FACE_LAYERS || f->ntri < 1 || f->ntet < 1 ||
        f->nskin > f->nvert || f->nnode < f->nskin ||
        (!filled && (int64_t)f->nnode != (int64_t)f->nskin * (f->layers + 1)) ||
        (!filled && (int64_t)f->ntet != (int64_t)3 * f->ntri * f->layers))
        return FA_FAIL(err, FA_E_FORMAT, NULL, "build the face again: fascia build RIG -o FACE",
                       "the counts of vertices, nodes, layers and tets do not belong together");
    if (filled && !f->above)
        return FA_FAIL(err, FA_E_FORMAT, "filled flesh", "build the face again: fascia build RIG -o FACE",
                       "what carries it is missing");
    if (f->stiff_edge && (f->stiff_edges < 1 || f->stiff_edges > (int64_t)3 * f->ntri))
        return FA_FAIL(err, FA_E_FORMAT, "stiffness", "build the face again: fascia build RIG -o FACE",
                       "%d edges are not of this skin", f->stiff_edges);
    return FA_OK;
}

FaCode fai_face_check(const FaFace *f, FaError *err) {
    FA_TRY(check_counts(f, err));
    FA_TRY(fai_face_check_arrays(f, err));
    FA_TRY(check_maps(f, err));
    FA_TRY(check_elements(f, err));
    FA_TRY(check_corners(f, err));
    FA_TRY(check_jaw(&f->jaw, err));
    return check_bones(f, err);
}
