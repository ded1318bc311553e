// Parameters of a method: one table of rows gives defaults, checks, text and JSON.
#include "base/json.h"
#include "base/number.h"
#include "method/method.h"

#include <math.h>

struct FaParams {
    const FaParamInfo *info;
    int n;
    double *value; // (n)
    char **text;   // of text rows, owned; NULL: not given     (n)
};

const FaParamInfo *fai_params_table(const FaParams *p) { return p->info; }
double fai_params_at(const FaParams *p, int i) { return p->value[i]; }
const char *fai_params_text_at(const FaParams *p, int i) { return p->text[i] ? p->text[i] : ""; }

FaCode fa_params_new(const char *method, FaParams **params, FaError *err) {
    *params = NULL;
    const FaParamInfo *info = fa_method_params(method);
    if (!info) return FA_FAIL(err, FA_E_ARG, NULL, NULL, "there is no method '%s'", method);
    FaParams *p = FA_NEW(1, FaParams);
    if (!p) return FA_FAIL_MEMORY(err);
    p->info = info;
    while (info[p->n].name) p->n++;
    p->value = FA_NEW(p->n, double);
    p->text = FA_NEW(p->n, char *);
    if (!p->value || !p->text) {
        fa_params_free(p);
        return FA_FAIL_MEMORY(err);
    }
    for (int i = 0; i < p->n; i++) p->value[i] = info[i].value;
    *params = p;
    return FA_OK;
}

void fa_params_free(FaParams *p) {
    if (!p) return;
    for (int i = 0; p->text && i < p->n; i++) fa_free(p->text[i]);
    fa_free(p->text);
    fa_free(p->value);
    fa_free(p);
}

static int find(const FaParams *p, const char *name) {
    for (int i = 0; i < p->n; i++)
        if (!strcmp(p->info[i].name, name)) return i;
    return -1;
}

static FaCode unknown(const FaParams *p, const char *name, FaError *err) {
    FaText known = {0};
    for (int i = 0; i < p->n; i++) fai_text_printf(&known, "%s%s", i ? ", " : "known are: ", p->info[i].name);
    FaCode rc = FA_FAIL(err, FA_E_ARG, NULL, known.data, "there is no parameter '%s'", name);
    fai_text_free(&known);
    return rc;
}

static FaCode set_at(FaParams *p, int i, double v, FaError *err) {
    const FaParamInfo *info = &p->info[i];
    char lo[FA_NUMBER_SIZE], hi[FA_NUMBER_SIZE], got[FA_NUMBER_SIZE];
    bool whole = info->type == FA_PARAM_NUMBER || v == floor(v);
    if (info->type == FA_PARAM_TEXT)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "%s is a text, not a number", info->name);
    if (v >= info->min && v <= info->max && whole) {
        p->value[i] = v;
        return FA_OK;
    }
    fai_format_double(lo, info->min);
    fai_format_double(hi, info->max);
    fai_format_double(got, v);
    return FA_FAIL(err, FA_E_ARG, NULL,
                   FA_PLACE("give %s %s to %s%s%s", whole ? "a number from" : "a whole number from", lo, hi,
                            info->unit[0] ? " " : "", info->unit),
                   "%s cannot be %s", info->name, got);
}

FaCode fa_params_set_number(FaParams *p, const char *name, double value, FaError *err) {
    int i = find(p, name);
    return i < 0 ? unknown(p, name, err) : set_at(p, i, value, err);
}

static FaCode set_choice(FaParams *p, int i, const char *text, FaError *err) {
    int at = 0;
    for (const char *w = p->info[i].choices; *w; at++) {
        size_t n = strcspn(w, "|");
        if (strlen(text) == n && !strncmp(w, text, n)) {
            p->value[i] = at;
            return FA_OK;
        }
        w += n + (w[n] == '|');
    }
    return FA_FAIL(err, FA_E_ARG, NULL, FA_PLACE("it takes %s", p->info[i].choices), "%s cannot be '%s'",
                   p->info[i].name, text);
}

FaCode fa_params_set(FaParams *p, const char *name, const char *text, FaError *err) {
    int i = find(p, name);
    if (i < 0) return unknown(p, name, err);
    switch (p->info[i].type) {
    case FA_PARAM_CHOICE: return set_choice(p, i, text, err);
    case FA_PARAM_TEXT: {
        char *copy = fai_strdup(text);
        if (!copy) return FA_FAIL_MEMORY(err);
        fa_free(p->text[i]);
        p->text[i] = copy;
        return FA_OK;
    }
    case FA_PARAM_FLAG:
        if (!strcmp(text, "on") || !strcmp(text, "off")) return set_at(p, i, !strcmp(text, "on"), err);
        break;
    default: break;
    }
    double v;
    const char *end = text + strlen(text);
    if (fai_parse_double(text, end, &v) != end || !isfinite(v))
        return FA_FAIL(err, FA_E_ARG, NULL,
                       p->info[i].type == FA_PARAM_FLAG
                           ? "it takes on or off"
                           : FA_PLACE("it takes a number%s%s: %s", p->info[i].unit[0] ? ", " : "", p->info[i].unit,
                                      p->info[i].help),
                       "%s cannot be '%s'", name, text);
    return set_at(p, i, v, err);
}

double fa_params_get(const FaParams *p, const char *name) {
    int i = find(p, name);
    return i < 0 || p->info[i].type == FA_PARAM_TEXT ? (double)NAN : p->value[i];
}

const char *fa_params_text(const FaParams *p, const char *name) {
    int i = find(p, name);
    return i < 0 ? "" : fai_params_text_at(p, i);
}

// --- JSON ---------------------------------------------------------------------------------------------------------

static void write_choice(FaJsonWriter *w, const FaParamInfo *info, int at) {
    const char *c = info->choices;
    for (; at > 0; at--) c += strcspn(c, "|") + 1;
    char word[64];
    size_t n = strcspn(c, "|");
    snprintf(word, sizeof word, "%.*s", (int)n, c);
    fai_jw_str(w, info->name, word);
}

FaCode fa_params_json(const FaParams *p, char **json, FaError *err) {
    FaText text = {0};
    FaJsonWriter w = {.text = &text};
    fai_jw_open(&w, NULL, '{');
    for (int i = 0; i < p->n; i++) {
        const FaParamInfo *info = &p->info[i];
        if (info->type == FA_PARAM_CHOICE)
            write_choice(&w, info, (int)p->value[i]);
        else if (info->type == FA_PARAM_FLAG)
            fai_jw_bool(&w, info->name, p->value[i] != 0);
        else if (info->type == FA_PARAM_TEXT && p->text[i])
            fai_jw_str(&w, info->name, p->text[i]);
        else if (info->type != FA_PARAM_TEXT && !isnan(p->value[i]))
            fai_jw_num(&w, info->name, p->value[i]);
    }
    fai_jw_close(&w);
    if (text.failed) {
        fai_text_free(&text);
        return FA_FAIL_MEMORY(err);
    }
    *json = text.data;
    return FA_OK;
}

static FaCode read_member(FaParams *p, const FaJson *v, FaError *err) {
    if (fai_json_is(v, FA_JSON_NUMBER)) return fa_params_set_number(p, v->key, v->number, err);
    if (fai_json_is(v, FA_JSON_STRING)) return fa_params_set(p, v->key, v->string, err);
    if (fai_json_is(v, FA_JSON_TRUE) || fai_json_is(v, FA_JSON_FALSE))
        return fa_params_set(p, v->key, fai_json_is(v, FA_JSON_TRUE) ? "on" : "off", err);
    return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "give a number, a text or a truth value", "%s has no value",
                   v->key);
}

FaCode fa_params_read(FaParams *p, const char *json, FaError *err) {
    FaJsonDoc *doc;
    FA_TRY(fai_json_parse(json, strlen(json), &doc, NULL, err));
    FaCode rc = FA_OK;
    if (!fai_json_is(doc->root, FA_JSON_OBJECT))
        rc = FA_FAIL(err, FA_E_FORMAT, NULL, "write {\"name\": value, ...}", "parameters are not a JSON object");
    for (const FaJson *v = rc < 0 ? NULL : doc->root->first; v && rc >= 0; v = v->next) rc = read_member(p, v, err);
    fai_json_free(doc);
    return rc;
}
