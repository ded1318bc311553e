// glTF documents: containers, buffers, accessors, and everything a broken or hostile file may hold.
#include "test_gltf_fixture.h"

#include "base/base.h"

// --- good files ---------------------------------------------------------------------------------------------------

static void test_document(void **state) {
    (void)state;
    FaGltf *doc;
    FaError err;
    CHECK_OK(parse_glb(face_glb(NULL, NULL), &doc, &err), &err);
    assert_true(doc->is_glb);
    assert_int_equal(doc->nchunk, 2);
    assert_int_equal(doc->nnode, 2);
    assert_int_equal(doc->node[1].parent, 0);
    assert_int_equal(doc->mesh[0].ntarget, 2);
    assert_int_equal(doc->mesh[0].nweight, 2);
    assert_int_equal(doc->notes.count, 0);
    assert_int_equal(doc->buffer[0].home, FA_GLTF_IN_GLB);
    float x[9];
    CHECK_OK(fai_gltf_floats(doc, 1, x, &err), &err);
    CHECK_NEAR(x[1], -0.5, 0);
    CHECK_NEAR(x[4], 0, 0);
    uint32_t index[3];
    CHECK_OK(fai_gltf_uints(doc, 3, index, &err), &err);
    assert_int_equal(index[2], 2);
    double m[16];
    fai_gltf_node_world(doc, 1, m);
    CHECK_NEAR(m[13], 2, 0);
    fai_gltf_free(doc);
}

// The bytes of the file and of its JSON are kept as they were.
static void test_bytes_are_kept(void **state) {
    (void)state;
    Bytes b = face_glb(NULL, NULL);
    FaGltf *doc;
    FaError err = {0};
    CHECK_OK(fai_gltf_parse_memory(b.data, b.size, NULL, &doc, &err), &err);
    assert_int_equal(doc->file.size, b.size);
    assert_memory_equal(doc->file.data, b.data, b.size);
    assert_memory_equal(doc->text, b.data + 20, doc->text_size);
    fai_gltf_free(doc);
    free(b.data);
}

static void test_unknown_chunk_is_kept(void **state) {
    (void)state;
    Bytes b = face_glb(NULL, NULL);
    b.data = realloc(b.data, b.size + 12);
    put_u32(b.data + b.size, 4);
    put_u32(b.data + b.size + 4, 0x12345678);
    memcpy(b.data + b.size + 8, "abcd", 4);
    b.size += 12;
    put_u32(b.data + 8, (uint32_t)b.size);
    FaGltf *doc;
    FaError err;
    CHECK_OK(parse_glb(b, &doc, &err), &err);
    assert_int_equal(doc->nchunk, 3);
    assert_int_equal(doc->chunk[2].type, 0x12345678);
    assert_memory_equal(doc->chunk[2].data, "abcd", 4);
    assert_non_null(fai_note_find(&doc->notes, "unknown-chunk"));
    fai_gltf_free(doc);
}

static void test_data_uri(void **state) {
    (void)state;
    static const char base[] =
        "{'asset':{'version':'2.0'},'buffers':[{'byteLength':5,'uri':'data:application/octet-stream;base64,AQIDBAU='}],"
        "'bufferViews':[{'buffer':0,'byteLength':5}],'accessors':[{'bufferView':0,'componentType':5121,'count':5,'type'"
        ":'SCALAR'}]}";
    static const struct {
        const char *uri, *place;
    } odd[] = {{"data:application/octet-stream;base64,AQIDBAU", "/buffers/0/uri"},  // no padding
               {"data:application/octet-stream;base64,AQIDBA!=", "/buffers/0/uri"}, // not in the alphabet
               {"data:image/png;base64,AQIDBAU=", "/buffers/0/uri"},                // not a buffer
               {"data:application/octet-stream;base64,AQIDBA==", "/buffers/0"},     // 4 bytes
               {"data:application/octet-stream;base64", "/buffers/0/uri"}};
    FaGltf *doc;
    FaError err = {0};
    char *json = fixture_json(base, NULL, NULL);
    CHECK_OK(fai_gltf_parse_memory(json, strlen(json), NULL, &doc, &err), &err);
    uint32_t v[5];
    CHECK_OK(fai_gltf_uints(doc, 0, v, &err), &err);
    for (uint32_t i = 0; i < 5; i++) assert_int_equal(v[i], i + 1);
    fai_gltf_free(doc);
    free(json);
    // percent-encoded padding, and data that are not base64 at all
    static const char *const other[] = {"data:application/gltf-buffer;base64,AQIDBAU%3D",
                                        "data:application/octet-stream,%01%02%03%04%05"};
    for (int i = 0; i < 2; i++) {
        json = fixture_json(base, "data:application/octet-stream;base64,AQIDBAU=", other[i]);
        CHECK_OK(fai_gltf_parse_memory(json, strlen(json), NULL, &doc, &err), &err);
        assert_memory_equal(doc->buffer[0].data, "\1\2\3\4\5", 5);
        assert_int_equal(doc->buffer[0].have, 5);
        fai_gltf_free(doc);
        free(json);
    }
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        json = fixture_json(base, "data:application/octet-stream;base64,AQIDBAU=", odd[i].uri);
        err = (FaError){0};
        assert_int_equal(fai_gltf_parse_memory(json, strlen(json), NULL, &doc, &err), FA_E_FORMAT);
        assert_string_equal(err.place, odd[i].place);
        free(json);
    }
}

// Component types, normalisation, matrix columns, interleaving and sparse replacement, against values worked out by
// hand.
static void test_accessor_kinds(void **state) {
    (void)state;
    static const char json[] =
        "{'asset':{'version':'2.0'},'buffers':[{'byteLength':64}],'bufferViews':["
        "{'buffer':0,'byteOffset':0,'byteLength':16},{'buffer':0,'byteOffset':0,'byteLength':16,'byteStride':8},"
        "{'buffer':0,'byteOffset':16,'byteLength':4},{'buffer':0,'byteOffset':20,'byteLength':8},{'buffer':0,'"
        "byteOffset':28,'byteLength':12}],"
        "'accessors':["
        "{'bufferView':0,'componentType':5120,'normalized':true,'count':4,'type':'SCALAR'}," // 0
        "{'bufferView':0,'componentType':5121,'normalized':true,'count':4,'type':'SCALAR'}," // 1
        "{'bufferView':0,'componentType':5122,'normalized':true,'count':2,'type':'VEC2'},"   // 2
        "{'bufferView':0,'componentType':5123,'normalized':true,'count':2,'type':'VEC2'},"   // 3
        "{'bufferView':1,'byteOffset':4,'componentType':5122,'count':2,'type':'VEC2'},"      // 4 interleaved
        "{'bufferView':4,'componentType':5120,'count':1,'type':'MAT3'},"                     // 5 columns padded to 4
        "{'componentType':5122,'count':5,'type':'VEC2','sparse':{'count':2,'indices':{'bufferView':2,'componentType':"
        "5121},"
        "'values':{'bufferView':3}}}," // 6 sparse on zeros
        "{'bufferView':0,'componentType':5122,'count':4,'type':'VEC2','sparse':{'count':2,'indices':{'bufferView':2,"
        "'componentType':5121},'values':{'bufferView':3}}},"                 // 7 sparse on data
        "{'bufferView':0,'componentType':5125,'count':1,'type':'SCALAR'}]}"; // 8
    unsigned char bin[64] = {0};
    static const unsigned char first[16] = {0x80, 0x81, 0x7F, 0xFF, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const unsigned char rows[4] = {1, 3};
    static const int16_t values[4] = {-7, 8, 300, -400};
    static const signed char matrix[12] = {1, 2, 3, 99, 4, 5, 6, 99, 7, 8, 9, 99};
    memcpy(bin, first, 16);
    memcpy(bin + 16, rows, 4);
    memcpy(bin + 20, values, 8);
    memcpy(bin + 28, matrix, 12);
    char *text = fixture_json(json, NULL, NULL);
    FaGltf *doc;
    FaError err;
    CHECK_OK(parse_glb(fixture_glb(text, bin, sizeof bin), &doc, &err), &err);
    free(text);
    float v[16];
    CHECK_OK(fai_gltf_floats(doc, 0, v, &err), &err);
    CHECK_NEAR(v[0], -1, 0); // -128 counts as -127
    CHECK_NEAR(v[1], -1, 0);
    CHECK_NEAR(v[2], 1, 0);
    CHECK_NEAR(v[3], -1 / 127.0, 1e-7);
    CHECK_OK(fai_gltf_floats(doc, 1, v, &err), &err);
    CHECK_NEAR(v[3], 1, 0);
    CHECK_NEAR(v[0], 128 / 255.0, 1e-7);
    CHECK_OK(fai_gltf_floats(doc, 2, v, &err), &err);
    CHECK_NEAR(v[0], (int16_t)0x8180 / 32767.0, 1e-6);
    CHECK_OK(fai_gltf_floats(doc, 3, v, &err), &err);
    CHECK_NEAR(v[0], 0x8180 / 65535.0, 1e-6);
    CHECK_OK(fai_gltf_floats(doc, 4, v, &err), &err);
    CHECK_NEAR(v[0], 0x0201, 0);
    CHECK_NEAR(v[2], 0x0A09, 0);
    CHECK_OK(fai_gltf_floats(doc, 5, v, &err), &err);
    for (int i = 0; i < 9; i++) CHECK_NEAR(v[i], i + 1, 0);
    CHECK_OK(fai_gltf_floats(doc, 6, v, &err), &err);
    const float want6[10] = {0, 0, -7, 8, 0, 0, 300, -400, 0, 0};
    for (int i = 0; i < 10; i++) CHECK_NEAR(v[i], want6[i], 0);
    CHECK_OK(fai_gltf_floats(doc, 7, v, &err), &err);
    const float want7[8] = {(int16_t)0x8180, (int16_t)0xFF7F, -7, 8, 0x0605, 0x0807, 300, -400};
    for (int i = 0; i < 8; i++) CHECK_NEAR(v[i], want7[i], 0);
    int row[2];
    CHECK_OK(fai_gltf_sparse(doc, 6, row, v, &err), &err);
    assert_int_equal(row[1], 3);
    CHECK_NEAR(v[2], 300, 0);
    uint32_t u;
    CHECK_OK(fai_gltf_uints(doc, 8, &u, &err), &err);
    assert_int_equal(u, 0xFF7F8180u);
    fai_gltf_free(doc);
}

// --- odd files: what is replaced in the base, and where the refusal points ----------------------------------------

typedef struct Case {
    const char *from, *to, *place;
    FaCode code;
} Case;

static const Case cases[] = {
    // sizes and offsets that are too large, or wrap when added
    {"'count':3,'type':'VEC3','min':[0,0,0],'max':[1,1,0]", "'count':4611686018427387904,'type':'VEC3'",
     "/accessors/0/count", FA_E_FORMAT},
    {"'count':3,'type':'VEC3','min':[0,0,0],'max':[1,1,0]", "'count':2147483647,'type':'VEC3'", "/accessors/0/count",
     FA_E_FORMAT},
    {"'count':3,'type':'VEC3','min':[0,0,0],'max':[1,1,0]", "'count':134217727,'type':'VEC3'", "/accessors/0",
     FA_E_FORMAT},
    {"'count':3,'type':'VEC3','min':[0,0,0],'max':[1,1,0]", "'count':4,'type':'VEC3'", "/accessors/0", FA_E_FORMAT},
    {"'count':3,'type':'VEC3','min':[0,0,0],'max':[1,1,0]", "'count':0,'type':'VEC3'", "/accessors/0/count",
     FA_E_FORMAT},
    {"'count':3,'type':'VEC3','min':[0,0,0],'max':[1,1,0]", "'count':-3,'type':'VEC3'", "/accessors/0/count",
     FA_E_FORMAT},
    {"{'bufferView':0,", "{'bufferView':0,'byteOffset':9007199254740992,", "/accessors/0", FA_E_FORMAT},
    {"{'bufferView':0,", "{'bufferView':0,'byteOffset':18446744073709551612,", "/accessors/0/byteOffset", FA_E_FORMAT},
    {"{'bufferView':0,", "{'bufferView':0,'byteOffset':-4,", "/accessors/0/byteOffset", FA_E_FORMAT},
    {"{'bufferView':0,", "{'bufferView':0,'byteOffset':4,", "/accessors/0", FA_E_FORMAT},
    {"{'bufferView':0,", "{'bufferView':0,'byteOffset':2,", "/accessors/0/byteOffset", FA_E_FORMAT},
    {"'byteOffset':0,'byteLength':36}", "'byteOffset':9007199254740988,'byteLength':36}", "/bufferViews/0/byteOffset",
     FA_E_FORMAT},
    {"'byteOffset':0,'byteLength':36}", "'byteOffset':4,'byteLength':9007199254740990}", "/bufferViews/0/byteLength",
     FA_E_FORMAT},
    {"'byteOffset':0,'byteLength':36}", "'byteOffset':0,'byteLength':0}", "/bufferViews/0/byteLength", FA_E_FORMAT},
    {"'byteOffset':0,'byteLength':36}", "'byteOffset':0,'byteLength':36,'byteStride':36}", "/accessors/0", FA_E_FORMAT},
    {"'byteOffset':0,'byteLength':36}", "'byteOffset':0,'byteLength':36,'byteStride':8}", "/accessors/0", FA_E_FORMAT},
    {"'byteOffset':0,'byteLength':36}", "'byteOffset':0,'byteLength':36,'byteStride':13}", "/bufferViews/0/byteStride",
     FA_E_FORMAT},
    {"'byteOffset':0,'byteLength':36}", "'byteOffset':0,'byteLength':36,'byteStride':4294967308}",
     "/bufferViews/0/byteStride", FA_E_FORMAT},
    {"'buffers':[{'byteLength':140}]", "'buffers':[{'byteLength':141}]", "/buffers/0", FA_E_FORMAT},
    {"'buffers':[{'byteLength':140}]", "'buffers':[{'byteLength':9007199254740992}]", "/buffers/0", FA_E_FORMAT},
    {"'buffers':[{'byteLength':140}]", "'buffers':[]", "/buffers", FA_E_FORMAT},
    {"'buffers':[{'byteLength':140}]", "'buffers':[7]", "/buffers/0", FA_E_FORMAT},
    {"'buffers':[{'byteLength':140}]", "'buffers':{}", "/buffers", FA_E_FORMAT},
    // sparse accessors
    {"'type':'VEC3','min':[0,-0.5,0],'max':[0,0,0]",
     "'type':'VEC3','sparse':{'count':2,'indices':{'bufferView':3,'componentType':5123},'values':{'bufferView':0}}",
     NULL, FA_OK},
    {"'type':'VEC3','min':[0,-0.5,0],'max':[0,0,0]",
     "'type':'VEC3','sparse':{'count':4,'indices':{'bufferView':3,'componentType':5123},'values':{'bufferView':0}}",
     "/accessors/1/sparse/count", FA_E_FORMAT},
    {"'type':'VEC3','min':[0,-0.5,0],'max':[0,0,0]",
     "'type':'VEC3','sparse':{'count':2,'indices':{'bufferView':0,'componentType':5125},'values':{'bufferView':0}}",
     "/accessors/1/sparse/indices", FA_E_FORMAT}, // 0 0: not increasing
    {"'type':'VEC3','min':[0,-0.5,0],'max':[0,0,0]",
     "'type':'VEC3','sparse':{'count':1,'indices':{'bufferView':4,'componentType':5125},'values':{'bufferView':0}}",
     "/accessors/1/sparse/indices", FA_E_FORMAT}, // a float's bits: out of range
    {"'type':'VEC3','min':[0,-0.5,0],'max':[0,0,0]",
     "'type':'VEC3','sparse':{'count':2,'indices':{'bufferView':3,'componentType':5123},'values':{'bufferView':4}}",
     "/accessors/1/sparse/values", FA_E_FORMAT}, // too short
    {"'type':'VEC3','min':[0,-0.5,0],'max':[0,0,0]",
     "'type':'VEC3','sparse':{'count':2,'indices':{'bufferView':3,'componentType':5126},'values':{'bufferView':0}}",
     "/accessors/1/sparse/indices/componentType", FA_E_FORMAT},
    {"'type':'VEC3','min':[0,-0.5,0],'max':[0,0,0]",
     "'type':'VEC3','sparse':{'count':2,'indices':{'bufferView':3,'componentType':5123}}", "/accessors/1/sparse",
     FA_E_FORMAT},
    // references
    {"'attributes':{'POSITION':0}", "'attributes':{'POSITION':6}", "/meshes/0/primitives/0/attributes/POSITION",
     FA_E_FORMAT},
    {"'attributes':{'POSITION':0}", "'attributes':{'POSITION':-1}", "/meshes/0/primitives/0/attributes/POSITION",
     FA_E_FORMAT},
    {"'attributes':{'POSITION':0}", "'attributes':{'POSITION':0.5}", "/meshes/0/primitives/0/attributes/POSITION",
     FA_E_FORMAT},
    {"'attributes':{'POSITION':0}", "'attributes':{'POSITION':'0'}", "/meshes/0/primitives/0/attributes/POSITION",
     FA_E_FORMAT},
    {"'attributes':{'POSITION':0}", "'attributes':{}", "/meshes/0/primitives/0/attributes", FA_E_FORMAT},
    {"'attributes':{'POSITION':0}", "'attributes':{'POSITION':3}", "/meshes/0/primitives/0/attributes/POSITION",
     FA_E_FORMAT},
    {"'indices':3", "'indices':0", "/meshes/0/primitives/0/indices", FA_E_FORMAT},
    {"'indices':3", "'indices':99", "/meshes/0/primitives/0/indices", FA_E_FORMAT},
    {"'mode':4", "'mode':4,'material':0", "/meshes/0/primitives/0/material", FA_E_FORMAT},
    {"'mode':4", "'mode':9", "/meshes/0/primitives/0/mode", FA_E_UNSUPPORTED},
    {"{'POSITION':1}", "{'POSITION':5}", "/meshes/0/primitives/0/targets/0/POSITION", FA_E_FORMAT},
    {"{'POSITION':1}", "[]", "/meshes/0/primitives/0/targets/0", FA_E_FORMAT},
    {"'mesh':0", "'mesh':1", "/nodes/1/mesh", FA_E_FORMAT},
    {"'mesh':0", "'mesh':0,'skin':0", "/nodes/1/skin", FA_E_FORMAT},
    {"'scenes':[{'nodes':[0]}]", "'scenes':[{'nodes':[2]}]", "/scenes/0/nodes/0", FA_E_FORMAT},
    {"'sampler':0", "'sampler':1", "/animations/0/channels/0/sampler", FA_E_FORMAT},
    {"'input':4", "'input':3", "/animations/0/samplers/0/input", FA_E_FORMAT},
    {"'output':5", "'output':77", "/animations/0/samplers/0/output", FA_E_FORMAT},
    {"'output':5", "'output':0", "/animations/0/channels/0/sampler", FA_E_FORMAT},
    // the node tree
    {"{'name':'head'", "{'children':[0],'name':'head'", "/nodes/0", FA_E_FORMAT},
    {"'children':[1]", "'children':[0]", "/nodes/0", FA_E_FORMAT},
    {"'children':[1]", "'children':[1,1]", "/nodes/0/children/1", FA_E_FORMAT},
    {"'children':[1]", "'children':[2]", "/nodes/0/children/0", FA_E_FORMAT},
    {"'translation':[1,2,3]", "'translation':[1,2]", "/nodes/1/translation", FA_E_FORMAT},
    {"'translation':[1,2,3]", "'translation':[1,2,1e999]", "/nodes/1/translation/2", FA_E_FORMAT},
    {"'translation':[1,2,3]", "'rotation':[0,0,0,0]", "/nodes/1/rotation", FA_E_FORMAT},
    {"'translation':[1,2,3]", "'scale':[1,1,1],'matrix':[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]", "/nodes/1/matrix",
     FA_E_FORMAT},
    {"'translation':[1,2,3]", "'matrix':[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0]", "/nodes/1/matrix", FA_E_FORMAT},
    // weights
    {"'weights':[0.25,0.5]", "'weights':[0.25]", "/meshes/0/weights", FA_E_FORMAT},
    {"'weights':[0.25,0.5]", "'weights':[0.25,0.5,0]", "/meshes/0/weights", FA_E_FORMAT},
    {"'weights':[0.25,0.5]", "'weights':[0.25,null]", "/meshes/0/weights/1", FA_E_FORMAT},
    {"'weights':[0.25,0.5]", "'weights':[0.25,1e300]", "/meshes/0/weights/1", FA_E_FORMAT},
    {"'mesh':0", "'mesh':0,'weights':[1]", "/nodes/1/weights", FA_E_FORMAT},
    {"'count':4,'type':'SCALAR'", "'count':3,'type':'SCALAR'", "/animations/0/channels/0/sampler", FA_E_FORMAT},
    // animation
    {"'interpolation':'LINEAR'", "'interpolation':'CUBICSPLINE'", "/animations/0/channels/0/sampler", FA_E_FORMAT},
    {"'interpolation':'LINEAR'", "'interpolation':'BEZIER'", "/animations/0/samplers/0/interpolation",
     FA_E_UNSUPPORTED},
    {"'path':'weights'", "'path':'rotation'", "/animations/0/channels/0/sampler", FA_E_FORMAT},
    {"'node':1,'path':'weights'", "'path':'rotation'", NULL, FA_OK}, // nobody's rotation: carried along
    {"'node':1,'path'", "'node':0,'path'", "/animations/0/channels/0/target", FA_E_FORMAT},
    {"'node':1,'path':'weights'}}", "'node':1,'path':'weights'}},{'sampler':0,'target':{'node':1,'path':'weights'}}",
     "/animations/0/channels/0/target", FA_E_FORMAT},
    {",'min':[0.5],'max':[1.5]", "", "/animations/0/samplers/0/input", FA_E_FORMAT},
    {"'min':[0.5],'max':[1.5]", "'min':[5],'max':[6]", "/accessors/4/min/0", FA_E_FORMAT},
    // the document
    {"'asset':{'version':'2.0'},", "", "/", FA_E_FORMAT},
    {"'version':'2.0'", "'version':'1.0'", "/asset/version", FA_E_UNSUPPORTED},
    {"'version':'2.0'", "'version':2.0", "/asset/version", FA_E_FORMAT},
    {"'version':'2.0'}", "'version':'2.0'},'extensionsRequired':['ACME_squish']", "/extensionsRequired/0",
     FA_E_UNSUPPORTED},
    {"'version':'2.0'}", "'version':'2.0'},'extensionsRequired':['KHR_materials_unlit','KHR_texture_basisu','VRM']",
     NULL, FA_OK},
    {"'version':'2.0'}", "'version':'2.0'},'extensionsRequired':[1]", "/extensionsRequired/0", FA_E_FORMAT},
    {"'componentType':5123,'count':3", "'componentType':5124,'count':3", "/accessors/3/componentType",
     FA_E_UNSUPPORTED},
    {"'componentType':5123,'count':3,'type':'SCALAR'", "'componentType':5123,'count':3,'type':'VEC9'",
     "/accessors/3/type", FA_E_UNSUPPORTED},
    {"'targetNames':['jawOpen','mouthSmileLeft']", "'x':[[[[[[[[]]]]]]]]", NULL, FA_OK},
};

static void test_cases(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *c = &cases[i];
        FaGltf *doc;
        FaError err;
        FaCode rc = parse_glb(face_glb(c->from, c->to), &doc, &err);
        if (rc != c->code || (c->place && strcmp(c->place, err.place)) || (rc < 0 && !err.what[0])) {
            print_error("%s\n  gives %s at \"%s\" (%s), expected %s at \"%s\"\n", c->to, fa_code_name(rc), err.place,
                        err.what, fa_code_name(c->code), c->place ? c->place : "");
            wrong++;
        }
        if (rc >= 0)
            fai_gltf_free(doc);
        else
            assert_null(doc);
    }
    assert_int_equal(wrong, 0);
}

// --- numbers that are not -----------------------------------------------------------------------------------------

static void check_bin(int at, const void *value, size_t size, const char *place) {
    unsigned char bin[FACE_BIN];
    face_bin(bin);
    memcpy(bin + at, value, size);
    char *json = fixture_json(face_json, NULL, NULL);
    FaGltf *doc;
    FaError err;
    FaCode rc = parse_glb(fixture_glb(json, bin, sizeof bin), &doc, &err);
    free(json);
    if (place) {
        assert_int_equal(rc, FA_E_FORMAT);
        assert_string_equal(err.place, place);
    } else {
        CHECK_OK(rc, &err);
        fai_gltf_free(doc);
    }
}

static void test_numbers(void **state) {
    (void)state;
    const float nan_ = NAN, inf = INFINITY, far = 1e6f, denormal = 1e-40f, before = 0.25f, same = 1.5f, near_ = 1.0001f;
    check_bin(4, &nan_, 4, "/accessors/0");
    check_bin(40, &inf, 4, "/accessors/1");
    check_bin(136, &nan_, 4, "/accessors/5");
    check_bin(0, &far, 4, "/accessors/0/max/0"); // far outside its bounds: the wrong bytes
    check_bin(12, &near_, 4, NULL);              // bounds that are rounded or stale
    check_bin(8, &denormal, 4, NULL);
    check_bin(120, &before, 4, "/animations/0/samplers/0/input");
    check_bin(116, &same, 4, "/animations/0/samplers/0/input");
    check_bin(110, (uint16_t[]){3}, 2, "/meshes/0/primitives/0/indices");
    check_bin(110, (uint16_t[]){65535}, 2, "/meshes/0/primitives/0/indices");
}

// Data that fascia only carries along may be a little wrong, but not all wrong.
static void test_normals(void **state) {
    (void)state;
    static const struct {
        float odd;
        int count;
        const char *note, *place;
    } cases_[] = {{1, 0, NULL, NULL},
                  {NAN, 1, "not-finite", NULL},
                  {0.1f, 1, "normals-not-unit", NULL},
                  {0, 8, NULL, NULL},
                  {0.1f, 2, NULL, "/meshes/0/primitives/0/attributes/NORMAL"}};
    for (size_t i = 0; i < sizeof cases_ / sizeof *cases_; i++) {
        Fixture f = {0};
        float x[24] = {0}, n[24] = {0};
        for (int v = 0; v < 8; v++) n[3 * v] = v < cases_[i].count ? cases_[i].odd : 1;
        fixture_floats(&f, "VEC3", 8, x, 24);
        fixture_floats(&f, "VEC3", 8, n, 24);
        FaGltf *doc;
        FaError err;
        FaCode rc = parse_glb(fixture_done(&f, "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1}}]}]"),
                              &doc, &err);
        if (cases_[i].place) {
            assert_int_equal(rc, FA_E_FORMAT);
            assert_string_equal(err.place, cases_[i].place);
            continue;
        }
        CHECK_OK(rc, &err);
        if (cases_[i].note)
            assert_non_null(fai_note_find(&doc->notes, cases_[i].note));
        else
            assert_int_equal(doc->notes.count, 1); // which is about missing bounds
        fai_gltf_free(doc);
    }
}

// --- URIs ---------------------------------------------------------------------------------------------------------

static void test_uri_paths(void **state) {
    (void)state;
    static const struct {
        const char *uri, *path;
    } uris[] = {{"a.bin", "a.bin"},
                {"a%20b.bin", "a b.bin"},
                {"a b.bin", "a b.bin"},
                {"dir/./x//y.bin", "dir/x/y.bin"},
                {"100%.bin", "100%.bin"},
                {"%E2%9D%A4.bin", "\xE2\x9D\xA4.bin"},
                {"..hidden", "..hidden"},
                {"../a.bin", NULL},
                {"x/../../a.bin", NULL},
                {"%2e%2e/a.bin", NULL},
                {"%2E%2e%2fa.bin", NULL},
                {"/etc/passwd", NULL},
                {"%2fetc/passwd", NULL},
                {"file:///etc/passwd", NULL},
                {"http://example.com/a.bin", NULL},
                {"C:/a.bin", NULL},
                {"C%3A/a.bin", NULL},
                {"a\\b.bin", NULL},
                {"..%5ca.bin", NULL},
                {"a%00.bin", NULL},
                {":", NULL},
                {"", NULL},
                {".", NULL},
                {"./", NULL}};
    for (size_t i = 0; i < sizeof uris / sizeof *uris; i++) {
        char *path;
        FaError err = {0};
        FaCode rc = fai_gltf_uri_path(uris[i].uri, &path, &err);
        if (uris[i].path) {
            CHECK_OK(rc, &err);
            assert_string_equal(path, uris[i].path);
        } else {
            if (rc >= 0) print_error("\"%s\" became \"%s\"\n", uris[i].uri, path);
            assert_int_equal(rc, FA_E_UNSUPPORTED);
            assert_null(path);
        }
        fa_free(path);
    }
}

static void write_file(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

// The same triangle as JSON with an external buffer.
static void test_external_buffer(void **state) {
    (void)state;
    static const struct {
        const char *buffer, *place;
        FaCode code;
    } odd[] = {{"'buffers':[{'byteLength':140,'uri':'face%20data.bin'}]", NULL, FA_OK},
               {"'buffers':[{'byteLength':140,'uri':'missing.bin'}]", "/buffers/0/uri", FA_E_FILE},
               {"'buffers':[{'byteLength':140,'uri':'../face data.bin'}]", "/buffers/0/uri", FA_E_UNSUPPORTED},
               {"'buffers':[{'byteLength':140,'uri':'.'}]", "/buffers/0/uri", FA_E_UNSUPPORTED},
               {"'buffers':[{'byteLength':400,'uri':'face%20data.bin'}]", "/buffers/0", FA_E_FORMAT},
               {"'buffers':[{'byteLength':140,'uri':'face data.bin'},{'byteLength':4,'uri':'./face%20data.bin'}]", NULL,
                FA_OK}};
    unsigned char bin[FACE_BIN];
    face_bin(bin);
    write_file(test_path("face data.bin"), bin, sizeof bin);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char *json = fixture_json(face_json, "'buffers':[{'byteLength':140}]", odd[i].buffer);
        const char *path = test_path("face.gltf");
        write_file(path, json, strlen(json));
        FaGltf *doc;
        FaError err = {0};
        FaCode rc = fai_gltf_load(path, &doc, &err);
        assert_int_equal(rc, odd[i].code);
        if (rc < 0) {
            assert_string_equal(err.place, odd[i].place);
            assert_string_equal(err.path, path);
        } else {
            assert_false(doc->is_glb);
            assert_int_equal(doc->text_size, strlen(json));
            assert_memory_equal(doc->text, json, doc->text_size);
            assert_string_equal(doc->buffer[0].path, "face data.bin");
            if (doc->nbuffer > 1) assert_ptr_equal(doc->buffer[1].data, doc->buffer[0].data); // read once
            fai_gltf_free(doc);
        }
        free(json);
    }
    // from memory, nothing outside is read
    char *json = fixture_json(face_json, "'buffers':[{'byteLength':140}]", odd[0].buffer);
    FaGltf *doc;
    FaError err = {0};
    assert_int_equal(fai_gltf_parse_memory(json, strlen(json), NULL, &doc, &err), FA_E_UNSUPPORTED);
    free(json);
}

// --- text ---------------------------------------------------------------------------------------------------------

static void test_byte_order_mark(void **state) {
    (void)state;
    static const char text[] = "\xEF\xBB\xBF{\"asset\":{\"version\":\"2.0\"}}";
    FaGltf *doc;
    FaError err = {0};
    CHECK_OK(fai_gltf_parse_memory(text, strlen(text), NULL, &doc, &err), &err);
    assert_non_null(fai_note_find(&doc->notes, "byte-order-mark"));
    assert_int_equal(doc->text_size, strlen(text) - 3);
    fai_gltf_free(doc);
    assert_int_equal(parse_glb(fixture_glb(text, NULL, 0), &doc, &err), FA_E_FORMAT);
    assert_string_equal(err.place, "byte 20");
}

static void test_deep_json(void **state) {
    (void)state;
    enum { DEPTH = 100000 };
    char *text = malloc(2 * DEPTH + 100);
    int n = sprintf(text, "{\"asset\":{\"version\":\"2.0\"},\"extras\":");
    memset(text + n, '[', DEPTH);
    memset(text + n + DEPTH, ']', DEPTH);
    strcpy(text + n + 2 * DEPTH, "}");
    FaGltf *doc;
    FaError err = {0};
    assert_int_equal(fai_gltf_parse_memory(text, strlen(text), NULL, &doc, &err), FA_E_FORMAT);
    assert_memory_equal(err.place, "line 1", 6);
    free(text);
}

// Many small things in a small file: refused before they take memory, and quickly.
static void test_bombs(void **state) {
    (void)state;
    // a million empty nodes in three megabytes
    enum { COUNT = 1000000 };
    char *text = malloc(3 * COUNT + 100);
    int n = sprintf(text, "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{}");
    for (int i = 1; i < COUNT; i++, n += 3) memcpy(text + n, ",{}", 3);
    strcpy(text + n, "]}");
    FaGltf *doc;
    FaError err = {0};
    assert_int_equal(fai_gltf_parse_memory(text, strlen(text), NULL, &doc, &err), FA_E_LIMIT);
    // twenty thousand accessors over the same megabyte
    enum { VIEW = 1 << 20 };
    n = sprintf(text,
                "{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"byteLength\":%d}],\"bufferViews\":[{\"buffer\":0,"
                "\"byteLength\":%d}],\"accessors\":[",
                VIEW, VIEW);
    for (int i = 0; i < 20000; i++)
        n += sprintf(
            text + n,
            "%s{\"bufferView\":0,\"byteOffset\":%d,\"componentType\":5126,\"count\":250000,\"type\":\"SCALAR\"}",
            i ? "," : "", 4 * (i % 1000));
    strcpy(text + n, "]}");
    void *bin = calloc(1, VIEW);
    double start = fai_seconds();
    assert_int_equal(parse_glb(fixture_glb(text, bin, VIEW), &doc, &err), FA_E_LIMIT);
    assert_true(fai_seconds() - start < 5);
    free(bin);
    free(text);
}

// --- damage -------------------------------------------------------------------------------------------------------

static void test_truncation(void **state) {
    (void)state;
    Bytes b = face_glb(NULL, NULL);
    for (size_t n = 0; n < b.size; n++) {
        FaGltf *doc;
        FaError err = {0};
        void *copy = malloc(n ? n : 1); // exactly sized, so that reading past the end is seen
        memcpy(copy, b.data, n);
        FaCode rc = fai_gltf_parse_memory(copy, n, NULL, &doc, &err);
        if (rc >= 0) print_error("accepted %zu of %zu bytes\n", n, b.size);
        assert_true(rc < 0 && err.what[0] && err.place[0] && !doc);
        free(copy);
    }
    free(b.data);
}

static void test_byte_flips(void **state) {
    (void)state;
    Bytes b = face_glb(NULL, NULL);
    static const unsigned char flip[] = {0x01, 0x10, 0x80, 0xFF};
    int refused = 0;
    for (size_t i = 0; i < b.size; i++)
        for (size_t k = 0; k < sizeof flip; k++) {
            FaGltf *doc;
            FaError err = {0};
            b.data[i] ^= flip[k];
            FaCode rc = fai_gltf_parse_memory(b.data, b.size, NULL, &doc, &err);
            b.data[i] ^= flip[k];
            assert_true(rc >= 0 ? doc && !err.what[0] : !doc && err.what[0]);
            refused += rc < 0;
            fai_gltf_free(doc);
        }
    assert_true(refused > (int)b.size); // most of them matter
    test_attack("bytes changed in a file that we read back", (long)(b.size * sizeof flip));
    free(b.data);
}

static void test_no_memory(void **state) {
    (void)state;
    Bytes b = face_glb(NULL, NULL);
    long before = test_alloc_balance();
    int failures = 0;
    for (long k = 1;; k++) {
        FaGltf *doc;
        FaError err = {0};
        test_fail_alloc(k);
        FaCode rc = fai_gltf_parse_memory(b.data, b.size, NULL, &doc, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        fai_gltf_free(doc);
        assert_int_equal(test_alloc_balance(), before);
        if (!failed) {
            CHECK_OK(rc, &err);
            break;
        }
        assert_int_equal(rc, FA_E_MEMORY);
        failures++;
    }
    assert_true(failures > 5);
    free(b.data);
}

// --- compression --------------------------------------------------------------------------------------------------

#ifdef FA_HAVE_MESHOPT
#include <meshoptimizer.h>

static const char packed_json[] =
    "{'asset':{'version':'2.0'},'extensionsRequired':['EXT_meshopt_compression'],'buffers':[{'byteLength':%zu},{'"
    "byteLength':24,"
    "'extensions':{'EXT_meshopt_compression':{'fallback':true}}}],'bufferViews':[{'buffer':1,'byteLength':24,'"
    "extensions':{"
    "'EXT_meshopt_compression':{'buffer':0,'byteLength':%zu,'byteStride':4,'count':6,'mode':'INDICES'}}}],"
    "'accessors':[{'bufferView':0,'componentType':5125,'count':6,'type':'SCALAR'}]}";

static void test_compressed_indices(void **state) {
    (void)state;
    static const unsigned index[6] = {0, 7, 3, 100000, 2, 1};
    static const Case odd[] = {
        {NULL, NULL, NULL, FA_OK},
        {"'count':6,'mode'", "'count':2000000000,'mode'", "/bufferViews/0/extensions/EXT_meshopt_compression",
         FA_E_LIMIT},
        {"'count':6,'mode'", "'count':5,'mode'", "/bufferViews/0/extensions/EXT_meshopt_compression", FA_E_FORMAT},
        {"'byteStride':4", "'byteStride':8", "/bufferViews/0/extensions/EXT_meshopt_compression/byteStride",
         FA_E_FORMAT},
        {"'mode':'INDICES'", "'mode':'TRIANGLES'", "/bufferViews/0/extensions/EXT_meshopt_compression", FA_E_FORMAT},
        {"'mode':'INDICES'", "'mode':'NEW'", "/bufferViews/0/extensions/EXT_meshopt_compression/mode",
         FA_E_UNSUPPORTED},
        {"'mode':'INDICES'", "'mode':'INDICES','filter':'QUATERNION'",
         "/bufferViews/0/extensions/EXT_meshopt_compression/filter", FA_E_FORMAT},
        {"'buffer':0", "'buffer':1", "/bufferViews/0/extensions/EXT_meshopt_compression", FA_E_FORMAT},
        {"'buffer':0", "'buffer':2", "/bufferViews/0/extensions/EXT_meshopt_compression/buffer", FA_E_FORMAT}};
    unsigned char bin[256];
    size_t size = meshopt_encodeIndexSequence(bin, sizeof bin, index, 6);
    assert_true(size > 0);
    char base[1000];
    snprintf(base, sizeof base, packed_json, size, size);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char *json = fixture_json(base, odd[i].from, odd[i].to);
        FaGltf *doc;
        FaError err;
        FaCode rc = parse_glb(fixture_glb(json, bin, size), &doc, &err);
        free(json);
        assert_int_equal(rc, odd[i].code);
        if (rc < 0) {
            assert_string_equal(err.place, odd[i].place);
            continue;
        }
        uint32_t v[6];
        CHECK_OK(fai_gltf_uints(doc, 0, v, &err), &err);
        for (int k = 0; k < 6; k++) assert_int_equal(v[k], index[k]);
        fai_gltf_free(doc);
    }
}
#else
static void test_compressed_indices(void **state) {
    (void)state;
    print_message("skipped: built without meshoptimizer\n");
    skip();
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_bytes_are_kept),
        cmocka_unit_test(test_unknown_chunk_is_kept),
        cmocka_unit_test(test_data_uri),
        cmocka_unit_test(test_accessor_kinds),
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_uri_paths),
        cmocka_unit_test(test_normals),
        cmocka_unit_test(test_external_buffer),
        cmocka_unit_test(test_byte_order_mark),
        cmocka_unit_test(test_deep_json),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_byte_flips),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_compressed_indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
