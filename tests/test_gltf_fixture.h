// Small glTF files made in code. JSON is written with single quotes; edits replace a piece of a base text, so that
// every case shows only what is odd about it.
#ifndef FASCIA_TEST_GLTF_FIXTURE_H
#define FASCIA_TEST_GLTF_FIXTURE_H

#include "test.h"

#include "io/gltf/gltf.h"

typedef struct Bytes {
    unsigned char *data;
    size_t size;
} Bytes;

// Single quotes to double quotes, with `from` (which must be there once) replaced by `to`; from NULL: unchanged.
static inline char *fixture_json(const char *base, const char *from, const char *to) {
    size_t n = strlen(base) + (to ? strlen(to) : 0) + 1;
    char *text = calloc(n, 1);
    const char *hit = from ? strstr(base, from) : NULL;
    if (from && (!hit || strstr(hit + 1, from))) {
        print_error("the fixture holds \"%s\" %s\n", from, hit ? "twice" : "nowhere");
        fail();
    }
    if (hit) {
        memcpy(text, base, (size_t)(hit - base));
        strcat(text, to);
        strcat(text, hit + strlen(from));
    } else
        strcpy(text, base);
    for (char *p = text; *p; p++)
        if (*p == '\'') *p = '"';
    return text;
}

static inline void put_u32(unsigned char *p, uint32_t v) {
    for (int i = 0; i < 4; i++) p[i] = (unsigned char)(v >> (8 * i));
}

static inline Bytes fixture_glb(const char *json, const void *bin, size_t nbin) {
    size_t n = strlen(json), pad = (4 - n % 4) % 4, binpad = (4 - nbin % 4) % 4;
    Bytes b = {NULL, 12 + 8 + n + pad + (bin ? 8 + nbin + binpad : 0)};
    b.data = calloc(b.size, 1);
    put_u32(b.data, FA_GLB_MAGIC);
    put_u32(b.data + 4, 2);
    put_u32(b.data + 8, (uint32_t)b.size);
    put_u32(b.data + 12, (uint32_t)(n + pad));
    put_u32(b.data + 16, FA_GLB_JSON);
    memcpy(b.data + 20, json, n);
    memset(b.data + 20 + n, ' ', pad);
    if (bin) {
        unsigned char *p = b.data + 20 + n + pad;
        put_u32(p, (uint32_t)(nbin + binpad));
        put_u32(p + 4, FA_GLB_BIN);
        memcpy(p + 8, bin, nbin);
    }
    return b;
}

// The base: a triangle with two targets on node 1, below node 0; one animation of its weights.
//   bytes   0 positions, 36 deltas of target 0, 72 deltas of target 1, 108 indices (u16), 116 times, 124 weights
enum { FACE_BIN = 140 };
static const char face_json[] =
    "{'asset':{'version':'2.0'},'scene':0,'scenes':[{'nodes':[0]}],"
    "'nodes':[{'name':'root','children':[1]},{'name':'head','mesh':0,'translation':[1,2,3]}],"
    "'meshes':[{'name':'face','primitives':[{'attributes':{'POSITION':0},'indices':3,'mode':4,"
    "'targets':[{'POSITION':1},{'POSITION':2}]}],'weights':[0.25,0.5],'extras':{'targetNames':['jawOpen','"
    "mouthSmileLeft']}}],"
    "'animations':[{'name':'talk','channels':[{'sampler':0,'target':{'node':1,'path':'weights'}}],"
    "'samplers':[{'input':4,'output':5,'interpolation':'LINEAR'}]}],"
    "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3','min':[0,0,0],'max':[1,1,0]},"
    "{'bufferView':1,'componentType':5126,'count':3,'type':'VEC3','min':[0,-0.5,0],'max':[0,0,0]},"
    "{'bufferView':2,'componentType':5126,'count':3,'type':'VEC3','min':[0,0,0],'max':[0.25,0,0.125]},"
    "{'bufferView':3,'componentType':5123,'count':3,'type':'SCALAR'},"
    "{'bufferView':4,'componentType':5126,'count':2,'type':'SCALAR','min':[0.5],'max':[1.5]},"
    "{'bufferView':5,'componentType':5126,'count':4,'type':'SCALAR'}],"
    "'bufferViews':[{'buffer':0,'byteOffset':0,'byteLength':36},{'buffer':0,'byteOffset':36,'byteLength':36},"
    "{'buffer':0,'byteOffset':72,'byteLength':36},{'buffer':0,'byteOffset':108,'byteLength':6},"
    "{'buffer':0,'byteOffset':116,'byteLength':8},{'buffer':0,'byteOffset':124,'byteLength':16}],"
    "'buffers':[{'byteLength':140}]}";

static inline void face_bin(unsigned char bin[FACE_BIN]) {
    static const float x[27] = {0, 0,     0, 1,     0, 0, 0, 1, 0,       //
                                0, -0.5f, 0, 0,     0, 0, 0, 0, 0,       // target 0 moves vertex 0
                                0, 0,     0, 0.25f, 0, 0, 0, 0, 0.125f}; // target 1 moves vertices 1 and 2
    static const uint16_t index[4] = {0, 1, 2, 0};
    static const float time[2] = {0.5f, 1.5f}, weight[4] = {0, 1, 0.5f, 0.75f};
    memcpy(bin, x, 108);
    memcpy(bin + 108, index, 8);
    memcpy(bin + 116, time, 8);
    memcpy(bin + 124, weight, 16);
}

static inline Bytes face_glb(const char *from, const char *to) {
    unsigned char bin[FACE_BIN];
    face_bin(bin);
    char *json = fixture_json(face_json, from, to);
    Bytes b = fixture_glb(json, bin, sizeof bin);
    free(json);
    return b;
}

// A file put together piece by piece: accessors are added with their data, then the rest is written around them.
typedef struct Fixture {
    char views[8192], accessors[8192];
    unsigned char bin[16384];
    size_t nbin;
    int count;
} Fixture;

// Returns the accessor's number. more: further JSON, starting with a comma, or "".
static inline int fixture_add(Fixture *f, int comp, const char *type, int count, const void *data, size_t size,
                              const char *more) {
    f->nbin = (f->nbin + 3) / 4 * 4;
    assert_true(f->nbin + size <= sizeof f->bin && strlen(f->views) + 300 < sizeof f->views &&
                strlen(f->accessors) + 600 < sizeof f->accessors);
    memcpy(f->bin + f->nbin, data, size);
    sprintf(f->views + strlen(f->views), "%s{'buffer':0,'byteOffset':%zu,'byteLength':%zu}", f->count ? "," : "",
            f->nbin, size);
    sprintf(f->accessors + strlen(f->accessors), "%s{'bufferView':%d,'componentType':%d,'type':'%s','count':%d%s}",
            f->count ? "," : "", f->count, comp, type, count, more);
    f->nbin += size;
    return f->count++;
}

static inline int fixture_floats(Fixture *f, const char *type, int count, const float *v, int n) {
    return fixture_add(f, FA_GLTF_F32, type, count, v, (size_t)n * sizeof *v, "");
}

static inline int fixture_times(Fixture *f, const float *t, int n) {
    char bounds[80];
    snprintf(bounds, sizeof bounds, ",'min':[%.9g],'max':[%.9g]", (double)t[0], (double)t[n - 1]);
    return fixture_add(f, FA_GLTF_F32, "SCALAR", n, t, (size_t)n * sizeof *t, bounds);
}

// rest: the JSON of everything else, without the outer braces.
static inline Bytes fixture_done(const Fixture *f, const char *rest) {
    char *text = malloc(strlen(rest) + sizeof f->views + sizeof f->accessors + 200);
    sprintf(text, "{'asset':{'version':'2.0'},%s,'accessors':[%s],'bufferViews':[%s],'buffers':[{'byteLength':%zu}]}",
            rest, f->accessors, f->views, f->nbin);
    char *json = fixture_json(text, NULL, NULL);
    Bytes b = fixture_glb(json, f->bin, f->nbin);
    free(text);
    free(json);
    return b;
}

static inline FaCode parse_glb(Bytes b, FaGltf **doc, FaError *err) {
    *err = (FaError){0};
    FaCode rc = fai_gltf_parse_memory(b.data, b.size, NULL, doc, err);
    free(b.data);
    return rc;
}

#endif
