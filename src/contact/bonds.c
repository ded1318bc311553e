// Sticky lips: springs of zero length between places that touched, which break by chance, the sooner the longer they
// are.
//
// Based on: thesis 001, section 5.4.2. p_break(l) = (1 - tanh(2 - r l)) / 2 per step (eq. 5.17), which is the logistic
// function 1 / (1 + exp(4 - 2 r l)); r makes p_break(2 mm) = 0.1. Decisions: the law is for steps of 1/60 s, other
// steps break as many per second; where the artist's own pose has lips farther apart than the bond is long, that length
// counts: soft flesh would follow a bond for centimetres; random numbers are a function of (seed, bond, step), so
// neither order nor threads matter.
#include "contact/contact_work.h"

#include <limits.h>
#include <math.h>

// --- the law ------------------------------------------------------------------------------------------------------
// exp and log of our own: the same bits everywhere, to 1e-15 relative.

static double own_exp(double x) {
    if (!(x > -700)) return x <= -700 ? 0 : x;
    if (x > 700) return HUGE_VAL;
    double k = floor(x * 1.4426950408889634 + 0.5),
           r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double sum = 1;
    for (int i = 14; i > 0; i--) sum = 1 + sum * r / i; // Taylor: |r| <= 0.347, the next term is under 1e-18
    uint64_t bits = (uint64_t)((int64_t)k + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return sum * power;
}

static double own_log(double x) {
    if (!(x > 0)) return -HUGE_VAL;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int e = (int)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFu) | 0x3FF0000000000000u;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) m *= 0.5, e++;
    double z = (m - 1) / (m + 1), square = z * z, sum = 0; // |z| <= 0.172
    for (int i = 23; i > 0; i -= 2) sum = sum * square + 1.0 / i;
    return 2 * z * sum + e * 0.69314718055994531;
}

double fai_break_rate(double length, double probability) { return (4 - own_log(1 / probability - 1)) / (2 * length); }

double fai_share_per_step(double share, double h) {
    double steps = 60 * h;
    if (steps == 1 || share <= 0) return share;
    return share >= 1 ? 1 : 1 - own_exp(steps * own_log(1 - share));
}

double fai_break_chance(double rate, double length, double h) {
    return fai_share_per_step(1 / (1 + own_exp(4 - 2 * rate * length)), h);
}

// --- bonds --------------------------------------------------------------------------------------------------------

static void stretch(const FaBond *b, double (*x)[3], double s[3]) {
    for (int k = 0; k < 3; k++) {
        s[k] = 0;
        for (int i = 0; i < 4; i++) s[k] += (double)b->weight[i] * x[b->point[i]][k];
    }
}

static void write_row(const FaContact *c, const FaBond *b, FaRow *row) {
    double offset[3];
    stretch(b, c->rest, offset);
    *row = (FaRow){.stiffness = (float)c->options.sticky_stiffness, .kind = FA_ROW_PULL};
    for (int i = 0; i < 4; i++) {
        row->node[i] = c->pairs.node[b->point[i]];
        row->weight[i] = b->weight[i];
    }
    for (int k = 0; k < 3; k++) row->offset[k] = (float)offset[k];
}

// A vertex whose bond broke in this frame, whatever it was bound to.
static uint64_t vertex_key(int point) { return fai_pair_key(FA_PAIR_VERTEX_TRIANGLE, point, INT_MAX); }

// How long a bond is; own: in the artist's pose, where it parts the lips.
static double length_of(const FaContact *c, const FaBond *b, bool own) {
    double s[3], side = 0;
    stretch(b, own ? c->own : c->pairs.from, s);
    for (int k = 0; k < 3; k++) side += (double)b->normal[k] * s[k];
    return own && !(side > 0) ? 0 : sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
}

// Where one end hangs free the artist's pose says nothing of a bond: its length alone breaks it.
static bool hangs(const FaContact *c, const FaBond *b) {
    for (int i = 0; i < 4; i++)
        if (c->sticky[b->point[i]] & 2) return true;
    return false;
}

// The dice of a bond is the same all through a step.
static void break_bonds(FaContact *c, bool own, uint64_t step) {
    int kept = 0;
    for (int i = 0; i < c->state.nbond; i++) {
        FaBond b = c->bond[i];
        double dice = fai_random_unit(fai_random_u64(c->options.seed, b.id), step);
        // a length that is no number breaks too
        const bool asked = !own || !hangs(c, &b);
        if (asked && !(dice >= fai_break_chance(c->break_rate, length_of(c, &b, own), c->h))) {
            fai_keys_put(&c->broken, fai_pair_key((FaPairKind)b.kind, b.a, b.b), 0);
            if (b.kind == FA_PAIR_VERTEX_TRIANGLE) fai_keys_put(&c->broken, vertex_key(b.a), 0);
            c->stats.broken++;
            continue;
        }
        c->bond[kept] = b;
        write_row(c, &b, &c->row[kept++]);
    }
    c->state.nbond = c->npull = c->nrow = kept;
    c->stats.rows = c->stats.bonds = kept;
}

void fai_bonds_break(FaContact *c) { break_bonds(c, false, c->state.step); }
void fai_bonds_break_own(FaContact *c) { break_bonds(c, true, c->state.step - 1); }

// May a touching pair bond? All its points are sticky, it did not break just now, and does not part. Lips that cross at
// rest have no sides that could stick.
static bool may_bond(const FaContact *c, const FaPairHit *h) {
    if (fai_contact_tangled(c, h)) return false;
    for (int i = 0; i < 4; i++)
        if (h->point[i] >= c->pairs.nsurface || !(c->sticky[h->point[i]] & 1)) return false;
    if (fai_keys_find(&c->broken, fai_hit_key(h)) >= 0) return false;
    if (h->kind == FA_PAIR_VERTEX_TRIANGLE && fai_keys_find(&c->broken, vertex_key(h->a)) >= 0) return false;
    double before = 0, after = 0;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) {
            before += h->weight[i] * h->normal[k] * c->pairs.from[h->point[i]][k];
            after += h->weight[i] * h->normal[k] * c->pairs.to[h->point[i]][k];
        }
    return after - before <= c->options.gap;
}

// Each vertex holds one bond of its own; edges bond where none of their ends does, so that there are about as many
// bonds as vertices that touch. mark bit 2: holds a bond.
void fai_bonds_make(FaContact *c, int n, const int *touching) {
    FaPairs *p = &c->pairs;
    if (!(c->options.sticky_stiffness > 0)) return;
    for (int i = 0; i < p->nsurface; i++) c->mark[i] = 0;
    for (int i = 0; i < c->state.nbond; i++)
        for (int k = 0; k < (c->bond[i].kind == FA_PAIR_VERTEX_TRIANGLE ? 1 : 4); k++) c->mark[c->bond[i].point[k]] = 4;
    for (int kind = 0; kind < 2; kind++)
        for (int t = 0; t < n && c->state.nbond < c->max_bond; t++) {
            const FaPairHit *h = &c->push[touching[t]];
            int holders = kind == FA_PAIR_VERTEX_TRIANGLE ? 1 : 4;
            bool held = (int)h->kind != kind;
            if (held || !may_bond(c, h)) continue; // after this all its points are the surface's
            for (int k = 0; k < holders && !held; k++) held = c->mark[h->point[k]] & 4;
            if (held) continue;
            FaBond *b = &c->bond[c->state.nbond++];
            *b = (FaBond){.id = c->state.next_id++, .kind = kind, .a = h->a, .b = h->b};
            for (int i = 0; i < 4; i++) {
                b->point[i] = h->point[i];
                b->weight[i] = (float)h->weight[i];
                if (i < 3) b->normal[i] = (float)h->normal[i];
                if (i < holders) c->mark[h->point[i]] |= 4;
            }
            c->stats.made++;
        }
}
