#include "neural/net_template.h"

#include "base/file.h"
#include "neural/pack.h"

#include <float.h>

enum { VERTS = 1 << 24, TRIS = 1 << 25, WEIGHTS = 4096, CLIPS = 1 << 16, NAME = 64 };
static const char SIGNATURE[8] = {'F', 'A', 'T', 'P', 'L', '1', '\n', 0x1a};

FaCode fai_template_write(const char *path, const FaTemplate *m, FaError *err) {
    const int number[4] = {m->nvert, m->ntri, m->nweight, m->nclip};
    const size_t n3 = 3 * (size_t)m->nvert;
    FaText t = {0};
    fai_pack_begin(&t, SIGNATURE);
    fai_text_bytes(&t, &m->key, sizeof m->key);
    fai_text_bytes(&t, number, sizeof number);
    fai_text_bytes(&t, m->mean, n3 * sizeof(float));
    fai_text_bytes(&t, m->tri, 3 * (size_t)m->ntri * sizeof(int));
    fai_text_bytes(&t, m->region, (size_t)m->nvert);
    fai_text_bytes(&t, m->shape, (size_t)m->nweight * n3 * sizeof(float));
    for (int i = 0; i < m->nclip; i++) fai_pack_name(&t, m->clip[i], NAME);
    fai_pack_name(&t, m->made, sizeof m->made);
    return fai_pack_write(&t, path, err);
}

static void take_all(FaUnpack *u, FaTemplate *m) {
    m->key = fai_unpack_u64(u);
    m->nvert = fai_unpack_int(u, 1, VERTS);
    m->ntri = fai_unpack_int(u, 0, TRIS);
    m->nweight = fai_unpack_int(u, 0, WEIGHTS);
    m->nclip = fai_unpack_int(u, 0, CLIPS);
    const size_t n3 = 3 * (size_t)m->nvert;
    m->mean = fai_unpack_floats(u, n3, -FLT_MAX, FLT_MAX);
    m->tri = fai_unpack_array(u, 3 * (size_t)m->ntri, sizeof(int));
    for (int i = 0; m->tri && i < 3 * m->ntri; i++)
        if (m->tri[i] < 0 || m->tri[i] >= m->nvert) u->bad = true;
    m->region = fai_unpack_array(u, (size_t)m->nvert, 1);
    for (int v = 0; m->region && v < m->nvert; v++)
        if (m->region[v] > FA_REGION_LOWER_LID) u->bad = true;
    m->shape = fai_unpack_floats(u, (size_t)m->nweight * n3, -FLT_MAX, FLT_MAX);
    m->clip = fai_unpack_array(u, (size_t)m->nclip, NAME);
    for (int i = 0; m->clip && i < m->nclip; i++)
        if (!memchr(m->clip[i], 0, NAME)) u->bad = true;
    fai_unpack_name(u, m->made, sizeof m->made);
}

FaCode fai_template_read(const char *path, FaTemplate *m, FaError *err) {
    FaBytes bytes;
    FaUnpack u;
    *m = (FaTemplate){0};
    FA_TRY(fai_file_read(path, 0, &bytes, err));
    if (fai_unpack_begin(&u, bytes.data, bytes.size, SIGNATURE)) take_all(&u, m);
    FaCode rc = fai_unpack_end(&u, "the template of a set of samples", "make the set again with fascia dataset", err);
    fai_bytes_free(&bytes);
    if (rc < 0) fai_template_free(m);
    return fai_fail_in(err, rc, path);
}

void fai_template_free(FaTemplate *m) {
    void *const array[] = {m->mean, m->tri, m->region, m->shape, m->clip};
    for (int i = 0; i < FA_COUNT(array); i++) fa_free(array[i]);
    *m = (FaTemplate){0};
}
