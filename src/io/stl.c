#include "io/stl.h"

#include "base/number.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

typedef struct Corner {
    float x[3];
    int at; // number of the corner in the file
} Corner;

// --- the two forms ------------------------------------------------------------------------------------------------

static uint32_t u32(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static FaCode too_many(FaError *err) {
    return FA_FAIL(err, FA_E_LIMIT, NULL, "reduce it in the tool that made it", "more than %d triangles",
                   (int)FA_STL_MOST);
}

static FaCode read_binary(const unsigned char *data, uint32_t n, FaArena *arena, Corner **corner, FaError *err) {
    if (!(*corner = FA_PUSH(arena, 3 * (size_t)n + 1, Corner))) return FA_FAIL_MEMORY(err);
    for (uint32_t t = 0; t < n; t++)
        for (uint32_t k = 0; k < 9; k++) {
            uint32_t bits = u32(data + 84 + 50 * (size_t)t + 12 + 4 * (size_t)k);
            memcpy(&(*corner)[3 * (size_t)t + k / 3].x[k % 3], &bits, sizeof bits);
        }
    return FA_OK;
}

typedef struct Words {
    const char *at, *end;
} Words;

// The next word; false at the end. Longer words are cut, which makes them wrong anyway.
static bool next_word(Words *w, char word[64]) {
    size_t n = 0;
    while (w->at < w->end && isspace((unsigned char)*w->at)) w->at++;
    if (w->at == w->end) return false;
    for (; w->at < w->end && !isspace((unsigned char)*w->at); w->at++)
        if (n < 63) word[n++] = *w->at;
    word[n] = 0;
    return true;
}

// "vertex" is followed by three numbers; all else (names, normals, loops) is passed over. Called once to count.
static FaCode read_text(Words w, Corner *corner, size_t *count, FaError *err) {
    char word[64];
    size_t n = 0, first = 0;
    bool loop = false;
    while (next_word(&w, word)) {
        if (!strcmp(word, "loop")) loop = true, first = n;
        if (!strcmp(word, "endloop")) {
            if (loop && n != first + 3)
                return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("triangle %zu", first / 3), "write triangles",
                               "a face with %zu corners", n - first);
            loop = false;
        }
        if (!loop || strcmp(word, "vertex")) continue;
        if (n / 3 >= FA_STL_MOST) return too_many(err);
        for (int k = 0; k < 3; k++) {
            double v = 0;
            const char *end = next_word(&w, word) ? fai_parse_double(word, word + strlen(word), &v) : NULL;
            if (!end || *end || !isfinite((float)v))
                return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("triangle %zu", n / 3), "export it again",
                               "a coordinate is not a number");
            if (corner) corner[n].x[k] = (float)v;
        }
        n++;
    }
    if (n % 3 || loop)
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("triangle %zu", n / 3), "export it again", "the file ends early");
    *count = n;
    return FA_OK;
}

// --- one vertex per place -----------------------------------------------------------------------------------------

static int by_place(const void *a, const void *b) {
    const Corner *p = a, *q = b;
    for (int k = 0; k < 3; k++)
        if (p->x[k] != q->x[k]) return p->x[k] < q->x[k] ? -1 : 1;
    return p->at - q->at;
}

static int by_number(const void *a, const void *b) { return ((const Corner *)a)->at - ((const Corner *)b)->at; }

// Vertices are numbered in the order in which the file first uses them.
static FaCode join(Corner *corner, int n, FaArena *arena, FaMesh *mesh, FaError *err) {
    int *first = FA_PUSH(arena, n + 1, int), *number = FA_PUSH(arena, n + 1, int);
    mesh->x = FA_PUSH(arena, 3 * (size_t)n + 1, float);
    mesh->tri = FA_PUSH(arena, n + 1, int);
    if (!first || !number || !mesh->x || !mesh->tri) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < n; i++) {
        corner[i].at = i;
        for (int k = 0; k < 3; k++) {
            if (!isfinite(corner[i].x[k]))
                return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("triangle %d", i / 3), "export it again",
                               "a coordinate is not finite");
            corner[i].x[k] += 0.0f; // -0 is 0
        }
    }
    qsort(corner, (size_t)n, sizeof *corner, by_place);
    for (int i = 0; i < n; i++) {
        bool same = i > 0 && !memcmp(corner[i].x, corner[i - 1].x, sizeof corner[i].x);
        first[corner[i].at] = same ? first[corner[i - 1].at] : corner[i].at;
    }
    qsort(corner, (size_t)n, sizeof *corner, by_number);
    for (int i = 0; i < n; i++) {
        if (first[i] == i) {
            memcpy(mesh->x + 3 * (size_t)mesh->nvert, corner[i].x, sizeof corner[i].x);
            number[i] = mesh->nvert++;
        }
        number[i] = number[first[i]];
    }
    for (int t = 0; t < n / 3; t++) {
        const int *v = number + 3 * (size_t)t;
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
        memcpy(mesh->tri + 3 * (size_t)mesh->ntri++, v, 3 * sizeof *v);
    }
    return FA_OK;
}

FaCode fai_stl_parse(const void *data, size_t size, FaArena *arena, FaMesh *mesh, FaError *err) {
    const unsigned char *p = data;
    Corner *corner = NULL;
    size_t n = 0;
    *mesh = (FaMesh){0};
    // programs begin binary files with "solid" too: the size tells
    const uint32_t said = size >= 84 ? u32(p + 80) : 0;
    if (size >= 84 && (uint64_t)84 + 50 * (uint64_t)said <= size && said > 0 &&
        ((uint64_t)84 + 50 * (uint64_t)said == size || memcmp(p, "solid", 5))) {
        if (said > FA_STL_MOST) return too_many(err);
        FA_TRY(read_binary(p, said, arena, &corner, err));
        n = 3 * (size_t)said;
    } else if (size >= 5 && !memcmp(p, "solid", 5)) {
        Words w = {(const char *)p, (const char *)p + size};
        FA_TRY(read_text(w, NULL, &n, err));
        if (!(corner = FA_PUSH(arena, n + 1, Corner))) return FA_FAIL_MEMORY(err);
        FA_TRY(read_text(w, corner, &n, err));
    } else
        return FA_FAIL(err, FA_E_FORMAT, NULL, "export it again, as STL or OBJ",
                       size >= 84 ? "the file ends early, or it is no STL" : "this is no STL");
    if (n == 0) return FA_FAIL(err, FA_E_FORMAT, NULL, "export it again", "there are no triangles in it");
    return join(corner, (int)n, arena, mesh, err);
}
