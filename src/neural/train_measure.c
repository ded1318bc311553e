// How far the network's corrections are from the physics', beside ridge regression and no correction at all: distances
// per vertex, of the network as its file has it. And the picture of its learning.
#include "base/file.h"
#include "base/task.h"
#include "neural/net_math.h"
#include "neural/train_work.h"

#include <math.h>

enum { BINS = 32768, ALL = 0, LIPS, LIDS, PLACES, WAYS = FA_TRAIN_WAYS + 1, BASIS = FA_TRAIN_WAYS }; // bins of 1 um
static const int MOST[FA_PART_NONE] = {[FA_PART_LEARN] = 1000, [FA_PART_PEOPLE] = 2500, [FA_PART_CLIPS] = 2500};

typedef struct Count {
    double sum, most;
    int64_t n;
    uint32_t bin[BINS];
} Count;

typedef struct Measure {
    FaTrain *t;
    Count (*count)[WAYS][PLACES]; // of a part
    int samples[FA_TRAIN_PARTS];
    float *off;  // mm (FA_TRAIN_ROWS x WAYS x nvert)
    float *work; // of a row (FA_TRAIN_ROWS x room)
    size_t room;
    const FaTrainRows *rows;
} Measure;

// Components as this way says them.
static void say(const FaTrain *t, int way, int sample, float *out, float *work) {
    const size_t nd = (size_t)t->net.nd, nc = (size_t)t->net.nc, s = (size_t)sample;
    const float *raw = t->raw + s * nd, *su = t->net.su;
    if (way == FA_TRAIN_NET) {
        for (size_t k = 0; k < nd; k++) work[k] = fai_squash(raw[k]);
        fai_net_components(&t->net, work, t->person + (size_t)t->set.owner[s] * (size_t)t->net.nn, out, work + nd);
        return;
    }
    for (size_t c = 0; c < nc; c++) {
        double p = way == BASIS ? t->target[s * nc + c] : 0;
        for (size_t k = 0; way == FA_TRAIN_RIDGE && k < nd; k++) p += t->plain[c * nd + k] * raw[k];
        out[c] = (float)(su[c] * p);
    }
}

static void some_rows(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    Measure *m = ctx;
    const FaTrain *t = m->t;
    const size_t nv = (size_t)t->net.nvert, n3 = 3 * nv, nc = (size_t)t->net.nc;
    for (int r = begin; r < end; r++)
        for (int way = 0; way < WAYS; way++) {
            float *x = m->work + (size_t)r * m->room, *coef = x + n3, *work = coef + nc;
            say(t, way, m->rows->sample[r], coef, work);
            memset(x, 0, n3 * sizeof *x);
            for (size_t c = 0; way != FA_TRAIN_ZERO && c < nc; c++)
                for (size_t i = 0; i < n3; i++) x[i] += t->net.u[c * n3 + i] * coef[c];
            const float *want = m->rows->correction + (size_t)r * m->rows->ld;
            float *off = m->off + ((size_t)r * WAYS + (size_t)way) * nv;
            for (size_t v = 0; v < nv; v++) {
                const float a = x[3 * v] - want[3 * v], b = x[3 * v + 1] - want[3 * v + 1],
                            c = x[3 * v + 2] - want[3 * v + 2];
                off[v] = 1000 * sqrtf(a * a + b * b + c * c);
            }
        }
}

static void add(Count *c, float off) {
    c->sum += off;
    c->most = FA_MAX(c->most, (double)off);
    c->n++;
    c->bin[FA_MIN(BINS - 1, (int)(FA_MIN(off, 1e5f) * 1000))]++;
}

static int part_row(int part) {
    return part == FA_PART_LEARN ? FA_TRAIN_TRAIN : part == FA_PART_PEOPLE ? FA_TRAIN_IDENTITIES : FA_TRAIN_CLIPS;
}

static FaCode take_rows(void *ctx, const FaTrainRows *rows, FaError *err) {
    (void)err;
    Measure *m = ctx;
    const FaTrain *t = m->t;
    m->rows = rows;
    fai_parallel(rows->count, 2, some_rows, m);
    for (int r = 0; r < rows->count; r++) {
        const int part = part_row(t->set.part[rows->sample[r]]);
        m->samples[part]++;
        for (int way = 0; way < WAYS; way++)
            for (int v = 0; v < t->net.nvert; v++) {
                if (!t->set.moved[v]) continue;
                const float off = m->off[((size_t)r * WAYS + (size_t)way) * (size_t)t->net.nvert + (size_t)v];
                const int region = t->net.region[v];
                add(&m->count[part][way][ALL], off);
                if (region) add(&m->count[part][way][region <= FA_REGION_LOWER_LIP ? LIPS : LIDS], off);
            }
    }
    return FA_OK;
}

static double quantile(const Count *c, double share) {
    int64_t below = 0;
    const double want = share * (double)c->n;
    for (int b = 0; b < BINS; b++)
        if ((double)(below += c->bin[b]) >= want) return FA_MIN(c->most, 1e-3 * (b + 1));
    return c->most;
}

static FaTrainSpread spread(const Count *c) {
    if (!c->n) return (FaTrainSpread){0};
    return (FaTrainSpread){c->sum / (double)c->n, quantile(c, 0.95), quantile(c, 0.99), c->most};
}

FaCode fai_train_measure(FaTrain *t, FaTrainReport *report, FaError *err) {
    const size_t nv = (size_t)t->net.nvert;
    Measure m = {.t = t, .room = 3 * nv + (size_t)t->net.nc + (size_t)t->net.nd + fai_net_work(&t->net)};
    m.count = fai_alloc_array(FA_TRAIN_PARTS, sizeof *m.count);
    m.off = FA_NEW((size_t)FA_TRAIN_ROWS * WAYS * nv, float);
    m.work = FA_NEW((size_t)FA_TRAIN_ROWS * m.room, float);
    FaTrainWalk w = {
        1 << FA_PART_LEARN | 1 << FA_PART_PEOPLE | 1 << FA_PART_CLIPS, {0}, "measuring", 0, 1, take_rows, &m};
    for (int p = 0; p < FA_PART_NONE; p++) w.every[p] = MOST[p] ? (t->set.count[p] + MOST[p] - 1) / MOST[p] : 1;
    FaCode rc = m.count && m.off && m.work ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_train_walk(&t->set, &t->o, &w, err);
    for (int way = 0; rc >= 0 && way < FA_TRAIN_WAYS; way++)
        for (int p = 0; p < FA_TRAIN_PARTS; p++)
            report->error[way][p] = (FaTrainFigures){m.samples[p], spread(&m.count[p][way][ALL]),
                                                     spread(&m.count[p][way][LIPS]), spread(&m.count[p][way][LIDS])};
    if (rc >= 0) report->basis = spread(&m.count[FA_TRAIN_IDENTITIES][BASIS][ALL]).mean;
    fa_free(m.count), fa_free(m.off), fa_free(m.work);
    return rc;
}

// --- the picture --------------------------------------------------------------------------------------------------

enum { WIDE = 640, HIGH = 360, LEFT = 64, TOP = 40, RIGHT = 20, BOTTOM = 44 };

static void number(FaText *s, double v) { fai_text_double(s, floor(v * 100 + 0.5) / 100); }

static void text(FaText *s, double x, double y, const char *anchor, const char *words) {
    fai_text_str(s, "<text x=\"");
    number(s, x);
    fai_text_str(s, "\" y=\"");
    number(s, y);
    fai_text_printf(s, "\" text-anchor=\"%s\">%s</text>\n", anchor, words);
}

static void line(FaText *s, const FaTrain *t, int which, const char *color, double low, double high) {
    fai_text_printf(s, "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"%s\" points=\"", color);
    for (int i = 0; i < t->npoint; i++) {
        const double value = FA_MAX(1e-12, (double)t->curve[3 * i + which]);
        number(s, LEFT + (WIDE - LEFT - RIGHT) * t->curve[3 * i] / FA_MAX(1, t->o.steps));
        fai_text_str(s, ",");
        number(s, TOP + (HIGH - TOP - BOTTOM) * (high - log10(value)) / (high - low));
        fai_text_str(s, " ");
    }
    fai_text_str(s, "\"/>\n");
}

FaCode fai_train_picture(const FaTrain *t, const char *path, FaError *err) {
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < t->npoint; i++)
        for (int k = 1; k < 3; k++) {
            const double v = log10(FA_MAX(1e-12, (double)t->curve[3 * i + k]));
            low = FA_MIN(low, v), high = FA_MAX(high, v);
        }
    low = floor(low * 5 - 0.01) / 5, high = ceil(high * 5 + 0.01) / 5;
    FaText s = {0};
    fai_text_printf(&s,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
                    "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                    WIDE, HIGH);
    text(&s, LEFT, 22, "start", "mean distance at a vertex, mm, lips and lids weighing more");
    for (int k = 0; k <= 4; k++) {
        const double v = low + (high - low) * k / 4, y = TOP + (HIGH - TOP - BOTTOM) * (high - v) / (high - low);
        FaText label = {0};
        fai_text_double(&label, floor(pow(10, v) * 1e4 + 0.5) / 1e4);
        fai_text_printf(&s, "<path stroke=\"#ddd\" d=\"M%d %d H%d\"/>\n", LEFT, (int)y, WIDE - RIGHT);
        if (!label.failed) text(&s, LEFT - 6, y + 4, "end", label.data);
        fai_text_free(&label);
    }
    line(&s, t, 1, "#9bb", low, high);
    line(&s, t, 2, "#c42", low, high);
    text(&s, WIDE - RIGHT, HIGH - 12, "end", FA_PLACE("%d steps, kept: %d", t->o.steps, t->best_step));
    text(&s, LEFT, HIGH - 12, "start",
         "<tspan fill=\"#588\">learnt from</tspan>, <tspan fill=\"#c42\">never seen, chooses</tspan>");
    fai_text_str(&s, "</svg>\n");
    FaCode rc = s.failed ? FA_FAIL_MEMORY(err) : fai_file_write(path, s.data, s.size, err);
    fai_text_free(&s);
    return rc;
}
