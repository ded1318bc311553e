// The list of benchmarks.
#include "bench/bench.h"

#include "bench/bench_list.h"
#include "bench/chol_cholmod.h"

static const struct {
    const char *name;
    FaBenchFn *fn;
} benches[] = {
    {"blend", fai_bench_blend},           {"analytic", fai_bench_analytic},     {"svd", fai_bench_svd},
    {"projective", fai_bench_projective}, {"enrich", fai_bench_enrich},         {"live", fai_bench_live},
    {"drive", fai_bench_drive},           {"drive_full", fai_bench_drive_full}, {"drive_rig", fai_bench_drive_rig},
    {"muscle", fai_bench_muscle},         {"neural", fai_bench_neural},         {"methods", fai_bench_methods},
};

const char *const *fa_bench_names(void) {
    static const char *names[FA_COUNT(benches) + 1];
    for (int i = 0; i < FA_COUNT(benches); i++) names[i] = benches[i].name;
    return names;
}

static FaBenchFn *find(const char *name) {
    for (int i = 0; i < FA_COUNT(benches); i++)
        if (!strcmp(benches[i].name, name)) return benches[i].fn;
    return NULL;
}

static FaCode unknown(const char *name, FaError *err) {
    FaText known = {0};
    for (int i = 0; i < FA_COUNT(benches); i++)
        fai_text_printf(&known, "%s%s", i ? ", " : "known are: ", benches[i].name);
    FaCode rc = FA_FAIL(err, FA_E_ARG, NULL, known.data, "no benchmark '%s'", name);
    fai_text_free(&known);
    return rc;
}

FaCode fa_bench(const char *name, const FaRig *rig, const FaClip *clip, char **json, FaError *err) {
    *json = NULL;
    FaBenchFn *fn = find(name);
    if (!fn) return unknown(name, err);
    fai_bench_cholmod();
    FaText text = {0}, machine = {0};
    FaJsonWriter w = {.text = &text, .pretty = true};
    fai_jw_open(&w, NULL, '{');
    fai_jw_str(&w, "name", name);
    fai_bench_machine(&machine);
    fai_jw_str(&w, "machine", machine.data ? machine.data : "");
    fai_text_free(&machine);
    fai_jw_int(&w, "threads", fa_threads());
    FaCode rc = fn(rig, clip, &w, err);
    fai_jw_close(&w);
    if (rc >= 0 && text.failed) rc = FA_FAIL_MEMORY(err);
    if (rc < 0)
        fai_text_free(&text);
    else
        *json = text.data;
    return rc;
}
