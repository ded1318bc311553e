#include "io/gltf/gltf_edit.h"
#include "io/gltf/gltf_parse.h"

#include <math.h>

typedef struct Edit {
    FaGltfOut out;
    const FaGltf *doc;
    const FaRig *rig;
    const FaGltfMotion *motion;
    int nuser;      // targets that stay
    int nbake;      // targets that are new
    int nold;       // targets before
    int node;       // the one that shows the face; made if there was none
    int first_gone; // accessors from here on go with an earlier bake; naccessor of the source where none do
    int *moved;     // where they are needed still: their new number, -1 = not copied yet    (naccessor - first_gone)
    int input;      // accessor of the new key times
    int anim;       // the animation that plays them, -1 = none
    bool *played;   // its channels that do                                                   (channels of anim)
    int *sampler;   // number of each animation's first sampler among all                     (nanim + 1)
    bool *settled;  // samplers that hold new numbers                                          (sampler[nanim])
    bool *taken;    // animations that make up the face's motion so far                       (nanim)
    bool *still;    // nodes whose motion goes: the carriers of the face and its parts, those above  (nnode)
    bool *part;     // nodes of parts, and those above them that are not above the face       (nnode)
    bool *replayed; // nodes whose weights are new; what moved them in animations taken goes        (nnode)
    int mover;      // the node that has the head's motion
    int *lower;     // node of each part's lower row; -1 = none                               (parts.n)
    size_t kept;    // bytes that were added for good
    double *turn;   // that motion in the world; NULL: none, or none that is new              (nframe x 16)
} Edit;

static FaJson *element(const Edit *e, const char *array, int i) {
    return fai_json_at(fai_json_get(e->out.root, array), i);
}

// --- names of baked targets ---------------------------------------------------------------------------------------

static bool is_own_name(const FaJson *name, int number) {
    char want[32];
    snprintf(want, sizeof want, "fascia_%03d", number);
    return fai_json_is(name, FA_JSON_STRING) && !strcmp(name->string, want);
}

int fai_gltf_user_targets(const FaGltf *doc) {
    if (doc->face.mesh < 0) return 0;
    const FaGltfMesh *m = &doc->mesh[doc->face.mesh];
    const FaJson *names = fai_json_get(fai_json_get(m->json, "extras"), "targetNames");
    if (!fai_json_is(names, FA_JSON_ARRAY) || names->count != m->ntarget) return m->ntarget;
    // fascia_000 and its successors up to the end of the list
    int first = 0;
    while (first < m->ntarget && !is_own_name(fai_json_at(names, first), 0)) first++;
    for (int i = first; i < m->ntarget; i++)
        if (!is_own_name(fai_json_at(names, i), i - first)) return m->ntarget;
    return first;
}

// --- forgetting the data of an earlier bake -----------------------------------------------------------------------

static bool pair_of(const FaJson *object, const char *key, int64_t out[2]) {
    double v[2];
    if (fai_json_nums(object, key, 2, v, NULL, NULL) < 0 || !(v[0] >= 0 && v[1] >= 0 && v[0] < 1e15 && v[1] < 1e15))
        return false;
    out[0] = (int64_t)v[0];
    out[1] = (int64_t)v[1];
    return true;
}

// Does anything but the accessors from `skip` on refer to a view from `first` on?
static bool refers_to_views(const FaJson *v, const FaJson *accessors, int first, int skip) {
    if (v->key && !strcmp(v->key, "bufferView") && v->type == FA_JSON_NUMBER && v->number >= first) return true;
    int i = 0;
    for (const FaJson *c = v->first; c; c = c->next, i++) {
        if (v == accessors && i >= skip) break;
        if (refers_to_views(c, accessors, first, skip)) return true;
    }
    return false;
}

static bool refers_to_accessors(const FaJson *object, int first) {
    for (const FaJson *c = object ? object->first : NULL; c; c = c->next)
        if (c->type == FA_JSON_NUMBER && c->number >= first) return true;
    return false;
}

// Do meshes or skins, apart from the targets that go, refer to accessors from `first` on? (Samplers are looked after.)
static bool geometry_refers(const Edit *e, int first) {
    const FaGltf *doc = e->doc;
    for (int m = 0; m < doc->nmesh; m++)
        for (int p = 0; p < doc->mesh[m].nprim; p++) {
            const FaJson *prim = doc->mesh[m].prim[p].json, *targets = fai_json_get(prim, "targets");
            if (doc->mesh[m].prim[p].indices >= first || refers_to_accessors(fai_json_get(prim, "attributes"), first))
                return true;
            int i = 0;
            for (const FaJson *t = targets ? targets->first : NULL; t; t = t->next, i++)
                if ((m != doc->face.mesh || i < e->nuser) && refers_to_accessors(t, first)) return true;
        }
    for (int s = 0; s < doc->nskin; s++)
        if (doc->skin[s].inverse_bind >= first) return true;
    return false;
}

// An earlier bake recorded what it appended. If that still stands at the end of everything, it can go.
static void forget_earlier(Edit *e) {
    const FaGltf *doc = e->doc;
    FaGltfOut *out = &e->out;
    const FaJson *record =
        fai_json_get(fai_json_get(fai_json_get(fai_json_get(doc->json->root, "asset"), "extras"), "fascia"), "added");
    const FaJson *accessors = fai_json_get(doc->json->root, "accessors");
    int64_t a[2], v[2], bytes[2], buffer;
    if (!pair_of(record, "accessors", a) || !pair_of(record, "bufferViews", v) || !pair_of(record, "bytes", bytes) ||
        fai_json_int(record, "buffer", 0, INT32_MAX, &buffer, NULL) < 0)
        return;
    if (a[0] + a[1] != doc->naccessor || v[0] + v[1] != doc->nview || buffer >= doc->nbuffer) return;
    if ((size_t)(bytes[0] + bytes[1]) != doc->buffer[buffer].size) return;
    for (int i = 0; i < doc->nview; i++) {
        bool ours = i >= v[0], after = doc->view[i].offset + doc->view[i].size > (size_t)bytes[0];
        if (doc->view[i].buffer == (int)buffer ? ours != after : ours) return;
    }
    if (geometry_refers(e, (int)a[0]) || refers_to_views(doc->json->root, accessors, (int)v[0], (int)a[0])) return;
    bool own_file = buffer && buffer == doc->nbuffer - 1 && !bytes[0] && !out->glb;
    bool in_bin = buffer == 0 && doc->buffer[0].home == FA_GLTF_IN_GLB && bytes[0] > 0;
    if (!own_file && !(in_bin && fai_gltf_out_shorten(out, (size_t)bytes[0]))) return;
    if (own_file) {
        fai_out_truncate(out, out->root, "buffers", (int)buffer);
        out->buffer = (int)buffer;
    }
    fai_out_truncate(out, out->root, "accessors", (int)a[0]);
    fai_out_truncate(out, out->root, "bufferViews", (int)v[0]);
    out->naccessor = e->first_gone = (int)a[0];
    out->nview = (int)v[0];
}

// An accessor of the source that something still needs: itself, or a copy if it is going.
static FaCode rescue(Edit *e, int accessor, int *now, FaError *err) {
    *now = accessor;
    if (accessor < e->first_gone) return FA_OK;
    int *moved = &e->moved[accessor - e->first_gone];
    if (*moved < 0) {
        const FaGltfAccessor *a = &e->doc->accessor[accessor];
        float *x = FA_NEW((size_t)a->count * (size_t)a->width, float);
        if (!x) return FA_FAIL_MEMORY(err);
        FaCode rc = fai_gltf_floats(e->doc, accessor, x, err);
        if (rc >= 0)
            *moved = fai_out_floats(&e->out, x, a->count, FA_MIN(a->width, 4), fai_json_get(a->json, "min") != NULL);
        fa_free(x);
        FA_TRY(rc);
    }
    *now = *moved;
    return FA_OK;
}

// --- targets ------------------------------------------------------------------------------------------------------

// The entries of all baked targets on the vertices [first, first + count), as accessors.
static FaCode add_fields(Edit *e, int first, int count, int *accessor, FaError *err) {
    const FaBake *b = e->motion->bake;
    int *start = FA_NEW((size_t)b->ntarget + 1, int), n = 0;
    int *row = FA_NEW(b->first[b->ntarget], int);
    float *value = FA_NEW(3 * (size_t)b->first[b->ntarget], float);
    FaCode rc = start && row && value ? FA_OK : FA_FAIL_MEMORY(err);
    for (int t = 0; t < b->ntarget && rc >= 0; t++) {
        for (int i = b->first[t]; i < b->first[t + 1]; i++) {
            if (b->row[i] < first || b->row[i] >= first + count) continue;
            row[n] = b->row[i] - first;
            memcpy(value + 3 * (size_t)n++, b->delta + 3 * (size_t)i, 3 * sizeof *value);
        }
        start[t + 1] = n;
    }
    if (rc >= 0) fai_out_fields(&e->out, b->ntarget, count, start, row, value, accessor);
    fa_free(start);
    fa_free(row);
    fa_free(value);
    return rc;
}

// Attributes that the primitive's targets have: engines take the base mesh where one of them lacks what another has, so
// every target gets all of them, zeros if need be.
enum { MAX_KEYS = 8 };
typedef struct Keys {
    const char *name[MAX_KEYS];
    int width[MAX_KEYS];
    int n;
} Keys;

static Keys keys_of(const Edit *e, const FaGltfPrim *p) {
    Keys k = {.n = 0};
    if (p->position >= 0) k = (Keys){{"POSITION"}, {3}, 1};
    const FaJson *targets = fai_json_get(p->json, "targets");
    int i = 0;
    for (const FaJson *t = targets ? targets->first : NULL; t && i < e->nuser; t = t->next, i++)
        for (const FaJson *c = t->first; c; c = c->next) {
            int at = 0;
            while (at < k.n && strcmp(k.name[at], c->key)) at++;
            if (at < k.n || k.n == MAX_KEYS) continue;
            k.name[k.n] = c->key;
            k.width[k.n++] = e->doc->accessor[(int)c->number].width;
        }
    return k;
}

// The list of targets of one primitive: the user's, filled up, then the baked ones (accessor: their positions, or
// NULL).
static void write_targets(Edit *e, int prim, const int *accessor, int count) {
    const FaGltfPrim *p = &e->doc->mesh[e->doc->face.mesh].prim[prim];
    FaGltfOut *out = &e->out;
    FaJson *json = fai_json_at(fai_json_get(element(e, "meshes", e->doc->face.mesh), "primitives"), prim);
    Keys keys = keys_of(e, p);
    fai_out_truncate(out, json, "targets", e->nuser);
    if (!e->nbake || !keys.n) return;
    FaJson *targets = fai_out_array(out, json, "targets");
    for (int t = 0; t < e->nuser + e->nbake && !out->failed; t++) {
        FaJson *target = t < fai_json_count(targets) ? fai_json_at(targets, t) : fai_out_push(out, targets);
        for (int k = 0; k < keys.n; k++) {
            if (fai_json_get(target, keys.name[k])) continue;
            bool baked = t >= e->nuser && accessor && !strcmp(keys.name[k], "POSITION");
            fai_out_int(out, target, keys.name[k],
                        baked ? accessor[t - e->nuser] : fai_out_zeros(out, count, keys.width[k]));
        }
    }
}

static FaCode change_targets(Edit *e, FaError *err) {
    const FaGltfFace *face = &e->doc->face;
    size_t n = (size_t)FA_MAX(e->nbake, 1);
    int *accessor = FA_NEW((size_t)face->nprim * n, int);
    FaCode rc = accessor ? FA_OK : FA_FAIL_MEMORY(err);
    for (int i = 0; i < face->nprim && rc >= 0; i++) {
        const FaGltfFacePrim *p = &face->prim[i];
        const FaGltfPrim *src = &e->doc->mesh[face->mesh].prim[i];
        int *own = p->first < 0 ? NULL : accessor + (size_t)p->owner * n;
        if (e->nbake && own && p->owner == i) rc = add_fields(e, p->first, p->count, own, err);
        if (rc >= 0) write_targets(e, i, own, src->position >= 0 ? e->doc->accessor[src->position].count : 0);
    }
    fa_free(accessor);
    return rc;
}

// --- names and weights --------------------------------------------------------------------------------------------

static void change_names(Edit *e, FaJson *owner, bool make) {
    FaGltfOut *out = &e->out;
    char name[32];
    if (!make && !fai_json_is(fai_json_get(fai_json_get(owner, "extras"), "targetNames"), FA_JSON_ARRAY)) return;
    FaJson *extras = fai_out_object(out, owner, "extras");
    fai_out_truncate(out, extras, "targetNames", e->nuser);
    if (!e->nbake) return;
    FaJson *names = fai_out_array(out, extras, "targetNames");
    if (!names) return; // extras are something else, or a lack of memory: engines then number the targets
    for (int i = names->count; i < e->nuser + e->nbake && !out->failed; i++) {
        snprintf(name, sizeof name, "fascia_%03d", i - e->nuser);
        fai_out_push_str(out, names, i < e->nuser ? e->rig->shape[i].name : name);
    }
}

static void change_weights(Edit *e, FaJson *owner) {
    FaGltfOut *out = &e->out;
    if (!fai_json_get(owner, "weights")) return; // absent means 0
    fai_out_truncate(out, owner, "weights", e->nuser);
    FaJson *weights = e->nbake ? fai_out_array(out, owner, "weights") : NULL;
    while (weights && weights->count < e->nuser + e->nbake && !out->failed) fai_out_push_int(out, weights, 0);
}

static void change_mesh(Edit *e) {
    const FaGltf *doc = e->doc;
    FaJson *mesh = element(e, "meshes", doc->face.mesh);
    change_names(e, mesh, true);
    FaJson *prims = fai_json_get(mesh, "primitives");
    for (FaJson *p = prims->first; p; p = p->next) change_names(e, p, false);
    change_weights(e, mesh);
    for (int i = 0; i < doc->nnode; i++)
        if (doc->node[i].mesh == doc->face.mesh) change_weights(e, element(e, "nodes", i));
}

// A mesh that no node shows cannot be animated: show it.
static void make_node(Edit *e) {
    FaGltfOut *out = &e->out;
    FaJson *nodes = fai_out_array(out, out->root, "nodes");
    e->node = fai_json_count(nodes);
    FaJson *node = fai_out_push(out, nodes);
    if (e->rig->name[0]) fai_out_str(out, node, "name", e->rig->name);
    fai_out_int(out, node, "mesh", e->doc->face.mesh);
    FaJson *scenes = fai_out_array(out, out->root, "scenes"), *scene = fai_json_get(out->root, "scene");
    int i = scene ? (int)scene->number : 0;
    FaJson *s = i < fai_json_count(scenes) ? fai_json_at(scenes, i) : fai_out_push(out, scenes);
    if (!scene) fai_out_int(out, out->root, "scene", 0);
    fai_out_push_int(out, fai_out_array(out, s, "nodes"), e->node);
}

// --- animations ---------------------------------------------------------------------------------------------------

static bool is_face_weights(const Edit *e, const FaGltfChannel *c) {
    return c->path == FA_GLTF_WEIGHTS && c->node >= 0 && e->doc->node[c->node].mesh == e->doc->face.mesh;
}

// The output of a sampler of weights for the new number of targets: those of ours stay at 0.
static FaCode widen(Edit *e, const FaGltfSampler *s, int *accessor, FaError *err) {
    const FaGltf *doc = e->doc;
    int rows = doc->accessor[s->input].count * (s->interp == FA_GLTF_CUBIC ? 3 : 1), width = e->nuser + e->nbake;
    if ((int64_t)rows * width > INT32_MAX)
        return FA_FAIL(err, FA_E_LIMIT, fai_json_path(s->json).text, "allow fewer targets",
                       "an animation would have too many weights");
    float *old = FA_NEW((size_t)rows * (size_t)e->nold, float), *x = FA_NEW((size_t)rows * (size_t)width, float);
    FaCode rc = old && x ? fai_gltf_floats(doc, s->output, old, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        for (int r = 0; r < rows; r++)
            memcpy(x + (size_t)r * (size_t)width, old + (size_t)r * (size_t)e->nold, (size_t)e->nuser * sizeof *x);
        *accessor = fai_out_floats(&e->out, x, rows * width, 1, false);
    }
    fa_free(old);
    fa_free(x);
    return rc;
}

static void set_sampler(FaGltfOut *out, FaJson *sampler, int input, int output) {
    fai_out_int(out, sampler, "input", input);
    fai_out_int(out, sampler, "output", output);
}

// Give a channel a sampler of its own unless it has one: others may share it.
static FaJson *own_sampler(Edit *e, int anim, int channel) {
    const FaGltfAnim *a = &e->doc->anim[anim];
    FaGltfOut *out = &e->out;
    FaJson *json = element(e, "animations", anim), *samplers = fai_json_get(json, "samplers");
    int s = a->channel[channel].sampler, users = 0;
    for (int i = 0; i < a->nchannel; i++) users += a->channel[i].sampler == s;
    if (users == 1) {
        e->settled[e->sampler[anim] + s] = true;
        return fai_json_at(samplers, s);
    }
    FaJson *copy = fai_json_append(out->json, samplers, fai_json_copy(out->json, fai_json_at(samplers, s)));
    out->failed |= !copy;
    fai_out_int(out, fai_json_at(fai_json_get(json, "channels"), channel), "sampler", fai_json_count(samplers) - 1);
    return copy;
}

// Play these keys on a node: in place of those that the animation has for it, or besides.
static void set_channel(Edit *e, int node, const char *path, FaGltfPath what, int output) {
    FaGltfOut *out = &e->out;
    FaJson *json = element(e, "animations", e->anim);
    const FaGltfAnim *a = e->anim < e->doc->nanim ? &e->doc->anim[e->anim] : NULL;
    for (int i = 0; a && i < a->nchannel; i++) {
        if (a->channel[i].node != node || a->channel[i].path != what) continue;
        FaJson *sampler = own_sampler(e, e->anim, i);
        e->played[i] = true;
        set_sampler(out, sampler, e->input, output);
        fai_json_remove(sampler, "interpolation"); // LINEAR is the default
        return;
    }
    FaJson *samplers = fai_out_array(out, json, "samplers");
    set_sampler(out, fai_out_push(out, samplers), e->input, output);
    FaJson *channel = fai_out_push(out, fai_out_array(out, json, "channels"));
    fai_out_int(out, channel, "sampler", fai_json_count(samplers) - 1);
    FaJson *target = fai_out_object(out, channel, "target");
    fai_out_int(out, target, "node", node);
    fai_out_str(out, target, "path", path);
}

// The animation that plays the face's weights, or else moves its head; a new one where there is none.
static FaCode pick_animation(Edit *e, FaError *err) {
    const FaGltf *doc = e->doc;
    for (int i = 0; i < doc->nanim; i++)
        for (int c = 0; e->taken[i] && c < doc->anim[i].nchannel; c++)
            if (doc->anim[i].channel[c].path == FA_GLTF_WEIGHTS && doc->anim[i].channel[c].node == doc->face.node)
                e->anim = i;
    if (e->anim < 0) {
        FaJson *list = fai_out_array(&e->out, e->out.root, "animations");
        e->anim = fai_json_count(list);
        fai_out_str(&e->out, fai_out_push(&e->out, list), "name", "fascia");
    }
    e->played = FA_NEW(e->anim < doc->nanim ? doc->anim[e->anim].nchannel : 0, bool);
    return e->played ? FA_OK : FA_FAIL_MEMORY(err);
}

// Channels that go: weights where no target is left, and the head's old motion. Where the carrier is a joint, what is
// above it is a body: that keeps its motion.
static bool goes(const Edit *e, int anim, int channel) {
    if (anim >= e->doc->nanim || channel >= e->doc->anim[anim].nchannel || (anim == e->anim && e->played[channel]))
        return false;
    const FaGltfChannel *c = &e->doc->anim[anim].channel[channel];
    if (is_face_weights(e, c)) return !(e->nuser + e->nbake);
    if (c->path == FA_GLTF_WEIGHTS && c->node >= 0) return e->taken[anim] && e->replayed[c->node];
    return e->taken[anim] && c->node >= 0 && c->path != FA_GLTF_OTHER && c->path != FA_GLTF_WEIGHTS &&
           e->still[c->node];
}

// Channels that are played as the file has them, but in another time.
static bool is_retimed(const Edit *e, int anim, int channel) {
    const FaGltfChannel *c = &e->doc->anim[anim].channel[channel];
    return e->motion->own_time && e->taken[anim] && c->node >= 0 && c->path != FA_GLTF_OTHER &&
           !is_face_weights(e, c) && !(anim == e->anim && e->played[channel]) && !goes(e, anim, channel);
}

static FaCode retime(Edit *e, FaError *err) {
    const FaGltfMotion *m = e->motion;
    for (int a = 0; a < e->doc->nanim; a++)
        for (int c = 0; c < e->doc->anim[a].nchannel; c++) {
            const FaGltfChannel *ch = &e->doc->anim[a].channel[c];
            float *x;
            int width;
            if (!is_retimed(e, a, c)) continue;
            const FaGltfSampler *s = &e->doc->anim[a].sampler[ch->sampler];
            FA_TRY(fai_gltf_sample(e->doc, s, ch->path, m->nframe, m->own_time, &x, &width, err));
            bool weights = ch->path == FA_GLTF_WEIGHTS;
            int output =
                fai_out_floats(&e->out, x, weights ? m->nframe * width : m->nframe, weights ? 1 : width, false);
            fa_free(x);
            FaJson *sampler = own_sampler(e, a, c);
            set_sampler(&e->out, sampler, e->input, output);
            fai_json_remove(sampler, "interpolation");
        }
    return FA_OK;
}

// Samplers that nothing plays any more, and that go: those of channels that go, and those whose data do.
static bool sampler_goes(const Edit *e, int anim, int sampler) {
    if (anim >= e->doc->nanim || sampler >= e->doc->anim[anim].nsampler) return false;
    const FaJson *channels = fai_json_get(element(e, "animations", anim), "channels");
    const FaGltfSampler *s = &e->doc->anim[anim].sampler[sampler];
    bool was_played = s->input >= e->first_gone || s->output >= e->first_gone;
    int i = 0;
    for (const FaJson *c = channels ? channels->first : NULL; c; c = c->next, i++) {
        bool plays = fai_json_get(c, "sampler")->number == sampler, gone = goes(e, anim, i);
        if (plays && !gone) return false;
        was_played |= plays;
    }
    return was_played;
}

// Every other animation of the mesh: as many weights per key as there are targets now.
static FaCode change_others(Edit *e, FaError *err) {
    const FaGltf *doc = e->doc;
    for (int a = 0; a < doc->nanim; a++) {
        for (int c = 0; c < doc->anim[a].nchannel; c++) {
            const FaGltfChannel *ch = &doc->anim[a].channel[c];
            const FaGltfSampler *s = &doc->anim[a].sampler[ch->sampler];
            bool widens = is_face_weights(e, ch) && e->nold != e->nuser + e->nbake;
            if ((a == e->anim && e->played[c]) || goes(e, a, c) || is_retimed(e, a, c) ||
                (!widens && s->input < e->first_gone && s->output < e->first_gone))
                continue;
            int input, output = 0;
            FA_TRY(rescue(e, s->input, &input, err));
            if (widens)
                FA_TRY(widen(e, s, &output, err));
            else
                FA_TRY(rescue(e, s->output, &output, err));
            set_sampler(&e->out, own_sampler(e, a, c), input, output);
        }
    }
    // samplers that several channels share have been copied for them; the original must not be left with what is gone
    for (int a = 0; a < doc->nanim; a++)
        for (int k = 0; k < doc->anim[a].nsampler; k++) {
            const FaGltfSampler *s = &doc->anim[a].sampler[k];
            if (s->input < e->first_gone && s->output < e->first_gone) continue;
            if (e->settled[e->sampler[a] + k] || sampler_goes(e, a, k)) continue;
            int input, output;
            FA_TRY(rescue(e, s->input, &input, err));
            FA_TRY(rescue(e, s->output, &output, err));
            set_sampler(&e->out, fai_json_at(fai_json_get(element(e, "animations", a), "samplers"), k), input, output);
        }
    return FA_OK;
}

// An animation without the channels and samplers that go; NULL where no channel is left.
static FaJson *without(Edit *e, const FaJson *old, int anim) {
    FaGltfOut *out = &e->out;
    FaJson *copy = fai_json_copy(out->json, old), *channels = fai_json_new_array(out->json),
           *samplers = fai_json_new_array(out->json);
    const FaJson *list = fai_json_get(old, "samplers");
    int *number = FA_NEW(fai_json_count(list), int), i = 0;
    if (!copy || !channels || !samplers || !number) {
        out->failed = true;
        fa_free(number);
        return NULL;
    }
    for (const FaJson *s = list ? list->first : NULL; s; s = s->next, i++) {
        number[i] = samplers->count;
        if (!sampler_goes(e, anim, i))
            out->failed |= !fai_json_append(out->json, samplers, fai_json_copy(out->json, s));
    }
    list = fai_json_get(old, "channels");
    i = 0;
    for (const FaJson *c = list ? list->first : NULL; c; c = c->next, i++) {
        if (goes(e, anim, i)) continue;
        FaJson *kept = fai_json_append(out->json, channels, fai_json_copy(out->json, c));
        int s = kept ? (int)fai_json_get(kept, "sampler")->number : 0;
        out->failed |= !kept;
        if (kept && number[s] != s) fai_out_int(out, kept, "sampler", number[s]);
    }
    fa_free(number);
    if (!channels->count) return NULL;
    out->failed |=
        !fai_json_set(out->json, copy, "channels", channels) || !fai_json_set(out->json, copy, "samplers", samplers);
    return copy;
}

static bool loses_something(const Edit *e, const FaJson *anim, int number) {
    int channels = fai_json_count(fai_json_get(anim, "channels")),
        samplers = fai_json_count(fai_json_get(anim, "samplers"));
    bool any = !channels, gone = e->first_gone < e->doc->naccessor;
    for (int c = 0; c < channels; c++) any |= goes(e, number, c);
    for (int s = 0; s < samplers && gone && !any; s++) any = sampler_goes(e, number, s);
    return any;
}

// Take out what goes, and animations that have no channel left.
static void drop_channels(Edit *e) {
    FaGltfOut *out = &e->out;
    FaJson *old = fai_json_get(out->root, "animations"), *kept = fai_json_new_array(out->json);
    bool any = false;
    int i = 0;
    for (FaJson *a = old ? old->first : NULL; a; a = a->next, i++) any |= loses_something(e, a, i);
    if (!any) return;
    out->failed |= !kept;
    i = 0;
    for (FaJson *a = old->first; a && kept; a = a->next, i++) {
        FaJson *anim = loses_something(e, a, i) ? without(e, a, i) : fai_json_copy(out->json, a);
        if (anim) out->failed |= !fai_json_append(out->json, kept, anim);
    }
    if (!fai_json_count(kept))
        fai_json_remove(out->root, "animations");
    else
        out->failed |= !fai_json_set(out->json, out->root, "animations", kept);
}

// Animations of parts alone, as exporters write one per object, belong to the take as well, if they do not exclude
// those taken.
static FaCode take_parts(Edit *e, FaError *err) {
    const FaGltf *doc = e->doc;
    unsigned char *written = FA_NEW(doc->nnode, unsigned char);
    if (!written) return FA_FAIL_MEMORY(err);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < doc->nanim; i++) {
            const FaGltfAnim *a = &doc->anim[i];
            bool fits = a->nchannel > 0;
            for (int c = 0; c < a->nchannel && pass; c++) {
                int node = a->channel[c].node;
                fits &= node >= 0 && !(written[node] >> a->channel[c].path & 1) && e->part[node];
            }
            if (pass ? e->taken[i] || !fits : !e->taken[i]) continue;
            e->taken[i] = true;
            for (int c = 0; c < a->nchannel; c++)
                if (a->channel[c].node >= 0) written[a->channel[c].node] |= (unsigned char)(1 << a->channel[c].path);
        }
    fa_free(written);
    return FA_OK;
}

// Which animations and nodes that is about.
static FaCode look_around(Edit *e, FaError *err) {
    const FaGltf *doc = e->doc;
    e->taken = FA_NEW(doc->nanim, bool);
    e->still = FA_NEW(doc->nnode, bool);
    e->part = FA_NEW(doc->nnode, bool);
    e->replayed = FA_NEW(doc->nnode, bool);
    e->sampler = FA_NEW((size_t)doc->nanim + 1, int);
    if (!e->taken || !e->still || !e->part || !e->replayed || !e->sampler) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < doc->nanim; i++) e->sampler[i + 1] = e->sampler[i] + doc->anim[i].nsampler;
    e->settled = FA_NEW(e->sampler[doc->nanim], bool);
    if (!e->settled) return FA_FAIL_MEMORY(err);
    bool skinned = doc->face.carrier != doc->face.node;
    for (int n = e->motion->new_head && !skinned ? doc->face.carrier : -1; n >= 0; n = doc->node[n].parent)
        e->still[n] = true;
    if (e->motion->on_neck) e->still[doc->face.carrier] = true;
    for (int i = 0; i < doc->parts.n; i++) {
        const FaGltfPart *p = &doc->parts.part[i];
        for (int n = p->node; n >= 0 && !fai_gltf_below(doc, doc->face.node, n); n = doc->node[n].parent) {
            e->part[n] = true;
            if (e->motion->new_head && !p->skinned) e->still[n] = true;
        }
    }
    FA_TRY(fai_gltf_clip_anims(doc, e->taken, &e->anim, err));
    return take_parts(e, err);
}

static FaCode play_weights(Edit *e, FaError *err) {
    const FaGltfMotion *m = e->motion;
    size_t nuser = (size_t)e->nuser, nbake = (size_t)e->nbake, width = nuser + nbake;
    if ((int64_t)m->nframe * (int64_t)width > INT32_MAX)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "bake fewer frames, or allow fewer targets",
                       "an animation would have too many weights");
    float *x = FA_NEW((size_t)m->nframe * width, float);
    if (!x) return FA_FAIL_MEMORY(err);
    for (size_t f = 0; f < (size_t)m->nframe; f++) {
        if (nuser) memcpy(x + f * width, m->weight + f * nuser, nuser * sizeof *x);
        if (nbake) memcpy(x + f * width + nuser, m->bake->weight + f * nbake, nbake * sizeof *x);
    }
    set_channel(e, e->node, "weights", FA_GLTF_WEIGHTS, fai_out_floats(&e->out, x, m->nframe * (int)width, 1, false));
    fa_free(x);
    return FA_OK;
}

static void play_pose(Edit *e, int node, const float *t, const float *r) {
    int n = e->motion->nframe;
    // a body's head stays on its neck, wherever that goes
    if (!(e->motion->on_neck && node == e->doc->face.carrier))
        set_channel(e, node, "translation", FA_GLTF_TRANSLATION, fai_out_floats(&e->out, t, n, 3, false));
    set_channel(e, node, "rotation", FA_GLTF_ROTATION, fai_out_floats(&e->out, r, n, 4, false));
}

// On the node that carries the face, or better on the one above all of the head.
static FaCode play_head(Edit *e, FaError *err) {
    const FaGltfMotion *m = e->motion;
    const FaGltf *doc = e->doc;
    int carrier = doc->face.carrier;
    size_t n = (size_t)m->nframe;
    float *t = FA_NEW(3 * n, float), *r = FA_NEW(4 * n, float);
    double *turn = FA_NEW(16 * n, double);
    bool possible = false, lifted = false;
    FaCode rc = t && r && turn ? fai_gltf_head_keys(&e->out, e->rig, m->nframe, m->head, t, r, &possible, err)
                               : FA_FAIL_MEMORY(err);
    e->mover = carrier;
    if (rc >= 0 && possible && fai_gltf_head_moves(doc, m->nframe, t, r, turn)) {
        e->turn = turn;
        turn = NULL;
        bool lift = doc->parts.mover != carrier && !m->on_neck; // a body's head turns about its own joint
        if (lift) rc = fai_gltf_node_keys(&e->out, doc->parts.mover, m->nframe, e->turn, t, r, &lifted, err);
        if (rc >= 0 && lift && !lifted) // back to what they were
            rc = fai_gltf_head_keys(&e->out, e->rig, m->nframe, m->head, t, r, &possible, err);
        if (lifted) e->mover = doc->parts.mover;
    }
    if (rc >= 0 && possible) play_pose(e, e->mover, t, r);
    fa_free(t);
    fa_free(r);
    fa_free(turn);
    return rc;
}

// --- the other meshes of the head ---------------------------------------------------------------------------------

// Does an animation of the take move the node so already?
static bool plays(const Edit *e, int node, bool weights) {
    for (int i = 0; i < e->doc->nanim; i++)
        for (int c = 0; e->taken[i] && c < e->doc->anim[i].nchannel; c++) {
            const FaGltfChannel *ch = &e->doc->anim[i].channel[c];
            if (ch->node == node && ch->path != FA_GLTF_OTHER && (ch->path == FA_GLTF_WEIGHTS) == weights) return true;
        }
    return false;
}

// The face's weights on the part's own targets; what they do not speak for is as it is at rest.
static FaCode play_part_weights(Edit *e, const FaGltfPart *part, FaError *err) {
    const FaGltfMotion *m = e->motion;
    const FaGltfNode *node = &e->doc->node[part->node];
    const FaGltfMesh *mesh = &e->doc->mesh[node->mesh];
    size_t width = (size_t)mesh->ntarget;
    const float *rest = node->nweight ? node->weight : mesh->nweight ? mesh->weight : NULL;
    if ((int64_t)m->nframe * mesh->ntarget > INT32_MAX) return FA_OK;
    FaBinding b;
    FA_TRY(fai_gltf_part_binding(e->rig, e->nuser, part, &b, err));
    float *x = FA_NEW((size_t)m->nframe * width, float);
    for (size_t f = 0; x && f < (size_t)m->nframe; f++) {
        fa_binding_weights(&b, m->weight + f * (size_t)e->nuser, x + f * width);
        for (size_t i = 0; i < width && rest; i++)
            if (b.chan[i] < 0) x[f * width + i] = rest[i];
    }
    fa_binding_free(&b);
    if (!x) return FA_FAIL_MEMORY(err);
    set_channel(e, part->node, "weights", FA_GLTF_WEIGHTS,
                fai_out_floats(&e->out, x, m->nframe * (int)width, 1, false));
    e->replayed[part->node] = true;
    fa_free(x);
    return FA_OK;
}

// A node above it that has the motion already: the head's, or that of a part which goes with the jaw.
static bool is_carried(const Edit *e, const FaGltfPart *part, bool by_jaw) {
    const FaGltfParts *parts = &e->doc->parts;
    if (!by_jaw && fai_gltf_below(e->doc, part->node, e->mover)) return true;
    for (int i = 0; i < parts->n; i++) {
        const FaGltfPart *p = &parts->part[i];
        if (p != part && !p->skinned && p->jaw == by_jaw && fai_gltf_below(e->doc, part->node, p->node)) return true;
    }
    return false;
}

static FaCode play_part_motion(Edit *e, const FaGltfPart *part, const double *jaw, FaError *err) {
    size_t n = (size_t)e->motion->nframe;
    bool with_jaw = part->jaw && jaw && !is_carried(e, part, true), possible;
    bool with_head = e->turn && !is_carried(e, part, false) && !is_carried(e, part, true);
    if (part->skinned || (!with_jaw && !with_head)) return FA_OK;
    double *move = FA_NEW(16 * n, double);
    float *t = FA_NEW(3 * n, float), *r = FA_NEW(4 * n, float);
    FaCode rc = move && t && r ? FA_OK : FA_FAIL_MEMORY(err);
    for (size_t f = 0; rc >= 0 && f < n; f++) {
        double *to = move + 16 * f;
        memcpy(to, with_jaw ? jaw + 16 * f : e->turn + 16 * f, 16 * sizeof *to);
        if (with_jaw && with_head) fai_gltf_multiply(e->turn + 16 * f, to, to);
    }
    if (rc >= 0) rc = fai_gltf_node_keys(&e->out, part->node, e->motion->nframe, move, t, r, &possible, err);
    if (rc >= 0 && possible) play_pose(e, part->node, t, r);
    fa_free(move);
    fa_free(t);
    fa_free(r);
    return rc;
}

static bool plays_jaw(const Edit *e) {
    return e->motion->nframe && e->motion->weight && e->nuser && e->doc->parts.jaw.found;
}

// Does a part do what the head is made to do, or what the file's own animation does with it? That stays where the
// head's own motion does, unless shapes of the face are silenced.
static bool is_led(const Edit *e, const FaGltfPart *part, bool weights) {
    if (e->motion->new_head || !plays(e, part->node, weights)) return true;
    bool silenced = false;
    for (int i = 0; i < e->rig->nshape; i++) silenced |= e->rig->shape[i].said == FA_SAID_NULL;
    return weights && silenced;
}

// Lower rows of teeth get nodes of their own where the jaw moves. Those stay with the document, so they come before
// what the next bake takes away again.
static FaCode part_rows(Edit *e, FaError *err) {
    const FaGltfParts *parts = &e->doc->parts;
    e->lower = FA_NEW(parts->n, int);
    if (!e->lower) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < parts->n; i++) {
        e->lower[i] = -1;
        if (parts->part[i].lower && plays_jaw(e) && is_led(e, &parts->part[i], false))
            FA_TRY(fai_gltf_part_rows(&e->out, &parts->part[i], &e->lower[i], err));
    }
    return FA_OK;
}

static FaCode play_lower_row(Edit *e, int part, const double *jaw, FaError *err) {
    size_t n = (size_t)e->motion->nframe;
    float *t = FA_NEW(3 * n, float), *r = FA_NEW(4 * n, float);
    bool possible = false;
    FaCode rc = t && r ? fai_gltf_child_keys(e->doc, e->doc->parts.part[part].node, e->motion->nframe, jaw, t, r,
                                             &possible, err)
                       : FA_FAIL_MEMORY(err);
    if (rc >= 0 && possible) play_pose(e, e->lower[part], t, r);
    fa_free(t);
    fa_free(r);
    return rc;
}

static FaCode play_parts(Edit *e, FaError *err) {
    const FaGltfMotion *m = e->motion;
    const FaGltfParts *parts = &e->doc->parts;
    double *jaw = NULL;
    FaCode rc = FA_OK;
    if (plays_jaw(e) && !(jaw = FA_NEW(16 * (size_t)m->nframe, double))) return FA_FAIL_MEMORY(err);
    bool turns = jaw && fai_gltf_jaw_moves(e->doc, e->rig, m->nframe, m->weight, e->nuser, jaw);
    for (int i = 0; i < parts->n && rc >= 0; i++) {
        const FaGltfPart *p = &parts->part[i];
        if (p->shapes && m->weight && e->nuser && is_led(e, p, true)) rc = play_part_weights(e, p, err);
        if (rc >= 0 && is_led(e, p, false)) rc = play_part_motion(e, p, turns ? jaw : NULL, err);
        if (rc >= 0 && turns && e->lower[i] >= 0) rc = play_lower_row(e, i, jaw, err);
    }
    fa_free(jaw);
    return rc;
}

static FaCode add_times(Edit *e, FaError *err) {
    const FaGltfMotion *m = e->motion;
    float *t = FA_NEW(m->nframe, float);
    if (!t) return FA_FAIL_MEMORY(err);
    for (int f = 0; f < m->nframe; f++) {
        t[f] = (float)m->time[f];
        if (f && !(t[f] > t[f - 1])) t[f] = nextafterf(t[f - 1], INFINITY); // they must increase as floats, too
    }
    e->input = fai_out_floats(&e->out, t, m->nframe, 1, true);
    fa_free(t);
    return FA_OK;
}

static FaCode change_motion(Edit *e, FaError *err) {
    const FaGltfMotion *m = e->motion;
    bool weights = m->nframe && (m->weight || m->bake) && e->nuser + e->nbake;
    bool head = m->nframe && m->new_head && m->head && e->doc->face.carrier >= 0;
    if (!weights && !head)
        e->anim = -1;
    else {
        if (e->node < 0) make_node(e);
        FA_TRY(pick_animation(e, err));
        FA_TRY(add_times(e, err));
    }
    if (weights) FA_TRY(play_weights(e, err));
    if (head) FA_TRY(play_head(e, err));
    if (weights || head) FA_TRY(play_parts(e, err));
    if (e->input >= 0) FA_TRY(retime(e, err));
    FA_TRY(change_others(e, err));
    drop_channels(e);
    return FA_OK;
}

// --- the record ---------------------------------------------------------------------------------------------------

static void write_pair(FaGltfOut *out, FaJson *object, const char *key, int64_t a, int64_t b) {
    FaJson *array = fai_json_new_array(out->json);
    fai_out_push_int(out, array, a);
    fai_out_push_int(out, array, b);
    if (object) out->failed |= !fai_json_set(out->json, object, key, array);
}

// Who did this and how well; and what was added, so that the next bake can take it away again.
static void write_record(Edit *e, int first_accessor, int first_view) {
    FaGltfOut *out = &e->out;
    const FaGltfMotion *m = e->motion;
    FaJson *extras = fai_out_object(out, fai_json_get(out->root, "asset"), "extras");
    if (!extras) return;
    fai_json_remove(extras, "fascia");
    FaJson *f = fai_out_object(out, extras, "fascia");
    fai_out_str(out, f, "version", FA_VERSION_TEXT);
    if (m->generator) fai_out_str(out, f, "generator", m->generator);
    fai_out_num(out, f, "unit", e->rig->unit); // m: so that nobody has to guess it again
    if (e->nbake) {
        FaJson *bake = fai_out_object(out, f, "bake");
        fai_out_int(out, bake, "mesh", e->doc->face.mesh);
        fai_out_int(out, bake, "targets", e->nbake);
        fai_out_num(out, bake, "allowed_mm", m->allowed_mm);
        fai_out_num(out, bake, "max_mm", 1e3 * m->bake->max_error);
        fai_out_num(out, bake, "mean_mm", 1e3 * m->bake->mean_error);
    }
    FaJson *added = fai_out_object(out, f, "added");
    write_pair(out, added, "accessors", first_accessor, out->naccessor - first_accessor);
    write_pair(out, added, "bufferViews", first_view, out->nview - first_view);
    fai_out_int(out, added, "buffer", out->buffer);
    write_pair(out, added, "bytes", (int64_t)(out->base + e->kept), (int64_t)(out->bin.size - e->kept));
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode change(Edit *e, FaError *err) {
    const FaGltf *doc = e->doc;
    e->first_gone = doc->naccessor;
    forget_earlier(e);
    size_t gone = (size_t)(doc->naccessor - e->first_gone);
    e->moved = FA_NEW(gone, int);
    if (!e->moved) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < gone; i++) e->moved[i] = -1;
    FA_TRY(look_around(e, err));
    FA_TRY(part_rows(e, err));
    int first_accessor = e->out.naccessor, first_view = e->out.nview;
    e->kept = e->out.bin.size;
    if (e->nold != e->nuser || e->nbake) {
        FA_TRY(change_targets(e, err));
        change_mesh(e);
    }
    FA_TRY(change_motion(e, err));
    write_record(e, first_accessor, first_view);
    return FA_OK;
}

FaCode fai_gltf_save_motion(const FaGltf *doc, const FaRig *rig, const FaGltfMotion *motion, const char *path,
                            size_t *added, FaError *err) {
    Edit e = {.doc = doc,
              .rig = rig,
              .motion = motion,
              .nold = doc->mesh[doc->face.mesh].ntarget,
              .node = doc->face.node,
              .mover = doc->parts.mover,
              .input = -1,
              .anim = -1};
    e.nuser = motion->weight || motion->bake ? fai_gltf_user_targets(doc) : e.nold;
    e.nbake = motion->bake ? motion->bake->ntarget : 0;
    FaCode rc = fai_gltf_out_open(&e.out, doc, path, err);
    if (rc >= 0) rc = change(&e, err);
    if (rc >= 0) rc = fai_gltf_out_write(&e.out, err);
    if (added) *added = e.out.added;
    fai_gltf_out_close(&e.out);
    fa_free(e.moved);
    fa_free(e.played);
    fa_free(e.taken);
    fa_free(e.still);
    fa_free(e.lower);
    fa_free(e.part);
    fa_free(e.replayed);
    fa_free(e.turn);
    fa_free(e.sampler);
    fa_free(e.settled);
    return fai_fail_in(err, rc, path);
}
