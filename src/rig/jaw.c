// Where the jaw turns. A sculpted jawOpen is a rotation's end pose: bone, chin and lower teeth follow it rigidly, lips
// and cheeks partly, the rest not at all. So: the rigid motion that most of the surface agrees on, by a fit whose
// weights favour what agrees (annealed, so that it neither starts at a wrong answer nor ends at a blurred one). How
// close "agrees" is grows until enough of the surface does. What still is no motion of a jaw (shapes that only slide,
// few vertices, snouts) gets the turn about the place where anatomy has the joint that comes nearest.
#include "rig/jaw.h"

#include "math/mat3.h"
#include "mesh/mesh.h"
#include "rig/jaw_opener.h"
#include "rig/mean_head.h"
#include "rig/names.h"
#include "rig/stats.h"

enum { ROUNDS = 36, SMOOTH_ROUNDS = 40, ENOUGH = 1500 }; // ENOUGH: vertices that tell a shape's jaw
#define MOVES 1e-3                                       // m: the largest motion of a shape that opens a jaw, at least
#define LEAST_TURN (0.5 * M_PI / 180)                    // rad: what opens a jaw by less only slides
#define STILL 1e-4                                       // m: what moves the jaw by less does not move it
#define SEEN 5e-4                                        // m: skin that moves less tells nothing of the jaw
#define PLAIN 0.6                                        // of the chin goes along
#define JOINT_SHARE 0.05 // how heavy the joints are against all of the chin where no turn was sculpted

// --- motion by name -----------------------------------------------------------------------------------------------

static int arkit_index(const char *name) {
    for (int i = 0; i < FA_ARKIT_COUNT; i++)
        if (!strcmp(fa_arkit_name(i), name)) return i;
    return -1;
}

static void add_shape(const FaRig *rig, int s, float scale, float *d) {
    const FaShape *shape = &rig->shape[s];
    for (int i = shape->first; i < shape->first + shape->count; i++)
        for (int k = 0; k < 3; k++) d[3 * (size_t)rig->row[i] + k] += scale * rig->delta[3 * (size_t)i + k];
}

bool fai_arkit_motion_add(const FaRig *rig, const char *name, float scale, float *d) {
    int arkit = arkit_index(name), whole = -1, both = -1, half[2] = {-1, -1}, pair[2];
    for (int s = rig->nshape; arkit >= 0 && s-- > 0;) {
        const FaShape *shape = &rig->shape[s];
        if (!shape->count) continue;
        if (shape->arkit == arkit && !shape->half)
            whole = s;
        else if (shape->arkit == arkit)
            half[shape->half > 0] = s;
        else if (shape->arkit < 0 && fai_arkit_pair(shape->name, pair) && (pair[0] == arkit || pair[1] == arkit))
            both = s;
    }
    // the whole shape, else its halves, else half of what moves both sides at once (the partner's name adds the rest)
    if (whole >= 0)
        add_shape(rig, whole, scale, d);
    else if (half[0] >= 0 || half[1] >= 0)
        for (int i = 0; i < 2; i++) {
            if (half[i] >= 0) add_shape(rig, half[i], scale, d);
        }
    else if (both >= 0)
        add_shape(rig, both, scale / 2, d);
    return whole >= 0 || both >= 0 || half[0] >= 0 || half[1] >= 0;
}

bool fai_arkit_motion(const FaRig *rig, const char *name, float *d) {
    memset(d, 0, 3 * (size_t)rig->mesh.nvert * sizeof *d);
    return fai_arkit_motion_add(rig, name, 1, d);
}

// --- rigid fit ----------------------------------------------------------------------------------------------------

typedef struct Fit {
    double r[9], t[3]; // x' = r x + t
    double rms;        // weighted, m
    double weight;     // sum of weights
} Fit;

// The joints of the jaw, left and right, which would rather stay where they are: as heavy as `share` of all that is
// fitted. share 0: no say.
typedef struct Prior {
    double at[2][3], share;
} Prior;

static const Prior no_prior;

// Add a point and its image to the sums of a Procrustes fit, about the means given.
static void add_point(const double p[3], const double q[3], double w, const double mx[3], const double my[3],
                      double h[9]) {
    double a[3], b[3];
    fai_v3_sub(p, mx, a);
    fai_v3_sub(q, my, b);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) h[3 * i + k] += w * b[i] * a[k];
}

static void load_pair(const float *x, const float *d, int v, double p[3], double q[3]) {
    fai_v3_load(x, v, p);
    fai_v3_load(d, v, q);
    fai_v3_add(p, q, q);
}

// Weighted Procrustes of x -> x + d over the listed vertices.
static Fit procrustes(int n, const int *list, const double *w, const float *x, const float *d, const Prior *prior) {
    Fit fit = {.r = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    double mx[3] = {0}, my[3] = {0}, h[9] = {0}, p[3], q[3];
    for (int i = 0; i < n; i++) {
        load_pair(x, d, list[i], p, q);
        fai_v3_mad(mx, w[i], p, mx);
        fai_v3_mad(my, w[i], q, my);
        fit.weight += w[i];
    }
    if (!(fit.weight > 0)) return fit;
    double held = 0.5 * prior->share * fit.weight, all = fit.weight + 2 * held;
    for (int i = 0; i < 2; i++) {
        fai_v3_mad(mx, held, prior->at[i], mx);
        fai_v3_mad(my, held, prior->at[i], my);
    }
    fai_v3_scale(1 / all, mx, mx);
    fai_v3_scale(1 / all, my, my);
    for (int i = 0; i < n; i++) {
        load_pair(x, d, list[i], p, q);
        add_point(p, q, w[i], mx, my, h);
    }
    for (int i = 0; i < 2 && held > 0; i++) add_point(prior->at[i], prior->at[i], held, mx, my, h);
    fai_m3_polar(h, fit.r, NULL);
    double rm[3];
    fai_m3_mulv(fit.r, mx, rm);
    fai_v3_sub(my, rm, fit.t);
    return fit;
}

// The rigid motion of a vertex, as a displacement.
static void rigid_move(const Fit *fit, const double p[3], double out[3]) {
    fai_m3_mulv(fit->r, p, out);
    for (int k = 0; k < 3; k++) out[k] += fit->t[k] - p[k];
}

static double misfit(const Fit *fit, const float *x, const float *d, int v) {
    double p[3], q[3], m[3];
    fai_v3_load(x, v, p);
    fai_v3_load(d, v, q);
    rigid_move(fit, p, m);
    fai_v3_sub(q, m, q);
    return fai_v3_norm(q);
}

// Fit again and again with weights base / (1 + (misfit / s)^2)^2, s falling from `wide` to `tight`. w ends as the last
// weights.
static Fit robust_fit(int n, const int *list, const double *base, double *w, const float *x, const float *d,
                      const Prior *prior, double wide, double tight) {
    Fit fit = procrustes(n, list, w, x, d, prior);
    for (int round = 0; round < ROUNDS; round++) {
        double u = fmin(1, round / (0.75 * ROUNDS)), s = wide * pow(tight / wide, u);
        for (int i = 0; i < n; i++) {
            double e = misfit(&fit, x, d, list[i]) / s, g = 1 / (1 + e * e);
            w[i] = base[i] * g * g;
        }
        Fit next = procrustes(n, list, w, x, d, prior);
        if (!(next.weight > 0)) break;
        fit = next;
    }
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double e = misfit(&fit, x, d, list[i]);
        sum += w[i] * e * e;
    }
    fit.rms = fit.weight > 0 ? sqrt(sum / fit.weight) : 0;
    return fit;
}

// --- the core of the jaw ------------------------------------------------------------------------------------------

typedef struct Core {
    const FaRig *rig;
    FaTopology topo;
    float *d, *area;  // jawOpen, m (nvert x 3); m2 (nvert)
    double *base, *w; // of the listed vertices (nlist)
    int *list, nlist; // vertices that jawOpen moves far
    int *hard, nhard; // of them, those of rigid parts: lower teeth
    double most;      // m: the largest motion of jawOpen
    Fit open;
    double joint[3]; // where the joint should be, m
    double size;     // of the head against the mean adult's
    bool known;      // by the user, a joint of the skin, or eyes and lips; else a guess from the chin
    bool given;      // by one of the first two
    bool loose;      // no turn was sculpted: the nearest one
    FaArena *arena;
} Core;

static double length_of(const float *d, int v) {
    double q[3];
    fai_v3_load(d, v, q);
    return fai_v3_norm(q);
}

// Mean of the motion's top half percent: one stray vertex must not set the scale.
static FaCode largest_motion(Core *c, FaError *err) {
    int nvert = c->rig->mesh.nvert, n = 0;
    float *len = FA_PUSH(c->arena, nvert, float);
    if (!len) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < nvert; v++)
        if (c->area[v] > 0 && length_of(c->d, v) > 1e-5) len[n++] = (float)length_of(c->d, v);
    c->most = n ? (double)fai_select(len, (size_t)n, (size_t)(n - 1 - n / 200)) : 0;
    return FA_OK;
}

// Parts that move as a whole and rigidly (lower teeth, gums) tell the jaw better than skin: their weight is raised. A
// part counts if all of it moves and its own fit is closer than 1 % of the motion.
static void favour_rigid_parts(Core *c, int *scratch) {
    const FaMesh *mesh = &c->rig->mesh;
    for (int part = 0; part < c->topo.nparts; part++) {
        int n = 0, still = 0;
        double area = 0;
        for (int v = 0; v < mesh->nvert; v++) {
            if (c->topo.part[fai_weld(mesh, v)] != part) continue;
            if (length_of(c->d, v) < 0.2 * c->most)
                still++;
            else
                scratch[n++] = v;
        }
        if (still || n < 24) continue;
        for (int i = 0; i < n; i++) c->w[i] = 1;
        Fit fit = procrustes(n, scratch, c->w, mesh->x, c->d, &no_prior);
        double sum = 0;
        for (int i = 0; i < n; i++) {
            double e = misfit(&fit, mesh->x, c->d, scratch[i]);
            sum += e * e;
            area += (double)c->area[scratch[i]];
        }
        if (!(sqrt(sum / n) < 0.01 * c->most) || !(area > 0)) continue;
        // scratch is in increasing order, as the list is
        for (int i = 0, k = 0; i < n; i++) {
            while (k < c->nlist && c->list[k] < scratch[i]) k++;
            if (k == c->nlist || c->list[k] != scratch[i]) continue;
            c->base[k] *= 20;
            c->hard[c->nhard++] = scratch[i];
        }
    }
}

// The share of the surface that agrees, 0 if what moves does not move enough or the fit is no better than a guess.
static double agreeing(const Core *c, const Fit *fit) {
    double total = 0;
    for (int i = 0; i < c->nlist; i++) total += c->base[i];
    return c->most > MOVES && total > 0 && fit->rms < 0.1 * c->most ? fit->weight / total : 0;
}

// Weights for what moves most: the chin. w may be base.
static void favour_far(const Core *c, double *w) {
    for (int i = 0; i < c->nlist; i++) {
        double u = fmin(1, length_of(c->d, c->list[i]) / c->most);
        w[i] = c->base[i] * u * u * u * u;
    }
}

static FaCode find_core(Core *c, FaError *err) {
    const FaMesh *mesh = &c->rig->mesh;
    int nvert = mesh->nvert;
    FA_TRY(largest_motion(c, err));
    c->list = FA_PUSH(c->arena, nvert, int);
    c->hard = FA_PUSH(c->arena, nvert, int);
    c->base = FA_PUSH(c->arena, nvert, double);
    c->w = FA_PUSH(c->arena, nvert, double);
    int *scratch = FA_PUSH(c->arena, nvert, int);
    if (!c->list || !c->hard || !c->base || !c->w || !scratch) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < nvert; v++)
        if (c->area[v] > 0 && length_of(c->d, v) > 0.25 * c->most && c->most > 0) {
            c->base[c->nlist] = (double)c->area[v];
            c->list[c->nlist++] = v;
        }
    favour_rigid_parts(c, scratch);
    return FA_OK;
}

// Centroid of a motion's squared length; false if nothing moves.
static bool motion_centre(const Core *c, const char *const *names, int n, float *d, double out[3]) {
    const FaMesh *mesh = &c->rig->mesh;
    memset(d, 0, 3 * (size_t)mesh->nvert * sizeof *d);
    for (int i = 0; i < n; i++) fai_arkit_motion_add(c->rig, names[i], 1, d);
    double sum = 0, at[3] = {0}, most = 0;
    for (int v = 0; v < mesh->nvert; v++) {
        double p[3], len = length_of(d, v), w = (double)c->area[v] * len * len;
        fai_v3_load(mesh->x, v, p);
        fai_v3_mad(at, w, p, at);
        sum += w;
        most = fmax(most, len);
    }
    if (!(sum > 0) || most < 2e-4) return false; // rounding errors move the feet as much as the lips
    fai_v3_scale(1 / sum, at, out);
    return true;
}

// Where the middle of the two joints should be, from the eyes and the mouth: on an average head it is .42 of their
// distance below the eyes' lids and .94 of it behind them. A few millimetres off on most people.
static bool joint_by_eyes(const Core *c, float *d, double out[3]) {
    static const char *const eyes[] = {"eyeBlinkLeft", "eyeBlinkRight"};
    static const char *const lips[] = {"mouthPucker", "mouthRollUpper", "mouthRollLower"};
    double eye[3], lip[3], off[3];
    if (!motion_centre(c, eyes, 2, d, eye) || !motion_centre(c, lips, 3, d, lip)) return false;
    fai_v3_sub(eye, lip, off);
    double size = fai_v3_norm(off);
    const double *up = c->rig->axes + 3,
                 *front = c->rig->axes + 6; // rows of axes: canonical directions in the rig's frame
    for (int k = 0; k < 3; k++) out[k] = eye[k] - 0.42 * size * up[k] - 0.94 * size * front[k];
    return true;
}

// ... from the chin alone, in the middle of what moves far: as far above it as behind it.
static void joint_by_chin(Core *c) {
    double sum = 0, at[3] = {0};
    for (int i = 0; i < c->nlist; i++) {
        double p[3], u = length_of(c->d, c->list[i]) / c->most, w = c->base[i] * u * u;
        fai_v3_load(c->rig->mesh.x, c->list[i], p);
        fai_v3_mad(at, w, p, at);
        sum += w;
    }
    const double *up = c->rig->axes + 3, *front = c->rig->axes + 6;
    for (int k = 0; k < 3; k++) c->joint[k] = at[k] / sum + 0.07 * c->size * (up[k] - front[k]);
}

static void find_joint(Core *c, float *scratch) {
    FaMeanHead mean = fai_mean_head_find(c->rig);
    c->size = mean.found ? mean.size : fmin(mean.size, 1.5); // without eyes and mouth it is the height of the mesh
    c->given = c->rig->hinge_how != NULL;
    if (c->given) memcpy(c->joint, c->rig->hinge, sizeof c->joint);
    c->known = c->given || joint_by_eyes(c, scratch, c->joint);
    if (!c->known) joint_by_chin(c);
}

static Fit fit_open(Core *c, const Prior *prior, double tight) {
    favour_far(c, c->w);
    return robust_fit(c->nlist, c->list, c->base, c->w, c->rig->mesh.x, c->d, prior, 0.12 * c->most, tight * c->most);
}

// A motion that a fifth of what moves follows within 1 % was sculpted as a turn, whatever it turns about; one that a
// twentieth follows, if it leaves the joints about where they should be.
static bool sculpted(const Core *c) {
    double share = c->nlist >= 12 ? agreeing(c, &c->open) : 0, slide[3];
    rigid_move(&c->open, c->joint, slide);
    return share > 0.2 || (share > 0.05 && (!c->known || fai_v3_norm(slide) < 0.35 * c->most));
}

// The sculpted turn; else, as near to one as the chin gets, a turn that holds the joints: closeness is given up until
// enough of the surface agrees.
static bool fit_core(Core *c) {
    c->open = fit_open(c, &no_prior, 0.01);
    if (sculpted(c)) return true;
    Prior held = {.share = JOINT_SHARE};
    for (int i = 0; i < 2; i++) fai_v3_mad(c->joint, (i ? -0.05 : 0.05) * c->size, c->rig->axes, held.at[i]);
    c->loose = true;
    favour_far(c, c->base); // else the fit creeps towards the joints, where all are near to standing still
    for (double tight = 0.02; tight < 0.1; tight *= 2) {
        c->open = fit_open(c, &held, tight);
        if (c->nlist >= 4 && agreeing(c, &c->open) > 0.05) return true;
    }
    return false;
}

// --- the hinge ----------------------------------------------------------------------------------------------------

// A finite motion fixes the axis' direction and its screw line, not the joint: every point h is a hinge if the slide
// s(h) = r h + t - h follows the turn. Anatomy decides: near the expected joint, unless that needs a large slide. With
// k = 2 sin(angle / 2) and distance L of the expected joint from the line, h = that joint moved towards the line by
// the share that minimises (share L)^2 + ((1 - share) k L)^2. A slide of more than 15 mm is no joint's: such a shape
// was turned about a pivot of its sculptor's, on the line.
static void place_hinge(const Core *c, FaJaw *jaw) {
    const Fit *fit = &c->open;
    const double *joint = c->joint;
    double q[4], turn[3], h[3], toward[3], t_perp[3], c_line[3];
    fai_q_from_m3(fit->r, q);
    fai_q_log(q, turn);
    jaw->open_angle = fai_v3_norm(turn);
    const double *left = c->rig->axes;
    bool turns = jaw->open_angle > LEAST_TURN;
    if (turns)
        fai_v3_scale(1 / jaw->open_angle, turn, jaw->axis);
    else
        memcpy(jaw->axis, left, sizeof jaw->axis);
    memcpy(h, joint, 3 * sizeof *h);
    if (turns) {
        // the point of the screw line nearest to the joint: solve (I - r) x = t in the plane across the axis
        double k = 2 * sin(jaw->open_angle / 2), along, cot = 1 / tan(jaw->open_angle / 2), cross[3], move[3];
        rigid_move(fit, joint, move);
        along = fai_v3_dot(move, jaw->axis);
        fai_v3_mad(move, -along, jaw->axis, t_perp);
        fai_v3_cross(jaw->axis, t_perp, cross);
        for (int i = 0; i < 3; i++) c_line[i] = joint[i] + 0.5 * (t_perp[i] + cot * cross[i]);
        fai_v3_sub(c_line, joint, toward);
        double far = fai_v3_norm(toward), share = k * k / (1 + k * k), slide = (1 - share) * k * far;
        if (!c->known || slide > 0.015 * c->size) share = 1;
        if (c->given) share = 0;
        fai_v3_mad(joint, share, toward, h);
    }
    memcpy(jaw->hinge, h, sizeof h);
    // the slide that goes with the turn as stored (exactly none of it where the turn is too small to tell)
    if (!turns) jaw->open_angle = 0;
    double p[3];
    if (turns)
        rigid_move(fit, h, p);
    else {
        double sum = 0;
        fai_v3_set(p, 0, 0, 0);
        for (int i = 0; i < c->nlist; i++) {
            double m[3];
            fai_v3_load(c->d, c->list[i], m);
            fai_v3_mad(p, c->w[i], m, p);
            sum += c->w[i];
        }
        fai_v3_scale(1 / sum, p, p);
    }
    memcpy(jaw->open_slide, p, sizeof p);
}

// jawForward, jawLeft, jawRight: rigid fits on the core that jawOpen found.
static void fit_sides(const Core *c, FaJaw *jaw, float *d, double *w, FaNotes *notes) {
    static const char *const names[4] = {NULL, "jawForward", "jawLeft", "jawRight"};
    for (int i = 1; i < 4; i++) {
        if (!fai_arkit_motion(c->rig, names[i], d)) continue;
        double most = 0;
        for (int k = 0; k < c->nlist; k++) {
            w[k] = c->w[k];
            if (c->w[k] > 0.1 * c->base[k]) most = fmax(most, length_of(d, c->list[k]));
        }
        if (!(most > 1e-5)) {
            if (notes)
                fai_note(notes, "jaw-shape-still", names[i], "check that the shape moves the chin, or leave it out",
                         "%s does not move the jaw", names[i]);
            continue;
        }
        Fit fit = robust_fit(c->nlist, c->list, c->w, w, c->rig->mesh.x, d, &no_prior, 0.3 * most, 0.05 * most);
        double q[4];
        fai_q_from_m3(fit.r, q);
        fai_q_log(q, jaw->turn[i]);
        rigid_move(&fit, jaw->hinge, jaw->slide[i]);
    }
}

// How far a shape's motion d of the core is that of jawOpen, as a share of it that half of the core agrees on: 0 if it
// is another motion. Visemes open the jaw and shape the lips, some of which are in the core.
static double opens_by(const Core *c, const float *d) {
    double share = 0, agree = 0, all = 0;
    for (int round = 0; round < 12; round++) {
        double both = 0, open = 0, s = 0.3 * c->most * fmax(0.05, share);
        agree = all = 0;
        for (int i = 0; i < c->nlist; i++) {
            double p[3], q[3], left[3];
            fai_v3_load(c->d, c->list[i], p);
            fai_v3_load(d, c->list[i], q);
            fai_v3_mad(q, -share, p, left);
            double e = round ? fai_v3_norm(left) / s : 0, g = 1 / (1 + e * e), w = c->w[i] * g * g;
            both += w * fai_v3_dot(p, q);
            open += w * fai_v3_dot(p, p);
            agree += w;
            all += c->w[i];
        }
        share = open > 0 ? both / open : 0;
    }
    return share > 0.05 && agree > 0.5 * all ? share : 0;
}

// What turns and slides by less than STILL where a chin is, 0.1 m from the hinge.
static bool stands(const double turn[3], const double slide[3]) {
    return 0.1 * fai_v3_norm(turn) + fai_v3_norm(slide) < STILL;
}

static void set_opener(FaJaw *jaw, const double turn[3], const double slide[3]) {
    const double angle = fai_v3_norm(turn);
    jaw->open_angle = angle > LEAST_TURN ? angle : 0;
    if (jaw->open_angle > 0) fai_v3_scale(1 / angle, turn, jaw->axis);
    memcpy(jaw->open_slide, slide, sizeof jaw->open_slide);
}

bool fai_jaw_set_shape(FaJaw *jaw, int shape, const FaPose *pose) {
    double turn[3], slide[3], rh[3], open[3], q[4], rest[4];
    fai_q_log(pose->q, turn);
    fai_q_rotate(pose->q, jaw->hinge, rh);
    for (int k = 0; k < 3; k++) slide[k] = pose->p[k] - jaw->hinge[k] + rh[k];
    if (shape == jaw->shape[0]) return set_opener(jaw, turn, slide), true;
    for (int i = 1; i < 4; i++) {
        if (shape != jaw->shape[i]) continue;
        memcpy(jaw->turn[i], turn, sizeof turn);
        memcpy(jaw->slide[i], slide, sizeof slide);
        return true;
    }
    int at = 0;
    while (at < jaw->nmore && jaw->more[at].shape < shape) at++;
    FaJawShape *to = jaw->more + at;
    const bool there = at < jaw->nmore && to->shape == shape;
    const size_t after = (size_t)(jaw->nmore - at - there) * sizeof *to;
    if (stands(turn, slide)) {
        if (there) memmove(to, to + 1, after), jaw->nmore--;
        return true;
    }
    if (!there && jaw->nmore == FA_JAW_MORE) return false;
    if (!there) memmove(to + 1, to, after), jaw->nmore++;
    // what it opens by jawOpen's own turn, so that several that open add up on one arc; the rest comes first
    *to = (FaJawShape){.shape = shape};
    if (jaw->open_angle > 0) to->open = fai_v3_dot(turn, jaw->axis) / jaw->open_angle;
    fai_v3_scale(-to->open * jaw->open_angle, jaw->axis, open);
    fai_q_exp(open, q);
    fai_q_mul(q, pose->q, rest);
    fai_q_log(rest, to->turn);
    fai_v3_mad(slide, -to->open, jaw->open_slide, to->slide);
    return true;
}

// The share of the points, by their weights, that a motion carries to a tenth of it: skin that a jaw moves is
// stretched, but most of it follows.
static double carried(const Fit *fit, int n, const int *list, const double *w, const float *x, const float *d,
                      double share, double least) {
    double agree = 0, all = 0, p[3], m[3];
    for (int i = 0; i < n; i++) {
        fai_v3_load(x, list[i], p);
        rigid_move(fit, p, m);
        all += w[i];
        if (misfit(fit, x, d, list[i]) < fmax(least, share * fai_v3_norm(m))) agree += w[i];
    }
    return all > 0 ? agree / all : 0;
}

static FaPose pose_of(const Fit *fit) {
    FaPose pose;
    fai_q_from_m3(fit->r, pose.q);
    memcpy(pose.p, fit->t, sizeof pose.p);
    return pose;
}

static double longest(const float *d, int n, const int *list) {
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, length_of(d, list[i]));
    return most;
}

bool fai_jaw_agreed(int n, const int *list, const float *x, const float *d, double *w, FaPose *motion) {
    const double most = longest(d, n, list);
    *motion = fai_pose_identity();
    if (n < 12) return false;
    if (most < STILL) return true;
    for (int i = 0; i < 2 * n; i++) w[i] = 1;
    const Fit fit = robust_fit(n, list, w, w + n, x, d, &no_prior, 0.3 * most, 0.05 * most);
    *motion = pose_of(&fit);
    return carried(&fit, n, list, w, x, d, 0.05, 2 * STILL) > 0.5;
}

// Skin: the rigid motion that most of the chin is near to. *close, *loose: the share of it that goes along to a
// twentieth and to a tenth. What moves the jaw has nine tenths of the chin, or three fifths where lips are formed too;
// what forms the chin's skin (mouthShrugLower, mouthLeft) a third at most. w: weights of the vertices, scratch of as
// many.
static FaPose skin_motion(const Core *c, int n, const int *list, const float *d, double *w, double *close,
                          double *loose) {
    const double most = longest(d, n, list);
    *close = *loose = 0;
    if (n < 12 || most < SEEN) return fai_pose_identity();
    memcpy(w + n, w, (size_t)n * sizeof *w);
    const Fit fit = robust_fit(n, list, w, w + n, c->rig->mesh.x, d, &no_prior, 0.3 * most, 0.05 * most);
    *close = carried(&fit, n, list, w, c->rig->mesh.x, d, 0.05, 0);
    *loose = carried(&fit, n, list, w, c->rig->mesh.x, d, 0.1, 0);
    return pose_of(&fit);
}

// Every other shape's jaw: as lower teeth go, if the mesh has them and they go as one; else as the chin does, if that
// is plain; else by as much as it opens; else as the chin does on the whole.
static FaCode fit_more(const Core *c, FaJaw *jaw, float *d, FaNotes *notes, FaError *err) {
    const FaRig *rig = c->rig;
    double *w = FA_PUSH(c->arena, 2 * (size_t)c->nlist, double),
           *chin = FA_PUSH(c->arena, 2 * (size_t)c->nlist, double);
    int *some = FA_PUSH(c->arena, c->nlist, int), n = 0;
    if (!w || !chin || !some) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < c->nlist; i += 1 + c->nlist / ENOUGH) chin[n] = c->w[i], some[n++] = c->list[i];
    for (int s = 0; s < rig->nshape; s++) {
        bool known = !rig->shape[s].count, room = true;
        for (int i = 0; i < 4; i++) known |= s == jaw->shape[i];
        if (known) continue;
        memset(d, 0, 3 * (size_t)rig->mesh.nvert * sizeof *d);
        add_shape(rig, s, 1, d);
        FaPose pose;
        double share = 0, close = 1, loose = 1;
        if (!fai_jaw_agreed(c->nhard, c->hard, rig->mesh.x, d, w, &pose))
            pose = skin_motion(c, n, some, d, chin, &close, &loose);
        if (close <= PLAIN) share = opens_by(c, d);
        if (share > 0) {
            if ((room = jaw->nmore < FA_JAW_MORE)) jaw->more[jaw->nmore++] = (FaJawShape){.shape = s, .open = share};
        } else if (loose > PLAIN)
            room = fai_jaw_set_shape(jaw, s, &pose);
        if (room) continue;
        if (notes)
            fai_note(notes, "jaw-many-shapes", rig->shape[s].name, "leave out shapes that are not needed",
                     "more than %d shapes move the jaw: it stands still in this one and the following", FA_JAW_MORE);
        break;
    }
    return FA_OK;
}

// --- who goes with the jaw ----------------------------------------------------------------------------------------

// The share of the rigid motion in each vertex' own, smoothed where that motion is too small to tell (beside the
// joints).
static FaCode spread(const Core *c, float *with_jaw, FaError *err) {
    const FaMesh *mesh = &c->rig->mesh;
    int nvert = mesh->nvert;
    double *raw = FA_PUSH(c->arena, nvert, double), *trust = FA_PUSH(c->arena, nvert, double);
    double *f = FA_PUSH(c->arena, nvert, double), *g = FA_PUSH(c->arena, nvert, double);
    if (!raw || !trust || !f || !g) return FA_FAIL_MEMORY(err);
    double small = 0.06 * c->most; // motion that is told from noise and sculpted softness: 2.5 mm of 42
    for (int v = 0; v < nvert; v++) {
        double p[3], q[3], m[3];
        fai_v3_load(mesh->x, v, p);
        fai_v3_load(c->d, v, q);
        rigid_move(&c->open, p, m);
        double mm = fai_v3_dot(m, m);
        raw[v] = f[v] = fmin(1, fmax(0, fai_v3_dot(q, m) / (mm + 1e-4 * small * small)));
        trust[v] = mm / (mm + small * small);
        trust[v] *= trust[v];
    }
    // weighted smoothing: where trust is 1 the value stays
    for (int round = 0; round < SMOOTH_ROUNDS; round++) {
        for (int v = 0; v < nvert; v++) {
            int w = fai_weld(mesh, v), n = c->topo.around_start[w + 1] - c->topo.around_start[w];
            if (w != v || !n) {
                g[v] = raw[v];
                continue;
            }
            double sum = 0;
            for (int i = c->topo.around_start[w]; i < c->topo.around_start[w + 1]; i++) sum += f[c->topo.around[i]];
            g[v] = trust[v] * raw[v] + (1 - trust[v]) * sum / n;
        }
        double *swap = f;
        f = g, g = swap;
    }
    for (int v = 0; v < nvert; v++) {
        double u = f[fai_weld(mesh, v)];
        // a sculptor's last few percent on the cheekbones and the neck are softness, not bone
        u = fmin(1, fmax(0, (u - 0.03) / 0.94));
        with_jaw[v] = (float)u;
    }
    return FA_OK;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static int whole_shape(const FaRig *rig, const char *name) {
    int arkit = arkit_index(name);
    for (int s = 0; s < rig->nshape; s++)
        if (rig->shape[s].arkit == arkit && !rig->shape[s].half) return s;
    return -1;
}

bool fai_jaw_motion(const FaRig *rig, float *d) {
    int opener = fai_jaw_opener(rig);
    memset(d, 0, 3 * (size_t)rig->mesh.nvert * sizeof *d);
    if (opener >= 0) add_shape(rig, opener, 1, d);
    return opener >= 0;
}

static void note_jaw(const Core *c, const FaJaw *jaw, FaNotes *notes) {
    const char *name = c->rig->shape[jaw->shape[0]].name;
    if (c->rig->shape[jaw->shape[0]].arkit != arkit_index("jawOpen"))
        fai_note(notes, "jaw-by-other-shape", name,
                 "none needed; if another shape opens the jaw, call it jawOpen in a names file",
                 "there is no jawOpen that moves: the jaw is taken from this shape");
    if (c->loose) {
        int tenths = (int)llround(1e4 * jaw->residual);
        fai_note(
            notes, "jaw-approximate", name, "none needed; --hinge x,y,z or a joint's name says where the jaw turns",
            "the chin does not turn as one piece: the jaw's nearest turn is %d.%d mm off it", tenths / 10, tenths % 10);
    }
}

static FaCode fit_all(Core *c, FaJaw *jaw, float *with_jaw, FaNotes *notes, FaError *err) {
    const FaRig *rig = c->rig;
    size_t nvert = (size_t)rig->mesh.nvert;
    c->d = FA_PUSH(c->arena, 3 * nvert, float);
    c->area = FA_PUSH(c->arena, nvert, float);
    float *scratch = FA_PUSH(c->arena, 3 * nvert, float);
    if (!c->d || !c->area || !scratch) return FA_FAIL_MEMORY(err);
    fai_mesh_areas(&rig->mesh, rig->mesh.x, c->area);
    add_shape(rig, jaw->shape[0], 1, c->d);
    FA_TRY(find_core(c, err));
    if (c->nlist) find_joint(c, scratch);
    if (!c->nlist || !fit_core(c)) {
        if (notes)
            fai_note(notes, "jaw-not-rigid", rig->shape[jaw->shape[0]].name,
                     "sculpt the shape as a turn of the chin; without a jaw all of the flesh hangs on the skull",
                     "the shape moves the chin by less than 1 mm, or no two parts of it alike: the face is built "
                     "without a jaw");
        return FA_OK;
    }
    jaw->found = true;
    jaw->residual = c->open.rms;
    place_hinge(c, jaw);
    if (notes) note_jaw(c, jaw, notes);
    double *w = FA_PUSH(c->arena, c->nlist, double);
    if (!w) return FA_FAIL_MEMORY(err);
    fit_sides(c, jaw, scratch, w, notes);
    FA_TRY(fit_more(c, jaw, scratch, notes, err));
    return with_jaw ? spread(c, with_jaw, err) : FA_OK;
}

FaCode fai_fit_jaw(const FaRig *rig, FaJaw *jaw, float *with_jaw, FaNotes *notes, FaError *err) {
    static const char *const names[4] = {NULL, "jawForward", "jawLeft", "jawRight"};
    *jaw = (FaJaw){.shape = {fai_jaw_opener(rig)}};
    for (int i = 1; i < 4; i++) jaw->shape[i] = whole_shape(rig, names[i]);
    memcpy(jaw->axis, rig->axes, sizeof jaw->axis);
    if (with_jaw) memset(with_jaw, 0, (size_t)rig->mesh.nvert * sizeof *with_jaw);
    if (jaw->shape[0] < 0) {
        if (notes)
            fai_note(
                notes, "no-jaw", NULL, "name the shape that opens it jawOpen in a names file",
                "no shape opens the jaw (jawOpen, mouthOpen, AU26, AU27, aa): all of the flesh hangs on the skull");
        return FA_OK;
    }
    Core c = {.rig = rig, .arena = fai_arena_new(0)};
    FaCode rc = c.arena ? fai_topology_build(&rig->mesh, &c.topo, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fit_all(&c, jaw, with_jaw, notes, err);
    fai_topology_free(&c.topo);
    fai_arena_free(c.arena);
    if (rc < 0) *jaw = (FaJaw){0};
    return rc;
}

uint64_t fai_jaw_shape_hash(const FaJawShape *m, uint64_t h) {
    h = fai_hash64(&m->shape, sizeof m->shape, h);
    h = fai_hash64(&m->open, sizeof m->open, h);
    h = fai_hash64(m->turn, sizeof m->turn, h);
    return fai_hash64(m->slide, sizeof m->slide, h);
}

FaPose fai_jaw_pose(const FaJaw *jaw, const float *weights) {
    if (!jaw->found) return fai_pose_identity();
    double side[3] = {0}, move[3], turn[3], a[4], b[4];
    double open = jaw->shape[0] >= 0 ? (double)weights[jaw->shape[0]] : 0;
    for (int i = 0; i < jaw->nmore; i++) open += jaw->more[i].open * (double)weights[jaw->more[i].shape];
    fai_v3_scale(open, jaw->open_slide, move);
    for (int i = 0; i < jaw->nmore; i++) {
        const double w = (double)weights[jaw->more[i].shape];
        fai_v3_mad(side, w, jaw->more[i].turn, side);
        fai_v3_mad(move, w, jaw->more[i].slide, move);
    }
    for (int i = 1; i < 4; i++) {
        if (jaw->shape[i] < 0) continue;
        double w = (double)weights[jaw->shape[i]];
        fai_v3_mad(side, w, jaw->turn[i], side);
        fai_v3_mad(move, w, jaw->slide[i], move);
    }
    // sideways about the jaw's own axes, then open: left and right cancel, and opening never swings to the side
    fai_v3_scale(open * jaw->open_angle, jaw->axis, turn);
    fai_q_exp(turn, a);
    fai_q_exp(side, b);
    FaPose pose;
    fai_q_mul(a, b, pose.q);
    fai_q_normalize(pose.q);
    double rh[3];
    fai_q_rotate(pose.q, jaw->hinge, rh);
    for (int k = 0; k < 3; k++) pose.p[k] = jaw->hinge[k] - rh[k] + move[k];
    return pose;
}
