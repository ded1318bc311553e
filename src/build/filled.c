// The mesher: points (skin nodes and a lattice), their Delaunay tets, those that are flesh, numbered anew.
#include "build/filled.h"

#include "build/filled_work.h"
#include "face/tetra.h"

#include <math.h>

static const int SIZE = 6000;                     // free nodes
static const double SPACING = 4e-3;               // m around the mouth of an adult: where the search begins
static const double FINEST = 0.5, COARSEST = 2.5; // times that
static const double INSIDE = 0.15e-3;             // m, of an adult
enum { SEARCH = 3, REFINE = 2 };                  // rounds, at most

const char *const fai_tissue_name[FA_TISSUES] = {"flesh", "skin", "lining", "held"};

FaFilledOptions fai_filled_options_default(void) { return (FaFilledOptions){.size = SIZE}; }

// As many free points as asked for, about: their number goes with a bit more than the cube of the spacing, since
// walls and bones keep them off.
static FaCode find_points(const FaFilledDomain *d, const FaFilledOptions *o, FaFilledPoints *points, FaFilledReport *r,
                          FaError *err) {
    int skin = 0;
    for (int i = 0; i < d->face->nskin; i++) skin += !d->held[i];
    const double want = fmax((o->size > 0 ? o->size : SIZE) - skin, skin / 3.0);
    double spacing = o->mouth > 0 ? o->mouth : SPACING;
    for (int round = 0; round < SEARCH; round++) {
        FA_TRY(fai_filled_points(d, spacing * d->size, points, err));
        r->spacing = spacing * d->size;
        double ratio = points->free / want;
        if (o->mouth > 0 || fabs(ratio - 1) < 0.1) break;
        double next = fmin(fmax(spacing * pow(fmax(ratio, 0.05), 1 / 3.2), FINEST * SPACING), COARSEST * SPACING);
        if (next == spacing) break;
        spacing = next;
    }
    return FA_OK;
}

// tet: points.
static unsigned char tissue_of(const FaFilledDomain *d, const FaFilledPoints *p, const int *tet) {
    int skin = 0, lining = 0, held = 0;
    for (int k = 0; k < 4; k++) {
        bool on = tet[k] < p->nsurface;
        skin += on;
        lining += on && !d->exposed[p->near[tet[k]]];
        held += p->kind[tet[k]] != FA_FILLED_FREE;
    }
    if (held) return FA_TISSUE_HELD;
    if (skin < 3) return FA_TISSUE_FLESH;
    return lining >= 2 ? FA_TISSUE_LINING : FA_TISSUE_SKIN;
}

static FaCode allocate(FaFilled *out, FaError *err) {
    const size_t n = (size_t)out->nnode, t = (size_t)out->ntet;
    out->x = FA_PUSH(out->arena, 3 * n, float);
    out->tet = FA_PUSH(out->arena, 4 * t, int);
    out->kind = FA_PUSH(out->arena, n, unsigned char);
    out->tissue = FA_PUSH(out->arena, t, unsigned char);
    out->skin_of_node = FA_PUSH(out->arena, n, int);
    out->lip = FA_PUSH(out->arena, n, signed char);
    bool all = out->x && out->tet && out->kind && out->tissue && out->skin_of_node && out->lip;
    return all ? FA_OK : FA_FAIL_MEMORY(err);
}

// Points that are corners become nodes, in their order, and teeth, which have no flesh between them; tets in theirs.
static FaCode collect(const FaFilledDomain *d, const FaFilledPoints *p, const FaDelaunay *t, const unsigned char *keep,
                      int *node, FaFilled *out, FaError *err) {
    for (int i = 0; i < p->n; i++) node[i] = i < p->nskin && d->hard[i] && p->kind[i] != FA_FILLED_FREE ? 0 : -1;
    for (int i = 0; i < t->ntet; i++) {
        out->ntet += keep[i] != 0;
        for (int k = 0; k < 4 && keep[i]; k++) node[t->tet[4 * (size_t)i + (size_t)k]] = 0;
    }
    if (out->ntet == 0)
        return FA_FAIL(err, FA_E_MESH, NULL, "check the mesh with fascia info", "there is no flesh below the skin");
    for (int i = 0; i < p->n; i++)
        if (node[i] == 0) node[i] = out->nnode++;
    FA_TRY(allocate(out, err));
    for (int i = 0; i < p->n; i++) {
        if (i < p->nskin) out->node_of_skin[i] = node[i];
        if (node[i] < 0) continue;
        memcpy(out->x + 3 * (size_t)node[i], p->x + 3 * (size_t)i, 3 * sizeof(float));
        out->kind[node[i]] = p->kind[i];
        out->skin_of_node[node[i]] = i < p->nskin ? i : i < p->nsurface ? -2 : -1;
        out->lip[node[i]] = p->lip[i];
    }
    int n = 0;
    for (int i = 0; i < t->ntet; i++) {
        int *to = out->tet + 4 * (size_t)n;
        if (!keep[i]) continue;
        for (int k = 0; k < 4; k++) to[k] = node[t->tet[4 * (size_t)i + (size_t)k]];
        out->tissue[n++] = tissue_of(d, p, t->tet + 4 * (size_t)i);
    }
    return FA_OK;
}

static void measure(const FaFilledDomain *d, FaFilled *out) {
    FaFilledReport *r = &out->report;
    r->nodes = out->nnode, r->tets = out->ntet, r->skin = out->nskin;
    r->worst = 1;
    for (int i = 0; i < out->nnode; i++) {
        r->free += out->kind[i] == FA_FILLED_FREE;
        r->skull += out->kind[i] == FA_FILLED_SKULL;
        r->jaw += out->kind[i] == FA_FILLED_JAW;
    }
    for (int i = 0; i < out->nskin; i++) {
        r->lost += out->node_of_skin[i] < 0;
        r->lips |= d->lip[i] != 0;
    }
    for (int t = 0; t < out->ntet; t++) {
        double q = fai_tet_quality(out->x, out->tet + 4 * (size_t)t);
        r->worst = fmin(r->worst, q);
        r->mean += q / out->ntet;
        r->inverted += q <= 0;
        r->volume += fai_tet_volume(out->x, out->tet + 4 * (size_t)t);
    }
    r->bones = d->bone[0] || d->bone[1];
}

// Lips and lids that touch have nodes at one place: which tets there are is found with these a little inside of where
// they are, so that each has its own.
static FaCode find_tets(const FaFilledDomain *d, const FaFilledPoints *p, FaDelaunay *tets, FaError *err) {
    float *x = FA_NEW(3 * (size_t)p->n, float);
    if (!x) return FA_FAIL_MEMORY(err);
    memcpy(x, p->x, 3 * (size_t)p->n * sizeof(float));
    for (int i = 0; i < p->nsurface; i++)
        for (size_t k = 0; k < 3 && (p->lip[i] || p->lid[i]); k++)
            x[3 * (size_t)i + k] -= (float)(INSIDE * d->size) * d->normal[3 * (size_t)p->near[i] + k];
    FaCode rc = fai_delaunay(p->n, x, tets, err);
    fa_free(x);
    return rc;
}

// Points, and their tets; where these bridge something around the mouth, more points.
static FaCode refine(const FaFilledDomain *d, FaFilledPoints *p, const FaFilledReport *r, FaDelaunay *tets,
                     FaError *err) {
    FA_TRY(find_tets(d, p, tets, err));
    for (int round = 0, added = 1; round < REFINE && added; round++) {
        FaFilledLeft left = {0};
        FaCode rc = fai_filled_left(d, p, tets, &left, err);
        if (rc >= 0) rc = fai_filled_refine(d, r->spacing, &left, p, &added, err);
        fa_free(left.edge);
        FA_TRY(rc);
        if (!added) break;
        fai_delaunay_free(tets);
        FA_TRY(find_tets(d, p, tets, err));
    }
    return FA_OK;
}

static FaCode build(const FaFilledDomain *d, const FaFilledOptions *o, FaFilledPoints *points, FaFilled *out,
                    FaError *err) {
    FaDelaunay tets = {0};
    unsigned char *keep = NULL;
    int *node = NULL;
    FaCode rc = FA_OK;
    FA_TRY_GOTO(done, rc, find_points(d, o, points, &out->report, err));
    FA_TRY_GOTO(done, rc, refine(d, points, &out->report, &tets, err));
    keep = FA_NEW(tets.ntet, unsigned char);
    node = FA_NEW(points->n, int);
    out->node_of_skin = FA_PUSH(out->arena, out->nskin, int);
    if (!keep || !node || !out->node_of_skin) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    FA_TRY_GOTO(done, rc, fai_filled_keep(d, points, &tets, keep, &out->report, err));
    FA_TRY_GOTO(done, rc, collect(d, points, &tets, keep, node, out, err));
    FA_TRY_GOTO(done, rc, fai_filled_ride_find(d, out, err));
    measure(d, out);
done:
    fai_delaunay_free(&tets);
    fa_free(keep);
    fa_free(node);
    return rc;
}

FaCode fai_filled_build(const FaRig *rig, const FaFace *face, const FaFilledOptions *options, FaFilled *out,
                        FaError *err) {
    const FaFilledOptions o = options ? *options : fai_filled_options_default();
    double begin = fai_seconds();
    FaFilledDomain domain = {0};
    FaFilledPoints points = {0};
    *out = (FaFilled){.nskin = face->nskin, .nvert = face->nvert};
    FA_TRY(fa_face_fits(face, rig, err));
    if (o.size < 0 || o.size > 2000000 || !(o.mouth >= 0 && o.mouth < 0.1))
        return FA_FAIL(err, FA_E_ARG, NULL, "6000 is usual", "flesh of %d nodes, %g m apart", o.size, o.mouth);
    out->arena = fai_arena_new(0);
    FaCode rc = out->arena ? fai_filled_domain(rig, face, &domain, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = build(&domain, &o, &points, out, err);
    fai_filled_points_free(&points);
    fai_filled_domain_free(&domain);
    out->report.seconds = fai_seconds() - begin;
    if (rc < 0) fai_filled_free(out);
    return rc;
}

void fai_filled_free(FaFilled *filled) {
    fai_arena_free(filled->arena);
    *filled = (FaFilled){0};
}

void fai_filled_notes(const FaFilled *f, FaNotes *notes) {
    const FaFilledReport *r = &f->report;
    if (!r->bones)
        fai_note(notes, "flesh-bones-guessed", NULL, "give a skull and a jaw with --bone",
                 "the rig has no skull and no jaw: bone is taken to lie as deep below the skin as in adults");
    if (!r->lips)
        fai_note(notes, "flesh-lips-unknown", NULL, "add a shape jawOpen, or paint the lips",
                 "which skin is lip is not known: lips that touch may be joined");
    fai_note_count(
        notes, r->lost, "flesh-lost", NULL, NULL,
        "%d of %d vertices of the skin are at no piece of flesh: they follow what is near, or stay at the edge",
        r->lost, r->skin);
}

FaCode fai_filled_check(const FaFilled *f, FaError *err) {
    for (int t = 0; t < f->ntet; t++) {
        const int *v = f->tet + 4 * (size_t)t;
        unsigned kinds = 0;
        for (int k = 0; k < 4; k++) {
            if (v[k] < 0 || v[k] >= f->nnode)
                return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", t), NULL, "corner %d is not a node", v[k]);
            kinds |= 1u << f->kind[v[k]];
        }
        if (!(fai_tet_volume(f->x, v) > 0))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", t), NULL, "it has no volume");
        if ((kinds & 1u << FA_FILLED_SKULL) && (kinds & 1u << FA_FILLED_JAW))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", t), NULL, "it joins skull and jaw");
        if (!(kinds & 1u << FA_FILLED_FREE))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", t), NULL, "none of its corners is free");
    }
    for (int i = 0; i < f->nskin; i++) {
        int n = f->node_of_skin[i];
        if (n < -1 || n >= f->nnode || (n >= 0 && f->skin_of_node[n] != i))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("skin node %d", i), NULL, "it is not its node's");
    }
    return FA_OK;
}
