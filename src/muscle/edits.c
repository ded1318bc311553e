#include "muscle/edits.h"

#include "base/json.h"

#include <math.h>
#include <stdio.h>

static const double FARTHEST = 0.1; // m: of a move
static const double EASE = 0.15;    // s: how long an edit of some frames comes and goes
static const char MOVE[] = "give {\"medial\": 8}: medial, lateral, up, down, forward, back";

// A member that no one reads is a typing error, not a wish.
static FaCode known_keys(const FaJson *v, const char *const *keys, FaError *err) {
    char all[200] = "";
    for (int i = 0; keys[i]; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "there are: ", keys[i]);
    for (const FaJson *c = v->first; c; c = c->next) {
        int i = 0;
        while (keys[i] && strcmp(keys[i], c->key) != 0) i++;
        if (!keys[i]) return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, all, "'%.40s' means nothing", c->key);
    }
    return FA_OK;
}

static FaCode number_in(const FaJson *v, double lo, double hi, double *out, FaError *err) {
    char remedy[100];
    snprintf(remedy, sizeof remedy, "give a number from %g to %g", lo, hi);
    if (!fai_json_is(v, FA_JSON_NUMBER) || !(v->number >= lo && v->number <= hi))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, remedy, "%s is none that can be used here",
                       fai_json_show(v).text);
    *out = v->number;
    return FA_OK;
}

// Medial, up and front, from words for both ways.
static FaCode read_move(const FaJson *v, double unit, FaEdit *e, FaError *err) {
    static const struct {
        const char *name;
        int axis;
        double sign;
    } way[] = {{"medial", 0, 1}, {"lateral", 0, -1}, {"up", 1, 1}, {"down", 1, -1}, {"forward", 2, 1}, {"back", 2, -1}};
    if (!fai_json_is(v, FA_JSON_OBJECT) || !v->count)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, MOVE, "a move says whither");
    for (const FaJson *c = v->first; c; c = c->next) {
        int i = 0;
        double by;
        while (i < FA_COUNT(way) && strcmp(way[i].name, c->key) != 0) i++;
        if (i == FA_COUNT(way))
            return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, MOVE, "'%.40s' is no direction", c->key);
        FA_TRY(number_in(c, -FARTHEST / unit, FARTHEST / unit, &by, err));
        e->move[way[i].axis] += way[i].sign * by * unit;
    }
    e->moves = true;
    return FA_OK;
}

static FaCode read_fall(const FaJson *v, FaEdit *e, FaError *err) {
    static const char *const name[] = {"linear", "smooth", "none"};
    if (fai_json_is(v, FA_JSON_NUMBER)) {
        e->fall = FA_FALL_WIDTH;
        return number_in(v, 1e-3, 10, &e->width, err);
    }
    for (int i = 0; i < FA_COUNT(name) && fai_json_is(v, FA_JSON_STRING); i++)
        if (!strcmp(v->string, name[i])) {
            e->fall = (FaEditFall)i;
            return FA_OK;
        }
    return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text,
                   "give \"linear\", \"smooth\", \"none\", or a width along the muscle: 0.3", "%s is no falloff",
                   fai_json_show(v).text);
}

static FaCode read_activation(const FaJson *v, FaEdit *e, FaError *err) {
    if (fai_json_is(v, FA_JSON_STRING) && !strcmp(v->string, "length")) {
        e->how = FA_ACTIVATION_LENGTH;
        return FA_OK;
    }
    if (!fai_json_is(v, FA_JSON_NUMBER) || !(v->number >= 0 && v->number <= 1))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text,
                       "give 0 to 1, or \"length\": as long as the track is, by the muscle's own curve",
                       "%s is no activation", fai_json_show(v).text);
    e->how = FA_ACTIVATION_SET, e->activation = v->number;
    return FA_OK;
}

static FaCode read_retime(const FaJson *v, FaEdit *e, FaError *err) {
    const char *remedy = "give [[0, 0], [0.3, 0.5], [1, 1]]: at 0.3 of the way it is where it was at 0.5; from 0 to 1";
    const int n = fai_json_count(v);
    if (!fai_json_is(v, FA_JSON_ARRAY) || n < 2 || n > FA_RETIME_MOST)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, remedy, "2 to %d pairs are needed",
                       (int)FA_RETIME_MOST);
    for (const FaJson *c = v->first; c; c = c->next) {
        double *pair = e->retime[e->nretime];
        if (!fai_json_is(c, FA_JSON_ARRAY) || c->count != 2)
            return FA_FAIL(err, FA_E_FORMAT, fai_json_path(c).text, remedy, "this is no pair");
        for (int k = 0; k < 2; k++) FA_TRY(number_in(fai_json_at(c, k), 0, 1, &pair[k], err));
        if (e->nretime && !(pair[0] > pair[-2]))
            return FA_FAIL(err, FA_E_FORMAT, fai_json_path(c).text, remedy, "%g comes after %g", pair[0], pair[-2]);
        e->nretime++;
    }
    if (e->retime[0][0] != 0 || e->retime[0][1] != 0 || e->retime[n - 1][0] != 1)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, remedy, "it begins at [0, 0] and ends at [1, ...]");
    return FA_OK;
}

static FaCode read_jaw(const FaJson *v, double unit, FaEdit *e, FaError *err) {
    static const char *const keys[] = {"open", "forward", "side", NULL};
    double *to[] = {&e->open, &e->forward, &e->side};
    if (!fai_json_is(v, FA_JSON_OBJECT) || !v->count)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "give {\"open\": 6}: degrees; forward, side",
                       "a jaw says where it is");
    FA_TRY(known_keys(v, keys, err));
    for (int i = 0; i < 3; i++) {
        const FaJson *c = fai_json_get(v, keys[i]);
        if (!c) continue;
        FA_TRY(number_in(c, i ? -0.03 / unit : -5, i ? 0.03 / unit : 45, to[i], err));
        e->jaw[i] = true;
        if (i) *to[i] *= unit;
    }
    return FA_OK;
}

// "frames": [40, 60], "seconds": [1.3, 2]; "ease" is in the same. fps: 0: not told.
static FaCode read_time(const FaJson *v, double fps, FaEdit *e, FaError *err) {
    const FaJson *frames = fai_json_get(v, "frames"), *seconds = fai_json_get(v, "seconds"),
                 *ease = fai_json_get(v, "ease"), *c = frames ? frames : seconds;
    const double unit = frames ? 1 / fmax(fps, 1) : 1;
    if (!c)
        return !ease ? FA_OK
                     : FA_FAIL(err, FA_E_FORMAT, fai_json_path(ease).text, "give \"frames\": [40, 60]",
                               "'ease' says nothing without \"frames\" or \"seconds\"");
    if (frames && seconds)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(seconds).text, "give one of them",
                       "there are \"frames\" and \"seconds\"");
    if (frames && !(fps > 0))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(frames).text,
                       "write {\"fps\": 30, \"edits\": ...}, or give \"seconds\"",
                       "how many frames make a second is not said");
    if (!fai_json_is(c, FA_JSON_ARRAY) || c->count != 2)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(c).text, "give [40, 60]: the first and the last one",
                       "this is no range");
    FA_TRY(number_in(fai_json_at(c, 0), 0, 1e7, &e->from, err));
    FA_TRY(number_in(fai_json_at(c, 1), e->from, 1e7, &e->to, err));
    e->ease = EASE / unit;
    if (ease) FA_TRY(number_in(ease, 0, 1e7, &e->ease, err));
    e->from *= unit, e->to *= unit, e->ease *= unit;
    e->slack = frames ? 0.25 * unit : 1e-4;
    e->timed = true;
    return FA_OK;
}

// What an entry needs, and what goes together.
static FaCode check_edit(const FaJson *v, const FaEdit *e, FaError *err) {
    const bool jaw = e->jaw[0] || e->jaw[1] || e->jaw[2], act = e->moves || e->how || e->nretime;
    const char *alone = fai_json_get(v, "u")         ? "u"
                        : fai_json_get(v, "around")  ? "around"
                        : fai_json_get(v, "key")     ? "key"
                        : fai_json_get(v, "falloff") ? "falloff"
                                                     : NULL;
    if (alone && !e->moves)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, MOVE, "'%s' says nothing without a \"move\"", alone);
    if (act && !e->muscle[0])
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "give \"muscle\": \"zyg_maj.L\"", "whose edit is it?");
    if (!act && e->muscle[0])
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "give \"move\", \"activation\" or \"retime\"",
                       "nothing is done to '%s'", e->muscle);
    if (!act && !jaw)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "give \"muscle\" and \"move\", or \"jaw\"",
                       "the edit is empty");
    return FA_OK;
}

static FaCode read_edit(const FaJson *v, double unit, double fps, FaEdit *e, FaError *err) {
    static const char *const keys[] = {"muscle", "u",   "move",   "falloff", "around", "key",  "activation",
                                       "retime", "jaw", "frames", "seconds", "ease",   "note", NULL};
    const char *name;
    const FaJson *c;
    if (!fai_json_is(v, FA_JSON_OBJECT))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text,
                       "give {\"muscle\": \"inc_*\", \"move\": {\"medial\": 8}}", "an edit is an object");
    FA_TRY(known_keys(v, keys, err));
    FA_TRY(fai_json_str_or(v, "muscle", "", &name, err));
    if (strlen(name) >= sizeof e->muscle)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "fascia muscle list FACE names all",
                       "no muscle has a name of %zu letters", strlen(name));
    snprintf(e->muscle, sizeof e->muscle, "%s", name);
    e->u = e->key = 1, e->around = FA_EDIT_AROUND;
    if ((c = fai_json_get(v, "u"))) FA_TRY(number_in(c, 0, 1, &e->u, err));
    if ((c = fai_json_get(v, "key"))) FA_TRY(number_in(c, 0.01, 1, &e->key, err));
    if ((c = fai_json_get(v, "around"))) {
        FA_TRY(number_in(c, 0, FARTHEST / unit, &e->around, err));
        e->around *= unit;
    }
    if ((c = fai_json_get(v, "move"))) FA_TRY(read_move(c, unit, e, err));
    if ((c = fai_json_get(v, "falloff"))) FA_TRY(read_fall(c, e, err));
    if ((c = fai_json_get(v, "activation"))) FA_TRY(read_activation(c, e, err));
    if ((c = fai_json_get(v, "retime"))) FA_TRY(read_retime(c, e, err));
    if ((c = fai_json_get(v, "jaw"))) FA_TRY(read_jaw(c, unit, e, err));
    FA_TRY(read_time(v, fps, e, err));
    return check_edit(v, e, err);
}

static FaCode read_unit(const FaJson *root, double *unit, FaError *err) {
    static const struct {
        const char *name;
        double metres;
    } units[] = {{"mm", 1e-3}, {"cm", 1e-2}, {"m", 1}, {"in", 0.0254}};
    const char *name;
    FA_TRY(fai_json_str_or(root, "unit", "mm", &name, err));
    for (int i = 0; i < FA_COUNT(units); i++)
        if (!strcmp(units[i].name, name)) {
            *unit = units[i].metres;
            return FA_OK;
        }
    return FA_FAIL(err, FA_E_FORMAT, "/unit", "give mm, cm, m or in", "'%.20s' is no unit", name);
}

static FaCode read_all(const FaJson *root, FaEdits *out, FaError *err) {
    static const char *const keys[] = {"unit", "edits", "spring", "fps", "note", NULL};
    double unit, fps = 0;
    const FaJson *spring = fai_json_get(root, "spring"), *list = fai_json_get(root, "edits"),
                 *rate = fai_json_get(root, "fps");
    if (!fai_json_is(root, FA_JSON_OBJECT) || !fai_json_is(list, FA_JSON_ARRAY))
        return FA_FAIL(err, FA_E_FORMAT, NULL, "write {\"unit\": \"mm\", \"edits\": [...]}: docs/guide/muscle.md",
                       "this is no list of edits");
    FA_TRY(known_keys(root, keys, err));
    FA_TRY(read_unit(root, &unit, err));
    if (spring) FA_TRY(number_in(spring, 1e6, 1e13, &out->spring, err));
    if (rate) FA_TRY(number_in(rate, 1, 10000, &fps, err));
    if (list->count > FA_EDITS_MOST)
        return FA_FAIL(err, FA_E_FORMAT, "/edits", "give fewer", "%d edits; at most %d are read", list->count,
                       (int)FA_EDITS_MOST);
    if (!(out->edit = FA_PUSH(out->arena, list->count + 1, FaEdit))) return FA_FAIL_MEMORY(err);
    for (const FaJson *v = list->first; v; v = v->next) FA_TRY(read_edit(v, unit, fps, &out->edit[out->n++], err));
    return FA_OK;
}

FaCode fai_edits_parse(const char *json, size_t size, FaEdits *out, FaError *err) {
    FaJsonDoc *doc = NULL;
    *out = (FaEdits){0};
    FA_TRY(fai_json_parse(json, size, &doc, NULL, err));
    FaCode rc = (out->arena = fai_arena_new(0)) ? read_all(doc->root, out, err) : FA_FAIL_MEMORY(err);
    fai_json_free(doc);
    if (rc < 0) fai_edits_free(out);
    return rc;
}

void fai_edits_free(FaEdits *edits) {
    fai_arena_free(edits->arena);
    *edits = (FaEdits){0};
}
