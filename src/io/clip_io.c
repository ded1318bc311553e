// Clips from and to files: which reader a file is for, and which layout a name asks for.
#include "base/file.h"
#include "fascia/rig.h"
#include "io/bvh.h"
#include "io/clip_csv.h"
#include "io/clip_json.h"
#include "io/clip_tools.h"
#include "io/livelink.h"

#include <math.h>

// --- loading ------------------------------------------------------------------------------------------------------

static const char *const rig_ext[] = {"glb", "gltf", "vrm",  "fbx", "obj", "dae", "blend",
                                      "usd", "usda", "usdc", "abc", "ply", "stl"};

static bool has_rig_ext(const char *path) {
    for (int i = 0; i < FA_COUNT(rig_ext); i++)
        if (fai_path_has_ext(path, rig_ext[i])) return true;
    return false;
}

// The animation inside a rig file.
static FaCode load_from_rig(const char *path, FaClip **clip, FaError *err) {
    FaRig *rig = NULL;
    FA_TRY(fa_rig_load(path, &(FaRigOptions){.any_size = true}, &rig, err));
    *clip = rig->clip;
    rig->clip = NULL;
    fa_rig_free(rig);
    if (*clip) return FA_OK;
    return FA_FAIL(err, FA_E_FORMAT, NULL, "give a clip as well: .csv, .json or .bvh", "the file has no animation");
}

// The first byte that is neither a byte order mark nor space.
static char first_byte(const FaBytes *bytes) {
    size_t i = bytes->size >= 3 && !memcmp(bytes->data, "\xEF\xBB\xBF", 3) ? 3 : 0;
    while (i < bytes->size &&
           (bytes->data[i] == ' ' || bytes->data[i] == '\t' || bytes->data[i] == '\r' || bytes->data[i] == '\n'))
        i++;
    return i < bytes->size ? (char)bytes->data[i] : 0;
}

FaCode fai_clip_parse(const void *data, size_t size, const FaClipOptions *options, FaClip **clip, FaError *err) {
    FaBytes bytes = {(unsigned char *)data, size};
    *clip = NULL;
    if (!first_byte(&bytes))
        return FA_FAIL(err, FA_E_FORMAT, NULL, "check that it was saved",
                       size ? "there is no text in the file" : "the file is empty");
    if (first_byte(&bytes) == '{') return fai_clip_json_parse(data, size, clip, err);
    if (fai_bvh_sniff(data, size)) return fai_bvh_parse(data, size, options, clip, err);
    bool take = false;
    FA_TRY(fai_livelink_sniff(data, size, &take, err));
    return take ? fai_livelink_parse(data, size, options, clip, err) : fai_clip_csv_parse(data, size, clip, err);
}

FaClipOptions fa_clip_options_default(void) { return (FaClipOptions){0}; }

static FaCode check_options(const FaClipOptions *o, FaError *err) {
    if (!o) return FA_OK;
    if (!isfinite(o->fps) || o->fps < 0)
        return FA_FAIL(err, FA_E_ARG, NULL, "give a rate above 0", "the frame rate is not a rate");
    if (!isfinite(o->unit) || o->unit < 0)
        return FA_FAIL(err, FA_E_ARG, NULL, "give metres per unit", "the unit of length is not a length");
    if (o->head_units < FA_HEAD_AUTO || o->head_units > FA_HEAD_DEG)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "unknown unit of angles");
    return FA_OK;
}

static FaCode load(const char *path, const FaClipOptions *options, FaClip **clip, FaError *err) {
    FA_TRY(check_options(options, err));
    FaBytes bytes = {0};
    if (fai_dir_exists(path) || has_rig_ext(path))
        FA_TRY(load_from_rig(path, clip, err));
    else {
        FA_TRY(fai_file_read(path, 0, &bytes, err));
        // rigs by content, whatever their name
        bool rig = (bytes.size >= 4 && !memcmp(bytes.data, "glTF", 4)) ||
                   (bytes.size >= 18 && !memcmp(bytes.data, "Kaydara FBX Binary", 18));
        FaCode rc = rig ? load_from_rig(path, clip, err) : fai_clip_parse(bytes.data, bytes.size, options, clip, err);
        fai_bytes_free(&bytes);
        FA_TRY(rc);
    }
    FA_TRY(fai_times_apart((*clip)->time, (*clip)->nframe, err)); // of the file: another rate does not mend it
    if (options && options->fps > 0) FA_TRY(fai_clip_override_fps(*clip, options->fps, err));
    if (!(*clip)->path && !((*clip)->path = fai_strdup(path))) return FA_FAIL_MEMORY(err);
    return fa_clip_check(*clip, err);
}

FaCode fa_clip_load(const char *path, const FaClipOptions *options, FaClip **clip, FaError *err) {
    FA_ASSERT(path && clip);
    *clip = NULL;
    FaCode rc = load(path, options, clip, err);
    if (rc >= 0) return rc;
    fa_clip_free(*clip);
    *clip = NULL;
    return fai_fail_in(err, rc, path);
}

// --- saving -------------------------------------------------------------------------------------------------------

FaCode fa_clip_save(const FaClip *clip, const char *path, FaError *err) {
    FA_ASSERT(clip && path);
    FaText text = {0};
    FaCode rc = fa_clip_check(clip, err);
    if (rc < 0) return fai_fail_in(err, rc, path);
    if (fai_path_has_ext(path, "json"))
        rc = fai_clip_json_write(clip, &text, err);
    else if (!fai_path_has_ext(path, "csv"))
        rc = FA_FAIL(err, FA_E_ARG, NULL, "end the name in .csv or .json", "clips are saved as .csv or .json, not .%s",
                     fai_path_ext(path));
    else if (fai_livelink_fits(clip))
        rc = fai_livelink_write(clip, &text, err);
    else
        rc = fai_clip_csv_write(clip, &text, err);
    if (rc >= 0) rc = fai_file_write(path, text.data, text.size, err);
    fai_text_free(&text);
    return fai_fail_in(err, rc, path);
}
