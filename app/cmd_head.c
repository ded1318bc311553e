// fascia head: the parametric head that ships.
#include "job.h"

#include <stdlib.h>
#include <string.h>

static int level = -1;
static const char *identity, *clip_name, *truth_path, *zoo_dir;
static bool bones, list, list_zoo;

static const Option options[] = {
    {"level", 0, OPT_INT, &level, "N", 0, 2, "0 is coarse and fast, 2 is fine (1; 0 with --zoo)"},
    {"identity", 0, OPT_TEXT, &identity, "NAME=V,...", 0, 0,
     "who it is: 0 is average, 1 or -1 is clear, 3 is extreme (--list shows the names)"},
    {"clip", 0, OPT_TEXT, &clip_name, "NAME", 0, 0,
     "talk, rom, run, shake, nod, press, plosive, smile or laugh: the animation"},
    {"truth", 0, OPT_OUT, &truth_path, "PC2", 0, 0, "with --clip: also what real skin would do, as exact frames"},
    {"bones", 0, OPT_FLAG, &bones, NULL, 0, 0, "also the skull and the jaw bone"},
    {"list", 0, OPT_FLAG, &list, NULL, 0, 0, "list the names that --identity takes"},
    {"zoo", 0, OPT_TEXT, &zoo_dir, "DIR", 0, 0, "the head as rigs with traits of other people's files, one file each"},
    {"list-zoo", 0, OPT_FLAG, &list_zoo, NULL, 0, 0, "list those rigs"},
    {0}};

static void print_list(void) {
    for (int i = 0; i < FA_HEAD_IDENTITY_COUNT; i++) {
        FaHeadInfo p = fa_head_identity(i);
        printf("%-18s %+g to %+g   %s\n", p.name, p.min, p.max, p.help);
    }
}

static void print_zoo(void) {
    for (int i = 0; i < fa_zoo_count(); i++) {
        FaZooAnimal a = fa_zoo_animal(i);
        printf("%-14s %s\n", a.name, a.help);
    }
}

static int parse_identity(FaHeadParams *params) {
    for (const char *p = identity; p && *p;) {
        size_t n = strcspn(p, "=,");
        char name[64], *end;
        if (p[n] != '=' || n >= sizeof name) return cli_usage("--identity takes NAME=VALUE,..., not '%s'", p);
        memcpy(name, p, n);
        name[n] = 0;
        int i = fa_head_identity_find(name);
        if (i < 0) return cli_usage("there is no identity parameter '%s'; fascia head --list shows them", name);
        params->identity[i] = strtod(p + n + 1, &end);
        if (end == p + n + 1 || (*end && *end != ',')) return cli_usage("--identity takes NAME=VALUE,..., not '%s'", p);
        p = *end ? end + 1 : end;
    }
    return EXIT_OK;
}

typedef struct HeadJob {
    Job job;
    FaHeadParams params;
    FaHead *head;
    FaClip *clip;
    int chan[FA_ARKIT_COUNT]; // of the clip, by shape; -1: none
} HeadJob;

static FaCode read_truth(void *user, int frame, float *x, FaError *err) {
    const HeadJob *h = user;
    float w[FA_ARKIT_COUNT];
    for (int i = 0; i < FA_ARKIT_COUNT; i++)
        w[i] = h->chan[i] >= 0 ? h->clip->weight[(size_t)frame * (size_t)h->clip->nchan + (size_t)h->chan[i]] : 0;
    return fa_head_truth(h->head, 0, w, x, err);
}

static FaCode save_truth(HeadJob *h, FaError *err) {
    const FaClip *clip = h->clip;
    FaSequence *seq;
    for (int i = 0; i < FA_ARKIT_COUNT; i++) {
        h->chan[i] = -1;
        for (int c = 0; c < clip->nchan; c++)
            if (!strcmp(clip->name[c], fa_arkit_name(i))) h->chan[i] = c;
    }
    TRY(fa_sequence_custom(h->head->part[0].mesh.nvert, clip->nframe, clip->fps, read_truth, h, &seq, err));
    FaSinkOptions opt = {.clip = clip, .fps = clip->fps, .progress = cli_progress};
    FaCode rc = fa_sequence_save(seq, truth_path, &opt, NULL, err);
    fa_sequence_close(seq);
    return rc;
}

static FaCode make(Job *j, FaError *err) {
    HeadJob *h = (HeadJob *)j;
    TRY(fa_head_new(&h->params, &h->head, err));
    return clip_name ? fa_head_clip(clip_name, &h->clip, err) : FA_OK;
}

static FaCode write(Job *j, FaError *err) {
    HeadJob *h = (HeadJob *)j;
    TRY(fa_head_save(h->head, h->clip, bones, "fascia " FA_VERSION_TEXT " head", j->output, err));
    return truth_path && h->clip ? save_truth(h, err) : FA_OK;
}

static void say(Job *j) {
    const FaHead *head = ((HeadJob *)j)->head;
    cli_say("%d skin vertices, %d shapes", head->part[0].mesh.nvert, head->part[0].nshape);
}

static void json(Job *j, FaJsonWriter *w) {
    const HeadJob *h = (const HeadJob *)j;
    fa_json_int(w, "vertices", h->head->part[0].mesh.nvert);
    fa_json_int(w, "shapes", h->head->part[0].nshape);
    fa_json_int(w, "parts", h->head->npart);
    fa_json_int(w, "frames", h->clip ? h->clip->nframe : 0);
}

static void head_free(Job *j) {
    fa_clip_free(((HeadJob *)j)->clip);
    fa_head_free(((HeadJob *)j)->head);
}

static FaCode write_zoo(Job *j, FaError *err) {
    return fa_zoo_save_all(level < 0 ? 0 : level, "fascia " FA_VERSION_TEXT " head --zoo", j->output, cli_progress,
                           NULL, err);
}

static void say_zoo(Job *j) {
    (void)j;
    cli_say("%d rigs; README.md says which is what", fa_zoo_count());
}

static void json_zoo(Job *j, FaJsonWriter *w) {
    (void)j;
    fa_json_int(w, "animals", fa_zoo_count());
}

static int run_zoo(void) {
    int code = cli_only("with --zoo, whose rigs are always the same", "level zoo !rig !output");
    if (code != EXIT_OK) return code;
    Job job = {.verb = "head", .output = zoo_dir, .write = write_zoo, .say = say_zoo, .json = json_zoo};
    return job_walk(&job);
}

static int run(int argc, const char **argv) {
    (void)argc, (void)argv;
    HeadJob h = {.params = fa_head_params_default(),
                 .job = {.verb = "head", .make = make, .write = write, .say = say, .json = json, .free = head_free}};
    int code = list       ? cli_only("with --list", "list !rig !output !json !dry-run")
               : list_zoo ? cli_only("with --list-zoo", "list-zoo !rig !output !json !dry-run")
               : zoo_dir  ? EXIT_OK
                          : cli_only("for a head", "level identity clip truth bones seed !rig");
    if (code != EXIT_OK) return code;
    if (list) return print_list(), EXIT_OK;
    if (list_zoo) return print_zoo(), EXIT_OK;
    if (zoo_dir) return run_zoo();
    if (!common.output) return output_missing("head.glb");
    if (truth_path && !clip_name) return cli_usage("--truth needs --clip");
    h.params.level = level < 0 ? h.params.level : level;
    fa_head_params_seed(&h.params, (uint64_t)common.seed);
    code = parse_identity(&h.params);
    return code == EXIT_OK ? job_walk(&h.job) : code;
}

const Command cmd_head = {
    .name = "head",
    .line = "make a human head: skin, eyes, teeth, bones, 52 ARKit shapes",
    .usage = "head -o OUT.glb [options]",
    .examples =
        "  fascia head -o head.glb                                    the average adult\n"
        "  fascia head --seed 7 --level 2 -o someone.glb              a random person, 26k vertices\n"
        "  fascia head --identity nose_width=2,age=1.5 -o old.glb     a wide nose, an old face\n"
        "  fascia head --clip talk --truth talk.pc2 -o talk.glb       with animation, and what real skin would do\n"
        "  fascia head --zoo zoo/                                     40 odd rigs to try things on\n",
    .options = options,
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
