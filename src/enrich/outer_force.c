#include "enrich/outer_force.h"

#include "base/file.h"
#include "base/json.h"
#include "face/region_text.h"
#include "math/mat3.h"
#include "method/head_force.h"

#include <math.h>

enum { MOST_PUSHES = 64, MOST_KEYS = 10000 };
static const double AIR = 1.2;          // kg/m3
static const double MOST_GRAVITY = 200, // m/s2; beyond that no flesh holds
    MOST_WIND = 100,                    // m/s
    MOST_FORCE = 100;                   // N

typedef struct Keys {
    int n;
    double *time, *share; // (n)
} Keys;

typedef struct Push {
    double force[3]; // N, rig's axes
    double *part;    // of it on each skin node, in all 1        (nskin)
    Keys keys;
} Push;

struct FaOuterForce {
    const FaRig *rig;
    const FaFace *face;
    bool heavy;
    double gravity[3], wind[3]; // canonical: what is added to the earth's; m/s
    Keys gusts;
    Push push[MOST_PUSHES];
    int npush;
    double *force; // (nnode x 3)
};

typedef struct Reader {
    FaOuterForce *o;
    FaError *err;
} Reader;

static FaCode bad(const Reader *r, const FaJson *v, const char *remedy, const char *what) {
    return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(v).text, remedy, "%s", what);
}

// --- reading ------------------------------------------------------------------------------------------------------

static FaCode read_vector(const Reader *r, const FaJson *of, const char *key, double most, double v[3]) {
    FaJson *list;
    FA_TRY(fai_json_array_or_null(of, key, &list, r->err));
    bool good = list && list->count == 3;
    int k = 0;
    for (const FaJson *c = good ? list->first : NULL; c; c = c->next, k++) {
        good &= fai_json_is(c, FA_JSON_NUMBER) && fabs(c->number) <= most;
        v[k] = good ? c->number : 0;
    }
    return good ? FA_OK : bad(r, list ? list : of, "write [x, y, z]: the subject's left, up, front", "no such vector");
}

static FaCode read_keys(const Reader *r, const FaJson *of, Keys *keys) {
    FaJson *list;
    FA_TRY(fai_json_array_or_null(of, "keys", &list, r->err));
    if (!list) return FA_OK;
    if (list->count < 1 || list->count > MOST_KEYS) return bad(r, list, "give 1 to 10000", "no such number of keys");
    keys->time = FA_NEW(list->count, double);
    keys->share = FA_NEW(list->count, double);
    if (!keys->time || !keys->share) return FA_FAIL_MEMORY(r->err);
    for (const FaJson *v = list->first; v; v = v->next) {
        const FaJson *t = fai_json_at(v, 0), *s = fai_json_at(v, 1);
        bool good = fai_json_is(v, FA_JSON_ARRAY) && v->count == 2 && fai_json_is(t, FA_JSON_NUMBER) &&
                    fai_json_is(s, FA_JSON_NUMBER) && fabs(s->number) <= 100 && fabs(t->number) <= 1e9 &&
                    (!keys->n || t->number > keys->time[keys->n - 1]);
        if (!good)
            return bad(r, v, "write [seconds, share], later and later, shares from -100 to 100", "this is no key");
        keys->time[keys->n] = t->number;
        keys->share[keys->n++] = s->number;
    }
    return FA_OK;
}

static FaCode part_of_region(const Reader *r, const FaJson *name, double *part) {
    const FaFace *f = r->o->face;
    const bool all = !strcmp(name->string, "all");
    const unsigned regions = fai_regions_named(name->string, strlen(name->string));
    const bool known = all || regions;
    for (int i = 0; i < FA_REGIONS; i++)
        for (int v = 0; v < f->nskin && (regions >> i & 1); v++) part[v] = fmax(part[v], (double)f->region[i][v]);
    for (int v = 0; v < f->nskin && (regions >> FA_REGIONS & 1); v++)
        part[v] = fmax(part[v], (double)fai_face_hangs(f, v));
    for (int v = 0; v < f->nskin && all; v++) part[v] = 1;
    return known ? FA_OK
                 : bad(r, name, "regions are lips, lip_upper, lip_lower, mouth, eyelids, cheeks, free, hanging, all",
                       "there is no such region");
}

// As far as the shapes of the name move each point of the skin.
static FaCode part_of_shape(const Reader *r, const FaJson *name, double *part) {
    const FaRig *rig = r->o->rig;
    const FaFace *f = r->o->face;
    int shape[FA_NAMED_MOST], n;
    FaCode rc = fa_rig_shapes_named(rig, name->string, shape, FA_NAMED_MOST, &n, NULL);
    if (rc == FA_E_ARG) return bad(r, name, "fascia info --shapes lists them", "the rig has no such shape");
    double *way = rc < 0 ? NULL : FA_NEW(rig->mesh.nvert, double);
    if (!way) return FA_FAIL_MEMORY(r->err);
    for (int i = 0; i < n; i++)
        for (int e = rig->shape[shape[i]].first; e < rig->shape[shape[i]].first + rig->shape[shape[i]].count; e++) {
            double d[3];
            fai_v3_load(rig->delta, e, d);
            way[rig->row[e]] = fmax(way[rig->row[e]], fai_v3_norm(d));
        }
    for (int v = 0; v < f->nskin; v++) part[v] = way[f->skin_vertex[v]];
    fa_free(way);
    return FA_OK;
}

static FaCode part_of_vertices(const Reader *r, const FaJson *list, double radius, double *part) {
    const FaFace *f = r->o->face;
    const FaMesh *mesh = &r->o->rig->mesh;
    if (list->count > 1000) return bad(r, list, "give 1000 at most", "these are too many vertices");
    for (const FaJson *v = list->first; v; v = v->next) {
        if (!fai_json_is(v, FA_JSON_NUMBER) || !(v->number >= 0) || v->number >= mesh->nvert ||
            v->number != floor(v->number))
            return bad(r, v, "give numbers of vertices, counted from 0", "this is no vertex of the rig");
        double at[3], p[3];
        fai_v3_load(mesh->x, (int)v->number, at);
        for (int i = 0; i < f->nskin; i++) {
            fai_v3_load(mesh->x, f->skin_vertex[i], p);
            fai_v3_sub(p, at, p);
            double u = fmin(fai_v3_norm(p) / radius, 1);
            part[i] = fmax(part[i], (1 - u * u) * (1 - u * u));
        }
    }
    return FA_OK;
}

// Weights to parts of a whole, by the area of the skin around each node.
static FaCode share_out(const Reader *r, const FaJson *of, double *part) {
    const FaFace *f = r->o->face;
    double *area = FA_NEW(f->nskin, double), sum = 0;
    if (!area) return FA_FAIL_MEMORY(r->err);
    for (int t = 0; t < f->ntri; t++) {
        double n[3];
        fai_v3_tri_cross(f->x0, f->tri + 3 * (size_t)t, n);
        for (int k = 0; k < 3; k++) area[f->tri[3 * t + k]] += fai_v3_norm(n) / 6;
    }
    for (int i = 0; i < f->nskin; i++) sum += part[i] *= area[i];
    for (int i = 0; i < f->nskin && sum > 0; i++) part[i] /= sum;
    fa_free(area);
    return sum > 0 ? FA_OK : bad(r, of, "name a place on the skin that is simulated", "the push reaches nothing");
}

static FaCode read_push(Reader *r, const FaJson *v) {
    FaOuterForce *o = r->o;
    if (!fai_json_is(v, FA_JSON_OBJECT))
        return bad(r, v, "write {\"region\": \"cheeks\", \"force\": [0, 0, -2]}", "a push is an object");
    const FaJson *region = fai_json_get(v, "region"), *shape = fai_json_get(v, "shape");
    FaJson *list;
    double radius, force[3];
    Push *p = &o->push[o->npush++];
    FA_TRY(fai_json_array_or_null(v, "vertices", &list, r->err));
    FA_TRY(fai_json_num_or(v, "radius", 10, &radius, r->err));
    if (!(radius > 0 && radius <= 1000)) return bad(r, v, "give a radius above 0, to 1000 mm", "this is no radius");
    bool text = (!region || fai_json_is(region, FA_JSON_STRING)) && (!shape || fai_json_is(shape, FA_JSON_STRING));
    if ((region != NULL) + (shape != NULL) + (list != NULL) != 1 || !text)
        return bad(r, v, "say one of \"region\": name, \"shape\": name, \"vertices\": [1, 2]",
                   "the push has no place, or several");
    if (!(p->part = FA_NEW(o->face->nskin, double))) return FA_FAIL_MEMORY(r->err);
    FA_TRY(region  ? part_of_region(r, region, p->part)
           : shape ? part_of_shape(r, shape, p->part)
                   : part_of_vertices(r, list, 1e-3 * radius, p->part));
    FA_TRY(share_out(r, v, p->part));
    FA_TRY(read_vector(r, v, "force", MOST_FORCE, force));
    fai_m3_tmulv(o->rig->axes, force, p->force);
    return read_keys(r, v, &p->keys);
}

static FaCode read_gravity(Reader *r, const FaJson *v) {
    double size, d[3] = {0, -1, 0};
    if (!v) return FA_OK;
    FA_TRY(fai_json_num_or(v, "size", FAI_GRAVITY, &size, r->err));
    if (fai_json_get(v, "direction")) FA_TRY(read_vector(r, v, "direction", 1e6, d));
    if (!(size >= 0 && size <= MOST_GRAVITY) || !fai_v3_normalize(d))
        return bad(r, v, "give a size from 0 to 200 m/s2, and a direction that is not 0", "this is no gravity");
    fai_v3_scale(size, d, r->o->gravity);
    r->o->gravity[1] += FAI_GRAVITY;
    r->o->heavy = fai_v3_norm(r->o->gravity) > 1e-12;
    return FA_OK;
}

static FaCode read_all(Reader *r, const FaJson *root) {
    static const char *const known[] = {"gravity", "wind", "pushes"};
    FaJson *gravity, *wind, *pushes;
    if (!fai_json_is(root, FA_JSON_OBJECT)) return bad(r, root, "write {\"pushes\": [...]}", "these are no forces");
    for (const FaJson *v = root->first; v; v = v->next) {
        bool found = false;
        for (int i = 0; i < FA_COUNT(known); i++) found |= !strcmp(v->key, known[i]);
        if (!found) return bad(r, v, "known are: gravity, wind, pushes", "there is no such member");
    }
    FA_TRY(fai_json_object_or_null(root, "gravity", &gravity, r->err));
    FA_TRY(fai_json_object_or_null(root, "wind", &wind, r->err));
    FA_TRY(fai_json_array_or_null(root, "pushes", &pushes, r->err));
    FA_TRY(read_gravity(r, gravity));
    if (wind) FA_TRY(read_vector(r, wind, "velocity", MOST_WIND, r->o->wind));
    if (wind) FA_TRY(read_keys(r, wind, &r->o->gusts));
    if (pushes && pushes->count > MOST_PUSHES) return bad(r, pushes, "give 64 at most", "these are too many pushes");
    for (const FaJson *v = pushes ? pushes->first : NULL; v; v = v->next) FA_TRY(read_push(r, v));
    return FA_OK;
}

FaCode fai_outer_force_parse(const char *text, size_t size, const FaRig *rig, const FaFace *face, FaOuterForce **out,
                             FaError *err) {
    FaJsonDoc *doc = NULL;
    FaOuterForce *o = *out = FA_NEW(1, FaOuterForce);
    if (!o) return FA_FAIL_MEMORY(err);
    o->rig = rig;
    o->face = face;
    o->force = FA_NEW(3 * (size_t)face->nnode, double);
    FaCode rc = o->force ? fai_json_parse(text, size, &doc, NULL, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = read_all(&(Reader){o, err}, doc->root);
    fai_json_free(doc);
    if (rc >= 0) return rc;
    fai_outer_force_free(o);
    *out = NULL;
    return rc;
}

FaCode fai_outer_force_new(const char *path, const FaRig *rig, const FaFace *face, FaOuterForce **out, uint64_t *inputs,
                           FaError *err) {
    FaBytes bytes = {0};
    *out = NULL;
    if (!path[0]) return FA_OK;
    FaCode rc = fai_file_read(path, 0, &bytes, err);
    if (rc >= 0) rc = fai_outer_force_parse((const char *)bytes.data, bytes.size, rig, face, out, err);
    if (rc >= 0) *inputs = fai_hash64(bytes.data, bytes.size, *inputs);
    fai_bytes_free(&bytes);
    return fai_fail_in(err, rc, path);
}

void fai_outer_force_free(FaOuterForce *o) {
    if (!o) return;
    for (int i = 0; i < o->npush; i++) {
        fa_free(o->push[i].part);
        fa_free(o->push[i].keys.time);
        fa_free(o->push[i].keys.share);
    }
    fa_free(o->gusts.time);
    fa_free(o->gusts.share);
    fa_free(o->force);
    fa_free(o);
}

// --- acting -------------------------------------------------------------------------------------------------------

static double share_at(const Keys *k, double time) {
    if (!k->n) return 1;
    int i = 0;
    while (i < k->n && k->time[i] <= time) i++;
    if (i == 0) return k->share[0];
    if (i == k->n) return k->share[k->n - 1];
    double u = (time - k->time[i - 1]) / (k->time[i] - k->time[i - 1]);
    return k->share[i - 1] + u * (k->share[i] - k->share[i - 1]);
}

// From the world into the head's own axes.
static void into_head(const FaOuterForce *o, const FaPose *head, const double world[3], double out[3]) {
    double r[9];
    if (head) fai_q_to_m3(head->q, r);
    fai_m3_tmulv(head ? r : o->rig->axes, world, out);
}

// Dynamic pressure of the wind's part along the normal, on triangles that face it.
static void blow(FaOuterForce *o, const double wind[3], const float *skin) {
    const FaFace *f = o->face;
    for (int t = 0; t < f->ntri; t++) {
        const int *tri = f->tri + 3 * (size_t)t;
        double n[3];
        fai_v3_tri_cross(skin, tri, n);
        double twice = fai_v3_norm(n), along = twice > 0 ? -fai_v3_dot(n, wind) / twice : 0;
        if (!(along > 0)) continue;
        double push = -0.5 * AIR * along * along / 6; // of twice the area, a third to each corner
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < 3; c++) o->force[3 * tri[k] + c] += push * n[c];
    }
}

const double *fai_outer_force_at(FaOuterForce *o, double time, const FaPose *head, const float *skin, double accel[3]) {
    double gust = share_at(&o->gusts, time), wind[3], g[3];
    bool blows = fai_v3_norm(o->wind) * fabs(gust) > 0;
    if (o->heavy) {
        into_head(o, head, o->gravity, g);
        fai_v3_add(accel, g, accel);
    }
    if (!blows && !o->npush) return NULL;
    memset(o->force, 0, 3 * (size_t)o->face->nnode * sizeof *o->force);
    if (blows) {
        into_head(o, head, o->wind, wind);
        fai_v3_scale(gust, wind, wind);
        blow(o, wind, skin);
    }
    for (int i = 0; i < o->npush; i++) {
        double share = share_at(&o->push[i].keys, time);
        for (int v = 0; v < o->face->nskin && share != 0; v++)
            for (int k = 0; k < 3; k++) o->force[3 * v + k] += share * o->push[i].part[v] * o->push[i].force[k];
    }
    return o->force;
}
