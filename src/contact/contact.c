// Based on: thesis 001, section 5.4 (eq. 5.14-5.17). Symbols: s, n, tau, k_col as there; w -> weight.
// Decisions: n comes from the side the pair was on before it met, not from the surface's normal, so thin walls keep
// their sides; rows also for what ends within reach, so that resting contact does not flicker; friction is momentum
// exchanged between the touching points, not a brake on them alone; frames cannot end crossed (contact/limit.c).
#include "contact/contact_work.h"

#include <math.h>

#define REACH 1.5e-4 // m: rows for vertices that end closer than this to a triangle, or than half an edge;
#define REACH_EDGES                                                                                                    \
    3.0           // gaps: for edges. They are many, and where faces lie on each other the vertices hold them apart
#define TOUCH 4.0 // gaps: what is closer touches: friction, new bonds
#define FIXED_WIDTH 1e3 // m: beyond this floats are no face

enum { FRICTION_PASSES = 4 };
// Work, in pairs per triangle (fai_pairs_work): what a step adds, what is saved at most, and owed. On the head of level
// 1 plosives take 11 in a step and 26 at most, a jaw that slams shut at 1 m/s some 1500 in all; chosen so that the slam
// is not held and noise costs less than 4 calm clips. The same motion crosses more triangles the smaller they are.
enum { WORK_STEP = 48, WORK_SAVED = 3072, WORK_OWED = 256 };
static const double WORK_EDGE = 2.3e-3; // m: of those figures

static const uint64_t STATE_MARK = 0x3354434154434146u;

// --- made and freed -----------------------------------------------------------------------------------------------

static FaCode check_options(FaContactOptions *o, FaError *err) {
    if (o->gap == 0) o->gap = 1e-5;
    if (o->sticky_length == 0) o->sticky_length = 2e-3;
    if (o->sticky_break == 0) o->sticky_break = 0.1;
    if (o->max_rows == 0) o->max_rows = 4096;
    if (!(o->gap > 0 && o->gap <= 1e-2))
        return FA_FAIL(err, FA_E_ARG, "contact gap", "use some 1e-5 m", "%g m is not a gap", o->gap);
    if (!(o->stiffness > 0 && o->stiffness < 1e12) || !(o->sticky_stiffness >= 0 && o->sticky_stiffness < 1e12))
        return FA_FAIL(err, FA_E_ARG, "contact stiffness", "use 1 to 1e6 N/m", "%g and %g N/m are not stiffnesses",
                       o->stiffness, o->sticky_stiffness);
    if (!(o->friction >= 0 && o->friction <= 1))
        return FA_FAIL(err, FA_E_ARG, "friction", "use 0 to 1", "%g is not a share", o->friction);
    if (!(o->sticky_length > 0 && o->sticky_length < 1) || !(o->sticky_break > 0.018 && o->sticky_break < 1))
        return FA_FAIL(err, FA_E_ARG, "sticky lips", "use a length of some 0.002 m and a share of 0.02 to 0.99",
                       "%g of the bonds cannot break at %g m", o->sticky_break, o->sticky_length);
    if (!(o->nearby >= 0 && o->nearby <= 1e-2 && o->soft >= 0 && o->soft <= 1e-2))
        return FA_FAIL(err, FA_E_ARG, "contact reach", "use some 1e-3 m, or 0", "%g and %g m are no reach", o->nearby,
                       o->soft);
    if (o->max_rows < 2 || o->max_rows > 1 << 22)
        return FA_FAIL(err, FA_E_ARG, "max_rows", "use some thousands", "%d rows", o->max_rows);
    return FA_OK;
}

static bool allocate(FaContact *c) {
    size_t rows = (size_t)c->options.max_rows, surface = (size_t)c->pairs.nsurface;
    c->max_bond = c->options.max_rows / 2;
    c->max_shove = 4 * c->options.max_rows;
    return (c->rest = fai_alloc_array((size_t)c->pairs.npoint, sizeof *c->rest)) &&
           (c->sticky = FA_NEW(surface, unsigned char)) && (c->own = fai_alloc_array(surface + 1, sizeof *c->own)) &&
           (c->tangled = FA_NEW(c->pairs.npoint, unsigned char)) &&
           (c->collider_start = FA_NEW(c->ncollider + 1, int)) && (c->pose = FA_NEW(c->ncollider, FaPose)) &&
           (c->bond = FA_NEW(c->max_bond, FaBond)) && (c->row = FA_NEW(rows, FaRow)) &&
           (c->push = FA_NEW(rows, FaPairHit)) && (c->held = FA_NEW(c->pairs.npoint, unsigned char)) &&
           (c->fresh = FA_NEW((size_t)c->pairs.nchunk * FA_PAIRS_HITS, int)) &&
           (c->shove = FA_NEW(c->max_shove, FaPairHit)) && (c->island = FA_NEW(surface, int)) &&
           (c->scale = FA_NEW(surface, double)) && (c->mark = FA_NEW(surface, unsigned char)) &&
           (c->options.nearby == 0 || ((c->normal = fai_alloc_array((size_t)c->pairs.npoint, sizeof *c->normal)) &&
                                       (c->shares = FA_NEW(2 * surface, double)))) &&
           (c->slip = FA_NEW(3 * rows, double)) && (c->touching = FA_NEW(rows, int)) &&
           fai_keys_new(&c->row_of, c->options.max_rows) && fai_keys_new(&c->broken, 2 * c->max_bond) &&
           fai_keys_new(&c->shove_of, c->max_shove) && fai_keys_new(&c->given_up, c->max_shove);
}

FaCode fai_contact_new(const FaContactSurface *surface, int ncollider, const FaContactBody *collider,
                       const FaContactOptions *options, FaContact **out, FaError *err) {
    *out = NULL;
    FaContact *c = FA_NEW(1, FaContact);
    if (!c) return FA_FAIL_MEMORY(err);
    c->options = *options;
    c->ncollider = ncollider;
    FaCode code = check_options(&c->options, err);
    if (code >= 0) code = fai_pairs_new(surface, ncollider, collider, &c->pairs, err);
    if (code >= 0 && !allocate(c)) code = FA_FAIL_MEMORY(err);
    if (code < 0) {
        fai_contact_free(c);
        return code;
    }
    FaPairs *p = &c->pairs;
    memcpy(c->rest, p->from, (size_t)p->npoint * sizeof *c->rest);
    if (c->options.nearby > 0 && !fai_contact_join(c)) {
        fai_contact_free(c);
        return FA_FAIL_MEMORY(err);
    }
    fai_contact_find_tangled(c);
    for (int i = 0; i < p->nsurface; i++) c->sticky[i] = surface->touch ? surface->touch[p->node[i]] >> 1 & 3 : 1;
    c->collider_start[0] = p->nsurface;
    for (int i = 0; i < ncollider; i++) c->collider_start[i + 1] = c->collider_start[i] + collider[i].nvert;
    c->reach = fmax(fmin(REACH, 0.5 * p->edge_length), c->options.gap);
    c->break_rate = fai_break_rate(c->options.sticky_length, c->options.sticky_break);
    c->state.mark = STATE_MARK;
    c->state.fingerprint = fai_hash64(p->tri, (size_t)p->ntri * sizeof *p->tri, (uint64_t)c->options.max_rows);
    c->state.fingerprint = fai_hash64(c->rest, (size_t)p->npoint * sizeof *c->rest, c->state.fingerprint);
    fai_contact_reset(c, surface->x0);
    *out = c;
    return FA_OK;
}

void fai_contact_free(FaContact *c) {
    if (!c) return;
    fai_pairs_free(&c->pairs);
    void *all[] = {c->held,     c->rest,   c->sticky, c->collider_start, c->pose,   c->bond, c->row,
                   c->push,     c->fresh,  c->shove,  c->island,         c->scale,  c->mark, c->slip,
                   c->touching, c->normal, c->shares, c->joined_start,   c->joined, c->own,  c->tangled};
    for (int i = 0; i < FA_COUNT(all); i++) fa_free(all[i]);
    fai_keys_free(&c->row_of);
    fai_keys_free(&c->broken);
    fai_keys_free(&c->shove_of);
    fai_keys_free(&c->given_up);
    fa_free(c);
}

static int64_t work_of(const FaContact *c, int each) {
    double finer = WORK_EDGE / fmax(c->pairs.edge_length, 0.25 * WORK_EDGE);
    return (int64_t)(each * fmax(finer * finer, 1)) * c->pairs.ntri;
}

static void clear_rows(FaContact *c) {
    c->nrow = c->npull = 0;
    fai_keys_clear(&c->row_of);
    memset(c->held, 0, (size_t)c->pairs.npoint);
}

void fai_contact_reset(FaContact *c, const float *x) {
    c->state.step = c->state.next_id = 0;
    c->state.nbond = c->state.has_pose = 0;
    c->state.left = work_of(c, WORK_SAVED / 4);
    clear_rows(c);
    fai_keys_clear(&c->broken);
    c->stats = (FaContactStats){.crossed_at_rest = c->pairs.crossed, .touching_at_rest = c->pairs.touching};
    fai_contact_load_points(c, x, c->pairs.from, c->rest);
    memcpy(c->pairs.to, c->pairs.from, (size_t)c->pairs.nsurface * sizeof *c->pairs.to);
}

// --- begin --------------------------------------------------------------------------------------------------------

void fai_contact_load_points(const FaContact *c, const float *x, double (*point)[3], double (*instead)[3]) {
    for (int i = 0; i < c->pairs.nsurface; i++) {
        const float *at = x + 3 * (size_t)c->pairs.node[i];
        bool good =
            fabsf(at[0]) < (float)FIXED_WIDTH && fabsf(at[1]) < (float)FIXED_WIDTH && fabsf(at[2]) < (float)FIXED_WIDTH;
        for (int k = 0; k < 3; k++) point[i][k] = good ? (double)at[k] : instead[i][k];
    }
}

static void move_collider(const FaContact *c, int i, const FaPose *pose, double (*x)[3]) {
    const double *q = pose->q, *p = pose->p;
    for (int v = c->collider_start[i]; v < c->collider_start[i + 1]; v++) {
        const double *r = c->rest[v];
        double t[3] = {2 * (q[1] * r[2] - q[2] * r[1]), 2 * (q[2] * r[0] - q[0] * r[2]),
                       2 * (q[0] * r[1] - q[1] * r[0])};
        x[v][0] = r[0] + q[3] * t[0] + (q[1] * t[2] - q[2] * t[1]) + p[0];
        x[v][1] = r[1] + q[3] * t[1] + (q[2] * t[0] - q[0] * t[2]) + p[1];
        x[v][2] = r[2] + q[3] * t[2] + (q[0] * t[1] - q[1] * t[0]) + p[2];
    }
}

static bool is_pose(const FaPose *pose) {
    double sum = 0;
    for (int k = 0; k < 3; k++) sum += fabs(pose->p[k]);
    for (int k = 0; k < 4; k++) sum += fabs(pose->q[k]);
    return sum < FIXED_WIDTH;
}

// A pose that is no number leaves its collider where it was.
static void move_colliders(FaContact *c, const FaPose *pose) {
    FaPairs *p = &c->pairs;
    for (int i = 0; i < c->ncollider; i++) {
        FaPose next = pose ? pose[i] : (FaPose){.q = {0, 0, 0, 1}};
        if (!is_pose(&next)) next = c->state.has_pose ? c->pose[i] : (FaPose){.q = {0, 0, 0, 1}};
        if (!c->state.has_pose) c->pose[i] = next;
        move_collider(c, i, &c->pose[i], p->from);
        move_collider(c, i, &next, p->to);
        c->pose[i] = next;
    }
    c->state.has_pose = 1;
}

void fai_contact_begin(FaContact *c, double h, const float *x_from, const FaPose *pose) {
    c->h = h;
    c->state.left = FA_MIN(c->state.left + work_of(c, WORK_STEP), work_of(c, WORK_SAVED));
    c->has_own = false;
    c->stats.broken = c->stats.made = c->stats.dropped = c->stats.found = 0;
    c->stats.limited = c->stats.rounds = c->stats.struck = c->stats.stuck = 0;
    c->clear = false;
    clear_rows(c);
    fai_contact_load_points(c, x_from, c->pairs.from, c->rest);
    move_colliders(c, pose);
    fai_keys_clear(&c->broken);
    fai_bonds_break(c);
    c->state.step++;
}

// --- collect ------------------------------------------------------------------------------------------------------

bool fai_contact_spent(const FaContact *c) { return c->state.left <= 0; }

bool fai_contact_search(FaContact *c, const FaPairSearch *how, int *over) {
    FaPairs *p = &c->pairs;
    *over = 0;
    if (fai_contact_spent(c)) {
        fai_pairs_none(p);
        return false;
    }
    fai_pairs_search(p, how, over);
    int64_t work = p->full ? work_of(c, 2 * WORK_STEP) : fai_pairs_work(p);
    c->state.left = FA_MAX(c->state.left - work, -work_of(c, WORK_OWED));
    return !p->full;
}

// Eq. 5.14-5.16: nodes, weights, and s at u = 0; collider points at the end of the step are part of the offset.
void fai_contact_write_push(const FaContact *c, const FaPairHit *h, FaRow *row) {
    const FaPairs *p = &c->pairs;
    double offset[3] = {0};
    *row = (FaRow){.gap = (float)c->options.gap, .stiffness = (float)c->options.stiffness, .kind = FA_ROW_PUSH};
    for (int i = 0; i < 4; i++) {
        bool mine = h->point[i] < p->nsurface;
        const double *x = mine ? c->rest[h->point[i]] : p->to[h->point[i]];
        row->node[i] = mine ? p->node[h->point[i]] : -1;
        row->weight[i] = mine ? (float)h->weight[i] : 0;
        // the offset must fit the weights as they are, or rounding them would move s by their error times the position
        double w = mine ? (double)row->weight[i] : h->weight[i];
        for (int k = 0; k < 3; k++) offset[k] += w * x[k];
    }
    for (int k = 0; k < 3; k++) {
        row->offset[k] = (float)offset[k];
        row->normal[k] = (float)h->normal[k];
    }
    double allowed = fai_contact_allowed(c, h);
    if (allowed < c->options.gap) row->gap = (float)allowed;
}

static const FaPairHit *hit_at(const FaContact *c, int i) { return &c->pairs.hit[i]; }

// The deeper first; the key decides ties.
static bool less_urgent(const FaContact *c, int i, int j) {
    const FaPairHit *a = hit_at(c, i), *b = hit_at(c, j);
    return a->depth > b->depth || (a->depth == b->depth && fai_hit_key(a) > fai_hit_key(b));
}

// Heap sort of fresh hits: in place, most urgent first.
static void sort_fresh(const FaContact *c, int *a, int n) {
    for (int end = n, start = n / 2; end > 1;) {
        int root = 0, value;
        if (start > 0) {
            root = --start;
            value = a[root];
        } else {
            value = a[--end];
            a[end] = a[0];
        }
        for (int child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && less_urgent(c, a[child + 1], a[child])) child++;
            if (!less_urgent(c, a[child], value)) break;
            a[root] = a[child];
        }
        a[root] = value;
    }
}

// Known pairs are brought up to date (an impact replaces nearness, not the other way round); how many are new.
static int sort_out(FaContact *c) {
    FaPairs *p = &c->pairs;
    int fresh = 0;
    for (int k = 0; k < p->nchunk; k++)
        for (int i = 0; i < p->nhit[k]; i++) {
            const FaPairHit *h = fai_pairs_hit(p, k, i);
            int r = fai_keys_find(&c->row_of, fai_hit_key(h));
            if (r < 0) {
                c->fresh[fresh++] = k * FA_PAIRS_HITS + i;
            } else if (!h->near || c->push[r].near) {
                c->push[r] = *h;
                fai_contact_write_push(c, h, &c->row[r]);
            }
        }
    return fresh;
}

// Where sheets lie on each other every vertex is near several triangles and every edge crosses several edges: one row,
// of the most urgent pair, holds it as well as all of them, and a solver's work grows with the cube of the rows. A
// vertex has one row of its own, and one with a collider; edges have one where a corner of theirs is in none yet. What
// this leaves out limit still stops.
static unsigned char own_row(const FaContact *c, const FaPairHit *h) { return h->point[1] < c->pairs.nsurface ? 2 : 4; }

static bool is_held(const FaContact *c, const FaPairHit *h) {
    if (h->kind == FA_PAIR_VERTEX_TRIANGLE) return c->held[h->point[0]] & own_row(c, h);
    int held = 0;
    for (int i = 0; i < 4; i++) held += c->held[h->point[i]] & 1;
    return held == 4;
}

static void hold(FaContact *c, const FaPairHit *h) {
    for (int i = 0; i < 4; i++)
        if (fabs(h->weight[i]) > 0.1) c->held[h->point[i]] |= 1;
    if (h->kind == FA_PAIR_VERTEX_TRIANGLE) c->held[h->point[0]] |= own_row(c, h);
}

int fai_contact_collect(FaContact *c, const float *x_from, const float *x_to) {
    FaPairs *p = &c->pairs;
    fai_contact_load_points(c, x_from, p->from, c->rest);
    fai_contact_load_points(c, x_to, p->to, p->from);
    fai_pairs_refit(p, 0.5 * c->reach);
    int over;
    bool searched =
        fai_contact_search(c,
                           &(FaPairSearch){.gap = c->options.gap,
                                           .keep = FA_CONTACT_KEEP,
                                           .reach = {c->reach, fmin(c->reach, REACH_EDGES * c->options.gap)}},
                           &over);
    c->stats.candidates = 0;
    for (int k = 0; k < p->nchunk; k++) c->stats.candidates += p->ntest[k];
    int fresh = sort_out(c), found = 0, met = 0;
    c->clear = over == 0 && searched;
    for (int k = 0; k < p->nchunk; k++)
        for (int i = 0; i < p->nhit[k] && c->clear; i++) c->clear = fai_pairs_hit(p, k, i)->near;
    sort_fresh(c, c->fresh, fresh);
    c->stats.dropped += over;
    for (int i = 0; i < fresh; i++) {
        const FaPairHit *h = hit_at(c, c->fresh[i]);
        if (is_held(c, h)) continue;
        hold(c, h);
        if (c->nrow == c->options.max_rows) {
            c->stats.dropped++;
            continue;
        }
        c->push[c->nrow] = *h;
        fai_contact_write_push(c, h, &c->row[c->nrow]);
        fai_keys_put(&c->row_of, fai_hit_key(h), c->nrow++);
        found++;
        met += !h->near;
    }
    c->stats.rows = c->nrow;
    c->stats.found = found;
    return met;
}

bool fai_contact_clear(const FaContact *c) { return c->clear; }

const FaRow *fai_contact_rows(const FaContact *c, int *nrow) {
    *nrow = c->nrow;
    return c->row;
}

// --- end ----------------------------------------------------------------------------------------------------------

// Tangential velocity of a row: of its points against each other, m/s.
static void slip_of(const FaContact *c, const FaPairHit *h, const float *v, double out[3]) {
    const FaPairs *p = &c->pairs;
    double normal = 0;
    for (int k = 0; k < 3; k++) {
        out[k] = 0;
        for (int i = 0; i < 4; i++) {
            int point = h->point[i];
            double speed = point < p->nsurface ? (double)v[4 * (size_t)p->node[point] + (size_t)k]
                                               : (p->to[point][k] - p->from[point][k]) / c->h;
            out[k] += h->weight[i] * speed;
        }
        normal += out[k] * h->normal[k];
    }
    for (int k = 0; k < 3; k++) out[k] -= normal * h->normal[k];
}

// Every touching row shall keep 1 - friction of its slip: a few passes of exchanging momentum between equal masses, so
// that points in many rows are not braked many times.
static void rub(FaContact *c, int n, const int *touching, float *v) {
    FaPairs *p = &c->pairs;
    double lost = fai_share_per_step(c->options.friction, c->h);
    if (!(lost > 0) || !(c->h > 0)) return;
    for (int t = 0; t < n; t++) {
        slip_of(c, &c->push[touching[t]], v, c->slip + 3 * (size_t)t);
        for (int k = 0; k < 3; k++) c->slip[3 * (size_t)t + k] *= 1 - lost;
    }
    for (int pass = 0; pass < FRICTION_PASSES; pass++)
        for (int t = 0; t < n; t++) {
            const FaPairHit *h = &c->push[touching[t]];
            double now[3], sum = 0;
            slip_of(c, h, v, now);
            for (int i = 0; i < 4; i++) sum += h->point[i] < p->nsurface ? h->weight[i] * h->weight[i] : 0;
            for (int i = 0; i < 4 && sum > 0; i++) {
                if (h->point[i] >= p->nsurface) continue;
                float *at = v + 4 * (size_t)p->node[h->point[i]];
                for (int k = 0; k < 3; k++)
                    at[k] = (float)((double)at[k] + h->weight[i] / sum * (c->slip[3 * (size_t)t + k] - now[k]));
            }
        }
}

// Which rows touch at the end of the frame, with places and directions as they are then.
static int find_touching(FaContact *c) {
    FaPairs *p = &c->pairs;
    int n = 0;
    for (int r = c->npull; r < c->nrow; r++) {
        FaPairHit *h = &c->push[r];
        double x[4][3], bary[4], normal[3], side = 0;
        for (int i = 0; i < 4; i++) memcpy(x[i], p->to[h->point[i]], sizeof x[i]);
        double d = fai_pair_distance(h->kind, (const double(*)[3])x, bary, normal, NULL);
        if (!(d < TOUCH * c->options.gap)) continue;
        for (int k = 0; k < 3; k++) side += normal[k] * h->normal[k];
        if (side > 0.5) memcpy(h->normal, normal, sizeof normal);
        fai_pair_weights(h->kind, bary, h->weight);
        c->touching[n++] = r;
    }
    return n;
}

void fai_contact_end(FaContact *c, const float *x_to, float *v) {
    fai_contact_load_points(c, x_to, c->pairs.to, c->pairs.from);
    int n = find_touching(c);
    rub(c, n, c->touching, v);
    fai_bonds_make(c, n, c->touching);
    c->stats.bonds = c->state.nbond;
}

FaContactStats fai_contact_stats(const FaContact *c) { return c->stats; }

// --- state --------------------------------------------------------------------------------------------------------

size_t fai_contact_state_size(const FaContact *c) {
    return sizeof c->state + (size_t)c->max_bond * sizeof *c->bond + (size_t)c->ncollider * sizeof *c->pose;
}

// The head, all bonds there may be (zero where there are none), the poses.
void fai_contact_save(const FaContact *c, void *state) {
    unsigned char *at = state;
    size_t used = (size_t)c->state.nbond * sizeof *c->bond, all = (size_t)c->max_bond * sizeof *c->bond;
    memset(at, 0, fai_contact_state_size(c));
    memcpy(at, &c->state, sizeof c->state);
    memcpy(at + sizeof c->state, c->bond, used);
    if (c->state.has_pose && c->ncollider)
        memcpy(at + sizeof c->state + all, c->pose, (size_t)c->ncollider * sizeof *c->pose);
}

static bool is_bond(const FaContact *c, const FaBond *b) {
    const FaPairs *p = &c->pairs;
    if (b->kind != FA_PAIR_VERTEX_TRIANGLE && b->kind != FA_PAIR_EDGE_EDGE) return false;
    bool flat = b->kind == FA_PAIR_VERTEX_TRIANGLE;
    if (b->a < 0 || b->b < 0 || b->a >= (flat ? p->nsurface : p->nsurface_edge)) return false;
    if (b->b >= (flat ? p->nsurface_tri : p->nsurface_edge)) return false;
    int point[4];
    fai_pair_points(p, (FaPairKind)b->kind, b->a, b->b, point);
    if (memcmp(point, b->point, sizeof point) != 0) return false;
    for (int i = 0; i < 4; i++)
        if (!(fabsf(b->weight[i]) <= 1.001f)) return false;
    for (int k = 0; k < 3; k++)
        if (!(fabsf(b->normal[k]) <= 1.001f)) return false;
    return true;
}

FaCode fai_contact_load(FaContact *c, const void *state, FaError *err) {
    const unsigned char *at = state;
    FaContactState head;
    memcpy(&head, at, sizeof head);
    if (head.mark != STATE_MARK || head.fingerprint != c->state.fingerprint)
        return FA_FAIL(err, FA_E_FORMAT, "contact state", "use a snapshot of the same face and options",
                       "the snapshot belongs to another surface");
    if (head.nbond < 0 || head.nbond > c->max_bond || (head.has_pose != 0 && head.has_pose != 1))
        return FA_FAIL(err, FA_E_FORMAT, "contact state", "take the snapshot again", "%d bonds", head.nbond);
    at += sizeof head;
    for (int i = 0; i < head.nbond; i++) {
        FaBond b;
        memcpy(&b, at + (size_t)i * sizeof b, sizeof b);
        if (!is_bond(c, &b) || b.id >= head.next_id)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("contact state, bond %d", i), "take the snapshot again",
                           "the bond joins no pair of this surface");
    }
    c->state = head;
    memcpy(c->bond, at, (size_t)head.nbond * sizeof *c->bond);
    at += (size_t)c->max_bond * sizeof *c->bond;
    if (c->ncollider) memcpy(c->pose, at, (size_t)c->ncollider * sizeof *c->pose);
    for (int i = 0; i < c->ncollider; i++)
        if (!is_pose(&c->pose[i])) c->state.has_pose = 0;
    clear_rows(c);
    fai_keys_clear(&c->broken);
    c->stats.bonds = c->state.nbond;
    c->stats.rows = 0;
    return FA_OK;
}
