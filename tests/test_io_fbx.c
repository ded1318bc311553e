// FBX and others through assimp: control points, shapes, parts, units, axes and animation come back.
#include "test.h"

#include "base/base.h"
#include "base/file.h"
#include "io/assimp_import.h"
#include "io/gltf/gltf.h"
#include "mesh/mesh.h"

#ifndef FA_HAVE_ASSIMP
int main(void) {
    printf("skipped: built without assimp\n");
    return 0;
}
#else

static void write_file(const char *path, const char *text, size_t size) {
    FaError err = {0};
    CHECK_OK(fai_file_write(path, text, size, &err), &err);
}

static const FaShape *shape_named(const FaRig *rig, const char *name) {
    for (int s = 0; s < rig->nshape; s++)
        if (!strcmp(rig->shape[s].name, name)) return &rig->shape[s];
    return NULL;
}

// Points of the surface: vertices that stand for themselves.
static int points(const FaRig *rig) {
    int n = 0;
    for (int v = 0; v < rig->mesh.nvert; v++) n += fai_weld(&rig->mesh, v) == v;
    return n;
}

// The rig as .glb, read again: the same vertices in the same order, the same shapes, the same clip.
static void same_as_glb(const FaRig *rig, const char *name, const FaRigOptions *options) {
    FaError err = {0};
    FaRig *again;
    CHECK_OK(fa_rig_save(rig, NULL, test_path(name), &err), &err);
    CHECK_OK(fa_rig_load(test_path(name), options, &again, &err), &err);
    assert_int_equal(again->mesh.nvert, rig->mesh.nvert);
    assert_int_equal(again->mesh.nface, rig->mesh.nface);
    assert_int_equal(again->nshape, rig->nshape);
    assert_int_equal(again->nentry, rig->nentry);
    assert_memory_equal(again->mesh.x, rig->mesh.x, 12 * (size_t)rig->mesh.nvert);
    assert_memory_equal(again->delta, rig->delta, 12 * (size_t)rig->nentry);
    assert_memory_equal(again->mesh.face_vert, rig->mesh.face_vert,
                        sizeof(int) * (size_t)rig->mesh.face_start[rig->mesh.nface]);
    assert_int_equal(again->clip != NULL, rig->clip != NULL);
    fa_rig_free(again);
}

// --- the real one -------------------------------------------------------------------------------------------------

static void densify(const FaRig *rig, const FaShape *s, float *d) {
    memset(d, 0, 3 * (size_t)rig->mesh.nvert * sizeof *d);
    for (int e = s->first; e < s->first + s->count; e++) memcpy(d + 3 * rig->row[e], rig->delta + 3 * e, 3 * sizeof *d);
}

static void to_canonical(const FaRig *rig, const float *v, double out[3]) {
    for (int k = 0; k < 3; k++)
        out[k] = rig->axes[3 * k] * v[0] + rig->axes[3 * k + 1] * v[1] + rig->axes[3 * k + 2] * v[2];
}

static void box_of(const FaRig *rig, double lo[3], double hi[3]) {
    for (int k = 0; k < 3; k++) lo[k] = INFINITY, hi[k] = -INFINITY;
    for (int v = 0; v < rig->mesh.nvert; v++) {
        double c[3];
        to_canonical(rig, rig->mesh.x + 3 * v, c);
        for (int k = 0; k < 3; k++) lo[k] = fmin(lo[k], c[k]), hi[k] = fmax(hi[k], c[k]);
    }
}

// facecap.glb was made from this FBX: quantised, in other units, moved, z down. Vertex by nearest vertex, shape by
// name, both must agree within the steps of the quantisation.
static void test_facecap(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(fbx_path, "rigs/facecap/FaceCapHeadGeneric.fbx");
    TEST_DATA_OR_SKIP(glb_path, "rigs/facecap/facecap_decoded.glb");
    FaError err = {0};
    FaRig *fbx, *glb;
    CHECK_OK(fa_rig_load(fbx_path, NULL, &fbx, &err), &err);
    CHECK_OK(fa_rig_load(glb_path, &(FaRigOptions){.any_size = true}, &glb, &err), &err);
    assert_int_equal(fbx->mesh.nvert, glb->mesh.nvert); // split at seams of texture and normal alike
    assert_int_equal(points(fbx), 2659);                // control points, from 10,380 corners
    assert_int_equal(fbx->mesh.nface, 2674);
    assert_int_equal(fbx->nshape, 52);
    assert_string_equal(fbx->shape[0].name, "browInnerUp"); // without "shapes."
    int covered[FA_ARKIT_COUNT] = {0}, quads = 0;
    for (int s = 0; s < 52; s++) {
        assert_true(fbx->shape[s].arkit >= 0);
        covered[fbx->shape[s].arkit]++;
    }
    for (int a = 0; a < FA_ARKIT_COUNT; a++) assert_int_equal(covered[a], 1);
    for (int f = 0; f < fbx->mesh.nface; f++) quads += fbx->mesh.face_start[f + 1] - fbx->mesh.face_start[f] == 4;
    assert_true(quads > 2000);
    CHECK_NEAR(fbx->local[0], 0.01, 1e-9); // metres declared, a parent node scaled by 0.01
    assert_non_null(fai_note_find(&fbx->notes, "vertex-order"));
    assert_int_equal(fai_gltf_of_rig(fbx)->nmesh, 4);
    same_as_glb(fbx, "facecap_again.glb", NULL);

    double lo[2][3], hi[2][3];
    box_of(fbx, lo[0], hi[0]);
    box_of(glb, lo[1], hi[1]);
    double ratio = (hi[1][1] - lo[1][1]) / (hi[0][1] - lo[0][1]), scale = pow(10, rint(log10(ratio)));
    double step = 1.5 * glb->local[0];
    CHECK_NEAR(ratio / scale, 1, 1e-3);
    int n = glb->mesh.nvert, *near = malloc(sizeof(int) * (size_t)n);
    double worst = 0;
    for (int v = 0; v < n; v++) {
        double c[3], best = INFINITY;
        to_canonical(glb, glb->mesh.x + 3 * v, c);
        for (int u = 0; u < fbx->mesh.nvert; u++) {
            double d = 0;
            for (int k = 0; k < 3; k++)
                d = fmax(d, fabs(c[k] - lo[1][k] - scale * (fbx->mesh.x[3 * u + k] - lo[0][k])));
            if (d < best) best = d, near[v] = u;
        }
        worst = fmax(worst, best);
    }
    CHECK_NEAR(worst, 0, 2 * step);

    float *df = malloc(12 * (size_t)fbx->mesh.nvert), *dg = malloc(12 * (size_t)n);
    double worst_delta = 0, largest = 0;
    for (int s = 0; s < 52; s++) {
        const FaShape *other = shape_named(glb, fbx->shape[s].name);
        assert_non_null(other);
        densify(fbx, &fbx->shape[s], df);
        densify(glb, other, dg);
        for (int v = 0; v < n; v++) {
            double c[3];
            to_canonical(glb, dg + 3 * v, c);
            for (int k = 0; k < 3; k++) {
                worst_delta = fmax(worst_delta, fabs(c[k] - scale * df[3 * near[v] + k]));
                largest = fmax(largest, fabs(c[k]));
            }
        }
    }
    print_message("facecap: positions within %.2f, deltas within %.2f quantisation steps\n", worst / glb->local[0],
                  worst_delta / glb->local[0]);
    assert_true(largest > 100 * step);
    CHECK_NEAR(worst_delta, 0, 2 * step);
    free(near);
    free(df);
    free(dg);
    fa_rig_free(fbx);
    fa_rig_free(glb);
}

// --- a small one --------------------------------------------------------------------------------------------------
// Two quads that share an edge, one material each; a node that moves, turns by 90 degrees and doubles; z up, cm; two
// shapes; a take of four frames at 30 fps in which jawOpen and the node move.
static const char mini[] =
    "; FBX 7.4.0 project file\nFBXHeaderExtension:  {\nFBXHeaderVersion: 1003\nFBXVersion: 7400\n}\n"
    "GlobalSettings:  {\nVersion: 1000\nProperties70:  {\nP: \"UpAxis\", \"int\", \"Integer\", \"\",2\n"
    "P: \"UpAxisSign\", \"int\", \"Integer\", \"\",1\nP: \"FrontAxis\", \"int\", \"Integer\", \"\",1\n"
    "P: \"FrontAxisSign\", \"int\", \"Integer\", \"\",-1\nP: \"CoordAxis\", \"int\", \"Integer\", \"\",0\n"
    "P: \"CoordAxisSign\", \"int\", \"Integer\", \"\",1\nP: \"UnitScaleFactor\", \"double\", \"Number\", \"\",1\n"
    "P: \"TimeMode\", \"enum\", \"\", \"\",6\n}\n}\nObjects:  {\nGeometry: 100, \"Geometry::face\", \"Mesh\" {\n"
    "Vertices: *18 {\na: 0,0,0,10,0,0,10,0,12,0,0,12,20,0,0,20,0,12\n}\nPolygonVertexIndex: *8 {\n"
    "a: 0,1,2,-4,1,4,5,-3\n}\nGeometryVersion: 124\nLayerElementMaterial: 0 {\nVersion: 101\nName: \"\"\n"
    "MappingInformationType: \"ByPolygon\"\nReferenceInformationType: \"IndexToDirect\"\nMaterials: *2 {\n"
    "a: 0,1\n}\n}\nLayer: 0 {\nVersion: 100\nLayerElement:  {\nType: \"LayerElementMaterial\"\nTypedIndex: 0\n}\n"
    "}\n}\nGeometry: 101, \"Geometry::blend.jawOpen\", \"Shape\" {\nVersion: 100\nIndexes: *1 {\na: 0\n}\n"
    "Vertices: *3 {\na: 0,-1,-2\n}\nNormals: *3 {\na: 0,0,0\n}\n}\n"
    "Geometry: 102, \"Geometry::blend.browInnerUp\", \"Shape\" {\nVersion: 100\nIndexes: *2 {\na: 2,5\n}\n"
    "Vertices: *6 {\na: 0,0,1,0,0,3\n}\nNormals: *6 {\na: 0,0,0,0,0,0\n}\n}\n"
    "Model: 200, \"Model::head\", \"Mesh\" {\nVersion: 232\nProperties70:  {\n"
    "P: \"Lcl Translation\", \"Lcl Translation\", \"\", \"A\",5,0,0\n"
    "P: \"Lcl Rotation\", \"Lcl Rotation\", \"\", \"A\",0,0,90\n"
    "P: \"Lcl Scaling\", \"Lcl Scaling\", \"\", \"A\",2,2,2\n}\nShading: T\nCulling: \"CullingOff\"\n}\n"
    "Material: 300, \"Material::skin\", \"\" {\nVersion: 102\nShadingModel: \"phong\"\nProperties70:  {\n}\n}\n"
    "Material: 301, \"Material::lips\", \"\" {\nVersion: 102\nShadingModel: \"phong\"\nProperties70:  {\n}\n}\n"
    "Deformer: 400, \"Deformer::blend\", \"BlendShape\" {\nVersion: 100\n}\n"
    "Deformer: 401, \"SubDeformer::blend.jawOpen\", \"BlendShapeChannel\" {\nVersion: 100\nDeformPercent: 0\n"
    "FullWeights: *1 {\na: 100\n}\n}\n"
    "Deformer: 402, \"SubDeformer::blend.browInnerUp\", \"BlendShapeChannel\" {\nVersion: 100\nDeformPercent: 0\n"
    "FullWeights: *1 {\na: 100\n}\n}\nAnimationStack: 500, \"AnimStack::take\", \"\" {\nProperties70:  {\n"
    "P: \"LocalStop\", \"KTime\", \"Time\", \"\",4618615800\n"
    "P: \"ReferenceStop\", \"KTime\", \"Time\", \"\",4618615800\n}\n}\n"
    "AnimationLayer: 501, \"AnimLayer::base\", \"\" {\n}\n"
    "AnimationCurveNode: 502, \"AnimCurveNode::DeformPercent\", \"\" {\nProperties70:  {\n"
    "P: \"d|DeformPercent\", \"Number\", \"\", \"A\",0\n}\n}\nAnimationCurve: 503, \"AnimCurve::\", \"\" {\n"
    "Default: 0\nKeyVer: 4008\nKeyTime: *3 {\na: 0,1539538600,4618615800\n}\nKeyValueFloat: *3 {\na: 0,50,100\n"
    "}\nKeyAttrFlags: *1 {\na: 24836\n}\nKeyAttrDataFloat: *4 {\na: 0,0,0,0\n}\nKeyAttrRefCount: *1 {\na: 3\n}\n"
    "}\nAnimationCurveNode: 504, \"AnimCurveNode::T\", \"\" {\nProperties70:  {\n"
    "P: \"d|X\", \"Number\", \"\", \"A\",5\nP: \"d|Y\", \"Number\", \"\", \"A\",0\n"
    "P: \"d|Z\", \"Number\", \"\", \"A\",0\n}\n}\nAnimationCurve: 505, \"AnimCurve::\", \"\" {\nDefault: 0\n"
    "KeyVer: 4008\nKeyTime: *2 {\na: 0,4618615800\n}\nKeyValueFloat: *2 {\na: 5,11\n}\nKeyAttrFlags: *1 {\n"
    "a: 24836\n}\nKeyAttrDataFloat: *4 {\na: 0,0,0,0\n}\nKeyAttrRefCount: *1 {\na: 2\n}\n}\n}\nConnections:  {\n"
    "C: \"OO\",200,0\nC: \"OO\",100,200\nC: \"OO\",300,200\nC: \"OO\",301,200\nC: \"OO\",400,100\n"
    "C: \"OO\",401,400\nC: \"OO\",101,401\nC: \"OO\",402,400\nC: \"OO\",102,402\nC: \"OO\",501,500\n"
    "C: \"OO\",502,501\nC: \"OP\",502,401, \"DeformPercent\"\nC: \"OP\",503,502, \"d|DeformPercent\"\n"
    "C: \"OO\",504,501\nC: \"OP\",504,200, \"Lcl Translation\"\nC: \"OP\",505,504, \"d|X\"\n}\n";

static void test_mini(void **state) {
    (void)state;
    const char *path = test_path("mini.fbx");
    write_file(path, mini, sizeof mini - 1);
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(path, &(FaRigOptions){.any_size = true}, &rig, &err), &err);
    // a part of each material has its own vertices; they are joined again along their common edge
    assert_int_equal(rig->mesh.nvert, 8);
    assert_int_equal(points(rig), 6);
    assert_int_equal(rig->mesh.nface, 2);
    assert_string_equal(rig->name, "head");
    CHECK_NEAR(rig->unit, 1, 0); // the document is in metres
    CHECK_NEAR(rig->file_unit, 0.01, 0);
    CHECK_NEAR(rig->local[0], 2, 1e-9);
    assert_int_equal(rig->nshape, 2);
    assert_string_equal(rig->shape[0].name, "jawOpen");
    assert_string_equal(rig->shape[1].name, "browInnerUp");
    assert_int_equal(rig->shape[0].count, 1);
    assert_int_equal(rig->shape[1].count, 3); // one of its two points is on the edge
    const float *x = rig->mesh.x + 3 * rig->row[0], *d = rig->delta;
    CHECK_NEAR(fabs(x[0]) + fabs(x[1]) + fabs(x[2]), 0, 1e-9);
    CHECK_NEAR(d[1], -0.02, 1e-8);
    CHECK_NEAR(d[2], -0.04, 1e-8);
    // the take: weights linear between keys, the node's motion as the head's
    const FaClip *c = rig->clip;
    assert_non_null(c);
    assert_int_equal(c->nframe, 4);
    assert_int_equal(c->nchan, 2);
    CHECK_NEAR(c->fps, 30, 0);
    static const double jaw[] = {0, 0.5, 0.75, 1};
    assert_non_null(c->head);
    for (int f = 0; f < 4; f++) {
        CHECK_NEAR(c->weight[2 * f], jaw[f], 1e-6);
        CHECK_NEAR(c->weight[2 * f + 1], 0, 0);
        CHECK_NEAR(c->head[f].p[0], 0.05 + 0.02 * f, 1e-7);
        // z up became y up: the node's x goes to -z, its y to -x, its z to y
        const FaPose pose = fa_rig_pose(rig, &c->head[f]);
        const double *q = pose.q;
        double r[9] = {1 - 2 * (q[1] * q[1] + q[2] * q[2]), 2 * (q[0] * q[1] - q[2] * q[3]),
                       2 * (q[0] * q[2] + q[1] * q[3]),     2 * (q[0] * q[1] + q[2] * q[3]),
                       1 - 2 * (q[0] * q[0] + q[2] * q[2]), 2 * (q[1] * q[2] - q[0] * q[3]),
                       2 * (q[0] * q[2] - q[1] * q[3]),     2 * (q[1] * q[2] + q[0] * q[3]),
                       1 - 2 * (q[0] * q[0] + q[1] * q[1])};
        static const double expect[9] = {0, -1, 0, 0, 0, 1, -1, 0, 0};
        for (int k = 0; k < 9; k++) CHECK_NEAR(r[k], expect[k], 1e-6);
    }
    same_as_glb(rig, "mini.glb", &(FaRigOptions){.any_size = true});
    fa_rig_free(rig);
    // in other units, as the user says
    CHECK_OK(fa_rig_load(path, &(FaRigOptions){.any_size = true, .unit = FA_UNIT_MM}, &rig, &err), &err);
    CHECK_NEAR(rig->file_unit, 0.001, 0);
    CHECK_NEAR(rig->delta[1], -0.002, 1e-9);
    fa_rig_free(rig);
    // known by its content under any name
    path = test_path("mini.bin");
    write_file(path, mini, sizeof mini - 1);
    CHECK_OK(fa_rig_load(path, &(FaRigOptions){.any_size = true}, &rig, &err), &err);
    assert_int_equal(rig->nshape, 2);
    fa_rig_free(rig);
    // a mesh that is not there
    assert_int_equal(fa_rig_load(test_path("mini.fbx"), &(FaRigOptions){.mesh = "tail"}, &rig, &err), FA_E_ARG);
    assert_non_null(strstr(err.what, "tail"));
}

static void test_mirrored_node(void **state) {
    (void)state;
    char text[sizeof mini];
    memcpy(text, mini, sizeof mini);
    char *scale = strstr(text, "\"A\",2,2,2");
    assert_non_null(scale);
    memcpy(scale, "\"A\",2,2,-", 9);
    scale[9] = '2'; // over the line end
    const char *path = test_path("mirror.fbx");
    write_file(path, text, sizeof mini - 1);
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(path, &(FaRigOptions){.any_size = true}, &rig, &err), &err);
    // the first face ran 0 1 2 3; mirrored it runs the other way, so that its outside stays outside
    FaRig *plain;
    CHECK_OK(fa_rig_load(test_path("mini.fbx"), &(FaRigOptions){.any_size = true}, &plain, &err), &err);
    for (int k = 0; k < 4; k++) assert_int_equal(rig->mesh.face_vert[k], plain->mesh.face_vert[3 - k]);
    fa_rig_free(rig);
    fa_rig_free(plain);
}

// More objects for the small one: a card of hair whose front and back have points of their own at the same places, held
// by a bone that stands 30 cm up, all but two of them; another place for the mesh at the time of binding than at rest.
static const char card[] =
    "Geometry: 110, \"Geometry::card\", \"Mesh\" {\nVertices: *24 {\n"
    "a: 0,0,0,1,0,0,1,0,2,0,0,2,0,0,0,1,0,0,1,0,2,0,0,2\n}\nPolygonVertexIndex: *8 {\na: 0,1,2,-4,7,6,5,-5\n}\n"
    "GeometryVersion: 124\nLayerElementMaterial: 0 {\nVersion: 101\nName: \"\"\nMappingInformationType: \"AllSame\"\n"
    "ReferenceInformationType: \"IndexToDirect\"\nMaterials: *1 {\na: 0\n}\n}\nLayer: 0 {\nVersion: 100\n"
    "LayerElement:  {\nType: \"LayerElementMaterial\"\nTypedIndex: 0\n}\n}\n}\nModel: 210, \"Model::card\", \"Mesh\" "
    "{\nVersion: 232\nProperties70:  {\n"
    "P: \"Lcl Translation\", \"Lcl Translation\", \"\", \"A\",0,0,50\n}\nShading: T\n}\n"
    "Model: 220, \"Model::bone\", \"LimbNode\" {\nVersion: 232\nProperties70:  {\n"
    "P: \"Lcl Translation\", \"Lcl Translation\", \"\", \"A\",0,0,30\n}\n}\n"
    "Material: 310, \"Material::hair\", \"\" {\nVersion: 102\nShadingModel: \"phong\"\nProperties70:  {\n"
    "P: \"DiffuseColor\", \"Color\", \"\", \"A\",0.25,0.5,0.75\n}\n}\n"
    "Texture: 320, \"Texture::strands\", \"\" {\nType: \"TextureVideoClip\"\nVersion: 202\n"
    "TextureName: \"Texture::strands\"\nFileName: \"C:\\art\\strands.png\"\nRelativeFilename: \"strands.png\"\n}\n"
    "Deformer: 410, \"Deformer::skin\", \"Skin\" {\nVersion: 101\nLink_DeformAcuracy: 50\n}\n"
    "Deformer: 411, \"SubDeformer::bone\", \"Cluster\" {\nVersion: 100\nIndexes: *6 {\na: 0,1,2,4,5,6\n}\n"
    "Weights: *6 {\na: 1,1,0.5,1,1,0.5\n}\n"
    "Transform: *16 {\na: 1,0,0,0,0,1,0,0,0,0,1,0,0,0,-30,1\n}\n"
    "TransformLink: *16 {\na: 1,0,0,0,0,1,0,0,0,0,1,0,0,0,30,1\n}\n}\n}\nConnections:  {\n"
    "C: \"OO\",210,0\nC: \"OO\",220,0\nC: \"OO\",110,210\nC: \"OO\",310,210\nC: \"OP\",320,310, \"DiffuseColor\"\n"
    "C: \"OO\",410,110\nC: \"OO\",411,410\nC: \"OO\",220,411\n";

static int node_named(const FaGltf *doc, const char *name) {
    for (int i = 0; i < doc->nnode; i++)
        if (!strcmp(doc->node[i].name, name)) return i;
    return -1;
}

// All that a file has is in the document: nodes, other meshes, skins, materials. And what lies back to back stays two.
static void test_keeps_all(void **state) {
    (void)state;
    static const char seam[] = "}\n}\nConnections:  {\n"; // the end of the last object and of the list
    char *at = strstr(mini, seam), text[sizeof mini + sizeof card];
    assert_non_null(at);
    size_t head = (size_t)(at - mini) + 2, skip = strlen(seam) - 2;
    snprintf(text, sizeof text, "%.*s%s%s", (int)head, mini, card, mini + head + skip);
    const char *path = test_path("card.fbx");
    write_file(path, text, strlen(text));
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(path, &(FaRigOptions){.any_size = true}, &rig, &err), &err);
    const FaGltf *doc = fai_gltf_of_rig(rig);
    assert_non_null(doc);
    assert_int_equal(doc->nmesh, 2);
    assert_int_equal(doc->nskin, 1);
    assert_int_equal(doc->nmaterial, 3);
    assert_string_equal(rig->name, "head");
    const FaJson *hair = fai_json_at(fai_json_get(doc->json->root, "materials"), 0);
    assert_string_equal(fai_json_get(hair, "name")->string, "hair");
    const FaJson *color = fai_json_get(fai_json_get(hair, "pbrMetallicRoughness"), "baseColorFactor");
    for (int k = 0; k < 3; k++) CHECK_NEAR(fai_json_at(color, k)->number, 0.25 * (k + 1), 1e-6);
    const FaNote *missing = fai_note_find(&rig->notes, "texture-missing");
    assert_non_null(missing);
    assert_non_null(strstr(missing->text, "strands.png"));
    same_as_glb(rig, "card.glb", &(FaRigOptions){.any_size = true});
    fa_rig_free(rig);

    // through the written file: the card stands where the bone and the mesh's own node put it, upright, in metres
    CHECK_OK(fa_rig_load(test_path("card.glb"), &(FaRigOptions){.any_size = true, .mesh = "card"}, &rig, &err), &err);
    doc = fai_gltf_of_rig(rig);
    int node = node_named(doc, "card"), bone = node_named(doc, "bone");
    assert_true(node >= 0 && bone >= 0 && doc->node[node].skin == 0);
    const FaGltfSkin *skin = &doc->skin[0];
    assert_int_equal(skin->njoint, 2); // the bone, and for what it does not hold the mesh's node
    assert_int_equal(skin->joint[0], bone);
    assert_int_equal(skin->joint[1], node);
    double m[16];
    fai_gltf_node_world(doc, bone, m);
    CHECK_NEAR(m[13], 0.3, 1e-6);
    float inverse[32];
    CHECK_OK(fai_gltf_floats(doc, skin->inverse_bind, inverse, &err), &err);
    // as the file has it: at binding the mesh was at the origin, 30 cm below the bone
    CHECK_NEAR(inverse[14], -0.3, 1e-6);
    CHECK_NEAR(inverse[16 + 14], 0, 0);
    FaTopology topo;
    CHECK_OK(fai_topology_build(&rig->mesh, &topo, &err), &err);
    assert_int_equal(topo.nparts, 2);
    assert_int_equal(topo.nonmanifold, 0);
    fai_topology_free(&topo);
    fa_rig_free(rig);
}

static void test_broken(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig;
    const char *path = test_path("broken.fbx");
    static const char *const texts[] = {"; FBX 7.4.0 project file\n", "Kaydara FBX Binary  ",
                                        "; FBX 7.4.0 project file\nObjects: {\n"};
    for (int i = 0; i < FA_COUNT(texts); i++) {
        write_file(path, texts[i], strlen(texts[i]));
        err = (FaError){0};
        assert_true(fa_rig_load(path, NULL, &rig, &err) < 0);
        assert_null(rig);
        assert_true(err.what[0] && err.remedy[0] && strstr(err.path, "broken.fbx"));
    }
    // cut in places: an answer, whichever
    for (size_t n = 100; n < sizeof mini; n += 97) {
        write_file(path, mini, n);
        err = (FaError){0};
        FaCode rc = fa_rig_load(path, &(FaRigOptions){.any_size = true}, &rig, &err);
        assert_true(rc >= 0 ? rig != NULL : rig == NULL && err.what[0]);
        fa_rig_free(rig);
    }
}

// --- others -------------------------------------------------------------------------------------------------------

static void test_collada(void **state) {
    (void)state;
    static const char dae[] =
        "<?xml version=\"1.0\"?><COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" "
        "version=\"1.4.1\"><asset>"
        "<unit name=\"centimeter\" meter=\"0.01\"/><up_axis>Z_UP</up_axis></asset><library_geometries><geometry "
        "id=\"g\" name=\"g\">"
        "<mesh><source id=\"p\"><float_array id=\"pa\" count=\"12\">0 0 0 20 0 0 20 0 24 0 0 "
        "24</float_array><technique_common>"
        "<accessor source=\"#pa\" count=\"4\" stride=\"3\"><param name=\"X\" type=\"float\"/><param name=\"Y\" "
        "type=\"float\"/>"
        "<param name=\"Z\" type=\"float\"/></accessor></technique_common></source><vertices id=\"v\"><input "
        "semantic=\"POSITION\" "
        "source=\"#p\"/></vertices><polylist count=\"1\"><input semantic=\"VERTEX\" source=\"#v\" "
        "offset=\"0\"/><vcount>4</vcount>"
        "<p>0 1 2 3</p></polylist></mesh></geometry></library_geometries><library_visual_scenes><visual_scene "
        "id=\"s\"><node id=\"n\" "
        "name=\"n\"><instance_geometry "
        "url=\"#g\"/></node></visual_scene></library_visual_scenes><scene><instance_visual_scene "
        "url=\"#s\"/></scene></COLLADA>";
    const char *path = test_path("quad.dae");
    write_file(path, dae, sizeof dae - 1);
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(path, &(FaRigOptions){.any_size = true}, &rig, &err), &err);
    assert_int_equal(rig->mesh.nvert, 4);
    assert_int_equal(rig->mesh.nface, 1);
    double top = 0, up = 0;
    for (int v = 0; v < 4; v++) {
        double c[3];
        to_canonical(rig, rig->mesh.x + 3 * v, c);
        top = fmax(top, rig->mesh.x[3 * v + 2]);
        up = fmax(up, c[1]);
    }
    CHECK_NEAR(top, 0.24, 1e-6); // cm in the file, its own frame has z up
    CHECK_NEAR(up, 0.24, 1e-6);  // y up in ours
    fa_rig_free(rig);
}

static void test_stl_corners(void **state) {
    (void)state;
    static const char stl[] =
        "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 0.2 0 0\nvertex 0 0.2 0\nendloop\nendfacet\n"
        "facet normal 0 0 1\nouter loop\nvertex 0.2 0 0\nvertex 0.2 0.2 0\nvertex 0 0.2 "
        "-0\nendloop\nendfacet\nendsolid a\n";
    const char *path = test_path("two.stl");
    write_file(path, stl, sizeof stl - 1);
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(path, &(FaRigOptions){.any_size = true, .unit = FA_UNIT_M}, &rig, &err), &err);
    assert_int_equal(rig->mesh.nvert, 4); // corners welded, 0 and -0 alike
    assert_int_equal(rig->mesh.ntri, 2);
    fa_rig_free(rig);
}

// Bodies from the wild: 175 shapes in four naming families, some of them rounding errors only.
static void wild_bodies(void **state) {
    (void)state;
    static const char *const bodies[] = {"Male_Adult_12", "Female_Adult_01", "Female_Adult_16", "Police_Female_01"};
    TEST_DATA_OR_SKIP(first, "rigs/wild/Male_Adult_12.fbx");
    TEST_DATA_OR_SKIP(take, "clips/livelink/alex_rom_3.csv");
    (void)first;
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_clip_load(take, NULL, &clip, &err), &err);
    for (int i = 0; i < FA_COUNT(bodies); i++) {
        char name[64];
        snprintf(name, sizeof name, "rigs/wild/%s.fbx", bodies[i]);
        const char *path = test_data(name);
        if (!path) continue;
        FaRig *rig;
        FaBinding b;
        FaInfo info;
        CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
        CHECK_NEAR(rig->file_unit, 0.01, 0);
        assert_string_equal(rig->unit_how, "declared by the file");
        CHECK_OK(fa_info_of_rig(rig, false, &info, &err), &err);
        assert_true(info.height_m > 1.6 && info.height_m < 2);
        assert_string_equal(info.up, "+z");
        CHECK_OK(fa_clip_bind(clip, rig, &b, &err), &err);
        assert_int_equal(b.nchan - b.unused, FA_ARKIT_COUNT);
        assert_true(b.matched <= FA_ARKIT_COUNT); // 84 and more, all at once, before
        // every one of them of one family where that moves
        for (int s = 0; s < rig->nshape; s++)
            if (b.chan[s] >= 0 && !b.idle) assert_memory_equal(rig->shape[s].name, "AK_", 3);
        fa_binding_free(&b);
        fa_info_free(&info);
        fa_rig_free(rig);
    }
    fa_clip_free(clip);
}

// --- memory -------------------------------------------------------------------------------------------------------

static const char *starved_path;

static FaCode document_again(void *user, FaError *err) {
    FaImportDoc doc;
    FaCode rc = fai_assimp_document(user, starved_path, &(FaImportAsk){0}, &doc, err);
    assert_true(rc >= 0 ? doc.glb != NULL : doc.glb == NULL);
    fai_import_doc_free(&doc);
    return rc;
}

// The file is read once: assimp's own memory is not ours to deny.
static void memory_runs_out(void **state) {
    (void)state;
    const char *small = test_path("starved.fbx");
    write_file(small, mini, sizeof mini - 1);
    const char *const paths[] = {small, test_data("rigs/wild/FaceCapLiveMode.fbx"),
                                 test_data("rigs/wild/Female_Adult_16.fbx")};
    for (int i = 0; i < FA_COUNT(paths); i++) {
        FaError err = {0};
        const struct aiScene *scene;
        if (!paths[i]) continue;
        starved_path = paths[i];
        CHECK_OK(fai_assimp_open(paths[i], &scene, &err), &err);
        assert_true(test_starve(document_again, (void *)scene) > 15);
        fai_assimp_close(scene);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facecap),     cmocka_unit_test(test_mini),       cmocka_unit_test(test_mirrored_node),
        cmocka_unit_test(test_keeps_all),   cmocka_unit_test(test_broken),     cmocka_unit_test(test_collada),
        cmocka_unit_test(test_stl_corners), cmocka_unit_test(memory_runs_out), cmocka_unit_test(wild_bodies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
