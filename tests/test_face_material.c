// Blendmaterials: constants stay, bounds hold, paint reaches the flesh below it, what is wrong in a file is named, and
// the sections of the .face file survive the way there and back, and nothing else.
#include "test_face_made.h"
#include "test_face_tools.h"

#include "base/text.h"
#include "face/columns.h"
#include "face/face_file.h"
#include "face/material.h"
#include "fascia/face.h"
#include "rig/mean_head.h"

#include <sys/stat.h>

typedef struct Fixture {
    FaRig *rig, *sheet_rig;
    FaFace *face, *sheet;
} Fixture;
static Fixture fix;

static int make(void **state) {
    (void)state;
    FaError err = {0};
    FaHead *head = head_at(0, 0, true);
    fix.rig = skin_rig(head);
    fa_head_free(head);
    CHECK_OK(fa_face_build(fix.rig, NULL, &fix.face, &err), &err);
    Made m = {0};
    made_sheet(&m, 10, 4e-3);
    fix.sheet_rig = made_rig(&m);
    made_free(&m);
    const FaFaceOptions o = {.layers = 3, .thickness = 9e-3, .whole = true, .no_bones = true};
    CHECK_OK(fa_face_build(fix.sheet_rig, &o, &fix.sheet, &err), &err);
    return 0;
}

static int drop(void **state) {
    (void)state;
    fa_face_free(fix.face);
    fa_face_free(fix.sheet);
    fa_rig_free(fix.rig);
    fa_rig_free(fix.sheet_rig);
    return 0;
}

static void forget(FaFace *f) { f->mu0 = f->lambda0 = NULL, f->materials = (FaColumns){0}; }

// --- heat -----------------------------------------------------------------------------------------------------------

static void test_heat(void **state) {
    (void)state;
    FaError err = {0};
    enum { FIELDS = 6 };
    const FaFace *face[] = {fix.sheet, fix.face};
    for (int which = 0; which < 2; which++) {
        const FaFace *f = face[which];
        const size_t n = (size_t)f->nskin;
        float *skin = malloc(FIELDS * n * sizeof *skin), *node = malloc(FIELDS * (size_t)f->nnode * sizeof *node);
        for (size_t i = 0; i < n; i++) {
            const float *x = f->x0 + 3 * i;
            const float field[FIELDS] = {
                3000, 12345.678f, 1e4f * x[0], x[1] > 0 ? 20000 : 3000, (float)fai_random_unit(1, i), 0};
            for (size_t q = 0; q < FIELDS; q++) skin[q * n + i] = field[q];
        }
        CHECK_OK(fai_diffuse(f, FIELDS, skin, node, &err), &err);
        for (size_t q = 0; q < FIELDS; q++) {
            float lo = INFINITY, hi = -INFINITY;
            for (size_t i = 0; i < n; i++) lo = fminf(lo, skin[q * n + i]), hi = fmaxf(hi, skin[q * n + i]);
            assert_memory_equal(node + q * (size_t)f->nnode, skin + q * n, n * sizeof *skin);
            for (int i = 0; i < f->nnode; i++) {
                float v = node[q * (size_t)f->nnode + (size_t)i];
                assert_true(v >= lo && v <= hi); // a constant is the same constant
            }
        }
        free(skin);
        free(node);
    }
    // below a flat sheet a linear field stays linear, away from its edges
    const FaFace *f = fix.sheet;
    float *skin = malloc((size_t)f->nskin * sizeof *skin), *node = malloc((size_t)f->nnode * sizeof *node);
    for (int i = 0; i < f->nskin; i++) skin[i] = f->x0[3 * i];
    CHECK_OK(fai_diffuse(f, 1, skin, node, &err), &err);
    int seen = 0;
    for (int i = f->nskin; i < f->nnode; i++) {
        const float *x = f->x0 + 3 * (size_t)i;
        if (hypot((double)x[0], (double)x[1]) > 6e-3) continue;
        CHECK_NEAR(node[i], x[0], 6e-4);
        seen++;
    }
    assert_true(seen > 9);
    free(skin);
    free(node);
}

// --- automatic ------------------------------------------------------------------------------------------------------

static double mean_added(const FaFace *f, int shape, int region) {
    double sum = 0, weight = 0;
    float *dense = malloc(2 * (size_t)f->ntet * sizeof *dense);
    fai_columns_dense(&f->materials, shape, f->ntet, dense);
    for (int t = 0; t < f->ntet; t++)
        for (int k = 0; k < 4; k++) {
            double w = (double)f->region[region][f->tet[4 * t + k] % f->nskin];
            sum += w * (double)dense[2 * t], weight += w;
        }
    free(dense);
    return sum / weight;
}

// Mean mu of the neutral below skin within 8 mm of a place of the mean head (of either side), against 3000 Pa.
static double firmness_at(const FaFace *f, const FaRig *rig, double x, double y, double z) {
    const FaMeanHead head = fai_mean_head_find(rig);
    double sum = 0, count = 0;
    for (int t = 0; t < f->ntet; t++)
        for (int k = 0; k < 4; k++) {
            double mm[3];
            assert_true(fai_mean_head_mm(&head, f->x0 + 3 * (size_t)(f->tet[4 * t + k] % f->nskin), mm));
            if (hypot(hypot(fabs(mm[0]) - x, mm[1] - y), mm[2] - z) > 8) continue;
            sum += (double)f->mu0[t] / 3000, count++;
        }
    assert_true(count > 10);
    return sum / count;
}

// The neutral by anatomy: cartilage and skin tight on bone firmer than cheeks, lips softer; no edges between them.
static void test_by_place(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f = fix.face;
    CHECK_OK(fa_face_materials(f, fix.rig, NULL, &err), &err);
    double nose = firmness_at(f, fix.rig, 0, -7, 109), brow = firmness_at(f, fix.rig, 20, 75, 77),
           cheek = firmness_at(f, fix.rig, 48, -20, 68), chin = firmness_at(f, fix.rig, 0, -75, 87),
           lip = firmness_at(f, fix.rig, 8, -50, 92);
    print_message("of 3,000 Pa: nose %.2f, forehead %.2f, cheek %.2f, chin %.2f, lower lip %.2f\n", nose, brow, cheek,
                  chin, lip);
    assert_true(nose > 2.2 && nose < 3.1 && brow > 1.5 && brow < 2 && chin > 1.1 && chin < 1.5);
    CHECK_NEAR(cheek, 1, 0.12);
    assert_true(lip > 0.7 && lip < 0.95 * cheek);
    // per millimetre along an edge of the flesh, mu changes by little of itself: no patches
    double steep = 0;
    float *node = calloc(2 * (size_t)f->nskin, sizeof *node), *count = node + f->nskin;
    for (int k = 0; k < 4 * f->ntet; k++) node[f->tet[k] % f->nskin] += f->mu0[k / 4], count[f->tet[k] % f->nskin]++;
    for (int t = 0; t < f->ntri; t++)
        for (int k = 0; k < 3; k++) {
            int i = f->tri[3 * t + k], j = f->tri[3 * t + (k + 1) % 3];
            double a = (double)(node[i] / count[i]), b = (double)(node[j] / count[j]), d = 0;
            for (int c = 0; c < 3; c++) d += pow((double)(f->x0[3 * i + c] - f->x0[3 * j + c]), 2);
            steep = fmax(steep, fabs(log(a / b)) / fmax(1e3 * sqrt(d), 1));
        }
    free(node);
    print_message("steepest: %.0f %% per mm\n", 100 * steep);
    assert_true(steep > 0 && steep < 0.2);
    // the same by name; a rig without a face of its own is uniform
    float *mu = malloc((size_t)f->ntet * sizeof *mu);
    memcpy(mu, f->mu0, (size_t)f->ntet * sizeof *mu);
    const char *named = "{\"version\": 1, \"base\": \"auto\"}";
    CHECK_OK(fai_materials_parse(f, fix.rig, named, strlen(named), NULL, &err), &err);
    assert_memory_equal(mu, f->mu0, (size_t)f->ntet * sizeof *mu);
    assert_int_equal(f->materials.first[f->materials.nshape], 0);
    free(mu);
    CHECK_OK(fa_face_materials(fix.sheet, fix.sheet_rig, NULL, &err), &err);
    for (int t = 0; t < fix.sheet->ntet; t++) assert_true(fix.sheet->mu0[t] == 3000 && fix.sheet->lambda0[t] == 2500);
    forget(fix.sheet);
}

static void test_automatic(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f = fix.face;
    CHECK_OK(fa_face_materials(f, fix.rig, NULL, &err), &err);
    assert_int_equal(f->materials.nshape, fix.rig->nshape);
    FaMaterialRange r = fai_materials_range(f);
    assert_true(r.mu[0] > 2100 && r.mu[0] < 2700);
    assert_true(r.mu[1] > 12000 && r.mu[1] <= 20000);
    CHECK_NEAR(r.lambda[0], 2500, 0);
    CHECK_NEAR(r.lambda[1], 2500, 0);
    // pressed cheeks stiffen in a smile and in a squint, not when they are blown up
    int smile = shape_of(fix.rig, "mouthSmileLeft"), puff = shape_of(fix.rig, "cheekPuff"),
        pucker = shape_of(fix.rig, "mouthPucker");
    assert_true(mean_added(f, smile, FA_REGION_CHEEKS) > 200);
    assert_true(mean_added(f, smile, FA_REGION_CHEEKS) > 4 * mean_added(f, puff, FA_REGION_CHEEKS));
    assert_true(mean_added(f, pucker, FA_REGION_LIP_UPPER) > 300);
    // sparse: a blink does not stiffen the chin
    int blink = shape_of(fix.rig, "eyeBlinkLeft");
    assert_true(f->materials.first[blink + 1] - f->materials.first[blink] < f->ntet / 5);
    assert_true(f->materials.first[f->materials.nshape] > 1000);
}

static void test_frame(void **state) {
    (void)state;
    const FaFace *f = fix.face;
    const size_t n = (size_t)f->ntet;
    double *mu = malloc(n * sizeof *mu), *half = malloc(n * sizeof *half);
    double *lambda = malloc(n * sizeof *lambda), *work = malloc(2 * n * sizeof *work);
    float *w = calloc((size_t)fix.rig->nshape, sizeof *w);
    FaMaterialRange r = fai_materials_range(f);
    int smile = shape_of(fix.rig, "mouthSmileLeft");
    fai_materials_at(f, &r, w, mu, lambda, work);
    for (size_t t = 0; t < n; t++) assert_true(mu[t] == (double)f->mu0[t] && lambda[t] == (double)f->lambda0[t]);
    fai_materials_at(f, &r, NULL, mu, lambda, work);
    for (size_t t = 0; t < n; t++) assert_true(mu[t] == (double)f->mu0[t]);
    w[smile] = 1;
    fai_materials_at(f, &r, w, mu, lambda, work);
    w[smile] = 0.5f;
    fai_materials_at(f, &r, w, half, lambda, work);
    double most = 0;
    for (size_t t = 0; t < n; t++) {
        CHECK_NEAR(half[t] - (double)f->mu0[t], 0.5 * (mu[t] - (double)f->mu0[t]), 1e-6);
        most = fmax(most, mu[t]);
    }
    assert_true(most > 6000);
    // everything at once, and more than all: within the range
    for (int s = 0; s < fix.rig->nshape; s++) w[s] = s % 2 ? 3.0f : -2.0f;
    fai_materials_at(f, &r, w, mu, lambda, work);
    for (size_t t = 0; t < n; t++) assert_true(mu[t] >= r.mu[0] && mu[t] <= r.mu[1] && lambda[t] == 2500);
    // a face without materials is uniform
    FaFace plain = *f;
    plain.mu0 = plain.lambda0 = NULL;
    plain.materials = (FaColumns){0};
    r = fai_materials_range(&plain);
    fai_materials_at(&plain, &r, w, mu, lambda, work);
    for (size_t t = 0; t < n; t++) assert_true(mu[t] == 3000 && lambda[t] == 2500);
    free(mu);
    free(lambda);
    free(work);
    free(half);
    free(w);
}

// --- painted --------------------------------------------------------------------------------------------------------

static FaCode parse(FaFace *f, const FaRig *rig, const char *text, FaError *err) {
    return fai_materials_parse(f, rig, text, strlen(text), NULL, err);
}

static void test_painted(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f = fix.sheet;
    // half of the sheet at 15 kPa in the shape, lambda everywhere
    char text[4096];
    int n = snprintf(
        text, sizeof text,
        "{\"version\": 1, \"base\": {\"mu\": 4000, \"lambda\": 1000}, \"shapes\": {\"move\": {\"lambda\": 2000, "
        "\"mu\": {\"ranges\": [[0, %d]], \"value\": 15000}}}}",
        fix.sheet_rig->mesh.nvert / 2);
    assert_true(n < (int)sizeof text);
    CHECK_OK(parse(f, fix.sheet_rig, text, &err), &err);
    float *dense = malloc(2 * (size_t)f->ntet * sizeof *dense);
    fai_columns_dense(&f->materials, 0, f->ntet, dense);
    for (int t = 0; t < f->ntet; t++) {
        double y = 0;
        for (int k = 0; k < 4; k++) y += 0.25 * (double)f->x0[3 * f->tet[4 * t + k] + 1];
        CHECK_NEAR(f->mu0[t], 4000, 0);
        CHECK_NEAR(f->lambda0[t], 1000, 0);
        CHECK_NEAR(dense[2 * t + 1], 1000, 1e-3);
        if (y < -10e-3) assert_true(dense[2 * t] > 9000);
        if (y > 12e-3) assert_true(dense[2 * t] < 2500);
        assert_true(dense[2 * t] >= 0 && dense[2 * t] <= 11000.01f);
    }
    free(dense);
    // one number per vertex, as a painting tool has them; null is the base
    FaText values = {0};
    fai_text_str(&values, "{\"version\": 1, \"shapes\": {\"move\": {\"mu\": {\"values\": [");
    for (int v = 0; v < fix.sheet_rig->mesh.nvert; v++) fai_text_str(&values, v % 2 ? ",null" : v ? ",9000" : "9000");
    fai_text_str(&values, "]}}}}");
    CHECK_OK(fai_materials_parse(f, fix.sheet_rig, values.data, values.size, NULL, &err), &err);
    FaMaterialRange r = fai_materials_range(f);
    assert_true(r.mu[0] == 3000 && r.mu[1] > 4500 && r.mu[1] < 9001);
    fai_text_free(&values);
    forget(f);
}

static void test_regions_and_others(void **state) {
    (void)state;
    FaError err = {0};
    FaFace copy = *fix.face, *f = &copy;
    forget(f);
    CHECK_OK(
        parse(f, fix.rig, "{\"version\":1,\"shapes\":{\"jawOpen\":{\"regions\":{\"cheeks\":{\"mu\":18000}}}}}", &err),
        &err);
    int jaw = shape_of(fix.rig, "jawOpen"), smile = shape_of(fix.rig, "mouthSmileLeft");
    assert_true(mean_added(f, jaw, FA_REGION_CHEEKS) > 5000);
    assert_true(mean_added(f, jaw, FA_REGION_EYELIDS) < 500);
    assert_int_equal(f->materials.first[smile], f->materials.first[smile + 1]);
    CHECK_OK(parse(f, fix.rig, "{\"version\":1,\"others\":\"auto\",\"shapes\":{\"jawOpen\":{}}}", &err), &err);
    assert_int_equal(f->materials.first[jaw], f->materials.first[jaw + 1]);
    assert_true(f->materials.first[smile + 1] > f->materials.first[smile]);
}

// --- vertex colours -------------------------------------------------------------------------------------------------

// Red on the half below the middle, green everywhere: as much as given, at most `count` vertices; NAN: no colours.
static void write_obj(const char *path, const FaRig *rig, int count, double red, double green) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int v = 0; v < count; v++) {
        const float *x = rig->mesh.x + 3 * (size_t)v;
        fprintf(file, "v %.9g %.9g %.9g", (double)x[0], (double)x[1], (double)x[2]);
        if (isfinite(red)) fprintf(file, " %.9g %.9g 0", x[1] < 0 ? red : 0.0, green);
        fprintf(file, "\n");
    }
    for (int t = 0; t < rig->mesh.ntri; t++) {
        const int *i = rig->mesh.tri + 3 * (size_t)t;
        if (i[0] < count && i[1] < count && i[2] < count) fprintf(file, "f %d %d %d\n", i[0] + 1, i[1] + 1, i[2] + 1);
    }
    fclose(file);
}

static void put(unsigned char **at, const void *data, size_t size) {
    memcpy(*at, data, size);
    *at += size;
}

// A .glb of the rig's mesh with COLOR_0 in bytes (red 51, green 255), and one target "move" that adds 0.6 red.
static void write_glb(const char *path, const FaRig *rig) {
    const unsigned n = (unsigned)rig->mesh.nvert, t = (unsigned)rig->mesh.ntri;
    const unsigned at[] = {0, 12 * n, 16 * n, 16 * n + 12 * t, 28 * n + 12 * t, 40 * n + 12 * t};
    char json[4096];
    int size = snprintf(
        json, sizeof json,
        "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0}],"
        "\"buffers\":[{\"byteLength\":%u}],"
        "\"bufferViews\":[{\"buffer\":0,\"byteOffset\":%u,\"byteLength\":%u},{\"buffer\":0,\"byteOffset\":%u,"
        "\"byteLength\":%u},{\"buffer\":0,\"byteOffset\":%u,\"byteLength\":%u},"
        "{\"buffer\":0,\"byteOffset\":%u,\"byteLength\":%u},{\"buffer\":0,\"byteOffset\":%u,\"byteLength\":%u}],"
        "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":%u,\"type\":\"VEC3\",\"min\":[-1,-1,-1],"
        "\"max\":[1,1,1]},"
        "{\"bufferView\":1,\"componentType\":5121,\"normalized\":true,\"count\":%u,\"type\":\"VEC4\"},{\"bufferView\":"
        "2,\"componentType\":5125,\"count\":%u,\"type\":\"SCALAR\"},"
        "{\"bufferView\":3,\"componentType\":5126,\"count\":%u,\"type\":\"VEC3\",\"min\":[-1,-1,-1],\"max\":[1,1,1]},{"
        "\"bufferView\":4,\"componentType\":5126,\"count\":%u,\"type\":\"VEC3\"}],"
        "\"meshes\":[{\"name\":\"skin\",\"extras\":{\"targetNames\":[\"move\"]},\"primitives\":[{\"attributes\":{"
        "\"POSITION\":0,\"COLOR_0\":1},\"indices\":2,"
        "\"targets\":[{\"POSITION\":3,\"COLOR_0\":4}]}]}]}",
        at[5], at[0], 12 * n, at[1], 4 * n, at[2], 12 * t, at[3], 12 * n, at[4], 12 * n, n, n, 3 * t, n, n);
    while (size % 4) json[size++] = ' ';
    const uint32_t head[] = {0x46546C67, 2, (uint32_t)(28 + size) + at[5], (uint32_t)size, 0x4E4F534A},
                   bin[] = {at[5], 0x004E4942};
    unsigned char *all = malloc(head[2]), *to = all;
    put(&to, head, sizeof head);
    put(&to, json, (size_t)size);
    put(&to, bin, sizeof bin);
    put(&to, rig->mesh.x, 12 * (size_t)n);
    for (unsigned v = 0; v < n; v++) put(&to, (unsigned char[]){51, 255, 0, 255}, 4);
    put(&to, rig->mesh.tri, 12 * (size_t)t);
    for (unsigned v = 0; v < n; v++) put(&to, (float[]){0, 0, 1e-3f}, 12);
    for (unsigned v = 0; v < n; v++) put(&to, (float[]){0.6f, 0, 0}, 12);
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(all, 1, head[2], file), head[2]);
    fclose(file);
    free(all);
}

static void test_colors(void **state) {
    (void)state;
    FaError err = {0};
    const FaRig *rig = fix.sheet_rig;
    FaFace *f = fix.sheet;
    const int n = rig->mesh.nvert;
    float *dense = malloc(2 * (size_t)f->ntet * sizeof *dense);
    // one .obj: the base
    const char *obj = test_path("paint.obj");
    write_obj(obj, rig, n, 1, 0.2);
    CHECK_OK(fa_face_materials(f, rig, obj, &err), &err);
    FaMaterialRange r = fai_materials_range(f);
    CHECK_NEAR(r.lambda[0], 2500 + 0.2 * 22500, 0.1);
    CHECK_NEAR(r.lambda[1], 2500 + 0.2 * 22500, 0.1);
    assert_true(r.mu[0] < 4000 && r.mu[1] > 19000 && r.mu[1] < 20000.1);
    assert_int_equal(f->materials.first[1], 0); // the shape as the base
    // a folder: the shape alone
    char folder[4096], file[4200];
    snprintf(folder, sizeof folder, "%s", test_path("paint"));
    mkdir(folder, 0777);
    snprintf(file, sizeof file, "%s/neutral.obj", folder);
    write_obj(file, rig, n, NAN, 0);
    snprintf(file, sizeof file, "%s/move.obj", folder);
    write_obj(file, rig, n, 0.5, 0);
    CHECK_OK(fa_face_materials(f, rig, folder, &err), &err);
    fai_columns_dense(&f->materials, 0, f->ntet, dense);
    for (int t = 0; t < f->ntet; t++) {
        double y = 0;
        for (int k = 0; k < 4; k++) y += 0.25 * (double)f->x0[3 * f->tet[4 * t + k] + 1];
        CHECK_NEAR(f->mu0[t], 3000, 0);
        if (y < -12e-3) assert_true(dense[2 * t] > 6500 && dense[2 * t] < 8500.1f);
        if (y > 12e-3) assert_true(dense[2 * t] < 2000);
    }
    // a .glb: bytes for the whole, differences for the shape
    const char *glb = test_path("paint.glb");
    write_glb(glb, rig);
    CHECK_OK(fa_face_materials(f, rig, glb, &err), &err);
    fai_columns_dense(&f->materials, 0, f->ntet, dense);
    for (int t = 0; t < f->ntet; t++) {
        CHECK_NEAR(f->mu0[t], 3000 + 0.2 * 17000, 0.1);
        CHECK_NEAR(f->lambda0[t], 25000, 0.1);
        CHECK_NEAR(dense[2 * t], 0.6 * 17000, 0.5);
        CHECK_NEAR(dense[2 * t + 1], 0, 0.5);
    }
    // and in JSON, painted over
    const char *json = test_path("paint.json");
    FILE *text = fopen(json, "w");
    fputs("{\"version\": 1, \"colors\": \"paint.glb\", \"base\": {\"lambda\": 5000}}", text);
    fclose(text);
    CHECK_OK(fa_face_materials(f, rig, json, &err), &err);
    CHECK_NEAR(f->lambda0[0], 5000, 0.1);
    CHECK_NEAR(f->mu0[0], 3000 + 0.2 * 17000, 0.1);
    free(dense);
    forget(f);
    // refused: another mesh, colours of 0 to 255, none at all
    static const char *const said[] = {"vertices are painted", "is no part of a colour", "no vertex colours"};
    for (int i = 0; i < 3; i++) {
        err = (FaError){0};
        write_obj(obj, rig, i == 0 ? n - 1 : n, i == 1 ? 255 : i == 2 ? NAN : 1, 0);
        assert_true(fa_face_materials(f, rig, obj, &err) < 0);
        if (!strstr(err.what, said[i])) print_message("%s\n", err.what);
        assert_non_null(strstr(err.what, said[i]));
        assert_true(err.remedy[0] && err.path[0]);
        assert_null(f->mu0);
    }
}

static void test_wrong(void **state) {
    (void)state;
    static const struct {
        const char *text, *place;
    } wrong[] = {
        {"[]", ""},
        {"{}", ""},
        {"{\"version\":2}", "/version"},
        {"{\"version\":1,\"bse\":{}}", "/bse"},
        {"{\"version\":1,\"base\":{\"mu\":50}}", "/base/mu"},
        {"{\"version\":1,\"base\":{\"mu\":\"soft\"}}", "/base/mu"},
        {"{\"version\":1,\"base\":{\"nu\":5000}}", "/base/nu"},
        {"{\"version\":1,\"base\":{\"mu\":1e9}}", "/base/mu"},
        {"{\"version\":1,\"base\":{\"mu\":{\"vertices\":[1]}}}", "/base/mu"},
        {"{\"version\":1,\"base\":{\"mu\":{\"ranges\":[[0,99999999]],\"value\":5000}}}", "/base/mu/ranges/0/1"},
        {"{\"version\":1,\"shapes\":[]}", "/shapes"},
        {"{\"version\":1,\"shapes\":{\"jawOpne\":{\"mu\":5000}}}", "/shapes/jawOpne"},
        {"{\"version\":1,\"shapes\":{\"jawOpen\":7}}", "/shapes/jawOpen"},
        {"{\"version\":1,\"shapes\":{\"jawOpen\":{\"regions\":{\"nose\":{\"mu\":5000}}}}}",
         "/shapes/jawOpen/regions/nose"},
        {"{\"version\":1,\"shapes\":{\"jawOpen\":{\"regions\":{\"mouth\":{\"mu\":[1]}}}}}",
         "/shapes/jawOpen/regions/mouth/mu"},
        {"{\"version\":1,\"others\":\"all\"}", "/others"},
    };
    FaFace copy = *fix.face;
    forget(&copy);
    for (int i = 0; i < FA_COUNT(wrong); i++) {
        FaError err = {0};
        FaCode rc = parse(&copy, fix.rig, wrong[i].text, &err);
        if (rc != FA_E_FORMAT || !strstr(err.place, wrong[i].place))
            print_message("%s: %d %s at '%s'\n", wrong[i].text, rc, err.what, err.place);
        assert_true(rc < 0);
        assert_non_null(strstr(err.place, wrong[i].place));
        assert_true(err.what[0] && (err.remedy[0] || i <= 2));
        assert_null(copy.mu0); // as it was
    }
    FaError err = {0};
    assert_int_equal(fa_face_materials(&copy, fix.sheet_rig, NULL, &err), FA_E_ARG);
    err = (FaError){0};
    assert_int_equal(fa_face_materials(&copy, fix.rig, "/nowhere/paint.json", &err), FA_E_FILE);
}

// --- the file -------------------------------------------------------------------------------------------------------

static FaFace *sheet_with_all(void) {
    FaError err = {0};
    FaFace *f;
    const FaFaceOptions o = {.layers = 1, .thickness = 5e-3, .whole = true, .no_bones = true};
    CHECK_OK(fa_face_build(fix.sheet_rig, &o, &f, &err), &err);
    CHECK_OK(parse(f, fix.sheet_rig,
                   "{\"version\":1,\"shapes\":{\"move\":{\"mu\":{\"ranges\":[[0,30]],\"value\":8000}}}}", &err),
             &err);
    FaColumnsMaker maker = {.width = 3};
    float *dense = calloc(3 * (size_t)f->nnode, sizeof *dense);
    for (int i = 0; i < f->nnode; i += 3) dense[3 * i + 1] = 1e-3f * (float)i;
    CHECK_OK(fai_columns_push(&maker, f->nnode, dense, 0, &err), &err);
    CHECK_OK(fai_columns_finish(&maker, f->arena, &f->volumes, &err), &err);
    free(dense);
    return f;
}

static void same_columns(const FaColumns *a, const FaColumns *b) {
    assert_int_equal(a->nshape, b->nshape);
    assert_int_equal(a->width, b->width);
    const size_t n = (size_t)a->first[a->nshape];
    assert_true(n > 0);
    assert_memory_equal(a->first, b->first, ((size_t)a->nshape + 1) * sizeof(int));
    assert_memory_equal(a->item, b->item, n * sizeof(int));
    assert_memory_equal(a->value, b->value, n * (size_t)a->width * sizeof(float));
}

static void test_file(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f = sheet_with_all(), *back;
    unsigned char *data, *again;
    size_t size, size2;
    CHECK_OK(fai_face_pack(f, &data, &size, &err), &err);
    CHECK_OK(fai_face_unpack(data, size, &back, &err), &err);
    same_columns(&f->materials, &back->materials);
    same_columns(&f->volumes, &back->volumes);
    assert_memory_equal(f->mu0, back->mu0, (size_t)f->ntet * sizeof(float));
    assert_memory_equal(f->lambda0, back->lambda0, (size_t)f->ntet * sizeof(float));
    CHECK_OK(fai_face_pack(back, &again, &size2, &err), &err);
    assert_int_equal(size, size2);
    assert_memory_equal(data, again, size);
    fa_face_free(back);
    fa_free(again);
    // cut anywhere: an error, no crash
    for (size_t n = 0; n < size; n += n < 200 || n + 600 > size ? 1 : 997) {
        unsigned char *cut = malloc(n ? n : 1);
        memcpy(cut, data, n);
        err = (FaError){0};
        assert_true(fai_face_unpack(cut, n, &back, &err) < 0);
        assert_null(back);
        free(cut);
    }
    fa_free(data);
    fa_face_free(f);
}

static size_t find_chunk(const unsigned char *data, size_t size, const char *tag) {
    for (size_t at = 32; at + 16 <= size;) {
        uint64_t n;
        memcpy(&n, data + at + 8, 8);
        if (!memcmp(data + at, tag, 4)) return at + 16;
        at += 16 + n + (8 - n % 8) % 8;
    }
    fail_msg("no chunk %s", tag);
    return 0;
}

// Numbers inside the new sections changed, the checksum made good again: named errors.
static void test_hostile(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f = sheet_with_all(), *back;
    unsigned char *data;
    size_t size;
    CHECK_OK(fai_face_pack(f, &data, &size, &err), &err);
    static const char *const tags[] = {"vols", "mats", "mat0"};
    for (int c = 0; c < 3; c++) {
        size_t at = find_chunk(data, size, tags[c]);
        for (size_t word = 0; word < 12; word++) {
            static const uint32_t bad[] = {0xffffffff, 0x7fffffff, 0x7fc00000, 0xff800000, 1000003};
            for (int b = 0; b < FA_COUNT(bad); b++) {
                unsigned char *copy = malloc(size);
                memcpy(copy, data, size);
                memcpy(copy + at + 4 * word, &bad[b], 4);
                uint64_t sum = fai_hash64(copy + 32, size - 32, FA_FACE_VERSION);
                memcpy(copy + 24, &sum, 8);
                err = (FaError){0};
                FaCode rc = fai_face_unpack(copy, size, &back, &err);
                // a float of mat0 or of an entry may be a legal one
                if (rc >= 0) assert_true(bad[b] == 1000003);
                fa_face_free(back);
                free(copy);
            }
        }
    }
    fa_free(data);
    fa_face_free(f);
}

static void test_picture(void **state) {
    (void)state;
    FaError err = {0};
    CHECK_OK(fa_face_picture(fix.face, fix.rig, FA_FACE_MATERIALS, 96, test_path("materials.png"), &err), &err);
    assert_int_equal(fa_face_picture(fix.sheet, fix.sheet_rig, FA_FACE_MATERIALS, 96, test_path("none.png"), &err),
                     FA_E_ARG);
    assert_string_equal(fa_face_picture_name(FA_FACE_MATERIALS), "materials");
}

// Every allocation fails once: an error, nothing lost, the face as it was.
static void test_memory(void **state) {
    (void)state;
    static const char text[] =
        "{\"version\":1,\"base\":{\"mu\":4000},\"shapes\":{\"move\":{\"mu\":{\"ranges\":[[0,30]],\"value\":8000}}}}";
    test_fail_alloc(0); // counts from here on
    for (long k = 1; k < 2000; k++) {
        FaError err = {0};
        FaFace face = *fix.sheet; // its own arena: what was pushed before a failure must not stay in the sheet's
        forget(&face);
        long balance = test_alloc_balance();
        face.arena = fai_arena_new(0);
        test_fail_alloc(k);
        FaCode rc = parse(&face, fix.sheet_rig, text, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        if (rc < 0) assert_true(rc == FA_E_MEMORY && !face.mu0 && face.materials.nshape == 0);
        fai_arena_free(face.arena);
        assert_int_equal(test_alloc_balance(), balance);
        if (!failed) return;
        assert_true(rc < 0);
    }
    fail_msg("it never ended");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heat),    cmocka_unit_test(test_by_place), cmocka_unit_test(test_automatic),
        cmocka_unit_test(test_frame),   cmocka_unit_test(test_painted),  cmocka_unit_test(test_regions_and_others),
        cmocka_unit_test(test_colors),  cmocka_unit_test(test_wrong),    cmocka_unit_test(test_file),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_picture),  cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
