// Pairs that the artist's own pose has crossing are the artist's: contact may part lips that are pressed together, but
// it never carries the surface far from that pose, and never holds lips together that cross at rest.
//
// own = n . s with the points where the artist's pose has them; below 0 it crosses there. A pair is held at most
// SHALLOW away from that: what crosses deeper than lips are pressed was not meant to be parted, and parting it tears.
// Lips are pressed on purpose; teeth come through a lip because nobody looked there, so that less is done about them.
// Where lips cross at rest, sides mean nothing: a lip that is in the other is held in when the mouth opens. There
// (tangled) nothing is held beyond the pose at all.
#include "contact/contact_work.h"

#include <math.h>

#define SHALLOW 12e-3     // m: of lips pressed together, as the artist's pose has them
#define GRAZED 2e-3       // m: of teeth and bones in the skin
#define AROUND 4e-3       // m: what is closer to a crossing at rest is tangled
#define STRAINED 2.5      // of an edge's length in that pose; the bound of method/bounds.c acts at 3
#define CRUSHED (1.0 / 3) // of its length at rest: what counts where the pose has it shorter
#define SHORT 3e-4        // m: what counts of shorter edges

void fai_contact_find_tangled(FaContact *c) {
    const FaPairs *p = &c->pairs;
    for (int i = 0; i < p->npoint && p->crossed; i++)
        for (int j = 0; j < p->npoint && !c->tangled[i]; j++) {
            const double *a = c->rest[i], *b = c->rest[j];
            if (!p->in_crossed[j] || !(fabs(a[0] - b[0]) < AROUND)) continue;
            double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
            c->tangled[i] = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < AROUND * AROUND;
        }
}

int fai_contact_part(const FaContact *c, float *x) {
    const FaPairs *p = &c->pairs;
    int n = 0;
    for (int i = 0; i < p->nsurface; i++) {
        for (int k = 0; k < 3 && p->parted[i]; k++) x[3 * (size_t)p->node[i] + (size_t)k] = (float)c->rest[i][k];
        n += p->parted[i];
    }
    return n;
}

void fai_contact_own_pose(FaContact *c, const float *u) {
    const FaPairs *p = &c->pairs;
    for (int i = 0; i < p->nsurface; i++)
        for (int k = 0; k < 3; k++) c->own[i][k] = c->rest[i][k] + (double)u[4 * (size_t)p->node[i] + (size_t)k];
    c->has_own = true;
    fai_bonds_break_own(c);
}

static double along(const double n[3], const double x[3], double weight) {
    return weight * (n[0] * x[0] + n[1] * x[1] + n[2] * x[2]);
}

bool fai_contact_tangled(const FaContact *c, const FaPairHit *h) {
    int split = h->kind == FA_PAIR_VERTEX_TRIANGLE ? 1 : 2, sides = 0;
    for (int i = 0; i < 4; i++)
        if (c->tangled[h->point[i]]) sides |= i < split ? 1 : 2;
    return sides == 3;
}

// n . s there.
static double own_gap(const FaContact *c, const FaPairHit *h) {
    const FaPairs *p = &c->pairs;
    double own = 0;
    for (int i = 0; i < 4; i++)
        own += along(h->normal, h->point[i] < p->nsurface ? c->own[h->point[i]] : p->to[h->point[i]], h->weight[i]);
    return own;
}

static double shallow(const FaContact *c, const FaPairHit *h) {
    for (int i = 0; i < 4; i++)
        if (h->point[i] >= c->pairs.nsurface) return GRAZED;
    return SHALLOW;
}

double fai_contact_allowed(const FaContact *c, const FaPairHit *h) {
    if (!c->has_own) return HUGE_VAL;
    double own = own_gap(c, h);
    if (!isfinite(own)) return HUGE_VAL;
    return fai_contact_tangled(c, h) ? own : own + shallow(c, h);
}

// Shorter edges do not count: where a rig crushes them any motion is many times their length.
int fai_contact_strained(const FaContact *c, const float *x) {
    const FaPairs *p = &c->pairs;
    int strained = 0;
    for (int e = 0; e < p->nsurface_edge && c->has_own && c->nrow > 0; e++) {
        int i = p->edge[e][0], j = p->edge[e][1];
        const float *a = x + 3 * (size_t)p->node[i], *b = x + 3 * (size_t)p->node[j];
        double now = 0, own = 0, rest = 0;
        for (int k = 0; k < 3; k++) {
            double d[3] = {(double)a[k] - (double)b[k], c->own[i][k] - c->own[j][k], c->rest[i][k] - c->rest[j][k]};
            now += d[0] * d[0], own += d[1] * d[1], rest += d[2] * d[2];
        }
        double least = fmax(fmax(own, CRUSHED * CRUSHED * rest), SHORT * SHORT);
        strained += now > STRAINED * STRAINED * least;
    }
    return strained;
}
