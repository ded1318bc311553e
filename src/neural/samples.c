#include "neural/samples.h"

#include "face/face.h"
#include "mesh/intersect.h"
#include "method/method.h"
#include "method/touching.h"

#include <math.h>
#include <time.h>

// A triangle that points the other way than that of the linear pose by so much (cosine), in which it had an area.
static const double TURNED = -0.5;
static const float ZONE = 0.3f;     // of the regions of lips and lids: less is around them
static const double AREA = 0.05e-6; // m2: smaller ones are slivers, of which nobody sees a side

void fai_samples_turn(const FaRig *rig, int n, const float *from, float *to) {
    const double *a = rig->axes;
    for (int v = 0; v < n; v++) {
        const double x = from[3 * v], y = from[3 * v + 1], z = from[3 * v + 2];
        for (int k = 0; k < 3; k++) to[3 * v + k] = (float)(a[3 * k] * x + a[3 * k + 1] * y + a[3 * k + 2] * z);
    }
}

typedef struct Person {
    const FaTeacher *teacher;
    FaRig *rig;
    FaMethod *method;
    FaBlender *blender;
    int nvert;
    FaMesh skin, zone; // what is tested: triangles of simulated skin, or of all; of them lips and lids
    bool free;         // contact is off: who plays the network parts what crosses
    int crossed[2];    // pairs of the neutral in these
    const int *vertex; // of the rig, of each of its vertices; NULL: the same
    float *weight, *linear, *surface, *shown;
    FaArena *arena;
} Person;

static FaCode count_crossings(Person *p, const FaMesh *mesh, const float *surface, int *count, FaError *err) {
    const float *x = surface;
    if (p->vertex) {
        for (int i = 0; i < p->skin.nvert; i++) memcpy(p->shown + 3 * i, surface + 3 * p->vertex[i], 3 * sizeof(float));
        x = p->shown;
    }
    return fai_self_intersections(mesh, x, NULL, NULL, 0, count, err);
}

// Lips and lids are what physics keeps apart; elsewhere a rig may cross itself where nobody looks.
static FaCode find_zone(Person *p, const FaFace *face, FaError *err) {
    int *tri = FA_PUSH(p->arena, 3 * (size_t)face->ntri, int);
    if (!tri) return FA_FAIL_MEMORY(err);
    p->zone = p->skin;
    p->zone.tri = tri, p->zone.ntri = 0;
    for (int t = 0; t < face->ntri; t++) {
        float in = 0;
        for (int k = 0; k < 3; k++) {
            int i = face->tri[3 * t + k];
            in = fmaxf(in, fmaxf(face->region[FA_REGION_MOUTH][i], face->region[FA_REGION_EYELIDS][i]));
        }
        if (in > ZONE) memcpy(tri + 3 * p->zone.ntri++, face->tri + 3 * t, 3 * sizeof *tri);
    }
    return FA_OK;
}

static FaCode open_person(Person *p, FaError *err) {
    const FaTeacher *t = p->teacher;
    FaMethodSetup setup = {.rig = p->rig, .params = t->params};
    FA_TRY(fa_method_open(t->method, &setup, &p->method, err));
    FA_TRY(fa_blender_new(p->rig, &p->blender, err));
    size_t n = 3 * (size_t)p->nvert;
    p->weight = FA_PUSH(p->arena, p->rig->nshape, float);
    p->linear = FA_PUSH(p->arena, n, float);
    p->surface = FA_PUSH(p->arena, n, float);
    p->shown = FA_PUSH(p->arena, n, float);
    if (!p->weight || !p->linear || !p->surface || !p->shown) return FA_FAIL_MEMORY(err);
    const FaFace *face = p->method->face;
    p->free = t->params && fa_params_get(t->params, "contact") == FA_TOUCH_OFF;
    p->skin = p->rig->mesh;
    if (face) {
        p->vertex = face->skin_vertex;
        p->skin = (FaMesh){.nvert = face->nskin, .ntri = face->ntri, .tri = face->tri, .x = p->shown};
        FA_TRY(find_zone(p, face, err));
        FA_TRY(count_crossings(p, &p->zone, p->rig->mesh.x, &p->crossed[1], err));
    }
    return count_crossings(p, &p->skin, p->rig->mesh.x, &p->crossed[0], err);
}

static void normal_of(const float *x, const int tri[3], double n[3]) {
    double a[3], b[3];
    for (int k = 0; k < 3; k++) {
        a[k] = (double)x[3 * tri[1] + k] - (double)x[3 * tri[0] + k];
        b[k] = (double)x[3 * tri[2] + k] - (double)x[3 * tri[0] + k];
    }
    for (int k = 0; k < 3; k++) n[k] = 0.5 * (a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3]);
}

// Is a piece of skin turned over by the physics: neither as the linear pose has it nor as the neutral?
static bool turned(const Person *p) {
    const float *now[3] = {p->surface, p->linear, p->rig->mesh.x};
    for (int t = 0; t < p->skin.ntri; t++) {
        int tri[3];
        double n[3][3], size[3];
        for (int k = 0; k < 3; k++) tri[k] = p->vertex ? p->vertex[p->skin.tri[3 * t + k]] : p->skin.tri[3 * t + k];
        for (int i = 0; i < 3; i++) {
            normal_of(now[i], tri, n[i]);
            size[i] = sqrt(n[i][0] * n[i][0] + n[i][1] * n[i][1] + n[i][2] * n[i][2]);
        }
        if (size[0] < AREA || size[1] < AREA) continue;
        bool both = true;
        for (int i = 1; i < 3; i++)
            both = both && n[0][0] * n[i][0] + n[0][1] * n[i][1] + n[0][2] * n[i][2] < TURNED * size[0] * size[i];
        if (both) return true;
    }
    return false;
}

// More than the neutral does at lips and lids, or more than both the neutral and the linear pose anywhere.
static FaCode crosses(Person *p, bool *does, FaError *err) {
    int now, zone = 0, linear;
    *does = false;
    if (p->free) return FA_OK;
    FA_TRY(count_crossings(p, &p->skin, p->surface, &now, err));
    if (now <= p->crossed[0]) return FA_OK;
    if (p->vertex) FA_TRY(count_crossings(p, &p->zone, p->surface, &zone, err));
    FA_TRY(count_crossings(p, &p->skin, p->linear, &linear, err));
    *does = !p->vertex || zone > p->crossed[1] || now > linear;
    return FA_OK;
}

// FA_DROPS: it is fine.
static FaCode judge(Person *p, FaCode reached, FaDrop *why, FaError *err) {
    const FaStats *rest = &p->method->rested;
    bool crossed;
    *why = FA_DROPS;
    for (int i = 0; i < 3 * p->nvert; i++)
        if (!isfinite(p->surface[i])) return *why = FA_DROP_STALLED, FA_OK;
    if (reached == FA_STALLED || rest->unsolved || rest->held) return *why = FA_DROP_STALLED, FA_OK;
    if (rest->limited) return *why = FA_DROP_LIMITED, FA_OK;
    FA_TRY(crosses(p, &crossed, err));
    if (crossed)
        *why = FA_DROP_CROSSED;
    else if (turned(p))
        *why = FA_DROP_TURNED;
    return FA_OK;
}

static void keep(Person *p, const float *weight, FaSampleKind kind, int clip, FaShard *s) {
    size_t n = 3 * (size_t)p->nvert, at = (size_t)s->npose * n;
    const float *neutral = p->rig->mesh.x;
    s->kind[s->npose] = (int)kind;
    s->clip[s->npose] = clip;
    memcpy(s->weight + (size_t)s->npose * FA_ARKIT_COUNT, weight, FA_ARKIT_COUNT * sizeof *weight);
    for (size_t i = 0; i < n; i++) {
        p->surface[i] -= p->linear[i];
        p->linear[i] -= neutral[i];
    }
    fai_samples_turn(p->teacher->people->mean, p->nvert, p->surface, p->surface);
    fai_samples_turn(p->teacher->people->mean, p->nvert, p->linear, p->linear);
    for (size_t i = 0; i < n; i++) {
        s->difference[at + i] = fai_half(p->linear[i]);
        s->correction[at + i] = fai_half(p->surface[i]);
    }
    s->npose++;
}

static FaCode make_pose(Person *p, uint64_t identity, int pose, FaShard *s, FaTaught *taught, FaError *err) {
    const FaTeacher *t = p->teacher;
    float arkit[FA_ARKIT_COUNT];
    FaSampleKind kind;
    int clip;
    FaDrop why = FA_DROP_STALLED;
    FaError own = {0};
    fai_pose_draw(t->poses, identity, pose, arkit, &kind, &clip);
    fa_binding_weights(&t->people->binding, arkit, p->weight);
    fa_blender_eval(p->blender, p->weight, p->linear);
    FaInput in = {.weights = p->weight};
    FaCode reached = fa_method_reset(p->method, &in, p->surface, &own);
    // what broke down in a pose is that pose's; what is wrong with the machine ends the work
    if (reached < 0 && reached != FA_E_NUMERIC && reached != FA_E_MESH) {
        if (err) *err = own;
        return reached;
    }
    if (reached >= 0) FA_TRY(judge(p, reached, &why, err));
    if (why == FA_DROPS)
        keep(p, arkit, kind, clip, s);
    else
        taught->drop[why]++, s->dropped++;
    return FA_OK;
}

static FaCode begin_shard(const FaTeacher *t, uint64_t identity, int npose, FaShard *s, FaError *err) {
    size_t nvert = (size_t)t->people->mean->mesh.nvert, n = (size_t)npose * nvert * 3;
    *s = (FaShard){.key = t->key, .identity = identity, .nvert = (int)nvert, .nweight = FA_ARKIT_COUNT};
    s->neutral = FA_NEW(nvert * 3, float);
    s->kind = FA_NEW(npose, int);
    s->clip = FA_NEW(npose, int);
    s->weight = FA_NEW((size_t)npose * FA_ARKIT_COUNT, float);
    s->difference = FA_NEW(n, uint16_t);
    s->correction = FA_NEW(n, uint16_t);
    bool got = s->neutral && s->kind && s->clip && s->weight && s->difference && s->correction;
    return got ? FA_OK : FA_FAIL_MEMORY(err);
}

static void close_person(Person *p) {
    fa_method_close(p->method);
    fa_blender_free(p->blender);
    fai_people_put(p->teacher->people, p->rig);
    fai_arena_free(p->arena);
}

static FaCode get_person(Person *p, uint64_t identity, FaError *err) {
    FA_TRY(fai_people_get(p->teacher->people, identity, &p->rig, err));
    if (p->rig->mesh.nvert != p->nvert || p->rig->nshape != p->teacher->people->mean->nshape)
        return FA_FAIL(err, FA_E_MESH, NULL, NULL, "a person has another mesh than the mean");
    return open_person(p, err);
}

// Of this thread; of all of them where its loops have helpers. A busy machine makes work last, not cost.
static double processor_time(const FaTeacher *t) {
    struct timespec now;
    clock_gettime(t->alone ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

FaCode fai_samples_make(const FaTeacher *t, uint64_t identity, int npose, FaShard *s, FaTaught *taught, FaError *err) {
    double start = processor_time(t);
    Person p = {.teacher = t, .nvert = t->people->mean->mesh.nvert, .arena = fai_arena_new(0)};
    FaError own = {0};
    *taught = (FaTaught){0};
    FaCode rc = begin_shard(t, identity, npose, s, err);
    if (rc >= 0 && !p.arena) rc = FA_FAIL_MEMORY(err);
    FaCode got = rc >= 0 ? get_person(&p, identity, &own) : rc;
    bool nobody = rc >= 0 && (got == FA_E_MESH || got == FA_E_NUMERIC);
    if (rc >= 0 && got < 0 && !nobody) {
        if (err) *err = own;
        rc = got;
    }
    taught->setup = processor_time(t) - start;
    if (rc >= 0) fai_samples_turn(t->people->mean, p.nvert, (p.rig ? p.rig : t->people->mean)->mesh.x, s->neutral);
    if (rc >= 0 && nobody) taught->drop[FA_DROP_PERSON] = s->dropped = npose;
    for (int i = 0; i < npose && rc >= 0 && !nobody; i++) {
        if (t->stop && atomic_load(t->stop)) rc = FA_FAIL(err, FA_E_CANCELLED, NULL, NULL, "stopped");
        if (rc >= 0) rc = make_pose(&p, identity, i, s, taught, err);
    }
    close_person(&p);
    taught->seconds = processor_time(t) - start;
    if (rc < 0) fai_shard_free(s);
    return rc;
}
