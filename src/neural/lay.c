// A template laid over a rig. Where closest points would put one lip on the other, the mouth is opened first, on both
// sides: what is shut is not told apart by any distance, and what is open is.
//
//   1. centres of what the shapes of the same name move: a similarity, then a soft warp
//   2. both mouths open by 10 mm: closest points that face the same way, as smooth along the surface as they can be
//   3. each vertex of the rig follows the nodes around its closest point there; those without one follow their
//      neighbours along the surface, less and less
//   4. the rig's neutral and shapes as the template has them: least squares over the vertices, so that what a coarse
//      template cannot have is spread and not sampled
//   5. what the template knows of a face must be there, and jawOpen must leave the upper lip where it is
#include "neural/lay.h"

#include "base/task.h"
#include "math/chol.h"
#include "math/mat3.h"
#include "math/rbf.h"
#include "mesh/mesh.h"
#include "neural/net_template.h"
#include "rig/transfer_register.h"

#include <math.h>
#include <stdlib.h>

static const double OPEN = 0.010;               // m: how far jaws are opened, on the template
static const double MOVES = 1e-4, STIRS = 1e-3; // m: of vertices of the rig, of nodes of the template
static const double REACH_FIRST = 0.02, REACH_LAST = 0.006, REACH = 0.006; // m, of the template: between the surfaces
static const double FADE = 0.03;                        // m: how far along the surface vertices follow their neighbours
static const double SMOOTH = 0.01;                      // of a node's own weight: how alike its neighbours are
static const double FARTHEST = 0.025;                   // m, of the template: from where the similarity put a node
static const double ENOUGH = 0.69;                      // of the template's moving nodes
static const double OWN_SIZE = 1.25;                    // heads whose size differs by less keep it
static const double STIFF_FIRST = 1000, STIFF_LAST = 1; // of smoothness against closest points
enum { PAIRS_LEAST = 6, ROW = 8, ROUNDS = 30, SWEEPS = 40, SOFTEN = 5, POINTS = 256 };

typedef struct Row { // of one vertex
    int n, node[ROW];
    float weight[ROW];
} Row;

typedef struct Lay {
    const FaNet *net;
    const FaRig *rig;
    FaArena *work;
    FaNeuralReport *report;
    int nu, nt;
    FaTopology topo;
    unsigned char *part_in;        // parts of the mesh that are skin                  (parts)
    unsigned char *moves;          // vertices of them that a shape moves, and how     (nu)
    unsigned char *edge;           // vertices where the skin ends                    (nu)
    FaMesh skin;                   // the rig's triangles of those parts, at user_open
    float *open_x, *normal;        // canonical, the rig's size, jaw open              (nu x 3)
    FaMesh template;               // laid on it
    float *laid;                   //                                                  (nt x 3)
    float *start;                  // where the similarity put it                    (nt x 3)
    FaAlign align;                 // template from the rig (canonical)
    FaAlign seen;                  // likewise: how the network sees it
    double from[64][3], to[64][3]; // centres: of the rig, of the template
    double from_open[64][3], to_open[64][3];
    int npair;
    float open_rig, open_template; // weights of jawOpen
    FaHit *hit;                    // on the template                            (nu)
    Row *row;                      //                                            (nu)
    float *far;                    // along the surface, m                       (nu)
    double *mass;                  // of the vertices that have a hit            (nu)
} Lay;

// --- shapes by name -----------------------------------------------------------------------------------------------

// The first of that name; of halves the first of each. Rigs may have several families of shapes under one name.
static bool drives(const FaRig *rig, int s, int arkit) {
    if (arkit < 0 || rig->shape[s].arkit != arkit) return false;
    for (int i = 0; i < rig->nshape; i++)
        if (rig->shape[i].arkit == arkit && rig->shape[i].count > 0) {
            bool first = i < s && (rig->shape[i].half == rig->shape[s].half || rig->shape[i].half == 0 ||
                                   rig->shape[s].half == 0);
            if (first) return false;
        }
    return true;
}

// Those that carry more than skin along, or a part of it elsewhere.
static bool is_of_jaw_or_eye(int arkit) {
    const char *name = arkit >= 0 ? fa_arkit_name(arkit) : "";
    return !strncmp(name, "jaw", 3) || !strncmp(name, "eyeLook", 7) || !strcmp(name, "tongueOut");
}

// x += w times a shape of ARKit's (its halves together), canonical. False: the rig has none.
static bool add_shape(const Lay *l, int arkit, double w, float *x) {
    bool any = false;
    for (int s = 0; s < l->rig->nshape; s++) {
        if (!drives(l->rig, s, arkit)) continue;
        const FaShape *shape = &l->rig->shape[s];
        any = any || shape->count > 0;
        for (int e = shape->first; e < shape->first + shape->count; e++) {
            double d[3], c[3];
            fai_v3_load(l->rig->delta, e, d);
            fai_m3_mulv(l->rig->axes, d, c);
            for (int k = 0; k < 3; k++) x[3 * (size_t)l->rig->row[e] + (size_t)k] += (float)(w * c[k]);
        }
    }
    return any;
}

static double length_of(const float *d) {
    return sqrt((double)d[0] * (double)d[0] + (double)d[1] * (double)d[1] + (double)d[2] * (double)d[2]);
}

// Middle of what moves, weighed by its square, at two poses. False: nothing does.
static bool centre(int n, const float *d, const unsigned char *in, const float *x, const float *open, double at[3],
                   double at_open[3]) {
    double sum = 0;
    memset(at, 0, 3 * sizeof *at);
    memset(at_open, 0, 3 * sizeof *at);
    for (int v = 0; v < n; v++) {
        double w = length_of(d + 3 * (size_t)v);
        if (in && !in[v]) continue;
        w *= w;
        sum += w;
        for (int k = 0; k < 3; k++) {
            at[k] += w * (double)x[3 * (size_t)v + (size_t)k];
            at_open[k] += w * (double)open[3 * (size_t)v + (size_t)k];
        }
    }
    if (!(sum > 0)) return false;
    fai_v3_scale(1 / sum, at, at);
    fai_v3_scale(1 / sum, at_open, at_open);
    return true;
}

// --- what of the rig is skin --------------------------------------------------------------------------------------

// Parts that something beside the jaw and the eyes' turning moves: no teeth, no eyeballs, no tongue.
static FaCode find_skin(Lay *l, FaError *err) {
    const FaRig *rig = l->rig;
    FA_TRY(fai_topology_build(&rig->mesh, &l->topo, err));
    l->part_in = FA_PUSH(l->work, FA_MAX(l->topo.nparts, 1), unsigned char);
    l->moves = FA_PUSH(l->work, l->nu, unsigned char);
    l->edge = FA_PUSH(l->work, l->nu, unsigned char);
    l->skin = (FaMesh){.nvert = l->nu};
    l->skin.tri = FA_PUSH(l->work, 3 * (size_t)rig->mesh.ntri, int);
    if (!l->part_in || !l->moves || !l->edge || !l->skin.tri) return FA_FAIL_MEMORY(err);
    for (int s = 0; s < rig->nshape; s++)
        for (int e = rig->shape[s].first; e < rig->shape[s].first + rig->shape[s].count; e++) {
            int v = rig->row[e], part = l->topo.part[fai_weld(&rig->mesh, v)];
            const double length = length_of(rig->delta + 3 * (size_t)e);
            if (part < 0 || length < MOVES) continue;
            l->moves[v] = 1;
            if (length > STIRS && rig->shape[s].arkit >= 0 && !is_of_jaw_or_eye(rig->shape[s].arkit))
                l->part_in[part] = 1;
        }
    for (int e = 0; e < l->topo.nedge; e++)
        for (int k = 0; l->topo.edge_tris[e] == 1 && k < 2; k++) l->edge[l->topo.edge[e][k]] = 1;
    for (int t = 0; t < rig->mesh.ntri; t++) {
        const int *c = rig->mesh.tri + 3 * (size_t)t;
        int part = l->topo.part[fai_weld(&rig->mesh, c[0])];
        if (part < 0 || !l->part_in[part]) continue;
        memcpy(l->skin.tri + 3 * (size_t)l->skin.ntri++, c, 3 * sizeof *c);
    }
    for (int v = 0; v < l->nu; v++) {
        int part = l->topo.part[fai_weld(&rig->mesh, v)];
        l->moves[v] = l->moves[v] && part >= 0 && l->part_in[part];
    }
    return FA_OK;
}

// --- bringing the two together ------------------------------------------------------------------------------------

// How far a shape goes where it goes far: the mean length, weighed by its square.
static double strength(int n, const float *d, const unsigned char *in) {
    double sum = 0, all = 0;
    for (int v = 0; v < n; v++) {
        double x = length_of(d + 3 * (size_t)v);
        if (in && !in[v]) continue;
        sum += x * x * x;
        all += x * x;
    }
    return all > 0 ? sum / all : 0;
}

// Neutrals and open mouths of both. scratch: largest x 3.
static FaCode open_mouths(Lay *l, float *x, FaError *err) {
    const int jaw = fa_arkit_match("jawOpen", NULL);
    const FaNet *net = l->net;
    for (int v = 0; v < l->nu; v++) {
        double p[3], q[3];
        fai_v3_load(l->rig->mesh.x, v, p);
        fai_m3_mulv(l->rig->axes, p, q);
        for (int k = 0; k < 3; k++) x[3 * (size_t)v + (size_t)k] = (float)q[k];
    }
    memcpy(l->open_x, x, 3 * (size_t)l->nu * sizeof *x);
    float *d = FA_PUSH(l->work, 3 * (size_t)l->nu, float);
    if (!d) return FA_FAIL_MEMORY(err);
    bool has = jaw < net->nweight && add_shape(l, jaw, 1, d);
    const float *own = net->shape + 3 * (size_t)jaw * (size_t)l->nt;
    double size = fabs(l->align.scale) > 0 ? l->align.scale : 1, most = has ? strength(l->nu, d, l->moves) : 0,
           most_template = has ? strength(l->nt, own, NULL) : 0;
    l->open_rig = l->open_template = 0;
    if (most > 0 && most_template > 0) {
        l->open_template = (float)fmin(OPEN / most_template, 1);
        l->open_rig = (float)fmin(OPEN / (size * most), 1.5);
    }
    for (size_t i = 0; i < 3 * (size_t)l->nu; i++) l->open_x[i] += l->open_rig * d[i];
    for (size_t i = 0; i < 3 * (size_t)l->nt; i++)
        l->laid[i] = net->mean[i] + (most_template > 0 ? l->open_template * own[i] : 0);
    return FA_OK;
}

static FaCode find_pairs(Lay *l, const float *x, FaError *err) {
    float *d = FA_PUSH(l->work, 3 * (size_t)l->nu, float);
    if (!d) return FA_FAIL_MEMORY(err);
    l->npair = 0;
    for (int a = 0; a < FA_MIN(l->net->nweight, FA_ARKIT_COUNT); a++) {
        if (is_of_jaw_or_eye(a) && strcmp(fa_arkit_name(a), "jawOpen") != 0) continue;
        memset(d, 0, 3 * (size_t)l->nu * sizeof *d);
        int i = l->npair;
        l->npair += add_shape(l, a, 1, d) && centre(l->nu, d, l->moves, x, l->open_x, l->from[i], l->from_open[i]) &&
                    centre(l->nt, l->net->shape + 3 * (size_t)a * (size_t)l->nt, NULL, l->net->mean, l->laid, l->to[i],
                           l->to_open[i]);
    }
    l->report->pairs = l->npair;
    if (l->npair < PAIRS_LEAST)
        return FA_FAIL(
            err, FA_E_MESH, l->rig->path, "name its shapes: --map names.json with {\"theirName\": \"jawOpen\"}",
            "only %d of its shapes are known by name, %d are needed to lay the network over it", l->npair, PAIRS_LEAST);
    return FA_OK;
}

// The similarity by the centres; jawOpen's amplitude depends on it, so the mouths are opened again.
static FaCode align(Lay *l, FaError *err) {
    float *x = FA_PUSH(l->work, 3 * (size_t)l->nu, float);
    double own[64];
    if (!x) return FA_FAIL_MEMORY(err);
    for (int round = 0; round < 2; round++) {
        FA_TRY(open_mouths(l, x, err));
        FA_TRY(find_pairs(l, x, err));
        l->align = fai_align_robust(l->npair, l->from[0], l->to[0], NULL, true, 0.006, own);
        if (l->align.kind != FA_ALIGN_FULL || !(l->align.scale > 1e-3) || !(l->align.scale < 1e3))
            return FA_FAIL(err, FA_E_MESH, l->rig->path, "check the names of its shapes: fascia info",
                           "its shapes do not lie as a face's do");
    }
    return FA_OK;
}

static void back(const FaAlign *a, const double y[3], double x[3]) {
    double d[3];
    fai_v3_sub(y, a->translation, d);
    for (int k = 0; k < 3; k++)
        x[k] = (a->rotation[k] * d[0] + a->rotation[3 + k] * d[1] + a->rotation[6 + k] * d[2]) / a->scale;
}

// The template into the rig's space.
static void place(Lay *l) {
    for (int v = 0; v < l->nt; v++) {
        double p[3], q[3];
        fai_v3_load(l->laid, v, p);
        back(&l->align, p, q);
        for (int k = 0; k < 3; k++) l->laid[3 * (size_t)v + (size_t)k] = (float)q[k];
    }
}

// A soft warp by the centres.
static FaCode place_softly(Lay *l, FaError *err) {
    double from[64][3], to[64][3];
    for (int i = 0; i < l->npair; i++) {
        back(&l->align, l->to_open[i], from[i]);
        memcpy(to[i], l->from_open[i], sizeof to[i]);
    }
    FaRbf *rbf = NULL;
    FA_TRY(fai_rbf_new(l->npair, from[0], to[0], &(FaRbfOptions){.lambda = 1}, &rbf, err));
    fai_rbf_points(rbf, l->nt, l->laid, l->laid);
    fai_rbf_free(rbf);
    return FA_OK;
}

typedef struct Query {
    const FaClosest *tree;
    const FaMesh *mesh;
    const float *p, *n;
    float reach;
    FaHit *hit;
} Query;

static void query(void *ctx, int begin, int end, int chunk) {
    const Query *q = ctx;
    (void)chunk;
    for (int i = begin; i < end; i++)
        q->hit[i] = fai_facing(q->tree, q->mesh, q->mesh->x, q->p + 3 * (size_t)i, q->n + 3 * (size_t)i, q->reach);
}

// --- laying it on --------------------------------------------------------------------------------------------------
//
// Nothing is drawn to where the skin ends: what lies beyond has no counterpart.
//
// Displacements d from where the similarity puts the template, as smooth along its surface as they can be (umbrella
// Laplacian, squared), towards closest points that face the same way; softer in each round. Smooth along the surface
// and not in space: lips are neighbours in space only.

// May node v go there? Not to where the skin ends, and not far from where the similarity put it: where half a face is
// missing, its half of the template would slide over to the other.
static bool may_go(const Lay *l, int v, const FaHit *hit) {
    double d[3];
    if (hit->tri < 0) return false;
    for (int k = 0; k < 3; k++) d[k] = (double)hit->point[k] - (double)l->start[3 * (size_t)v + (size_t)k];
    if (fai_v3_norm(d) * l->align.scale > FARTHEST) return false;
    for (int k = 0; k < 3; k++) {
        int c = l->skin.tri[3 * (size_t)hit->tri + (size_t)k];
        if (hit->bary[k] > 1e-4f && !l->edge[fai_weld(&l->rig->mesh, c)]) return true;
    }
    return false;
}

typedef struct Drape {
    FaCsr smooth; // L' L
    FaCsr a;      // diagonal of those that found something + stiffness smooth
    FaChol *chol;
    double *d, *b; // (nt x 4)
    float *normal; // (nt x 3)
    FaHit *hit;    // (nt)
} Drape;

// L' L, L = own place - mean of the neighbours.
static FaCode umbrella(Lay *l, FaCsr *out, FaError *err) {
    FaTopology topo;
    FaCsr rows = {0};
    FA_TRY(fai_topology_build(&l->template, &topo, err));
    size_t room = (size_t)l->nt, square = 0;
    for (int v = 0; v < l->nt; v++) {
        size_t n = (size_t)(topo.around_start[v + 1] - topo.around_start[v]);
        room += n;
        square += (n + 1) * (n + 1);
    }
    FaTriplet *e = FA_NEW(FA_MAX(room, square), FaTriplet);
    int n = 0;
    FaCode rc = e ? FA_OK : FA_FAIL_MEMORY(err);
    for (int v = 0; v < l->nt && rc >= 0; v++) {
        int count = topo.around_start[v + 1] - topo.around_start[v];
        e[n++] = (FaTriplet){v, v, count ? 1 : 0};
        for (int i = topo.around_start[v]; i < topo.around_start[v + 1]; i++)
            e[n++] = (FaTriplet){v, topo.around[i], -1.0 / count};
    }
    if (rc >= 0) rc = fai_csr_from_triplets(l->nt, l->nt, n, e, &rows, err);
    n = 0;
    for (int v = 0; v < l->nt && rc >= 0; v++)
        for (int i = rows.start[v]; i < rows.start[v + 1]; i++)
            for (int j = rows.start[v]; j < rows.start[v + 1]; j++)
                e[n++] = (FaTriplet){rows.col[i], rows.col[j], rows.val[i] * rows.val[j]};
    if (rc >= 0) rc = fai_csr_from_triplets(l->nt, l->nt, n, e, out, err);
    fa_free(e);
    fai_csr_free(&rows);
    fai_topology_free(&topo);
    return rc;
}

static FaCode drape_round(Lay *l, Drape *p, const FaClosest *tree, double reach, double stiff, FaError *err) {
    fai_mesh_normals(&l->template, l->laid, p->normal);
    fai_parallel(l->nt, POINTS, query, &(Query){tree, &l->skin, l->laid, p->normal, (float)reach, p->hit});
    for (int v = 0; v < l->nt; v++) {
        bool found = may_go(l, v, &p->hit[v]);
        for (int i = p->smooth.start[v]; i < p->smooth.start[v + 1]; i++)
            p->a.val[i] = stiff * p->smooth.val[i] + (p->smooth.col[i] == v ? (found ? 1 : 1e-6) : 0);
        for (size_t k = 0; k < 3; k++) {
            size_t at = 3 * (size_t)v + k;
            p->b[4 * (size_t)v + k] = found ? (double)p->hit[v].point[k] - (double)l->start[at]
                                            : 1e-6 * ((double)l->laid[at] - (double)l->start[at]);
        }
    }
    FA_TRY(fai_chol_factor(p->chol, &p->a, err));
    fai_chol_solve_d(p->chol, p->b, p->d);
    for (int v = 0; v < l->nt; v++)
        for (size_t k = 0; k < 3; k++)
            l->laid[3 * (size_t)v + k] = l->start[3 * (size_t)v + k] + (float)p->d[4 * (size_t)v + k];
    return FA_OK;
}

static FaCode drape_rounds(Lay *l, Drape *p, FaError *err) {
    FaClosest *tree = NULL;
    FA_TRY(umbrella(l, &p->smooth, err));
    FA_TRY(umbrella(l, &p->a, err));
    p->d = FA_PUSH(l->work, 4 * (size_t)l->nt, double);
    p->b = FA_PUSH(l->work, 4 * (size_t)l->nt, double);
    p->normal = FA_PUSH(l->work, 3 * (size_t)l->nt, float);
    p->hit = FA_PUSH(l->work, l->nt, FaHit);
    if (!p->d || !p->b || !p->normal || !p->hit) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_chol_analyze(&p->a, NULL, &p->chol, err));
    FA_TRY(fai_closest_new(&l->skin, l->open_x, &tree, err));
    FaCode rc = FA_OK;
    for (int round = 0; round < ROUNDS && rc >= 0; round++) {
        double t = (double)round / (ROUNDS - 1);
        double reach = (REACH_FIRST * pow(REACH_LAST / REACH_FIRST, t)) / l->align.scale;
        rc = drape_round(l, p, tree, reach, STIFF_FIRST * pow(STIFF_LAST / STIFF_FIRST, t), err);
    }
    fai_closest_free(tree);
    return rc;
}

static FaCode lay_over(Lay *l, FaError *err) {
    Drape p = {0};
    FA_TRY(align(l, err));
    l->template.x = l->laid;
    l->skin.x = l->open_x;
    l->start = FA_PUSH(l->work, 3 * (size_t)l->nt, float);
    if (!l->start) return FA_FAIL_MEMORY(err);
    place(l);
    memcpy(l->start, l->laid, 3 * (size_t)l->nt * sizeof *l->start);
    FA_TRY(place_softly(l, err));
    FaCode rc = drape_rounds(l, &p, err);
    fai_csr_free(&p.smooth);
    fai_csr_free(&p.a);
    fai_chol_free(p.chol);
    return rc;
}

// --- counterparts -------------------------------------------------------------------------------------------------

static FaCode facing(const FaMesh *of, int n, const float *x, const float *normal, double reach, FaHit *hit,
                     FaError *err) {
    FaClosest *tree = NULL;
    FA_TRY(fai_closest_new(of, of->x, &tree, err));
    fai_parallel(n, POINTS, query, &(Query){tree, of, x, normal, (float)reach, hit});
    fai_closest_free(tree);
    return FA_OK;
}

static bool stirs(const FaNet *net, int v) {
    double most = 0;
    for (int s = 0; s < net->nweight; s++)
        most = fmax(most, length_of(net->shape + 3 * ((size_t)s * (size_t)net->nvert + (size_t)v)));
    return most > STIRS;
}

// Is all of the face there? Nodes of the template that move, and find the rig's surface.
static FaCode check_covered(Lay *l, FaError *err) {
    FaHit *hit = FA_PUSH(l->work, l->nt, FaHit);
    float *normal = FA_PUSH(l->work, 3 * (size_t)l->nt, float);
    if (!hit || !normal) return FA_FAIL_MEMORY(err);
    fai_mesh_normals(&l->template, l->laid, normal);
    FA_TRY(facing(&l->skin, l->nt, l->laid, normal, REACH / l->align.scale, hit, err));
    int all = 0, found = 0;
    for (int v = 0; v < l->nt; v++) {
        if (!stirs(l->net, v)) continue;
        all++;
        found += may_go(l, v, &hit[v]);
    }
    l->report->covered = all ? (double)found / all : 0;
    if (l->report->covered < ENOUGH)
        return FA_FAIL(err, FA_E_MESH, l->rig->path,
                       "give a mesh with all of the face; or use fascia run --physics limited, which needs no network",
                       "only %.0f %% of the face that the network knows is there", 100 * l->report->covered);
    return FA_OK;
}

static FaCode find_counterparts(Lay *l, FaError *err) {
    float *area = FA_PUSH(l->work, l->nu, float);
    if (!area) return FA_FAIL_MEMORY(err);
    fai_mesh_normals(&l->skin, l->open_x, l->normal);
    FA_TRY(facing(&l->template, l->nu, l->open_x, l->normal, REACH / l->align.scale, l->hit, err));
    fai_mesh_areas(&l->skin, l->open_x, area);
    double sum = 0, square = 0;
    int n = 0;
    for (int v = 0; v < l->nu; v++) {
        FaHit *hit = &l->hit[v];
        if (fai_weld(&l->rig->mesh, v) != v || !(area[v] > 0)) hit->tri = -1;
        if (hit->tri < 0) continue;
        l->mass[v] = (double)area[v];
        square += (double)hit->distance * (double)hit->distance;
        sum += l->mass[v];
        n++;
    }
    l->report->fit = n ? l->align.scale * sqrt(square / n) : 0;
    for (int v = 0; v < l->nu && sum > 0; v++) l->mass[v] *= l->nt / sum; // a node's on average
    if (!(sum > 0))
        return FA_FAIL(err, FA_E_MESH, l->rig->path, "check its unit and its axes: fascia info",
                       "the network's face and this one have nothing in common");
    return FA_OK;
}

// --- rows ---------------------------------------------------------------------------------------------------------

static void row_of_hit(const Lay *l, int v) {
    Row *r = &l->row[v];
    const int *c = l->template.tri + 3 * (size_t)l->hit[v].tri;
    r->n = 0;
    for (int k = 0; k < 3; k++)
        if (l->hit[v].bary[k] > 1e-4f) r->node[r->n] = c[k], r->weight[r->n++] = l->hit[v].bary[k];
}

// Along the surface to the nearest vertex with a counterpart, whose row is taken over. Sweeps, so that the order of the
// vertices decides between equals and nothing else.
static void spread_rows(Lay *l) {
    const FaMesh *m = &l->rig->mesh;
    const double most = FADE / l->align.scale;
    for (int v = 0; v < l->nu; v++) l->far[v] = l->hit[v].tri >= 0 ? 0 : INFINITY;
    for (int sweep = 0, changed = 1; sweep < SWEEPS && changed; sweep++) {
        changed = 0;
        for (int v = 0; v < l->nu; v++) {
            int part = l->topo.part[v];
            if (l->hit[v].tri >= 0 || part < 0 || !l->part_in[part]) continue;
            for (int i = l->topo.around_start[v]; i < l->topo.around_start[v + 1]; i++) {
                int w = l->topo.around[i];
                double p[3], q[3];
                fai_v3_load(m->x, v, p);
                fai_v3_load(m->x, w, q);
                fai_v3_sub(p, q, p);
                float far = l->far[w] + (float)fai_v3_norm(p);
                if (!((double)far < most) || !(far < l->far[v])) continue;
                l->far[v] = far;
                l->row[v] = l->row[w];
                changed = 1;
            }
        }
    }
    for (int v = 0; v < l->nu; v++) {
        double t = (double)l->far[v] / most, keep = l->hit[v].tri >= 0 ? 1
                                                    : t < 1            ? (1 - t) * (1 - t) * (1 + 2 * t)
                                                                       : 0;
        if (!(keep > 0)) l->row[v].n = 0;
        for (int i = 0; i < l->row[v].n; i++) l->row[v].weight[i] *= (float)keep;
    }
}

// Sum of rows: of equal nodes one entry, the largest kept, their sum as it was.
static void add_row(const Row *from, float w, float *all, int *node, int *n) {
    for (int i = 0; i < from->n; i++) {
        int k = 0;
        while (k < *n && node[k] != from->node[i]) k++;
        if (k == *n) node[(*n)++] = from->node[i], all[k] = 0;
        all[k] += w * from->weight[i];
    }
}

static void keep_largest(Row *r, float *all, const int *node, int n) {
    float sum = 0, kept = 0;
    for (int i = 0; i < n; i++) sum += all[i];
    for (r->n = 0; r->n < ROW && r->n < n; r->n++) {
        int best = 0;
        for (int i = 1; i < n; i++)
            if (all[i] > all[best]) best = i;
        if (!(all[best] > 0)) break;
        r->node[r->n] = node[best];
        r->weight[r->n] = all[best];
        kept += all[best];
        all[best] = 0;
    }
    for (int i = 0; i < r->n; i++) r->weight[i] *= sum / kept;
}

// Vertices without a counterpart become the mean of their neighbours' rows, some times.
static FaCode soften_rows(Lay *l, FaError *err) {
    enum { AROUND = 12 };
    Row *next = FA_PUSH(l->work, l->nu, Row);
    if (!next) return FA_FAIL_MEMORY(err);
    for (int round = 0; round < SOFTEN; round++) {
        memcpy(next, l->row, (size_t)l->nu * sizeof *next);
        for (int v = 0; v < l->nu; v++) {
            if (l->hit[v].tri >= 0 || !isfinite(l->far[v])) continue;
            int begin = l->topo.around_start[v], count = FA_MIN(l->topo.around_start[v + 1] - begin, AROUND), n = 0;
            float all[(AROUND + 1) * ROW];
            int node[(AROUND + 1) * ROW];
            if (count < 1) continue;
            add_row(&l->row[v], 0.5f, all, node, &n);
            for (int i = 0; i < count; i++)
                add_row(&l->row[l->topo.around[begin + i]], 0.5f / (float)count, all, node, &n);
            keep_largest(&next[v], all, node, n);
        }
        memcpy(l->row, next, (size_t)l->nu * sizeof *next);
    }
    return FA_OK;
}

static FaCode make_carry(Lay *l, FaCsr *carry, FaError *err) {
    for (int v = 0; v < l->nu; v++)
        if (l->hit[v].tri >= 0) row_of_hit(l, v);
    spread_rows(l);
    FA_TRY(soften_rows(l, err));
    size_t room = 0;
    for (int v = 0; v < l->nu; v++) room += (size_t)l->row[fai_weld(&l->rig->mesh, v)].n;
    FaTriplet *entry = room <= INT32_MAX ? FA_NEW(room, FaTriplet) : NULL;
    if (!entry) return FA_FAIL_MEMORY(err);
    int n = 0;
    for (int v = 0; v < l->nu; v++) {
        const Row *r = &l->row[fai_weld(&l->rig->mesh, v)];
        for (int i = 0; i < r->n; i++) entry[n++] = (FaTriplet){v, r->node[i], (double)r->weight[i]};
    }
    FaCode rc = fai_csr_from_triplets(l->nu, l->nt, n, entry, carry, err);
    fa_free(entry);
    return rc;
}

// --- the rig as the template has it -------------------------------------------------------------------------------

// sum of mass row row' + SMOOTH times the template's graph Laplacian
static FaCode fit_matrix(const Lay *l, FaChol **chol, FaError *err) {
    size_t room = (size_t)l->nt + 12 * (size_t)l->template.ntri;
    for (int v = 0; v < l->nu; v++) room += l->hit[v].tri >= 0 ? (size_t)(l->row[v].n * l->row[v].n) : 0;
    FaTriplet *e = room <= INT32_MAX ? FA_NEW(room, FaTriplet) : NULL;
    FaCsr a = {0};
    int n = 0;
    if (!e) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < l->nt; v++) e[n++] = (FaTriplet){v, v, 1e-6};
    for (int t = 0; t < l->template.ntri; t++)
        for (int k = 0; k < 3; k++) {
            int i = l->template.tri[3 * t + k], j = l->template.tri[3 * t + (k + 1) % 3];
            e[n++] = (FaTriplet){i, i, SMOOTH};
            e[n++] = (FaTriplet){j, j, SMOOTH};
            e[n++] = (FaTriplet){i, j, -SMOOTH};
            e[n++] = (FaTriplet){j, i, -SMOOTH};
        }
    for (int v = 0; v < l->nu; v++) {
        const Row *r = &l->row[v];
        for (int i = 0; l->hit[v].tri >= 0 && i < r->n; i++)
            for (int j = 0; j < r->n; j++)
                e[n++] = (FaTriplet){r->node[i], r->node[j], l->mass[v] * (double)r->weight[i] * (double)r->weight[j]};
    }
    FaCode rc = fai_csr_from_triplets(l->nt, l->nt, n, e, &a, err);
    if (rc >= 0) rc = fai_chol_analyze(&a, NULL, chol, err);
    if (rc >= 0) rc = fai_chol_factor(*chol, &a, err);
    fai_csr_free(&a);
    fa_free(e);
    return rc;
}

// of: values of the rig's vertices (nu x 3) -> of the template's nodes (nt x 3). b: scratch (nt x 4).
static void fit(const Lay *l, FaChol *chol, const double *of, double *b, float *out) {
    memset(b, 0, 4 * (size_t)l->nt * sizeof *b);
    for (int v = 0; v < l->nu; v++) {
        const Row *r = &l->row[v];
        for (int i = 0; l->hit[v].tri >= 0 && i < r->n; i++)
            for (int k = 0; k < 3; k++)
                b[4 * (size_t)r->node[i] + (size_t)k] +=
                    l->mass[v] * (double)r->weight[i] * of[3 * (size_t)v + (size_t)k];
    }
    fai_chol_solve_d(chol, b, b);
    for (int v = 0; v < l->nt; v++)
        for (int k = 0; k < 3; k++) out[3 * (size_t)v + (size_t)k] = (float)b[4 * (size_t)v + (size_t)k];
}

// How the network sees the rig: turned and moved to lie best on the mean, in its own size where that is a person's.
static FaCode see(Lay *l, FaLay *out, FaError *err) {
    double *from = FA_PUSH(l->work, 3 * (size_t)l->nu, double), *to = FA_PUSH(l->work, 3 * (size_t)l->nu, double);
    if (!from || !to) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < l->nu; v++) {
        double p[3];
        fai_v3_load(l->rig->mesh.x, v, p);
        fai_m3_mulv(l->rig->axes, p, from + 3 * (size_t)v);
        for (int i = 0; i < l->row[v].n; i++)
            for (int k = 0; k < 3; k++)
                to[3 * (size_t)v + (size_t)k] +=
                    (double)l->row[v].weight[i] * (double)l->net->mean[3 * (size_t)l->row[v].node[i] + (size_t)k];
    }
    l->seen = fai_align(l->nu, from, to, l->mass, true);
    if (l->seen.scale < OWN_SIZE && l->seen.scale > 1 / OWN_SIZE) l->seen = fai_align(l->nu, from, to, l->mass, false);
    if (l->seen.kind != FA_ALIGN_FULL || !(l->seen.scale > 0))
        return FA_FAIL(err, FA_E_MESH, l->rig->path, "give a mesh with all of the face",
                       "what of it the network knows lies in a line");
    out->scale = l->seen.scale;
    fai_m3_mul(l->seen.rotation, l->rig->axes, out->turn);
    memcpy(out->move, l->seen.translation, sizeof out->move);
    l->report->scale = out->scale;
    return FA_OK;
}

static FaCode fit_all(Lay *l, FaLay *out, FaChol *chol, FaError *err) {
    const FaRig *rig = l->rig;
    size_t n = 3 * (size_t)l->nt;
    double *of = FA_PUSH(l->work, 3 * (size_t)l->nu, double), *b = FA_PUSH(l->work, 4 * (size_t)l->nt, double);
    out->neutral = FA_NEW(n, float);
    out->shape = FA_NEW(n * (size_t)FA_MAX(rig->nshape, 1), float);
    if (!of || !b || !out->neutral || !out->shape) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < l->nu; v++) { // against the mean, so that what is not there stays the mean
        double p[3], q[3];
        fai_v3_load(rig->mesh.x, v, p);
        fai_m3_mulv(out->turn, p, q);
        for (int k = 0; k < 3; k++) {
            double mean = 0;
            for (int i = 0; i < l->row[v].n; i++)
                mean += (double)l->row[v].weight[i] * (double)l->net->mean[3 * (size_t)l->row[v].node[i] + (size_t)k];
            of[3 * (size_t)v + (size_t)k] = out->scale * q[k] + out->move[k] - mean;
        }
    }
    fit(l, chol, of, b, out->neutral);
    for (size_t i = 0; i < n; i++) out->neutral[i] += l->net->mean[i];
    for (int s = 0; s < rig->nshape; s++) {
        memset(of, 0, 3 * (size_t)l->nu * sizeof *of);
        for (int e = rig->shape[s].first; e < rig->shape[s].first + rig->shape[s].count; e++) {
            double d[3], q[3];
            fai_v3_load(rig->delta, e, d);
            fai_m3_mulv(out->turn, d, q);
            for (int k = 0; k < 3; k++) of[3 * (size_t)rig->row[e] + (size_t)k] = out->scale * q[k];
        }
        fit(l, chol, of, b, out->shape + n * (size_t)s);
    }
    return FA_OK;
}

// --- what it is worth ---------------------------------------------------------------------------------------------

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Median length of jawOpen at a lip of the template: corners go along with either. 0: no lip.
static double lip_moves(const Lay *l, const FaLay *lay, int region, double *size) {
    const int jaw = fa_arkit_match("jawOpen", NULL);
    int n = 0;
    for (int v = 0; v < l->nt; v++) {
        float d[3] = {0};
        if (l->net->region[v] != region) continue;
        for (int s = 0; s < l->rig->nshape; s++)
            for (int k = 0; drives(l->rig, s, jaw) && k < 3; k++)
                d[k] += lay->shape[3 * ((size_t)s * (size_t)l->nt + (size_t)v) + (size_t)k];
        size[n++] = length_of(d);
    }
    qsort(size, (size_t)n, sizeof *size, by_size);
    return n ? size[n / 2] : 0;
}

static FaCode check_lips(Lay *l, const FaLay *lay, FaError *err) {
    double *size = FA_PUSH(l->work, l->nt, double);
    if (!size) return FA_FAIL_MEMORY(err);
    double upper = l->report->lip_upper = lip_moves(l, lay, FA_REGION_UPPER_LIP, size),
           lower = l->report->lip_lower = lip_moves(l, lay, FA_REGION_LOWER_LIP, size);
    if (upper > 1e-4 && upper > 0.25 * lower)
        return FA_FAIL(
            err, FA_E_MESH, l->rig->path,
            "check with fascia info which shape is jawOpen (--map names.json), and that its upper lip stays; or "
            "use fascia run --physics limited, which needs no network",
            "jawOpen moves the upper lip by %.1f mm and the lower by %.1f: the lips were mistaken for each other",
            1e3 * upper, 1e3 * lower);
    return FA_OK;
}

// Out and back: sums of squares of a shape and of what is lost of it, over the skin.
static void measure_shape(const Lay *l, const FaLay *lay, int s, double *back_x, double *lost, double *all) {
    const FaRig *rig = l->rig;
    const float *shape = lay->shape + 3 * (size_t)l->nt * (size_t)s;
    memset(back_x, 0, 3 * (size_t)l->nu * sizeof *back_x);
    for (int v = 0; v < l->nu; v++) {
        double sum[3] = {0}, d[3];
        for (int i = lay->carry.start[v]; i < lay->carry.start[v + 1]; i++)
            for (int k = 0; k < 3; k++)
                sum[k] += lay->carry.val[i] * (double)shape[3 * (size_t)lay->carry.col[i] + (size_t)k];
        for (int k = 0; k < 3; k++)
            d[k] = (lay->turn[k] * sum[0] + lay->turn[3 + k] * sum[1] + lay->turn[6 + k] * sum[2]) / lay->scale;
        fai_v3_add(back_x + 3 * (size_t)v, d, back_x + 3 * (size_t)v);
    }
    for (int e = rig->shape[s].first; e < rig->shape[s].first + rig->shape[s].count; e++) {
        double d[3];
        if (!l->moves[rig->row[e]]) continue;
        fai_v3_load(rig->delta, e, d);
        *all += fai_v3_dot(d, d);
        double *x = back_x + 3 * (size_t)rig->row[e];
        fai_v3_sub(x, d, x);
    }
    for (int v = 0; v < l->nu; v++)
        if (l->moves[v]) *lost += fai_v3_dot(back_x + 3 * (size_t)v, back_x + 3 * (size_t)v);
}

static FaCode measure(Lay *l, const FaLay *lay, FaError *err) {
    FaNeuralReport *r = l->report;
    double *x = FA_PUSH(l->work, 3 * (size_t)l->nu, double), lost = 0, all = 0;
    if (!x) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < l->nu; v++) {
        r->moving += l->moves[v];
        r->unmatched += l->moves[v] && l->hit[fai_weld(&l->rig->mesh, v)].tri < 0;
    }
    for (int s = 0; s < l->rig->nshape; s++) {
        double own_lost = 0, own = 0;
        measure_shape(l, lay, s, x, &own_lost, &own);
        lost += own_lost;
        all += own;
        double share = own > 0 ? sqrt(own_lost / own) : 0;
        if (share > r->worst && own > 1e-6) r->worst = share, r->worst_shape = l->rig->shape[s].name;
    }
    r->chain = all > 0 ? sqrt(lost / all) : 0;
    return FA_OK;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode run(Lay *l, FaLay *out, FaError *err) {
    size_t nu = (size_t)l->nu, nt = (size_t)l->nt;
    l->open_x = FA_PUSH(l->work, 3 * nu, float);
    l->normal = FA_PUSH(l->work, 3 * nu, float);
    l->laid = FA_PUSH(l->work, 3 * nt, float);
    l->hit = FA_PUSH(l->work, nu, FaHit);
    l->row = FA_PUSH(l->work, nu, Row);
    l->far = FA_PUSH(l->work, nu, float);
    l->mass = FA_PUSH(l->work, nu, double);
    if (!l->open_x || !l->normal || !l->laid || !l->hit || !l->row || !l->far || !l->mass) return FA_FAIL_MEMORY(err);
    l->template = (FaMesh){.nvert = l->nt, .ntri = l->net->ntri, .x = l->laid, .tri = l->net->tri};
    FA_TRY(find_skin(l, err));
    FA_TRY(lay_over(l, err));
    FA_TRY(check_covered(l, err));
    FA_TRY(find_counterparts(l, err));
    FA_TRY(make_carry(l, &out->carry, err));
    FA_TRY(see(l, out, err));
    FaChol *chol = NULL;
    FaCode rc = fit_matrix(l, &chol, err);
    if (rc >= 0) rc = fit_all(l, out, chol, err);
    fai_chol_free(chol);
    FA_TRY(rc);
    FA_TRY(measure(l, out, err));
    return check_lips(l, out, err);
}

FaCode fai_lay(const FaNet *net, const FaRig *rig, FaLay *lay, FaNeuralReport *report, FaError *err) {
    *lay = (FaLay){0};
    *report = (FaNeuralReport){0};
    Lay l = {.net = net, .rig = rig, .nu = rig->mesh.nvert, .nt = net->nvert, .report = report};
    l.work = fai_arena_new(0);
    FaCode rc = l.work ? run(&l, lay, err) : FA_FAIL_MEMORY(err);
    fai_topology_free(&l.topo);
    fai_arena_free(l.work);
    if (rc < 0) fai_lay_free(lay);
    return rc;
}

void fai_lay_free(FaLay *lay) {
    fai_csr_free(&lay->carry);
    fa_free(lay->neutral);
    fa_free(lay->shape);
    *lay = (FaLay){0};
}
