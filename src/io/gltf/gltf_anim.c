// Animations: parsed and checked. The clip that plays on the face is made of them in gltf_clip.c.
#include "io/gltf/gltf_parse.h"

#include "base/number.h"

// --- samplers -----------------------------------------------------------------------------------------------------

static FaCode parse_interpolation(const FaJson *json, FaGltfInterp *interp, FaError *err) {
    static const char *const word[] = {"LINEAR", "STEP", "CUBICSPLINE"};
    const char *s;
    FA_TRY(fai_json_str_or(json, "interpolation", "LINEAR", &s, err));
    for (int i = 0; i < FA_COUNT(word); i++) {
        if (strcmp(word[i], s)) continue;
        *interp = (FaGltfInterp)i;
        return FA_OK;
    }
    return FAIL_AT(err, FA_E_UNSUPPORTED, fai_json_get(json, "interpolation"), "export the animation with linear keys",
                   "the interpolation \"%.40s\" is not read", s);
}

static FaCode parse_sampler(FaGltf *doc, const FaJson *json, FaGltfSampler *s, FaError *err) {
    s->json = json;
    if (json->type != FA_JSON_OBJECT) return BAD_AT(err, json, "expected an object");
    FA_TRY(fai_gltf_ref(json, "input", doc->naccessor, "accessor", &s->input, err));
    FA_TRY(fai_gltf_ref(json, "output", doc->naccessor, "accessor", &s->output, err));
    FA_TRY(parse_interpolation(json, &s->interp, err));
    const FaGltfAccessor *in = &doc->accessor[s->input], *out = &doc->accessor[s->output];
    const FaJson *at = fai_json_get(json, "input");
    if (in->type != FA_GLTF_SCALAR || in->comp != FA_GLTF_F32) return BAD_AT(err, at, "key times are single floats");
    if (in->view >= 0 && doc->view[in->view].stride) return BAD_AT(err, at, "a view of animation data has no stride");
    if (out->view >= 0 && doc->view[out->view].stride)
        return BAD_AT(err, fai_json_get(json, "output"), "a view of animation data has no stride");
    if (!fai_json_get(in->json, "min") || !fai_json_get(in->json, "max"))
        return FAIL_AT(err, FA_E_FORMAT, at, "export the file again, or add min and max to the accessor",
                       "key times without min and max");
    if (s->interp == FA_GLTF_CUBIC && in->count < 2) return BAD_AT(err, at, "a cubic spline needs two keys or more");
    return FA_OK;
}

// --- channels -----------------------------------------------------------------------------------------------------

static FaGltfPath path_of(const char *word) {
    static const char *const known[] = {"translation", "rotation", "scale", "weights"};
    for (int i = 0; i < FA_COUNT(known); i++)
        if (!strcmp(known[i], word)) return (FaGltfPath)(FA_GLTF_TRANSLATION + i);
    return FA_GLTF_OTHER;
}

// KHR_animation_pointer: "/nodes/3/weights" is the same as a channel of that node; anything else is carried along.
static FaCode parse_pointer(const FaGltf *doc, const FaJson *target, const char *word, FaGltfChannel *c, FaError *err) {
    const FaJson *e = fai_gltf_extension(target, "KHR_animation_pointer");
    if (!e) return FA_OK;
    const FaJson *pointer = fai_json_get(e, "pointer");
    if (fai_json_get(target, "node")) return BAD_AT(err, e, "a pointer and a node are both given as target");
    if (strcmp(word, "pointer")) return BAD_AT(err, e, "a pointer goes with the path \"pointer\", not \"%.40s\"", word);
    if (!pointer) return BAD_AT(err, e, "\"pointer\" is missing");
    if (pointer->type != FA_JSON_STRING || pointer->string[0] != '/')
        return BAD_AT(err, pointer, "expected a JSON pointer");
    const char *p = pointer->string;
    for (const char *q = p; (q = strchr(q, '~')); q++)
        if (q[1] != '0' && q[1] != '1') return BAD_AT(err, pointer, "a stray ~ in a JSON pointer");
    if (strncmp(p, "/nodes/", 7)) return FA_OK;
    int64_t node;
    const char *rest = fai_parse_int(p + 7, p + strlen(p), &node);
    if (!rest || *rest != '/' || path_of(rest + 1) == FA_GLTF_OTHER) return FA_OK;
    if (node < 0 || node >= doc->nnode)
        return BAD_AT(err, pointer, "there is no node %lld: the file has %d", (long long)node, doc->nnode);
    c->node = (int)node;
    c->path = path_of(rest + 1);
    return FA_OK;
}

static bool output_format(const FaGltfAccessor *a, FaGltfPath path) {
    bool small = a->normalized && a->comp != FA_GLTF_U32 && a->comp != FA_GLTF_F32;
    switch (path) {
    case FA_GLTF_TRANSLATION:
    case FA_GLTF_SCALE: return a->type == FA_GLTF_VEC3 && a->comp == FA_GLTF_F32;
    case FA_GLTF_ROTATION: return a->type == FA_GLTF_VEC4 && (a->comp == FA_GLTF_F32 || small);
    case FA_GLTF_WEIGHTS: return a->type == FA_GLTF_SCALAR && (a->comp == FA_GLTF_F32 || small);
    case FA_GLTF_OTHER: break;
    }
    return true;
}

// What the channel writes must agree with what its sampler holds.
static FaCode check_channel(const FaGltf *doc, const FaGltfAnim *anim, const FaGltfChannel *c, const FaJson *target,
                            FaError *err) {
    const FaGltfNode *n = &doc->node[c->node];
    const FaGltfSampler *s = &anim->sampler[c->sampler];
    const FaGltfAccessor *in = &doc->accessor[s->input], *out = &doc->accessor[s->output];
    const FaJson *at = fai_json_get(c->json, "sampler");
    int ntarget = n->mesh >= 0 ? doc->mesh[n->mesh].ntarget : 0;
    if (c->path == FA_GLTF_OTHER) return FA_OK;
    if (c->path == FA_GLTF_WEIGHTS && !ntarget)
        return BAD_AT(err, target, "weights are animated, but node %d has no morph targets", c->node);
    if (c->path != FA_GLTF_WEIGHTS && n->has_matrix)
        return FAIL_AT(err, FA_E_FORMAT, target, "give the node translation, rotation and scale instead",
                       "node %d is animated, but its transform is a matrix", c->node);
    if (!output_format(out, c->path)) return BAD_AT(err, at, "the sampler's output has the wrong type for this path");
    int64_t per_key = (c->path == FA_GLTF_WEIGHTS ? ntarget : 1) * (int64_t)(s->interp == FA_GLTF_CUBIC ? 3 : 1);
    if (out->count != in->count * per_key)
        return BAD_AT(err, at, "%d output elements for %d keys of %lld", out->count, in->count, (long long)per_key);
    return FA_OK;
}

static FaCode parse_channel(FaGltf *doc, const FaJson *json, const FaGltfAnim *anim, FaGltfChannel *c, FaError *err) {
    FaJson *target;
    const char *word;
    c->json = json;
    if (json->type != FA_JSON_OBJECT) return BAD_AT(err, json, "expected an object");
    FA_TRY(fai_gltf_ref(json, "sampler", anim->nsampler, "sampler", &c->sampler, err));
    FA_TRY(fai_json_object_or_null(json, "target", &target, err));
    if (!target) return BAD_AT(err, json, "\"target\" is missing");
    FA_TRY(fai_gltf_ref_or(target, "node", doc->nnode, "node", &c->node, err));
    FA_TRY(fai_json_str_or(target, "path", NULL, &word, err));
    if (!word) return BAD_AT(err, target, "\"path\" is missing");
    c->path = path_of(word);
    FA_TRY(parse_pointer(doc, target, word, c, err));
    FA_TRY(fai_gltf_misplaced(json, err));
    return c->node >= 0 ? check_channel(doc, anim, c, target, err) : FA_OK;
}

// --- animations ---------------------------------------------------------------------------------------------------

static FaCode need_array(const FaJson *json, const char *key, FaJson **array, FaError *err) {
    FA_TRY(fai_json_array_or_null(json, key, array, err));
    if (!*array) return BAD_AT(err, json, "\"%s\" is missing", key);
    if (!(*array)->count) return BAD_AT(err, *array, "\"%s\" is empty", key);
    return FA_OK;
}

// Two channels of one animation may not write the same thing. stamp: the animation that last wrote each node and path.
static FaCode check_duplicates(const FaGltf *doc, int anim, int *stamp, FaError *err) {
    const FaGltfAnim *a = &doc->anim[anim];
    for (int i = 0; i < a->nchannel; i++) {
        const FaGltfChannel *c = &a->channel[i];
        if (c->node < 0 || c->path == FA_GLTF_OTHER) continue;
        int *last = &stamp[4 * (size_t)c->node + (size_t)(c->path - FA_GLTF_TRANSLATION)];
        if (*last == anim + 1) {
            int k = 0;
            while (a->channel[k].node != c->node || a->channel[k].path != c->path) k++;
            return BAD_AT(err, fai_json_get(a->channel[k].json, "target"), "channel %d has the same target", i);
        }
        *last = anim + 1;
    }
    return FA_OK;
}

static FaCode parse_anim(FaGltf *doc, const FaJson *json, FaGltfAnim *a, FaError *err) {
    FaJson *samplers, *channels;
    a->json = json;
    FA_TRY(fai_gltf_name(json, &a->name, err));
    FA_TRY(need_array(json, "channels", &channels, err));
    FA_TRY(need_array(json, "samplers", &samplers, err));
    a->sampler = PUSH(doc, samplers->count, FaGltfSampler);
    a->channel = PUSH(doc, channels->count, FaGltfChannel);
    if (!a->sampler || !a->channel) return fai_gltf_no_room(doc, json, err);
    for (const FaJson *c = samplers->first; c; c = c->next)
        FA_TRY(parse_sampler(doc, c, &a->sampler[a->nsampler++], err));
    for (const FaJson *c = channels->first; c; c = c->next)
        FA_TRY(parse_channel(doc, c, a, &a->channel[a->nchannel++], err));
    return FA_OK;
}

FaCode fai_gltf_parse_anims(FaGltf *doc, FaError *err) {
    FaJson *array;
    FA_TRY(fai_gltf_collection(doc, "animations", false, &array, &doc->nanim, err));
    doc->anim = PUSH(doc, doc->nanim, FaGltfAnim);
    if (!doc->anim) return fai_gltf_no_room(doc, array, err);
    FaGltfAnim *a = doc->anim;
    for (const FaJson *c = array ? array->first : NULL; c; c = c->next) FA_TRY(parse_anim(doc, c, a++, err));
    int *stamp = FA_NEW(4 * (size_t)doc->nnode, int);
    if (!stamp) return FA_FAIL_MEMORY(err);
    FaCode rc = FA_OK;
    for (int i = 0; i < doc->nanim && rc >= 0; i++) rc = check_duplicates(doc, i, stamp, err);
    fa_free(stamp);
    return rc;
}
