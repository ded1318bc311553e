// From a glTF document to a rig and a clip: which mesh, whose names, what moves, and where the head is.
#include "test_gltf_fixture.h"

#include "base/base.h"

static const FaRigOptions metres = {.unit = FA_UNIT_M, .any_size = true};

// Parse, and make the rig with its clip; the document goes with the rig.
static FaCode load_with(Bytes b, const FaRigOptions *options, FaRig **rig, FaError *err) {
    FaGltf *doc;
    *rig = NULL;
    FaCode rc = parse_glb(b, &doc, err);
    if (rc < 0) return rc;
    rc = fai_gltf_rig(doc, options, rig, err);
    if (rc < 0)
        fai_gltf_free(doc);
    else if ((rc = fai_gltf_clip(doc, *rig, &(*rig)->clip, err)) < 0) {
        fa_rig_free(*rig);
        *rig = NULL;
    }
    return rc;
}

static FaRig *load(Bytes b) {
    FaRig *rig;
    FaError err = {0};
    CHECK_OK(load_with(b, &metres, &rig, &err), &err);
    CHECK_OK(fa_rig_check(rig, &err), &err);
    return rig;
}

static void check_vec(const float *v, double x, double y, double z, double tol) {
    CHECK_NEAR(v[0], x, tol);
    CHECK_NEAR(v[1], y, tol);
    CHECK_NEAR(v[2], z, tol);
}

// Where a rig vertex is in the world under a pose.
static void world_of(const FaRig *rig, const FaPose *head, const float x[3], double out[3]) {
    const FaPose pose = fa_rig_pose(rig, head);
    const double *q = pose.q;
    double t[3] = {2 * (q[1] * (double)x[2] - q[2] * (double)x[1]), 2 * (q[2] * (double)x[0] - q[0] * (double)x[2]),
                   2 * (q[0] * (double)x[1] - q[1] * (double)x[0])};
    out[0] = (double)x[0] + q[3] * t[0] + q[1] * t[2] - q[2] * t[1] + pose.p[0];
    out[1] = (double)x[1] + q[3] * t[1] + q[2] * t[0] - q[0] * t[2] + pose.p[1];
    out[2] = (double)x[2] + q[3] * t[2] + q[0] * t[1] - q[1] * t[0] + pose.p[2];
}

// --- the rig ------------------------------------------------------------------------------------------------------

static void test_rig(void **state) {
    (void)state;
    FaRig *rig = load(face_glb(NULL, NULL));
    assert_int_equal(rig->mesh.nvert, 3);
    assert_int_equal(rig->mesh.nface, 1);
    assert_null(rig->mesh.uv);
    assert_string_equal(rig->name, "face");
    assert_int_equal(rig->nshape, 2);
    assert_int_equal(rig->nentry, 3);
    assert_string_equal(rig->shape[0].name, "jawOpen");
    assert_int_equal(rig->shape[0].count, 1);
    check_vec(rig->delta, 0, -0.5, 0, 0);
    assert_int_equal(rig->row[2], 2);
    check_vec(rig->delta + 6, 0, 0, 0.125, 0);
    CHECK_NEAR(rig->weight[0], 0.25, 0);
    CHECK_NEAR(rig->weight[1], 0.5, 0);
    FaGltf *doc = fai_gltf_of_rig(rig);
    assert_non_null(doc);
    assert_int_equal(doc->face.node, 1);
    assert_int_equal(doc->face.prim[0].count, 3);
    // linear keys are kept: times from the first, weights exact
    FaClip *clip = rig->clip;
    assert_non_null(clip);
    assert_int_equal(clip->nframe, 2);
    assert_int_equal(clip->nchan, 2);
    CHECK_NEAR(clip->start, 0.5, 0);
    CHECK_NEAR(clip->time[1], 1, 0);
    CHECK_NEAR(clip->weight[1], 1, 0);
    CHECK_NEAR(clip->weight[2], 0.5, 0);
    assert_null(clip->head);
    fa_rig_free(rig);
}

static void test_node_weights_win(void **state) {
    (void)state;
    FaRig *rig = load(face_glb("'mesh':0", "'mesh':0,'weights':[0,1]"));
    CHECK_NEAR(rig->weight[0], 0, 0);
    CHECK_NEAR(rig->weight[1], 1, 0);
    fa_rig_free(rig);
}

static void check_names(const char *from, const char *to, const char *first, const char *second, const char *note) {
    FaRig *rig = load(face_glb(from, to));
    assert_string_equal(rig->shape[0].name, first);
    assert_string_equal(rig->shape[1].name, second);
    if (note && !fai_note_find(&rig->notes, note)) {
        print_error("no note \"%s\" for %s\n", note, to);
        fail();
    }
    if (!note) {
        assert_null(fai_note_find(&rig->notes, "missing-shape-names"));
        assert_null(fai_note_find(&rig->notes, "target-names-count"));
    }
    fa_rig_free(rig);
}

static void test_names(void **state) {
    (void)state;
    const char *extras = "'extras':{'targetNames':['jawOpen','mouthSmileLeft']}";
    check_names(NULL, NULL, "jawOpen", "mouthSmileLeft", NULL);
    check_names(extras, "'extras':{}", "target_000", "target_001", "missing-shape-names");
    check_names(extras, "'extras':{'targetNames':['a']}", "a", "target_001", "target-names-count");
    check_names(extras, "'extras':{'targetNames':['a','b','c']}", "a", "b", "target-names-count");
    check_names(extras, "'extras':{'targetNames':['a','a']}", "a", "a", "duplicate-shape-names");
    check_names(extras, "'extras':{'targetNames':['a',7]}", "a", "target_001", "missing-shape-names");
    check_names(extras, "'extras':{'targetNames':'no list'}", "target_000", "target_001", "missing-shape-names");
    // of a primitive
    check_names("'weights':[0.25,0.5],'extras':{'targetNames':['jawOpen','mouthSmileLeft']}", "'weights':[0,0]",
                "target_000", "target_001", "missing-shape-names");
    check_names("'targets':[{'POSITION':1},{'POSITION':2}]}],'weights':[0.25,0.5],'extras':{'targetNames':['jawOpen','"
                "mouthSmileLeft']}",
                "'targets':[{'POSITION':1},{'POSITION':2}],'extras':{'targetNames':['x','y']}}]", "x", "y", NULL);
    // VRM 0 binds by mesh, VRM 1 by node; a group that drives several targets names none
    check_names("'weights':[0.25,0.5],'extras':{'targetNames':['jawOpen','mouthSmileLeft']}}],",
                "'weights':[0,0]}],'extensions':{'VRM':{'blendShapeMaster':{'blendShapeGroups':[{'name':'A','"
                "presetName':'a','binds':[{'mesh':0,'index':1,'weight':100}]},"
                "{'name':'both','presetName':'unknown','binds':[{'mesh':0,'index':0,'weight':50},{'mesh':0,'index':1,'"
                "weight':50}]}]}}},",
                "target_000", "a", "missing-shape-names");
    check_names("'weights':[0.25,0.5],'extras':{'targetNames':['jawOpen','mouthSmileLeft']}}],",
                "'weights':[0,0]}],'extensions':{'VRMC_vrm':{'expressions':{'preset':{'aa':{'morphTargetBinds':[{'node'"
                ":1,'index':0,'weight':1}]}},"
                "'custom':{'tongueOut':{'morphTargetBinds':[{'node':1,'index':1,'weight':1}]},'far':{'morphTargetBinds'"
                ":[{'node':7,'index':0}]}}}}},",
                "aa", "tongueOut", NULL);
}

static void test_choice_of_mesh(void **state) {
    (void)state;
    const char *from = "'meshes':[{'name':'face'",
               *to = "'meshes':[{'name':'hat','primitives':[{'attributes':{'POSITION':0}}]},{'name':'face'";
    // the mesh with targets is taken, whatever its number
    char *json = fixture_json(face_json, from, to);
    unsigned char bin[FACE_BIN];
    face_bin(bin);
    char *hit = strstr(json, "\"mesh\":0");
    hit[7] = '1';
    FaRig *rig = load(fixture_glb(json, bin, sizeof bin));
    assert_string_equal(rig->name, "face");
    fa_rig_free(rig);
    static const struct {
        const char *name;
        FaCode code;
        const char *found;
    } asked[] = {{"hat", FA_OK, "hat"}, {"0", FA_OK, "hat"},    {"1", FA_OK, "face"}, {"head", FA_OK, "face"},
                 {"2", FA_E_ARG, ""},   {"nose", FA_E_ARG, ""}, {"", FA_E_ARG, ""}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        FaRigOptions options = metres;
        options.mesh = asked[i].name;
        FaError err = {0};
        assert_int_equal(load_with(fixture_glb(json, bin, sizeof bin), &options, &rig, &err), asked[i].code);
        if (rig) assert_string_equal(rig->name, asked[i].found);
        fa_rig_free(rig);
    }
    free(json);
}

static void test_nothing_to_take(void **state) {
    (void)state;
    FaRig *rig;
    FaError err = {0};
    char *json = fixture_json("{'asset':{'version':'2.0'},'nodes':[{}]}", NULL, NULL);
    assert_int_equal(load_with(fixture_glb(json, NULL, 0), &metres, &rig, &err), FA_E_MESH);
    assert_string_equal(err.place, "/meshes");
    free(json);
    assert_int_equal(load_with(face_glb("'mode':4", "'mode':0"), &metres, &rig, &err), FA_E_MESH);
    assert_int_equal(
        load_with(face_glb("{'attributes':{'POSITION':0}",
                           "{'extensions':{'KHR_draco_mesh_compression':{'bufferView':0}},'attributes':{'POSITION':0}"),
                  &metres, &rig, &err),
        FA_OK); // plain data exist as well
    fa_rig_free(rig);
    err = (FaError){0};
    assert_int_equal(
        load_with(face_glb("{'bufferView':0,'componentType':5126,'count':3", "{'componentType':5126,'count':3"),
                  &metres, &rig, &err),
        FA_OK);
    fa_rig_free(rig); // positions of zeros are odd, but not wrong
}

// A buffer may leave open where its data come from; what needs them says so.
static void test_buffer_without_data(void **state) {
    (void)state;
    FaRig *rig;
    FaError err = {0};
    char *json = fixture_json(face_json, NULL, NULL);
    FaGltf *doc;
    CHECK_OK(fai_gltf_parse_memory(json, strlen(json), NULL, &doc, &err), &err);
    assert_int_equal(fai_gltf_rig(doc, &metres, &rig, &err), FA_E_FORMAT);
    assert_string_equal(err.place, "/accessors/0");
    assert_null(rig);
    fai_gltf_free(doc);
    free(json);
}

static void test_draco(void **state) {
    (void)state;
    FaRig *rig;
    FaError err = {0};
    Fixture f = {0};
    fixture_floats(&f, "VEC3", 1, (float[3]){0}, 3);
    strcat(f.accessors,
           ",{'componentType':5126,'type':'VEC3','count':3},{'componentType':5123,'type':'SCALAR','count':3}");
    Bytes b = fixture_done(&f, "'extensionsUsed':['KHR_draco_mesh_compression'],'extensionsRequired':['KHR_draco_mesh_"
                               "compression'],'meshes':[{'primitives':[{"
                               "'attributes':{'POSITION':1},'indices':2,'extensions':{'KHR_draco_mesh_compression':{'"
                               "bufferView':0,'attributes':{'POSITION':0}}}}]}]");
    assert_int_equal(load_with(b, &metres, &rig, &err), FA_E_UNSUPPORTED);
    assert_string_equal(err.place, "/meshes/0/primitives/0/extensions/KHR_draco_mesh_compression");
    assert_non_null(strstr(err.remedy, "Draco"));
}

// --- primitives ---------------------------------------------------------------------------------------------------

static const float four[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0};

static void test_second_primitive_has_the_targets(void **state) {
    (void)state;
    Fixture f = {0};
    fixture_floats(&f, "VEC3", 3, four, 9);
    fixture_floats(&f, "VEC3", 4, four, 12);
    fixture_floats(&f, "VEC3", 4, (float[12]){0, 0, 0, 0, 0, 2}, 12);
    FaRig *rig = load(fixture_done(&f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0}},{'attributes':{'"
                                       "POSITION':1},'targets':[{'POSITION':2},{'NORMAL':2}],'mode':5}]}]"));
    assert_int_equal(rig->mesh.nvert, 7);
    assert_int_equal(rig->mesh.nface, 3);
    assert_int_equal(rig->nshape, 2);
    assert_int_equal(rig->shape[0].count, 1);
    assert_int_equal(rig->row[0], 3 + 1);
    check_vec(rig->delta, 0, 0, 2, 0);
    assert_int_equal(rig->shape[1].count, 0); // it only moves normals
    assert_non_null(fai_note_find(&rig->notes, "unequal-targets"));
    assert_non_null(fai_note_find(&rig->notes, "mesh-without-node"));
    fa_rig_free(rig);
}

static void test_primitives_share_vertices(void **state) {
    (void)state;
    Fixture f = {0};
    fixture_floats(&f, "VEC3", 4, four, 12);
    fixture_floats(&f, "VEC3", 4, (float[12]){1}, 12);
    fixture_add(&f, FA_GLTF_U16, "SCALAR", 3, (uint16_t[]){0, 1, 2}, 6, "");
    fixture_add(&f, FA_GLTF_U8, "SCALAR", 3, (uint8_t[]){2, 1, 3}, 3, "");
    FaRig *rig = load(fixture_done(
        &f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'indices':2,'targets':[{'POSITION':1}]},"
            "{'attributes':{'POSITION':0},'indices':3,'targets':[{'POSITION':1}]},{'attributes':{'POSITION':0},'"
            "indices':3}]}]"));
    assert_int_equal(rig->mesh.nvert, 8); // the third has no targets: its vertices do not move with the others
    assert_int_equal(rig->mesh.nface, 3);
    const FaGltfFacePrim *p = fai_gltf_of_rig(rig)->face.prim;
    assert_int_equal(p[1].owner, 0);
    assert_int_equal(p[1].first, 0);
    assert_int_equal(p[2].owner, 2);
    assert_int_equal(p[2].first, 4);
    const int *c = rig->mesh.face_vert;
    assert_true(c[3] == 2 && c[4] == 1 && c[5] == 3 && c[6] == 6 && c[7] == 5 && c[8] == 7);
    assert_int_equal(rig->nentry, 1);
    fa_rig_free(rig);
}

static void check_faces(const char *prim, const Fixture *f, int nface, const int *corner) {
    char rest[400];
    snprintf(rest, sizeof rest, "'meshes':[{'primitives':[%s]}]", prim);
    FaRig *rig = load(fixture_done(f, rest));
    assert_int_equal(rig->mesh.nface, nface);
    for (int i = 0; i < 3 * nface; i++) assert_int_equal(rig->mesh.face_vert[i], corner[i]);
    fa_rig_free(rig);
}

static void test_modes(void **state) {
    (void)state;
    Fixture f = {0};
    fixture_floats(&f, "VEC3", 4, four, 12);
    fixture_add(&f, FA_GLTF_U32, "SCALAR", 6, (uint32_t[]){0, 1, 2, 2, 1, 3}, 24, "");
    fixture_add(&f, FA_GLTF_U16, "SCALAR", 4, (uint16_t[]){3, 2, 1, 0}, 8, "");
    fixture_add(&f, FA_GLTF_U16, "SCALAR", 7, (uint16_t[]){0, 1, 2, 2, 1, 3, 0}, 14, "");
    fixture_add(&f, FA_GLTF_U16, "SCALAR", 6, (uint16_t[]){0, 1, 2, 2, 3, 1}, 12, "");
    check_faces("{'attributes':{'POSITION':0},'indices':1}", &f, 2, (int[]){0, 1, 2, 2, 1, 3});
    check_faces("{'attributes':{'POSITION':0},'indices':3}", &f, 2, (int[]){0, 1, 2, 2, 1, 3}); // one corner too many
    check_faces("{'attributes':{'POSITION':0},'mode':5}", &f, 2, (int[]){0, 1, 2, 1, 3, 2});
    check_faces("{'attributes':{'POSITION':0},'mode':6}", &f, 2, (int[]){1, 2, 0, 2, 3, 0});
    check_faces("{'attributes':{'POSITION':0},'indices':2,'mode':5}", &f, 2, (int[]){3, 2, 1, 2, 0, 1});
    check_faces("{'attributes':{'POSITION':0},'indices':4,'mode':5}", &f, 2,
                (int[]){0, 1, 2, 2, 1, 3}); // two flat ones go
    check_faces("{'attributes':{'POSITION':0},'mode':1},{'attributes':{'POSITION':0}}", &f, 1, (int[]){0, 1, 2});
}

static void test_texture_coordinates(void **state) {
    (void)state;
    Fixture f = {0};
    fixture_floats(&f, "VEC3", 3, four, 9);
    fixture_add(&f, FA_GLTF_U16, "VEC2", 3, (uint16_t[]){0, 0, 65535, 0, 0, 65535}, 12, ",'normalized':true");
    fixture_floats(&f, "VEC3", 3, four + 3, 9);
    FaRig *rig =
        load(fixture_done(&f, "'materials':[{'pbrMetallicRoughness':{'baseColorTexture':{'index':0,'extensions':{'KHR_"
                              "texture_transform':{'offset':[0.25,0.5],'scale':[0.5,0.25]}}}}}],"
                              "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'TEXCOORD_0':1},'material':0},{'"
                              "attributes':{'POSITION':2}}]}]"));
    assert_int_equal(rig->mesh.nuv, 3);
    assert_int_equal(rig->mesh.face_uv[1], 1);
    assert_int_equal(rig->mesh.face_uv[3], -1);
    CHECK_NEAR(rig->mesh.uv[2], 0.75, 1e-6);
    CHECK_NEAR(rig->mesh.uv[3], 0.5, 1e-6); // counted from the bottom
    CHECK_NEAR(rig->mesh.uv[5], 0.25, 1e-6);
    fa_rig_free(rig);
}

static void test_sparse_and_quantised_targets(void **state) {
    (void)state;
    Fixture f = {0};
    fixture_add(&f, FA_GLTF_I16, "VEC3", 4, (int16_t[]){0, 0, 0, 100, 0, 0, 0, 200, 0, 100, 200, 300}, 24, "");
    fixture_add(&f, FA_GLTF_U8, "SCALAR", 2, (uint8_t[]){1, 3}, 2, "");
    fixture_add(&f, FA_GLTF_I16, "VEC3", 2, (int16_t[]){1, 2, 3, 0, 0, 0}, 12, "");
    strcat(f.accessors, ",{'componentType':5122,'type':'VEC3','count':4,'sparse':{'count':2,'indices':{'bufferView':1,'"
                        "componentType':5121},'values':{'bufferView':2}}}");
    const char *rest = "'extensionsRequired':['KHR_mesh_quantization'],'nodes':[{'mesh':0,'scale':[0.01,0.01,0.01]}],"
                       "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'targets':[{'POSITION':3}]}]}]";
    FaRig *rig = load(fixture_done(&f, rest));
    check_vec(rig->mesh.x + 9, 1, 2, 3, 1e-6);
    assert_int_equal(rig->nentry, 1); // the zero among the sparse ones is dropped
    assert_int_equal(rig->row[0], 1);
    check_vec(rig->delta, 0.01, 0.02, 0.03, 1e-7);
    CHECK_NEAR(rig->local[0], 0.01, 1e-9);
    fa_rig_free(rig);
    // without the extension, integers are no positions
    FaError err;
    FaGltf *doc;
    char *text = strdup(rest), *hit = strstr(text, "KHR_mesh_quantization");
    memcpy(hit, "KHR_materials_unlit__", 21);
    assert_int_equal(parse_glb(fixture_done(&f, text), &doc, &err), FA_E_FORMAT);
    assert_string_equal(err.place, "/meshes/0/primitives/0/attributes/POSITION");
    free(text);
}

// --- place in the world -------------------------------------------------------------------------------------------

static void test_node_transform(void **state) {
    (void)state;
    // a turn by 90 degrees about z below a scale of 2: the size goes into the rig, the turn does not
    FaRig *rig = load(face_glb("'children':[1]},{'name':'head','mesh':0,'translation':[1,2,3]",
                               "'children':[1],'scale':[2,2,2]},{'name':'head','mesh':0,'rotation':[0,0,0."
                               "7071067811865476,0.7071067811865476]"));
    check_vec(rig->mesh.x + 3, 2, 0, 0, 1e-6);
    check_vec(rig->delta, 0, -1, 0, 1e-6);
    for (int i = 0; i < 9; i++) CHECK_NEAR(rig->local[i], i % 4 ? 0 : 2, 1e-12);
    assert_false(fai_gltf_of_rig(rig)->face.mirrored);
    fa_rig_free(rig);

    // scaled along one axis
    rig = load(face_glb("'translation':[1,2,3]", "'scale':[1,3,1]"));
    check_vec(rig->mesh.x + 6, 0, 3, 0, 1e-6);
    fa_rig_free(rig);

    // mirrored: faces are turned round
    rig = load(face_glb("'translation':[1,2,3]", "'scale':[-1,1,1]"));
    check_vec(rig->mesh.x + 3, -1, 0, 0, 1e-6);
    assert_true(fai_gltf_of_rig(rig)->face.mirrored);
    assert_non_null(fai_note_find(&rig->notes, "node-mirrored"));
    const int *c = rig->mesh.face_vert;
    assert_true(c[0] == 2 && c[1] == 1 && c[2] == 0);
    fa_rig_free(rig);

    // flattened: ignored, and said
    rig = load(face_glb("'translation':[1,2,3]", "'scale':[1,0,1]"));
    assert_non_null(fai_note_find(&rig->notes, "node-flat"));
    check_vec(rig->mesh.x + 6, 0, 1, 0, 0);
    fa_rig_free(rig);
}

// m = r s for random matrices, mirrored ones included.
static void test_split(void **state) {
    (void)state;
    for (uint64_t k = 0; k < 500; k++) {
        double m[16] = {0}, r[9], s[9];
        for (uint64_t i = 0; i < 9; i++) m[4 * (i % 3) + i / 3] = fai_random_normal(7, 16 * k + i);
        if (k % 5 == 0) m[0] *= 1e-3, m[1] *= 1e-3, m[2] *= 1e-3;
        assert_true(fai_gltf_split(m, r, s));
        double det = r[0] * (r[4] * r[8] - r[5] * r[7]) - r[1] * (r[3] * r[8] - r[5] * r[6]) +
                     r[2] * (r[3] * r[7] - r[4] * r[6]);
        CHECK_NEAR(det, 1, 1e-9);
        double detm = m[0] * (m[5] * m[10] - m[9] * m[6]) - m[4] * (m[1] * m[10] - m[9] * m[2]) +
                      m[8] * (m[1] * m[6] - m[5] * m[2]);
        double sign = detm < 0 ? -1 : 1;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double sum = 0, rr = 0;
                for (int l = 0; l < 3; l++) sum += r[3 * i + l] * s[3 * l + j], rr += r[3 * l + i] * r[3 * l + j];
                CHECK_NEAR(sum, m[4 * j + i], 1e-12);
                CHECK_NEAR(rr, i == j, 1e-12);
                // symmetric once the mirrored row is turned back
                CHECK_NEAR((i == 0 ? sign : 1) * s[3 * i + j], (j == 0 ? sign : 1) * s[3 * j + i], 1e-10);
            }
    }
    double flat[16] = {1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0}, r[9], s[9];
    assert_false(fai_gltf_split(flat, r, s));
}

// --- clips --------------------------------------------------------------------------------------------------------

// One triangle, one target, node 1 below node 0; rest is put into the document.
static Fixture moving_face(void) {
    Fixture f = {0};
    fixture_floats(&f, "VEC3", 3, four, 9);
    fixture_floats(&f, "VEC3", 3, (float[9]){0, -0.5f}, 9);
    return f;
}

static FaRig *load_moving(const Fixture *f, const char *nodes, const char *anims) {
    char rest[2000];
    snprintf(rest, sizeof rest,
             "'nodes':[%s],'meshes':[{'primitives':[{'attributes':{'POSITION':0},'targets':[{'POSITION':1}]}],'extras':"
             "{'targetNames':['jawOpen']}}],'animations':[%s]",
             nodes, anims);
    return load(fixture_done(f, rest));
}

#define CHANNEL(sampler, node, path) "{'sampler':" #sampler ",'target':{'node':" #node ",'path':'" path "'}}"
#define SAMPLER(in, out, kind) "{'input':" #in ",'output':" #out ",'interpolation':'" kind "'}"

static void test_step_and_cubic(void **state) {
    (void)state;
    Fixture f = moving_face();
    fixture_times(&f, (float[]){0, 1, 3}, 3);
    fixture_floats(&f, "SCALAR", 3, (float[]){0, 1, 0.5f}, 3);
    fixture_floats(&f, "SCALAR", 9, (float[]){0, 0, 2, -1, 1, 0.5f, 1, 0.25f, 0}, 9);

    FaRig *rig = load_moving(&f, "{'mesh':0}",
                             "{'channels':[" CHANNEL(0, 0, "weights") "],'samplers':[" SAMPLER(2, 3, "STEP") "]}");
    FaClip *c = rig->clip;
    assert_int_equal(c->nframe, 1 + 60 + 120);
    CHECK_NEAR(c->fps, 60, 1e-9);
    for (int i = 0; i < c->nframe; i++) CHECK_NEAR(c->weight[i], c->time[i] < 1 ? 0 : c->time[i] < 3 ? 1 : 0.5, 0);
    CHECK_NEAR(c->time[60], 1, 0);
    fa_rig_free(rig);

    rig = load_moving(&f, "{'mesh':0}",
                      "{'channels':[" CHANNEL(0, 0, "weights") "],'samplers':[" SAMPLER(2, 4, "CUBICSPLINE") "]}");
    c = rig->clip;
    assert_int_equal(c->nframe, 181);
    for (int i = 0; i < c->nframe; i++) {
        // Bernstein form of the same curve: end points and tangents make four control points
        bool first = c->time[i] < 1;
        double dt = first ? 1 : 2, u = first ? c->time[i] : (c->time[i] - 1) / 2, w = 1 - u;
        double p0 = first ? 0 : 1, p3 = first ? 1 : 0.25, p1 = p0 + dt * (first ? 2 : 0.5) / 3,
               p2 = p3 - dt * (first ? -1 : 1) / 3;
        CHECK_NEAR(c->weight[i], w * w * w * p0 + 3 * w * w * u * p1 + 3 * w * u * u * p2 + u * u * u * p3, 1e-6);
    }
    fa_rig_free(rig);
}

static void test_normalised_weights(void **state) {
    (void)state;
    Fixture f = moving_face();
    fixture_times(&f, (float[]){0, 0.1f}, 2);
    fixture_add(&f, FA_GLTF_U8, "SCALAR", 2, (uint8_t[]){51, 255}, 2, ",'normalized':true");
    FaRig *rig = load_moving(&f, "{'mesh':0}",
                             "{'channels':[" CHANNEL(0, 0, "weights") "],'samplers':[" SAMPLER(2, 3, "LINEAR") "]}");
    CHECK_NEAR(rig->clip->weight[0], 0.2, 1e-7);
    CHECK_NEAR(rig->clip->weight[1], 1, 0);
    fa_rig_free(rig);
}

// The head's pose carries rig vertices to where the node's matrix carries the file's: nested, scaled and turned nodes,
// with the animation of two of them in two animations that are meant to play together.
static void test_head_motion(void **state) {
    (void)state;
    Fixture f = moving_face();
    const float h = 0.70710678f;
    fixture_times(&f, (float[]){0, 1, 2}, 3);
    fixture_floats(&f, "SCALAR", 3, (float[]){0, 1, 0}, 3);
    fixture_floats(&f, "VEC3", 3, (float[]){0, 0, 0, 1, 2, 3, 4, 5, 6}, 9);
    fixture_floats(&f, "VEC4", 3, (float[]){0, 0, 0, 1, 0, 0, h, h, 0, 0, 1, 0}, 12);
    const char *nodes = "{'children':[1],'translation':[10,0,0],'scale':[2,2,2]},{'children':[2],'rotation':[0."
                        "7071067811865476,0,0,0.7071067811865476]},{'mesh':0,'scale':[0.5,0.25,1]}";
    const char *anims = "{'channels':[" CHANNEL(0, 2, "weights") "],'samplers':[" SAMPLER(
        2, 3, "LINEAR") "]},"
                        "{'channels':[" CHANNEL(0, 0, "translation") "," CHANNEL(
                            1, 1, "rotation") "],'samplers':[" SAMPLER(2, 4, "LINEAR") "," SAMPLER(2, 5, "LINEAR") "]}";
    FaRig *rig = load_moving(&f, nodes, anims);
    FaClip *c = rig->clip;
    assert_int_equal(c->nframe, 3);
    assert_non_null(c->head);
    assert_null(fai_note_find(&c->notes, "several-animations"));
    // frame 1: x -> T(1,2,3) * 2 * Rz(90) * diag(0.5, 0.25, 1) x; vertex 1 is (1,0,0), vertex 2 is (0,1,0)
    double p[3];
    world_of(rig, &c->head[1], rig->mesh.x + 3, p);
    CHECK_NEAR(p[0], 1, 1e-6);
    CHECK_NEAR(p[1], 2 + 2 * 0.5, 1e-6);
    CHECK_NEAR(p[2], 3, 1e-6);
    world_of(rig, &c->head[1], rig->mesh.x + 6, p);
    CHECK_NEAR(p[0], 1 - 2 * 0.25, 1e-6);
    CHECK_NEAR(p[1], 2, 1e-6);
    // frame 2: turned by 180 degrees
    world_of(rig, &c->head[2], rig->mesh.x + 3, p);
    CHECK_NEAR(p[0], 4 - 1, 1e-6);
    fa_rig_free(rig);
}

// Weights keyed twice, the head often: the head's keys become frames, and linear weights are found at each.
static void test_sparse_weights_dense_head(void **state) {
    (void)state;
    Fixture f = moving_face();
    float t[31], x[93] = {0};
    for (int i = 0; i < 31; i++) t[i] = (float)i / 30, x[3 * i] = (float)(i * i);
    fixture_times(&f, (float[]){0, 1}, 2);
    fixture_floats(&f, "SCALAR", 2, (float[]){0, 1}, 2);
    fixture_times(&f, t, 31);
    fixture_floats(&f, "VEC3", 31, x, 93);
    FaRig *rig =
        load_moving(&f, "{'mesh':0}",
                    "{'channels':[" CHANNEL(0, 0, "weights") "," CHANNEL(1, 0, "translation") "],'samplers':[" SAMPLER(
                        2, 3, "LINEAR") "," SAMPLER(4, 5, "LINEAR") "]}");
    assert_int_equal(rig->clip->nframe, 31);
    CHECK_NEAR(rig->clip->fps, 30, 1e-9);
    for (int i = 0; i < 31; i++) {
        CHECK_NEAR(rig->clip->weight[i], i / 30.0, 1e-6);
        CHECK_NEAR(rig->clip->head[i].p[0], i * i, 1e-6);
    }
    fa_rig_free(rig);
    // the other way round: dense weights keep their keys alone
    Fixture g = moving_face();
    float w[31];
    for (int i = 0; i < 31; i++) w[i] = (float)i / 31;
    fixture_times(&g, t, 31);
    fixture_floats(&g, "SCALAR", 31, w, 31);
    fixture_times(&g, (float[]){0, 0.51f, 1}, 3);
    fixture_floats(&g, "VEC3", 3, (float[]){0, 0, 0, 51, 0, 0, 100, 0, 0}, 9);
    rig =
        load_moving(&g, "{'mesh':0}",
                    "{'channels':[" CHANNEL(0, 0, "weights") "," CHANNEL(1, 0, "translation") "],'samplers':[" SAMPLER(
                        2, 3, "LINEAR") "," SAMPLER(4, 5, "LINEAR") "]}");
    assert_int_equal(rig->clip->nframe, 31);
    CHECK_NEAR(rig->clip->head[15].p[0], 50, 1e-4);
    CHECK_NEAR(rig->clip->weight[15], w[15], 0);
    fa_rig_free(rig);
}

// Between keys a rotation goes the shorter way round at a steady rate, also where the file gives the opposite sign.
static void test_rotation_between_keys(void **state) {
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        Fixture f = moving_face();
        float t[31], w[31] = {0};
        const float h = 0.70710678f * (float)sign;
        for (int i = 0; i < 31; i++) t[i] = (float)i / 30;
        fixture_times(&f, t, 31);
        fixture_floats(&f, "SCALAR", 31, w, 31);
        fixture_times(&f, (float[]){0, 1}, 2);
        fixture_floats(&f, "VEC4", 2, (float[]){0, 0, 0, 1, 0, 0, h, h}, 8);
        FaRig *rig =
            load_moving(&f, "{'mesh':0}",
                        "{'channels':[" CHANNEL(0, 0, "weights") "," CHANNEL(1, 0, "rotation") "],'samplers':[" SAMPLER(
                            2, 3, "LINEAR") "," SAMPLER(4, 5, "LINEAR") "]}");
        assert_int_equal(rig->clip->nframe, 31);
        for (int i = 0; i < 31; i++)
            CHECK_NEAR(2 * asin(fa_rig_pose(rig, &rig->clip->head[i]).q[2]), i / 30.0 * 1.5707963, 1e-6);
        fa_rig_free(rig);
    }
}

// A curve over thirty years is not sampled sixty times a second.
static void test_endless_curve(void **state) {
    (void)state;
    Fixture f = moving_face();
    fixture_times(&f, (float[]){0, 1e9f}, 2);
    fixture_floats(&f, "SCALAR", 2, (float[]){0, 1}, 2);
    FaRig *rig = load_moving(&f, "{'mesh':0}",
                             "{'channels':[" CHANNEL(0, 0, "weights") "],'samplers':[" SAMPLER(2, 3, "STEP") "]}");
    assert_int_equal(rig->clip->nframe, 2);
    assert_non_null(fai_note_find(&rig->clip->notes, "curves-not-sampled"));
    fa_rig_free(rig);
}

static void test_which_animation(void **state) {
    (void)state;
    Fixture f = moving_face();
    fixture_times(&f, (float[]){0, 1}, 2);
    fixture_floats(&f, "SCALAR", 2, (float[]){0, 1}, 2);
    fixture_floats(&f, "SCALAR", 2, (float[]){0.5f, 0.25f}, 2);
    fixture_floats(&f, "VEC3", 2, (float[]){0, 0, 0, 7, 0, 0}, 6);
    const char *talk =
        "{'name':'talk','channels':[" CHANNEL(0, 0, "weights") "],'samplers':[" SAMPLER(2, 3, "LINEAR") "]}";
    const char *sing = "{'name':'sing','channels':[" CHANNEL(0, 0, "weights") "," CHANNEL(
        1, 0, "translation") "],'samplers':[" SAMPLER(2, 4, "LINEAR") "," SAMPLER(2, 5, "LINEAR") "]}";
    const char *walk =
        "{'name':'walk','channels':[" CHANNEL(0, 0, "translation") "],'samplers':[" SAMPLER(2, 5, "LINEAR") "]}";
    char anims[1000];
    // the first with weights is taken, the one that also wants them is not, so its motion is not mixed in
    snprintf(anims, sizeof anims, "%s,%s", talk, sing);
    FaRig *rig = load_moving(&f, "{'mesh':0}", anims);
    CHECK_NEAR(rig->clip->weight[1], 1, 0);
    assert_null(rig->clip->head);
    assert_non_null(fai_note_find(&rig->clip->notes, "several-animations"));
    fa_rig_free(rig);
    // an earlier one without weights is merged
    snprintf(anims, sizeof anims, "%s,%s", walk, talk);
    rig = load_moving(&f, "{'mesh':0}", anims);
    CHECK_NEAR(rig->clip->weight[1], 1, 0);
    assert_non_null(rig->clip->head);
    CHECK_NEAR(rig->clip->head[1].p[0], 7, 0);
    fa_rig_free(rig);
    // motion alone: the weights stay at rest
    rig = load_moving(&f, "{'mesh':0,'weights':[0.75]}", walk);
    CHECK_NEAR(rig->clip->weight[0], 0.75, 0);
    CHECK_NEAR(rig->clip->weight[1], 0.75, 0);
    fa_rig_free(rig);
    // motion of something else: no clip
    rig = load_moving(&f, "{},{'mesh':0}", walk);
    assert_null(rig->clip);
    fa_rig_free(rig);
}

// KHR_animation_pointer says the same in another way.
static void test_pointer_to_weights(void **state) {
    (void)state;
    Fixture f = moving_face();
    fixture_times(&f, (float[]){0, 1}, 2);
    fixture_floats(&f, "SCALAR", 2, (float[]){0, 1}, 2);
    const char *channel = "{'channels':[{'sampler':0,'target':{'path':'pointer','extensions':{'KHR_animation_pointer':{"
                          "'pointer':'/%s/weights'}}}}],'samplers':[" SAMPLER(2, 3, "LINEAR") "]}";
    char anims[400];
    snprintf(anims, sizeof anims, channel, "nodes/0");
    FaRig *rig = load_moving(&f, "{'mesh':0}", anims);
    assert_non_null(rig->clip);
    CHECK_NEAR(rig->clip->weight[1], 1, 0);
    fa_rig_free(rig);
    snprintf(anims, sizeof anims, channel, "meshes/0"); // of the mesh, not of a node: carried along
    rig = load_moving(&f, "{'mesh':0}", anims);
    assert_null(rig->clip);
    fa_rig_free(rig);
}

static void test_animated_scale(void **state) {
    (void)state;
    Fixture f = moving_face();
    fixture_times(&f, (float[]){0, 1}, 2);
    fixture_floats(&f, "VEC3", 2, (float[]){1, 1, 1, 2, 2, 2}, 6);
    fixture_floats(&f, "VEC3", 2, (float[]){0, 0, 0, 1, 0, 0}, 6);
    FaRig *rig =
        load_moving(&f, "{'mesh':0}",
                    "{'channels':[" CHANNEL(0, 0, "scale") "," CHANNEL(1, 0, "translation") "],'samplers':[" SAMPLER(
                        2, 3, "LINEAR") "," SAMPLER(2, 4, "LINEAR") "]}");
    assert_non_null(fai_note_find(&rig->clip->notes, "head-scale-animated"));
    CHECK_NEAR(fa_rig_pose(rig, &rig->clip->head[1]).q[3], 1, 1e-9);
    fa_rig_free(rig);
}

// A skinned face follows its joint: here a mesh in centimetres under an armature of scale 0.01, whose second joint
// carries the vertex that the shape moves. The node's own transform does not count.
static void test_skinned_head(void **state) {
    (void)state;
    Fixture f = moving_face();
    fixture_add(&f, FA_GLTF_U8, "VEC4", 3, (uint8_t[]){0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 12, "");
    fixture_floats(&f, "VEC4", 3, (float[]){0.25f, 0.75f, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}, 12);
    float ibm[32] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, -50, 0, 1};
    fixture_floats(&f, "MAT4", 2, ibm, 32);
    fixture_times(&f, (float[]){0, 1}, 2);
    fixture_floats(&f, "VEC3", 2, (float[]){0, 50, 0, 0, 60, 0}, 6);
    FaRig *rig = load(fixture_done(
        &f, "'nodes':[{'mesh':0,'skin':0,'translation':[99,99,99]},{'children':[2],'scale':[0.01,0.01,0.01]},{'"
            "children':[3]},{'translation':[0,50,0]}],"
            "'skins':[{'joints':[2,3],'inverseBindMatrices':4}],"
            "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':2,'WEIGHTS_0':3},'targets':[{'POSITION':1}"
            "]}]}],"
            "'animations':[{'channels':[" CHANNEL(0, 3, "translation") "],'samplers':[" SAMPLER(5, 6, "LINEAR") "]}]"));
    const FaGltfFace *face = &fai_gltf_of_rig(rig)->face;
    assert_int_equal(face->node, 0);
    assert_int_equal(face->carrier, 3);
    CHECK_NEAR(face->offset[13], -50, 0);
    CHECK_NEAR(rig->local[0], 0.01, 1e-9);
    check_vec(rig->mesh.x + 3, 0.01, 0, 0, 1e-8);
    assert_non_null(rig->clip->head);
    CHECK_NEAR(rig->clip->head[0].p[1], 0, 1e-7); // at bind: where it was modelled
    CHECK_NEAR(rig->clip->head[1].p[1], 0.1, 1e-7);
    fa_rig_free(rig);
}

// --- damage, through all stages -----------------------------------------------------------------------------------

static void test_byte_flips(void **state) {
    (void)state;
    Bytes b = face_glb("'translation':[1,2,3]", "'rotation':[0,0,0,1]");
    static const unsigned char flip[] = {0x01, 0x08, 0x80};
    int good = 0;
    for (size_t i = 20; i < b.size; i++)
        for (size_t k = 0; k < sizeof flip; k++) {
            FaRig *rig;
            FaError err = {0};
            Bytes copy = {malloc(b.size), b.size};
            memcpy(copy.data, b.data, b.size);
            copy.data[i] ^= flip[k];
            FaCode rc = load_with(copy, &metres, &rig, &err);
            assert_true(rc >= 0 ? rig && fa_rig_check(rig, &err) >= 0 : !rig && err.what[0]);
            good += rc >= 0;
            fa_rig_free(rig);
        }
    assert_true(good > 100);
    free(b.data);
}

// A thousand targets of one megabyte, or ten thousand primitives of the same indices: refused before they take the
// memory.
static void test_repeated_data(void **state) {
    (void)state;
    enum { VIEW = 1 << 20, COUNT = VIEW / 12 };
    static const struct {
        const char *head, *item, *tail;
        int times;
    } bomb[] = {{"\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"targets\":[{}", ",{\"POSITION\":0}",
                 "]}]}]", 1000},
                {"\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}",
                 ",{\"attributes\":{\"POSITION\":0},\"indices\":1}", "]}]", 10000},
                {"\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":2}}", "", "]}]", 0}};
    float *x = malloc(VIEW);
    for (int i = 0; i < VIEW / 4; i++) x[i] = 1e-38f; // the bytes are small indices, too
    for (size_t k = 0; k < sizeof bomb / sizeof *bomb; k++) {
        char *json = malloc(1 << 20), *p = json;
        p += sprintf(p,
                     "{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"byteLength\":%d}],\"bufferViews\":[{\"buffer\":"
                     "0,\"byteLength\":%d},{\"buffer\":0,\"byteLength\":%d}],"
                     "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":%d,\"type\":\"VEC3\"},{"
                     "\"bufferView\":1,\"componentType\":5121,\"count\":%d,\"type\":\"SCALAR\"},"
                     "{\"componentType\":5126,\"count\":30000000,\"type\":\"VEC3\"}],%s",
                     VIEW, VIEW, VIEW, COUNT, VIEW, bomb[k].head);
        for (int i = 0; i < bomb[k].times; i++) p += sprintf(p, "%s", bomb[k].item);
        sprintf(p, "%s}", bomb[k].tail);
        FaRig *rig;
        FaError err = {0};
        double start = fai_seconds();
        assert_int_equal(load_with(fixture_glb(json, x, VIEW), &metres, &rig, &err), FA_E_LIMIT);
        assert_true(fai_seconds() - start < 5);
        free(json);
    }
    free(x);
}

static void test_no_memory(void **state) {
    (void)state;
    long before = test_alloc_balance();
    int failures = 0;
    for (long k = 1;; k++) {
        FaRig *rig;
        FaError err = {0};
        Bytes b = face_glb(NULL, NULL);
        test_fail_alloc(k);
        FaCode rc = load_with(b, &metres, &rig, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        fa_rig_free(rig);
        if (test_alloc_balance() != before) print_error("allocation %ld failing leaks\n", k);
        assert_int_equal(test_alloc_balance(), before);
        if (!failed) {
            CHECK_OK(rc, &err);
            break;
        }
        assert_true(rc == FA_E_MEMORY || rc >= 0); // notes may be dropped, nothing else
        failures += rc < 0;
    }
    assert_true(failures > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rig),
        cmocka_unit_test(test_node_weights_win),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_choice_of_mesh),
        cmocka_unit_test(test_nothing_to_take),
        cmocka_unit_test(test_buffer_without_data),
        cmocka_unit_test(test_draco),
        cmocka_unit_test(test_second_primitive_has_the_targets),
        cmocka_unit_test(test_primitives_share_vertices),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_texture_coordinates),
        cmocka_unit_test(test_sparse_and_quantised_targets),
        cmocka_unit_test(test_node_transform),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_step_and_cubic),
        cmocka_unit_test(test_normalised_weights),
        cmocka_unit_test(test_head_motion),
        cmocka_unit_test(test_sparse_weights_dense_head),
        cmocka_unit_test(test_rotation_between_keys),
        cmocka_unit_test(test_endless_curve),
        cmocka_unit_test(test_which_animation),
        cmocka_unit_test(test_pointer_to_weights),
        cmocka_unit_test(test_animated_scale),
        cmocka_unit_test(test_skinned_head),
        cmocka_unit_test(test_byte_flips),
        cmocka_unit_test(test_repeated_data),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
