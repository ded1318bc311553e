#include "face/region_text.h"

#include "base/number.h"

float fai_face_hangs(const FaFace *f, int i) {
    const float lips = f->region[FA_REGION_LIP_UPPER][i] + f->region[FA_REGION_LIP_LOWER][i],
                face = FA_MAX(lips, f->region[FA_REGION_CHEEKS][i]), hangs = f->region[FA_REGION_FREE][i] - face;
    return FA_MAX(hangs, 0);
}

unsigned fai_regions_named(const char *name, size_t n) {
    unsigned bits = 0;
    for (int r = 0; r < FA_REGIONS; r++)
        if (strlen(fai_region_name[r]) == n && !strncmp(fai_region_name[r], name, n)) bits |= 1u << r;
    if (n == 4 && !strncmp(name, "lips", n)) bits = 1u << FA_REGION_LIP_UPPER | 1u << FA_REGION_LIP_LOWER;
    if (n == 7 && !strncmp(name, "hanging", n)) bits = 1u << FA_REGIONS;
    return bits;
}

FaCode fai_region_numbers(const FaFace *f, const char *what, const char *text, float *strength, FaError *err) {
    while (*text) {
        const char *eq = strchr(text, '=');
        const size_t n = eq ? (size_t)(eq - text) : 0;
        double value = 0;
        const char *end = eq ? fai_parse_double(eq + 1, eq + strlen(eq), &value) : NULL;
        if (n == 0 || !end || (*end && *end != ',') || !(value >= 0 && value <= 100))
            return FA_FAIL(err, FA_E_ARG, what, "write it as cheeks=1.5,lips=0.5; numbers from 0 to 100",
                           "cannot read '%s'", text);
        const bool all = n == 3 && !strncmp(text, "all", n);
        const unsigned regions = fai_regions_named(text, n);
        if (!all && !regions)
            return FA_FAIL(err, FA_E_ARG, what,
                           "regions are lips, lip_upper, lip_lower, mouth, eyelids, cheeks, free, hanging, all",
                           "no region '%.*s'", (int)n, text);
        for (int r = 0; r < FA_REGIONS; r++)
            for (int i = 0; i < f->nskin && (regions >> r & 1); i++)
                strength[i] += f->region[r][i] * ((float)value - strength[i]);
        for (int i = 0; i < f->nskin && (regions >> FA_REGIONS & 1); i++)
            strength[i] += fai_face_hangs(f, i) * ((float)value - strength[i]);
        for (int i = 0; i < f->nskin && all; i++) strength[i] *= (float)value;
        text = *end ? end + 1 : end;
    }
    return FA_OK;
}

FaCode fai_region_list(const char *what, const char *text, unsigned *regions, FaError *err) {
    *regions = 0;
    while (*text) {
        const size_t n = strcspn(text, ",");
        const unsigned bits = fai_regions_named(text, n);
        if (!bits)
            return FA_FAIL(err, FA_E_ARG, what,
                           "regions are lips, lip_upper, lip_lower, mouth, eyelids, cheeks, free, hanging",
                           "no region '%.*s'", (int)n, text);
        *regions |= bits;
        text += n + (text[n] == ',');
    }
    return FA_OK;
}
