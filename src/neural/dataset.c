// Sets of samples: what is asked for becomes a key, a template and people, and these are handed to the workers.
#include "fascia/dataset.h"

#include "base/scratch.h"
#include "fascia/face.h"
#include "fascia/json.h"
#include "method/method.h"
#include "neural/dataset_work.h"
#include "neural/people.h"
#include "neural/poses.h"
#include "neural/samples.h"

#include <unistd.h>

enum { FORMAT = 1 }; // of what samples are: another number where poses, people or tests are others
enum { IDS_MOST = 1000000, POSES_MOST = 100000 };
static const double SHARD_MOST = 4e9; // bytes
static const float REGION = 0.3f;     // of a face's region: less is around it

const char *fa_drop_name(FaDrop why) {
    static const char *const name[FA_DROPS] = {"stalled", "crossed", "turned", "limited", "person"};
    return (unsigned)why < FA_DROPS ? name[why] : "";
}

FaDatasetOptions fa_dataset_options_default(void) {
    return (FaDatasetOptions){.source = "head", .seed = 1, .poses = 10, .share = 1, .shares = 1};
}

// --- what is asked for ---------------------------------------------------------------------------------------------

typedef struct Plan {
    FaDatasetOptions o;
    FaPeople people;
    FaPoses poses;
    FaTeacher teacher;
    FaFolder folder;
    FaParams *own; // parameters at their defaults, where none are given
    char *parameters, *clips, *physics;
} Plan;

static FaCode check(const FaDatasetOptions *o, FaError *err) {
    if (o->ids < 1 || o->ids > IDS_MOST)
        return FA_FAIL(err, FA_E_ARG, "ids", "give 1 to 1000000", "%d people cannot be made", o->ids);
    if (o->poses < 1 || o->poses > POSES_MOST)
        return FA_FAIL(err, FA_E_ARG, "poses", "give 1 to 100000", "%d poses cannot be made", o->poses);
    if (o->shares < 1 || o->share < 1 || o->share > o->shares)
        return FA_FAIL(err, FA_E_ARG, "shard", "give k/n with k from 1 to n", "there is no share %d of %d", o->share,
                       o->shares);
    if (o->nidentity && !strcmp(o->source, "head"))
        return FA_FAIL(err, FA_E_ARG, "identities", "give the rig that they are modes of as the source",
                       "the parametric head has its own people");
    if (!o->method || !fai_method_ops(o->method))
        return FA_FAIL(err, FA_E_ARG, "physics", "fascia dataset --help names them", "there is no method '%s'",
                       o->method ? o->method : "");
    return FA_OK;
}

static FaCode check_people(const Plan *p, FaError *err) {
    double bytes = 12.0 * p->people.mean->mesh.nvert * p->o.poses;
    if (!p->people.head && p->people.nmode == 0 && p->o.ids > 1)
        return FA_FAIL(err, FA_E_ARG, "ids", "give --identities with the rig's modes, or --ids 1",
                       "the rig alone is one person, not %d", p->o.ids);
    if (bytes > SHARD_MOST)
        return FA_FAIL(err, FA_E_LIMIT, "poses", "give fewer poses of each person",
                       "a person's samples would take %.0f GB", 1e-9 * bytes);
    return FA_OK;
}

static void write_clips(const FaPoses *poses, FaJsonWriter *w) {
    fa_json_begin(w, NULL, '[');
    for (int i = 0; i < poses->nclip; i++) {
        fa_json_begin(w, NULL, '{');
        fa_json_text(w, "name", poses->clip[i].name);
        fa_json_int(w, "frames", poses->clip[i].nrecorded);
        fa_json_int(w, "moving", poses->clip[i].nframe);
        fa_json_end(w);
    }
    fa_json_end(w);
}

static void write_hex(FaJsonWriter *w, const char *key, uint64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)value);
    fa_json_text(w, key, text);
}

// All that decides the samples, in an order that never changes. How many people is not part of it: more may be added.
static void write_parameters(const Plan *p, FaJsonWriter *w) {
    fa_json_begin(w, NULL, '{');
    fa_json_int(w, "format", FORMAT);
    fa_json_text(w, "source", p->people.head ? "head" : "rig");
    if (p->people.head) fa_json_int(w, "level", p->people.level);
    fa_json_int(w, "identities", p->people.nmode);
    fa_json_text(w, "physics", p->teacher.method);
    fa_json_raw(w, "physics parameters", p->physics);
    fa_json_int(w, "seed", (int64_t)p->o.seed);
    fa_json_int(w, "poses", p->o.poses);
    fa_json_int(w, "vertices", p->people.mean->mesh.nvert);
    write_hex(w, "clips' content", fai_poses_print(&p->poses));
    write_hex(w, "source's content", p->people.print);
    fa_json_end(w);
}

static FaCode make_key(Plan *p, FaError *err) {
    FaJsonWriter *w;
    FA_TRY(fa_params_json(p->teacher.params, &p->physics, err));
    FA_TRY(fa_json_new(&w, err));
    write_clips(&p->poses, w);
    FA_TRY(fa_json_finish(w, &p->clips, err));
    FA_TRY(fa_json_new(&w, err));
    write_parameters(p, w);
    FA_TRY(fa_json_finish(w, &p->parameters, err));
    uint64_t key = fai_hash64(p->parameters, strlen(p->parameters), FORMAT);
    p->teacher.key = key;
    p->folder.key = key;
    p->folder.parameters = p->parameters;
    p->folder.clips = p->clips;
    p->folder.command = p->o.command ? p->o.command : "";
    p->folder.ids = p->o.ids;
    p->folder.poses = p->o.poses;
    return FA_OK;
}

static void plan_close(Plan *p) {
    fai_folder_close(&p->folder);
    fai_poses_close(&p->poses);
    fai_people_close(&p->people);
    fa_params_free(p->own);
    fa_free(p->parameters);
    fa_free(p->clips);
    fa_free(p->physics);
}

static FaCode plan_open(Plan *p, const FaDatasetOptions *o, FaError *err) {
    *p = (Plan){.o = *o};
    if (p->o.shares == 0 && p->o.share == 0) p->o.share = p->o.shares = 1;
    if (!p->o.source) p->o.source = "head";
    FA_TRY(check(&p->o, err));
    FaPeopleSource source = {.source = p->o.source,
                             .identity = o->identity,
                             .nidentity = o->nidentity,
                             .rig = o->rig,
                             .level = o->level,
                             .seed = o->seed};
    FA_TRY(fai_people_open(&source, &p->people, err));
    FA_TRY(check_people(p, err));
    FA_TRY(fai_poses_open(o->seed, o->clips, o->nclip, p->people.has, &p->poses, err));
    if (!o->params) FA_TRY(fa_params_new(o->method, &p->own, err));
    p->teacher = (FaTeacher){.people = &p->people,
                             .poses = &p->poses,
                             .method = o->method,
                             .params = o->params ? o->params : p->own,
                             .alone = true};
    return make_key(p, err);
}

// --- the template --------------------------------------------------------------------------------------------------

// A shape's own motion in the canonical frame, at weight 1.
static FaCode template_shapes(const Plan *p, FaTemplate *t, FaError *err) {
    const FaRig *mean = p->people.mean;
    size_t n = 3 * (size_t)t->nvert;
    float *w = FA_NEW(mean->nshape, float);
    t->shape = FA_NEW((size_t)t->nweight * n, float);
    if (!w || !t->shape) {
        fa_free(w);
        return FA_FAIL_MEMORY(err);
    }
    for (int a = 0; a < t->nweight; a++) {
        float one[FA_ARKIT_COUNT] = {0}, *x = t->shape + (size_t)a * n;
        one[a] = 1;
        fa_binding_weights(&p->people.binding, one, w);
        fa_rig_blend(mean, w, x);
        for (size_t i = 0; i < n; i++) x[i] -= mean->mesh.x[i];
        fai_samples_turn(mean, t->nvert, x, x);
    }
    fa_free(w);
    return FA_OK;
}

static int region_named(const char *name) {
    for (int r = 0; r < fa_face_regions(); r++)
        if (!strcmp(fa_face_region_name(r), name)) return r;
    return -1;
}

// Lids are told apart by the way they go in a blink: the upper one downwards.
static void template_regions(const FaFace *face, FaTemplate *t, float *upper, float *lower, float *lids) {
    int left = fa_arkit_match("eyeBlinkLeft", NULL), right = fa_arkit_match("eyeBlinkRight", NULL);
    fa_face_region(face, region_named("lip_upper"), upper);
    fa_face_region(face, region_named("lip_lower"), lower);
    fa_face_region(face, region_named("eyelids"), lids);
    for (int v = 0; v < t->nvert; v++) {
        size_t y = 3 * (size_t)v + 1, n = 3 * (size_t)t->nvert;
        float down = -(t->shape[(size_t)left * n + y] + t->shape[(size_t)right * n + y]);
        if (upper[v] > REGION && upper[v] >= lower[v])
            t->region[v] = FA_REGION_UPPER_LIP;
        else if (lower[v] > REGION)
            t->region[v] = FA_REGION_LOWER_LIP;
        else if (lids[v] > REGION)
            t->region[v] = down > 0 ? FA_REGION_UPPER_LID : FA_REGION_LOWER_LID;
    }
}

// Of the mean's face: the physics' own, else one made for it.
static FaCode mark_regions(const Plan *p, const FaMethod *method, FaTemplate *t, FaError *err) {
    FaFace *made = NULL;
    const FaFace *face = method->face;
    float *w = FA_NEW(3 * (size_t)t->nvert, float);
    t->region = FA_NEW(t->nvert, unsigned char);
    FaCode rc = w && t->region ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0 && !face) rc = fa_face_build(p->people.mean, NULL, &made, err);
    if (rc >= 0) template_regions(face ? face : made, t, w, w + t->nvert, w + 2 * t->nvert);
    fa_face_free(made);
    fa_free(w);
    return rc;
}

static FaCode template_of(const Plan *p, const FaMethod *method, FaTemplate *t, FaError *err) {
    const FaMesh *mesh = &p->people.mean->mesh;
    *t = (FaTemplate){.key = p->folder.key,
                      .nvert = mesh->nvert,
                      .ntri = mesh->ntri,
                      .nweight = FA_ARKIT_COUNT,
                      .nclip = p->poses.nclip};
    t->mean = FA_NEW(3 * (size_t)mesh->nvert, float);
    t->tri = FA_NEW(3 * (size_t)mesh->ntri, int);
    t->clip = fai_alloc_array((size_t)t->nclip, sizeof *t->clip);
    if (!t->mean || !t->tri || !t->clip) return FA_FAIL_MEMORY(err);
    fai_samples_turn(p->people.mean, mesh->nvert, mesh->x, t->mean);
    memcpy(t->tri, mesh->tri, 3 * (size_t)mesh->ntri * sizeof *t->tri);
    for (int i = 0; i < t->nclip; i++) memcpy(t->clip[i], p->poses.clip[i].name, sizeof t->clip[i]);
    snprintf(t->made, sizeof t->made, "fascia " FA_VERSION_TEXT ", seed %llu, %s: %s", (unsigned long long)p->o.seed,
             p->teacher.method, p->folder.command);
    FA_TRY(template_shapes(p, t, err));
    return mark_regions(p, method, t, err);
}

// The physics on the mean: parameters that make no sense are found before the work, not by every worker.
static FaCode write_template(const Plan *p, FaError *err) {
    FaMethodSetup setup = {.rig = p->people.mean, .params = p->teacher.params};
    FaMethod *method;
    FaTemplate t = {0};
    FA_TRY(fa_method_open(p->teacher.method, &setup, &method, err));
    FaCode rc = template_of(p, method, &t, err);
    if (rc >= 0) rc = fai_folder_template(&p->folder, &t, err);
    fai_template_free(&t);
    fa_method_close(method);
    return rc;
}

// --- making --------------------------------------------------------------------------------------------------------

static int count_workers(const FaDatasetOptions *o) {
    int people = (o->ids + o->shares - 1) / o->shares, n = o->workers > 0 ? o->workers : fa_threads();
    return FA_MAX(1, FA_MIN(FA_MIN(n, people), 64));
}

// Two runs that begin at once on a new folder: the second sees what the first has recorded.
static FaCode begin_folder(const Plan *p, FaError *err) {
    FaClaim *claim = NULL;
    FaCode rc = FA_OK;
    bool taken = true;
    FA_TRY(fai_folder_make(&p->folder, err));
    for (double start = fai_seconds(); taken && fai_seconds() - start < 30;) {
        FaError words = {0};
        rc = fai_claim_new(p->folder.json, "fascia dataset", &claim, &taken, &words);
        if (rc < 0 && err) *err = words;
        if (taken) usleep(50000);
    }
    if (rc >= 0 && err) *err = (FaError){0};
    FA_TRY(rc);
    rc = fai_folder_open(&p->folder, err);
    if (rc >= 0 && rc != FA_STALLED) rc = fai_folder_record(&p->folder, NULL, err);
    if (rc >= 0 && !fai_folder_has_template(&p->folder)) rc = write_template(p, err);
    fa_claim_free(claim);
    return rc;
}

static uint64_t hash_of(uint64_t key, const uint64_t *sum, int n) {
    uint64_t h = key;
    for (int i = 0; i < n; i++) {
        uint64_t both[2] = {(uint64_t)i, sum[i]};
        h = fai_hash64(both, sizeof both, h);
    }
    return h ? h : 1;
}

// People of other shares: there, or the set is not whole.
static FaCode count_others(const Plan *p, uint64_t *sum, FaFolderCounts *all, FaError *err) {
    for (int i = 0; i < p->o.ids; i++) {
        FaFolderShard found;
        if (i % p->o.shares == p->o.share - 1) continue;
        FaCode rc = fai_folder_look(&p->folder, i, &found, err);
        FA_TRY(rc);
        if (rc == FA_STALLED) return FA_STALLED;
        sum[i] = found.sum;
        all->people++;
        all->samples += found.samples;
        all->dropped += found.dropped;
    }
    return FA_OK;
}

static FaCode finish(const Plan *p, uint64_t *sum, FaDatasetReport *r, FaError *err) {
    FaFolderCounts all = {.people = r->people, .samples = r->samples, .dropped = r->dropped};
    FaCode rc = p->o.shares > 1 ? count_others(p, sum, &all, err) : FA_OK;
    FA_TRY(rc);
    r->whole = rc == FA_OK;
    if (!r->whole) return FA_OK;
    r->hash = all.hash = hash_of(p->folder.key, sum, p->o.ids);
    return fai_folder_record(&p->folder, &all, err);
}

static void note_drops(FaDatasetReport *r) {
    double all = (double)(r->samples + r->dropped);
    if (all > 0 && (double)r->dropped > 0.1 * all)
        fai_note(&r->notes, "many-dropped", "", "look which clips or shapes ask for what this physics cannot reach",
                 "%lld of %.0f poses were dropped", (long long)r->dropped, all);
    fai_note_count(&r->notes, (int)r->drop[FA_DROP_PERSON], "people-left-out", "", "",
                   "%d poses are missing since no face can be built for their person", (int)r->drop[FA_DROP_PERSON]);
}

static void describe(const Plan *p, FaDatasetReport *r) {
    r->lead = !p->o.team || p->o.team->rank == 0;
    r->vertices = p->people.mean->mesh.nvert;
    r->nclip = p->poses.nclip;
    for (int i = 0; i < p->poses.nclip; i++) r->frames += p->poses.clip[i].nframe;
    r->workers = count_workers(&p->o) * (p->o.team ? p->o.team->size : 1);
    fai_notes_copy(&r->notes, &p->people.notes);
    fai_notes_copy(&r->notes, &p->poses.notes);
}

static FaCode make(Plan *p, FaDatasetReport *r, FaError *err) {
    uint64_t *sum = FA_NEW(p->o.ids, uint64_t);
    if (!sum) return FA_FAIL_MEMORY(err);
    FaWork work = {.folder = &p->folder,
                   .teacher = &p->teacher,
                   .team = p->o.team,
                   .share = p->o.share,
                   .shares = p->o.shares,
                   .workers = count_workers(&p->o),
                   .progress = p->o.progress,
                   .progress_user = p->o.progress_user,
                   .report = r,
                   .sum = sum};
    FaCode rc = r->lead ? begin_folder(p, err) : FA_OK;
    if (rc >= 0) rc = fai_work_run(&work, err);
    if (rc >= 0 && r->lead) rc = finish(p, sum, r, err);
    fa_free(sum);
    return rc;
}

FaCode fa_dataset_make(const char *dir, const FaDatasetOptions *options, FaDatasetReport *report, FaError *err) {
    Plan p;
    FaDatasetReport own = {0};
    double start = fai_seconds();
    FaCode rc = plan_open(&p, options, err);
    if (rc >= 0) rc = fai_folder_name(&p.folder, dir, err);
    if (rc >= 0) {
        describe(&p, &own);
        rc = make(&p, &own, err);
        note_drops(&own);
    }
    plan_close(&p);
    own.seconds = fai_seconds() - start;
    if (report)
        *report = own;
    else
        fa_notes_free(&own.notes);
    return rc;
}

// --- what it would take --------------------------------------------------------------------------------------------

enum { TRIED = 6 }; // poses

FaCode fa_dataset_estimate(const FaDatasetOptions *options, FaDatasetEstimate *e, FaError *err) {
    Plan p;
    FaShard shard;
    FaTaught taught;
    *e = (FaDatasetEstimate){0};
    FaCode rc = plan_open(&p, options, err);
    int tried = rc >= 0 ? FA_MIN(p.o.poses, TRIED) : 0;
    if (rc >= 0) rc = fai_samples_make(&p.teacher, 0, tried, &shard, &taught, err);
    if (rc >= 0) {
        int people = (p.o.ids + p.o.shares - 1) / p.o.shares, nvert = shard.nvert;
        e->setup = taught.setup;
        e->sample = (taught.seconds - taught.setup) / tried;
        e->workers = count_workers(&p.o) * (p.o.team ? p.o.team->size : 1);
        e->seconds = people * (e->setup + p.o.poses * e->sample) / e->workers;
        e->bytes = (double)people * (12.0 * nvert + p.o.poses * (12.0 * nvert + 4 * FA_ARKIT_COUNT + 8));
        e->vertices = nvert, e->tried = tried, e->dropped = shard.dropped, e->nclip = p.poses.nclip;
        for (int i = 0; i < e->nclip; i++) e->frames += p.poses.clip[i].nframe;
        fai_notes_copy(&e->notes, &p.people.notes);
        fai_notes_copy(&e->notes, &p.poses.notes);
        fai_shard_free(&shard);
    }
    plan_close(&p);
    return rc;
}
