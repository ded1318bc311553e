#include "io/bvh.h"

#include "base/number.h"
#include "base/text.h"
#include "io/clip_tools.h"

#include <math.h>
#include <strings.h>

enum { MAX_DEPTH = 256, MAX_JOINTS = 65536, MAX_CHANNELS = 6 };

typedef struct Joint {
    const char *name; // in the file's text, not terminated; NULL for the end of a chain
    int name_size;
    int parent; // -1: a root
    int first;  // number of its first channel in a row of motion
    int nchannel;
    unsigned char channel[MAX_CHANNELS]; // 0-2: position x y z, 3-5: rotation about x y z
    double offset[3];                    // from its parent, file units
    double rest[3];                      // world position with all angles 0
} Joint;

typedef struct Token {
    const char *text;
    int size;
    int line, column;
} Token;

typedef struct Bvh {
    const char *p, *end;
    int line;
    const char *line_start;
    Token token; // the one just read; size 0 at the end
    Joint *joint;
    int njoint, room;
    int nchannel;      // numbers per row of motion
    int nframe;        // rows that are there
    double frame_time; // s
    size_t size;
    const FaClipOptions *options;
    FaError *err;
} Bvh;

// --- words --------------------------------------------------------------------------------------------------------

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }

static bool is_brace(char c) { return c == '{' || c == '}'; }

static void next_token(Bvh *b) {
    while (b->p < b->end && is_space(*b->p)) {
        bool line_end = *b->p == '\n' || (*b->p == '\r' && (b->p + 1 == b->end || b->p[1] != '\n'));
        b->p++;
        if (line_end) b->line++, b->line_start = b->p;
    }
    const char *start = b->p;
    while (b->p < b->end && !is_space(*b->p) && !is_brace(*b->p)) b->p++;
    if (b->p == start && b->p < b->end) b->p++; // a brace is a word of its own
    b->token = (Token){start, (int)FA_MIN(b->p - start, INT32_MAX), b->line,
                       (int)FA_MIN(start - b->line_start, INT32_MAX - 1) + 1};
}

static bool token_is(const Bvh *b, const char *word) {
    size_t n = strlen(word);
    return (size_t)b->token.size == n && !strncasecmp(b->token.text, word, n);
}

static FaPlace here(const Bvh *b) { return fai_place("line %d, column %d", b->token.line, b->token.column); }

// The word as it may be shown.
static FaPlace show(const char *text, int size) {
    FaPlace shown = {{0}};
    for (int i = 0; i < FA_MIN(size, 40); i++)
        shown.text[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7F ? '?' : text[i];
    return shown;
}

static FaCode expected(Bvh *b, const char *what) {
    if (!b->token.size)
        return FA_FAIL(b->err, FA_E_FORMAT, here(b).text, "check that the file is complete",
                       "the file ends where %s must stand", what);
    return FA_FAIL(b->err, FA_E_FORMAT, here(b).text, "check the file, or export it again",
                   "'%s' stands where %s must stand", show(b->token.text, b->token.size).text, what);
}

static FaCode take(Bvh *b, const char *word) {
    next_token(b);
    if (token_is(b, word)) return FA_OK;
    // "Frames:174", without a space
    size_t n = strlen(word);
    if (word[n - 1] != ':' || (size_t)b->token.size <= n || strncasecmp(b->token.text, word, n))
        return expected(b, word);
    b->p = b->token.text + n;
    return FA_OK;
}

static FaCode take_number(Bvh *b, double *value) {
    next_token(b);
    const char *end = b->token.text + b->token.size;
    if (!b->token.size || fai_parse_double(b->token.text, end, value) != end) return expected(b, "a number");
    if (!isfinite(*value)) return expected(b, "a finite number");
    return FA_OK;
}

static FaCode take_count(Bvh *b, int max, const char *what, int *value) {
    next_token(b);
    int64_t n;
    const char *end = b->token.text + b->token.size;
    if (!b->token.size || fai_parse_int(b->token.text, end, &n) != end || n < 0 || n > max) return expected(b, what);
    *value = (int)n;
    return FA_OK;
}

// --- the skeleton -------------------------------------------------------------------------------------------------

static FaCode read_offset(Bvh *b, Joint *j) {
    for (int i = 0; i < 3; i++) FA_TRY(take_number(b, &j->offset[i]));
    return FA_OK;
}

static FaCode read_channels(Bvh *b, Joint *j) {
    static const char *const name[6] = {"Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation"};
    if (j->nchannel) return expected(b, "one list of channels per joint, not two:");
    FA_TRY(take_count(b, MAX_CHANNELS, "a number of channels from 0 to 6", &j->nchannel));
    j->first = b->nchannel;
    b->nchannel += j->nchannel;
    for (int i = 0; i < j->nchannel; i++) {
        next_token(b);
        int kind = 0;
        while (kind < 6 && !token_is(b, name[kind])) kind++;
        if (kind == 6) return expected(b, "a channel such as Xrotation");
        j->channel[i] = (unsigned char)kind;
    }
    return FA_OK;
}

// ROOT, JOINT or End was just read: its name and opening brace.
static FaCode open_joint(Bvh *b, int parent, bool end_site) {
    Joint *grown = fai_grow_array(b->joint, &b->room, b->njoint + 1, sizeof *grown);
    if (!grown) return FA_FAIL_MEMORY(b->err);
    b->joint = grown;
    Joint j = {.parent = parent};
    if (end_site) {
        FA_TRY(take(b, "Site"));
        FA_TRY(take(b, "{"));
    } else {
        // a name may hold spaces: it runs up to the brace
        next_token(b);
        if (!b->token.size || token_is(b, "{")) return expected(b, "a joint's name");
        j.name = b->token.text;
        const char *name_end = b->p;
        for (next_token(b); b->token.size && !token_is(b, "{"); next_token(b)) name_end = b->p;
        if (!b->token.size) return expected(b, "{");
        j.name_size = (int)FA_MIN(name_end - j.name, INT32_MAX);
    }
    b->joint[b->njoint++] = j;
    return FA_OK;
}

// From after HIERARCHY up to and including MOTION. A stack instead of recursion: depth is the file's to choose.
static FaCode read_hierarchy(Bvh *b) {
    int stack[MAX_DEPTH], depth = 0;
    for (;;) {
        next_token(b);
        int at = depth ? stack[depth - 1] : -1;
        bool in_end = at >= 0 && !b->joint[at].name;
        if (token_is(b, "MOTION") && !depth) break;
        if (token_is(b, "ROOT") ? !depth : depth && !in_end && (token_is(b, "JOINT") || token_is(b, "End"))) {
            if (depth == MAX_DEPTH)
                return FA_FAIL(b->err, FA_E_LIMIT, here(b).text, "check the braces",
                               "joints are nested more than %d deep", MAX_DEPTH);
            if (b->njoint == MAX_JOINTS)
                return FA_FAIL(b->err, FA_E_LIMIT, here(b).text, NULL, "more than %d joints", MAX_JOINTS);
            FA_TRY(open_joint(b, at, token_is(b, "End")));
            stack[depth++] = b->njoint - 1;
        } else if (depth && token_is(b, "OFFSET"))
            FA_TRY(read_offset(b, &b->joint[at]));
        else if (depth && !in_end && token_is(b, "CHANNELS"))
            FA_TRY(read_channels(b, &b->joint[at]));
        else if (depth && token_is(b, "}"))
            depth--;
        else
            return expected(b, !depth   ? "ROOT or MOTION"
                               : in_end ? "OFFSET or }"
                                        : "OFFSET, CHANNELS, JOINT, End Site or }");
    }
    if (!b->njoint) return expected(b, "a skeleton before MOTION:");
    for (int i = 0; i < b->njoint; i++) {
        Joint *j = &b->joint[i];
        for (int k = 0; k < 3; k++) {
            j->rest[k] = j->offset[k] + (j->parent >= 0 ? b->joint[j->parent].rest[k] : 0);
            if (!isfinite(j->rest[k]) || fabs(j->rest[k]) > 1e30)
                return FA_FAIL(b->err, FA_E_FORMAT,
                               show(j->name ? j->name : "End Site", j->name ? j->name_size : 8).text,
                               "check the offsets", "the skeleton reaches too far");
        }
    }
    return FA_OK;
}

// --- the head -----------------------------------------------------------------------------------------------------

// A name without what programs put before it: "mixamorig:Head", "Bip01 Head", "Armature|Head" are all "Head".
static void bare_name(const Joint *j, const char **name, int *size) {
    const char *s = j->name, *end = s + j->name_size;
    for (const char *c = s; c + 1 < end; c++)
        if (*c == ':' || *c == '|' || *c == '_' || *c == ' ' || *c == '.' || *c == '-') s = c + 1;
    *name = s;
    *size = (int)(end - s);
}

static bool starts_with(const char *s, int n, const char *word) {
    int w = (int)strlen(word);
    return n >= w && !strncasecmp(s, word, (size_t)w);
}

// How well a joint's name says that it is the head: 3 exactly, 2 begins so, 1 part of the neck, 0 not at all.
static int head_rank(const Joint *j) {
    const char *s;
    int n;
    if (!j->name) return 0;
    bare_name(j, &s, &n);
    if (n == 4 && starts_with(s, n, "head")) return 3;
    // the tip of the head, or what is worn on it, does not move as the head does
    static const char *const tip_name[] = {"end", "nub", "top", "tip", "site"};
    bool tip = false;
    for (int i = 0; i < FA_COUNT(tip_name); i++) {
        int w = (int)strlen(tip_name[i]);
        tip |= j->name_size >= w && !strncasecmp(j->name + j->name_size - w, tip_name[i], (size_t)w);
    }
    if ((starts_with(s, n, "head") || starts_with(j->name, j->name_size, "head")) && !tip) return 2;
    return starts_with(s, n, "neck") || starts_with(j->name, j->name_size, "neck");
}

static FaCode find_named(Bvh *b, const char *name, int *found) {
    FaText list = {0};
    for (int i = 0; i < b->njoint; i++) {
        const Joint *j = &b->joint[i];
        if (j->name && (size_t)j->name_size == strlen(name) && !strncasecmp(j->name, name, strlen(name))) {
            fai_text_free(&list);
            *found = i;
            return FA_OK;
        }
        if (j->name && list.size < 180)
            fai_text_printf(&list, "%s%s", list.size ? ", " : "", show(j->name, j->name_size).text);
    }
    FaCode rc =
        FA_FAIL(b->err, FA_E_ARG, NULL, list.data, "the skeleton has no joint called '%.60s'; it has these", name);
    fai_text_free(&list);
    return rc;
}

// The joint whose name says best that it is the head, -1: none does.
static int best_head(const Bvh *b, int *rivals) {
    int best = -1, best_rank = 0;
    *rivals = 0;
    for (int i = 0; i < b->njoint; i++) {
        int rank = head_rank(&b->joint[i]);
        if (!rank) continue;
        *rivals = rank > best_rank ? 0 : *rivals + (rank == best_rank && rank > 1);
        // of heads the first, of the neck the last: joints come in order from the root
        if (rank > best_rank || (rank == best_rank && rank == 1)) best = i, best_rank = rank;
    }
    return best;
}

static FaCode find_head(Bvh *b, int *found, int *rivals) {
    *rivals = 0;
    if (b->options && b->options->joint) return find_named(b, b->options->joint, found);
    *found = best_head(b, rivals);
    if (*found >= 0) return FA_OK;
    FaText list = {0};
    for (int i = 0; i < b->njoint && list.size < 140; i++)
        if (b->joint[i].name)
            fai_text_printf(&list, "%s%s", list.size ? ", " : "choose the joint: ",
                            show(b->joint[i].name, b->joint[i].name_size).text);
    FaCode rc = FA_FAIL(b->err, FA_E_FORMAT, NULL, list.data, "no joint of the skeleton is called head");
    fai_text_free(&list);
    return rc;
}

// --- unit and up --------------------------------------------------------------------------------------------------

typedef struct Frame {
    double unit; // metres per file unit
    bool z_up;
} Frame;

// chosen: the joint asked for. Which way is up is the skeleton's, whichever joint that is: a hand may reach forward, a
// root is nowhere above itself.
static void find_frame(const Bvh *b, int chosen, FaNotes *notes, Frame *frame) {
    static const struct {
        double metres;
        const char *name;
    } known[] = {{1, "metres"},      {0.01, "centimetres"}, {0.001, "millimetres"},
                 {0.0254, "inches"}, {0.3048, "feet"},      {0.0254 / 0.45, "1/0.45 inch (CMU)"}};
    const double TALL = 1.6;
    // up: the axis along which the head stands furthest from its root
    int rivals, named = best_head(b, &rivals), head = named >= 0 ? named : chosen, root = head;
    while (b->joint[root].parent >= 0) root = b->joint[root].parent;
    const double *h = b->joint[head].rest, *r = b->joint[root].rest;
    frame->z_up = fabs(h[2] - r[2]) > 1.5 * fabs(h[1] - r[1]) && h[2] > r[2];
    if (frame->z_up) fai_note(notes, "z-up", "", "", "the skeleton stands along z; it was turned to stand along y");

    int up = frame->z_up ? 2 : 1;
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < b->njoint; i++) {
        low = FA_MIN(low, b->joint[i].rest[up]);
        high = FA_MAX(high, b->joint[i].rest[up]);
    }
    double height = high - low;
    char number[FA_NUMBER_SIZE], metres[FA_NUMBER_SIZE];
    if (b->options && b->options->unit > 0) {
        frame->unit = b->options->unit;
        return;
    }
    frame->unit = height > 0 ? TALL / height : 1;
    const char *name = height > 0 ? "what makes the skeleton 1.6 m tall: none of the usual units fits"
                                  : "metres: the skeleton has no height";
    double best = log(2.2 / TALL);
    for (int i = 0; i < FA_COUNT(known) && height > 0; i++) {
        double off = fabs(log(known[i].metres * height / TALL));
        if (off < best) best = off, frame->unit = known[i].metres, name = known[i].name;
    }
    fai_format_double(number, round(frame->unit * 1e6) / 1e6);
    fai_format_double(metres, round(height * frame->unit * 100) / 100);
    fai_note(notes, "bvh-unit", "", "give the unit if it is another",
             "lengths were taken as %s, %s m per unit: at rest the skeleton is %s m tall", name, number, metres);
}

// --- the motion ---------------------------------------------------------------------------------------------------

// The joints that move the head, from it to its root; those without channels only add their offset to the one below.
typedef struct Chain {
    int count;
    int joint[MAX_DEPTH];
    double below[MAX_DEPTH + 1][3]; // fixed translation between a joint and the moving one below it; last: above all
} Chain;

static void make_chain(const Bvh *b, int head, Chain *chain) {
    memset(chain->below, 0, sizeof chain->below);
    chain->count = 0;
    for (int i = head; i >= 0; i = b->joint[i].parent) {
        const Joint *j = &b->joint[i];
        if (j->nchannel)
            chain->joint[chain->count++] = i;
        else
            for (int k = 0; k < 3; k++) chain->below[chain->count][k] += j->offset[k];
    }
}

// World rotation and position (file units) of the head.
static void world_of(const Bvh *b, const Chain *chain, const double *row, double r[9], double p[3]) {
    const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(r, identity, sizeof identity);
    memcpy(p, chain->below[0], 3 * sizeof *p);
    for (int i = 0; i < chain->count; i++) {
        const Joint *j = &b->joint[chain->joint[i]];
        double local[9], turn[9], t[3] = {j->offset[0], j->offset[1], j->offset[2]}, q[3];
        memcpy(local, identity, sizeof identity);
        for (int c = 0; c < j->nchannel; c++) {
            double v = row[j->first + c];
            if (j->channel[c] < 3) {
                t[j->channel[c]] = v;
                continue;
            }
            fai_mat3_axis(j->channel[c] - 3, v * (M_PI / 180), turn);
            fai_mat3_mul(local, turn, local);
        }
        for (int k = 0; k < 3; k++) {
            q[k] = t[k] + local[3 * k] * p[0] + local[3 * k + 1] * p[1] + local[3 * k + 2] * p[2];
            q[k] += chain->below[i + 1][k];
        }
        memcpy(p, q, sizeof q);
        fai_mat3_mul(local, r, r);
    }
}

static void set_pose(const Frame *frame, double r[9], const double p[3], const FaPose *before, FaPose *pose) {
    double q[3] = {p[0], p[1], p[2]};
    if (frame->z_up) {
        // x stays, z becomes y, y becomes -z; the joint's own axes turn with the world's
        static const double turn[9] = {1, 0, 0, 0, 0, 1, 0, -1, 0}, back[9] = {1, 0, 0, 0, 0, -1, 0, 1, 0};
        fai_mat3_mul(turn, r, r);
        fai_mat3_mul(r, back, r);
        q[1] = p[2], q[2] = -p[1];
    }
    fai_pose_rotate(pose, r, before);
    for (int k = 0; k < 3; k++) pose->p[k] = frame->unit * q[k];
}

static FaCode read_motion_header(Bvh *b, int *announced) {
    FA_TRY(take(b, "Frames:"));
    FA_TRY(take_count(b, INT32_MAX, "a number of frames", announced));
    FA_TRY(take(b, "Frame"));
    FA_TRY(take(b, "Time:"));
    next_token(b);
    const char *end = b->token.text + b->token.size;
    if (!b->token.size || fai_parse_double(b->token.text, end, &b->frame_time) != end)
        return expected(b, "the time per frame");
    if (b->frame_time > 0 && isfinite(b->frame_time) && isfinite(1 / b->frame_time)) return FA_OK;
    if (!b->options || !(b->options->fps > 0))
        return FA_FAIL(b->err, FA_E_FORMAT, here(b).text, "give the frame rate", "%s s per frame is no frame time",
                       show(b->token.text, b->token.size).text);
    b->frame_time = 1 / b->options->fps;
    return FA_OK;
}

// Rows of motion that are there, without reading the numbers: memory is asked for once.
static int count_rows(const Bvh *b) {
    int64_t words = 0;
    bool in_word = false;
    for (const char *c = b->p; c < b->end; c++) {
        bool space = is_space(*c);
        words += !space && !in_word;
        in_word = !space;
    }
    return (int)FA_MIN(words / FA_MAX(b->nchannel, 1), INT32_MAX);
}

// Some collections put a rest pose before the motion (CMU's do): the head is torn from it to the second frame.
static void note_first_frame(FaClip *clip) {
    enum { FEW = 10 };
    double first = 0, most = 0; // rotation per frame, rad
    for (int f = 1; f < clip->nframe; f++) {
        const double *a = clip->head[f].q, *c = clip->head[f - 1].q;
        double d = 2 * acos(FA_MIN(1, fabs(a[0] * c[0] + a[1] * c[1] + a[2] * c[2] + a[3] * c[3])));
        if (f == 1)
            first = d;
        else
            most = FA_MAX(most, d);
    }
    if (clip->nframe < FEW || first < 3 * most || first < 0.03) return;
    fai_note(&clip->notes, "first-frame-rest", "frame 0", "leave out frame 0",
             "the first frame looks like a rest pose: the head turns %d degrees from it to the next",
             (int)(first * (180 / M_PI) + 0.5));
}

static FaCode read_motion(Bvh *b, FaClip **out) {
    int announced = 0, head = 0, rivals = 0;
    FA_TRY(read_motion_header(b, &announced));
    FA_TRY(find_head(b, &head, &rivals));
    if (!b->nchannel)
        return FA_FAIL(b->err, FA_E_FORMAT, NULL, "export it with motion", "the skeleton has no channels");
    int there = count_rows(b);
    b->nframe = FA_MIN(announced, there);
    if (!b->nframe)
        return FA_FAIL(b->err, FA_E_FORMAT, FA_PLACE("line %d", b->line), "export it with motion",
                       "there are no frames");
    FA_TRY(fai_clip_room(b->size, b->nframe, 0, true, b->err));
    FA_TRY(fa_clip_new(b->nframe, 0, NULL, 1 / b->frame_time, out, b->err));
    FaClip *clip = *out;
    double *row = FA_NEW(b->nchannel, double);
    clip->head = FA_NEW(b->nframe, FaPose);
    FaCode rc = row && clip->head ? FA_OK : FA_FAIL_MEMORY(b->err);
    Frame frame;
    Chain chain;
    make_chain(b, head, &chain);
    find_frame(b, head, &clip->notes, &frame);
    for (int f = 0; f < b->nframe && rc >= 0; f++) {
        for (int c = 0; c < b->nchannel && rc >= 0; c++) rc = take_number(b, &row[c]);
        if (rc < 0) break;
        double r[9], p[3];
        world_of(b, &chain, row, r, p);
        set_pose(&frame, r, p, f ? &clip->head[f - 1] : NULL, &clip->head[f]);
        clip->time[f] = f * b->frame_time;
        for (int k = 0; k < 3 && rc >= 0; k++)
            if (!isfinite(clip->head[f].p[k]) || !isfinite(clip->head[f].q[k]))
                rc = FA_FAIL(b->err, FA_E_FORMAT, FA_PLACE("line %d (frame %d)", b->token.line, f), "check the numbers",
                             "the head is out of reach");
    }
    fa_free(row);
    FA_TRY(rc);
    clip->fps = fai_fps_snap(1 / b->frame_time);
    note_first_frame(clip);
    const Joint *j = &b->joint[head];
    FaPlace name = show(j->name, j->name_size);
    if (rivals)
        fai_note(&clip->notes, "head-joint", name.text, "choose another joint if it is not the head",
                 "the head's motion is that of the joint %s; %d more have such names", name.text, rivals);
    else
        fai_note(&clip->notes, "head-joint", name.text, "choose another joint if it is not the head",
                 "the head's motion is that of the joint %s", name.text);
    if (announced > there)
        fai_note_count(&clip->notes, announced - there, "frames-missing", "", "check that the file is complete",
                       "%d frames are announced, %d are there", announced, there);
    if (announced < there)
        fai_note_count(&clip->notes, there - announced, "frames-extra", "",
                       "correct the number after Frames:", "%d frames are announced, the %d after them were left out",
                       announced, there - announced);
    return FA_OK;
}

bool fai_bvh_sniff(const void *data, size_t size) {
    const char *s = data, *end = s + size;
    if (size >= 3 && !memcmp(s, "\xEF\xBB\xBF", 3)) s += 3;
    while (s < end && is_space(*s)) s++;
    return end - s >= 9 && !strncasecmp(s, "HIERARCHY", 9);
}

FaCode fai_bvh_parse(const void *data, size_t size, const FaClipOptions *options, FaClip **clip, FaError *err) {
    *clip = NULL;
    const char *text = size ? data : "";
    if (size >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) text += 3, size -= 3;
    Bvh b = {
        .p = text, .end = text + size, .line = 1, .line_start = text, .size = size, .options = options, .err = err};
    FaClip *made = NULL;
    FaCode rc = take(&b, "HIERARCHY");
    if (rc >= 0) rc = read_hierarchy(&b);
    if (rc >= 0) rc = read_motion(&b, &made);
    if (rc >= 0)
        *clip = made;
    else
        fa_clip_free(made);
    fa_free(b.joint);
    return rc;
}
