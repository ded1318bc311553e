// The face as data: what it was built from, whether it is sound, what it fits.
#include "face/face.h"

#include "face/columns.h"
#include "face/tetra.h"
#include "fascia/face.h"
#include "mesh/mesh.h"

#include <math.h>

const char *const fai_region_name[FA_REGIONS] = {"lip_upper", "lip_lower", "mouth", "eyelids", "cheeks", "free"};
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
    return FA_OK;
}

const char *fa_face_rig_path(const FaFace *face) { return face->rig_path ? face->rig_path : ""; }

bool fa_face_has_volumes(const FaFace *face) { return face->volumes.nshape > 0; }
const FaNotes *fa_face_notes(const FaFace *face) { return &face->notes; }

void fa_face_free(FaFace *face) {
    if (!face) return;
    fai_notes_free(&face->notes);
    fai_arena_free(face->arena);
    fa_free(face);
}

// --- the check ------------------------------------------------------------------------------------------------------

// Each of these fails with the name of the array and the place in it.
static FaCode check_index(const char *what, const int *a, size_t n, int min, int limit, FaError *err) {
    for (size_t i = 0; i < n; i++)
        if (a[i] < min || a[i] >= limit)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("%s %zu", what, i), "build the face again",
                           "index %d is not in %d..%d", a[i], min, limit - 1);
    return FA_OK;
}

static FaCode check_range(const char *what, const float *a, size_t n, float min, float max, FaError *err) {
    for (size_t i = 0; i < n; i++)
        if (!(a[i] >= min && a[i] <= max))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("%s %zu", what, i), "build the face again",
                           "a value is not a number or out of range");
    return FA_OK;
}

static FaCode check_jaw(const FaJaw *jaw, FaError *err) {
    double length = 0;
    bool finite = isfinite(jaw->open_angle) && isfinite(jaw->residual);
    for (int k = 0; k < 3; k++) {
        length += jaw->axis[k] * jaw->axis[k];
        finite &= isfinite(jaw->hinge[k]) && isfinite(jaw->open_slide[k]);
        for (int i = 0; i < 4; i++) finite &= isfinite(jaw->slide[i][k]) && isfinite(jaw->turn[i][k]);
    }
    if (!finite || (jaw->found && !(fabs(length - 1) < 1e-6)))
        return FA_FAIL(err, FA_E_FORMAT, "jaw", "build the face again", "the jaw's motion is no rigid motion");
    for (int i = 0; i < 4; i++)
        if (jaw->shape[i] < -1)
            return FA_FAIL(err, FA_E_FORMAT, "jaw", "build the face again", "shape %d does not exist", jaw->shape[i]);
    return FA_OK;
}

static FaCode check_bones(const FaFace *f, FaError *err) {
    if (f->nbone < 0 || (f->nbone > 0 && !f->bone))
        return FA_FAIL(err, FA_E_FORMAT, "bones", NULL, "%d bones", f->nbone);
    for (int i = 0; i < f->nbone; i++) {
        const FaBone *b = &f->bone[i];
        if (b->nvert < 0 || b->ntri < 0 || (int)b->kind < 0 || b->kind >= FA_BONE_KINDS ||
            !memchr(b->name, 0, sizeof b->name))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("bone %d", i), "build the face again",
                           "a bone's counts, kind or name are wrong");
        FA_TRY(check_index("corner of a bone", b->tri, 3 * (size_t)b->ntri, 0, b->nvert, err));
        FA_TRY(check_range("coordinate of a bone", b->x, 3 * (size_t)b->nvert, -1e3f, 1e3f, err));
    }
    return FA_OK;
}

static FaCode check_weights(const FaFace *f, FaError *err) {
    const size_t n = (size_t)f->nskin;
    FA_TRY(check_range("thickness", f->thickness, n, 0, 1, err));
    FA_TRY(check_range("thickness asked", f->thickness_asked, n, 0, 1, err));
    FA_TRY(check_range("attachment to the skull", f->to_skull, n, 0, 1, err));
    FA_TRY(check_range("attachment to the jaw", f->to_jaw, n, 0, 1, err));
    for (int r = 0; r < FA_REGIONS; r++) FA_TRY(check_range(fai_region_name[r], f->region[r], n, 0, 1, err));
    for (size_t i = 0; i < n; i++) {
        if (f->to_skull[i] + f->to_jaw[i] > 1.00001f)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("node %zu", i), "build the face again",
                           "skull and jaw hold more than all of it");
        if (f->rim[i] > 1)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("node %zu", i), "build the face again",
                           "a rim flag is neither 0 nor 1");
    }
    FA_TRY(check_index("rider", f->ride_node, 3 * (size_t)f->nvert, -1, f->nskin, err));
    FA_TRY(check_range("weight of a rider", f->ride_weight, 3 * (size_t)f->nvert, 0, 1.001f, err));
    for (size_t v = 0; v < (size_t)f->nvert; v++) {
        const int *r = f->ride_node + 3 * v;
        if ((r[0] < 0) != (r[1] < 0) || (r[0] < 0) != (r[2] < 0))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("rider %zu", v), "build the face again",
                           "it rides on fewer than three nodes");
    }
    return FA_OK;
}

static FaCode check_maps(const FaFace *f, FaError *err) {
    FA_TRY(check_index("skin vertex", f->skin_vertex, (size_t)f->nskin, 0, f->nvert, err));
    FA_TRY(check_index("node of vertex", f->node_of_vertex, (size_t)f->nvert, -1, f->nskin, err));
    for (int i = 0; i < f->nskin; i++) {
        if (f->node_of_vertex[f->skin_vertex[i]] != i)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("skin node %d", i), "build the face again",
                           "its vertex belongs to another node");
    }
    return FA_OK;
}

static FaCode check_stiffness(const FaFace *f, FaError *err) {
    if (!f->stiff_anchor && !f->stiff_bend && !f->stiff_edge) return FA_OK;
    if (!f->stiff_anchor || !f->stiff_bend || !f->stiff_edge || f->stiff_edges < 1 ||
        f->stiff_edges > (int64_t)3 * f->ntri)
        return FA_FAIL(err, FA_E_FORMAT, "stiffness", "build the face again",
                       "it is not whole, or %d edges are not of this skin", f->stiff_edges);
    FA_TRY(
        check_range("stiffness of an anchor", f->stiff_anchor, (size_t)f->nskin, FA_STIFF_LEAST, FA_STIFF_MOST, err));
    FA_TRY(check_range("stiffness of bending", f->stiff_bend, (size_t)f->nskin, FA_STIFF_LEAST, FA_STIFF_MOST, err));
    return check_range("stiffness of an edge", f->stiff_edge, (size_t)f->stiff_edges, FA_STIFF_LEAST, FA_STIFF_MOST,
                       err);
}

// What the shapes do to the flesh, where it is there.
static FaCode check_flesh(const FaFace *f, FaError *err) {
    FA_TRY(fai_columns_check(&f->volumes, "volumes", 3, f->nnode, 10, err));
    FA_TRY(fai_columns_check(&f->materials, "materials", 2, f->ntet, 1e9f, err));
    if (!f->mu0 != !f->lambda0 || (f->materials.nshape > 0 && !f->mu0))
        return FA_FAIL(err, FA_E_FORMAT, "materials", "build the face again", "a part of them is missing");
    if (f->mu0) FA_TRY(check_range("mu", f->mu0, (size_t)f->ntet, 1, 1e9f, err));
    return f->lambda0 ? check_range("lambda", f->lambda0, (size_t)f->ntet, 0, 1e9f, err) : FA_OK;
}

FaCode fai_face_check(const FaFace *f, FaError *err) {
    if (f->nvert <= 0 || f->nskin < 3 || f->layers < 1 || f->layers > FA_FACE_LAYERS || f->ntri < 1 || f->ntet < 1 ||
        f->nskin > f->nvert || (int64_t)f->nnode != (int64_t)f->nskin * (f->layers + 1) ||
        (int64_t)f->ntet != (int64_t)3 * f->ntri * f->layers)
        return FA_FAIL(err, FA_E_FORMAT, NULL, "build the face again",
                       "the counts of vertices, nodes, layers and tets do not belong together");
    FA_TRY(check_maps(f, err));
    FA_TRY(check_index("corner of the skin", f->tri, 3 * (size_t)f->ntri, 0, f->nskin, err));
    FA_TRY(check_index("corner of a tet", f->tet, 4 * (size_t)f->ntet, 0, f->nnode, err));
    FA_TRY(check_range("coordinate", f->x0, 3 * (size_t)f->nnode, -1e3f, 1e3f, err));
    FA_TRY(check_range("mass", f->mass, (size_t)f->nnode, 1e-15f, 1e6f, err));
    for (int t = 0; t < f->ntet; t++)
        if (!(fai_tet_volume(f->x0, f->tet + 4 * (size_t)t) > 0))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", t), "build the face again", "it has no positive volume");
    for (int t = 0; t < f->ntri; t++) {
        const int *v = f->tri + 3 * (size_t)t;
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0])
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("triangle %d", t), "build the face again", "it repeats a node");
    }
    FA_TRY(check_weights(f, err));
    FA_TRY(check_stiffness(f, err));
    FA_TRY(check_flesh(f, err));
    FA_TRY(check_jaw(&f->jaw, err));
    return check_bones(f, err);
}
