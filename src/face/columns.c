#include "face/columns.h"

#include <math.h>

FaCode fai_columns_push(FaColumnsMaker *m, int n, const float *dense, float least, FaError *err) {
    const size_t width = (size_t)m->width;
    int *first = fai_grow_array(m->first, &m->first_room, m->nshape + 2, sizeof *first);
    if (!first) return FA_FAIL_MEMORY(err);
    m->first = first;
    for (int i = 0; i < n; i++) {
        const float *row = dense + (size_t)i * width;
        float most = 0;
        for (size_t k = 0; k < width; k++) most = fmaxf(most, fabsf(row[k]));
        if (!(most > least)) continue;
        if (m->count == m->room) {
            if (m->room > INT32_MAX / 8)
                return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser face", "the shapes have too many entries");
            int room = 2 * m->room + 1024;
            int *item = fai_resize(m->item, (size_t)room * sizeof *item);
            if (!item) return FA_FAIL_MEMORY(err);
            m->item = item;
            float *value = fai_resize(m->value, (size_t)room * width * sizeof *value);
            if (!value) return FA_FAIL_MEMORY(err);
            m->value = value;
            m->room = room;
        }
        m->item[m->count] = i;
        memcpy(m->value + width * (size_t)m->count++, row, width * sizeof *row);
    }
    m->first[0] = 0;
    m->first[++m->nshape] = m->count;
    return FA_OK;
}

FaCode fai_columns_finish(FaColumnsMaker *m, FaArena *arena, FaColumns *c, FaError *err) {
    const size_t n = (size_t)m->count, width = (size_t)m->width;
    FaColumns out = {.nshape = m->nshape,
                     .width = m->width,
                     .first = FA_PUSH(arena, m->nshape + 1, int),
                     .item = FA_PUSH(arena, n, int),
                     .value = FA_PUSH(arena, n * width, float)};
    bool ok = out.first && out.item && out.value;
    if (ok && m->nshape) memcpy(out.first, m->first, ((size_t)m->nshape + 1) * sizeof(int));
    if (ok && n) memcpy(out.item, m->item, n * sizeof(int));
    if (ok && n) memcpy(out.value, m->value, n * width * sizeof(float));
    if (ok) *c = out;
    fai_columns_drop(m);
    return ok ? FA_OK : FA_FAIL_MEMORY(err);
}

void fai_columns_drop(FaColumnsMaker *m) {
    fa_free(m->first);
    fa_free(m->item);
    fa_free(m->value);
    *m = (FaColumnsMaker){0};
}

void fai_columns_add(const FaColumns *c, const float *weights, double *y) {
    const size_t width = (size_t)c->width;
    for (int s = 0; weights && s < c->nshape; s++) {
        const double w = (double)weights[s];
        if (w == 0) continue;
        for (int e = c->first[s]; e < c->first[s + 1]; e++) {
            double *out = y + width * (size_t)c->item[e];
            const float *value = c->value + width * (size_t)e;
            for (size_t k = 0; k < width; k++) out[k] += w * (double)value[k];
        }
    }
}

void fai_columns_dense(const FaColumns *c, int shape, int n, float *out) {
    const size_t width = (size_t)c->width;
    memset(out, 0, width * (size_t)n * sizeof *out);
    for (int e = c->first[shape]; e < c->first[shape + 1]; e++)
        memcpy(out + width * (size_t)c->item[e], c->value + width * (size_t)e, width * sizeof *out);
}

FaCode fai_columns_check(const FaColumns *c, const char *what, int width, int n, float most, FaError *err) {
    static const char *const remedy = "build the face again: fascia build RIG -o FACE";
    if (c->nshape == 0) return FA_OK;
    if (c->nshape < 0 || c->width != width || !c->first || !c->item || !c->value || c->first[0] != 0)
        return FA_FAIL(err, FA_E_FORMAT, what, remedy, "the columns of the shapes do not belong together");
    for (int s = 0; s < c->nshape; s++) {
        if (c->first[s + 1] < c->first[s])
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("%s, shape %d", what, s), remedy,
                           "its entries end before they begin");
        for (int e = c->first[s]; e < c->first[s + 1]; e++) {
            if (c->item[e] < 0 || c->item[e] >= n || (e > c->first[s] && c->item[e] <= c->item[e - 1]))
                return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("%s, shape %d, entry %d", what, s, e - c->first[s]), remedy,
                               "index %d is out of range or out of order", c->item[e]);
            for (int k = 0; k < width; k++)
                if (!(fabsf(c->value[(size_t)width * (size_t)e + (size_t)k]) <= most))
                    return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("%s, shape %d, entry %d", what, s, e - c->first[s]),
                                   remedy, "a value is not a number or out of range");
        }
    }
    return FA_OK;
}
