// --head-motion, for the verbs that take it.
#include "head_motion.h"

#include <string.h>

HeadMotion head_motion;

static bool has_note(const FaNotes *notes, const char *code) {
    for (int i = 0; i < notes->count; i++)
        if (!strcmp(notes->note[i].code, code)) return true;
    return false;
}

// As long as the clip, and what was done for that.
static FaCode fit_length(const Job *j, FaClip **motion, FaError *err) {
    FaClip *longer = NULL;
    double end = (*motion)->time[(*motion)->nframe - 1], want = j->clip->time[j->clip->nframe - 1];
    const char *name = path_base(head_motion.path);
    if (!(want > 0)) return FA_OK; // a still face becomes as long as the motion
    TRY(fa_clip_lengthen_head(*motion, want, head_motion.loop, &longer, err));
    if (longer && head_motion.loop)
        cli_say("note: %s lasts %.2f s, the clip %.2f s: it is repeated, each time from where the head has got to",
                name, end, want);
    else if (longer)
        cli_say("note: %s lasts %.2f s, the clip %.2f s: the head comes to a stop there (--loop-motion repeats it)",
                name, end, want);
    else if (end > want + 0.1)
        cli_say("note: %s lasts %.2f s, the clip %.2f s: the rest of the motion is left out", name, end, want);
    if (!longer) return FA_OK;
    fa_clip_free(*motion);
    *motion = longer;
    return FA_OK;
}

static FaCode load_head(const Job *j, FaClip **motion, HeadMotionFile *file, FaError *err) {
    const FaClipOptions copt = load_clip_options();
    TRY(fa_clip_load(head_motion.path, &copt, motion, err));
    if (!(*motion)->head) return FA_OK; // said by whoever puts it on the clip
    file->rested = has_note(&(*motion)->notes, "first-frame-rest");
    TRY(fa_clip_prepare_head(motion, load_options.head_smooth, &file->begins, err));
    for (int i = 0; i < (*motion)->notes.count; i++) {
        const FaNote *note = &(*motion)->notes.note[i];
        if (!strcmp(note->code, "head-motion"))
            cli_say("note: %s: %s (%s)", path_base(head_motion.path), note->text, note->remedy);
    }
    if (j->clip->head)
        cli_say("note: the head moves as %s says, not as %s", path_base(head_motion.path),
                path_base(j->clip_path ? j->clip_path : j->rig_path));
    return fit_length(j, motion, err);
}

FaCode head_motion_check(FaError *err) {
    return head_motion.loop && !head_motion.path ? cli_wrong(err, "--loop-motion goes with --head-motion FILE") : FA_OK;
}

FaCode head_motion_add(Job *j, FaClip **moved, FaClip **felt, HeadMotionFile *file, FaError *err) {
    HeadMotionFile none = {.begins = {.q = {0, 0, 0, 1}}};
    FaClip *motion = NULL;
    FaCode rc = load_head(j, &motion, file ? file : &none, err);
    if (rc >= 0) rc = fa_clip_with_head(j->clip, motion, moved, err);
    fa_clip_free(motion);
    return rc >= 0 ? job_on_body(j, j->rig, moved, felt, err) : rc;
}
