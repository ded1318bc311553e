// fascia/run_file.h: a run (simulated frames) on disk: made once, continued after an interruption, and after an edit
// made again only from the first frame that changed until the motion has rejoined what is stored.
//
// Typical order: fa_method_open, fa_run_file_open, fa_sequence_save(fa_run_file_sequence(file), ...),
// fa_run_file_close.
//
// While a run is made its frames are appended to `path`.part, each with a checksum and every so often with the
// method's whole state; a kill loses at most the frames since the last state, and what is made then has the same bytes
// as if nothing had happened. The complete file replaces `path`, which keeps the run that an edit is compared with.
#ifndef FASCIA_RUN_FILE_H
#define FASCIA_RUN_FILE_H

#include "fascia/method.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FaRunFileOptions {
    const FaParams *params; // those the method was opened with: a run made with others is not used. NULL: defaults
    double fps;             // of the frames; 0: the clip's
    double begin;           // s of the clip at which the result begins: notes count frames from there
    int count;              // frames to make, from the first on; 0: all
    int every;              // frames between stored states; 0: 10
    bool replace;           // a file at `path` that is no run goes; else that fails
    double rejoin;          // m: the motion has rejoined the stored one when no node is further from it; 0: 1e-7
    FaProgressFn *progress; // nullable; where it returns false the work stops: what was made is kept for the next time
    void *progress_user;
} FaRunFileOptions;
FA_API FaRunFileOptions fa_run_file_options_default(void); // every and rejoin

typedef struct FaRunFileReport {
    int frames;
    int made;         // simulated now, those repeated on the way to a changed frame included
    int kept;         // taken from the file
    int changed_at;   // first frame whose input differs from the stored run's; -1: none, or there was no file
    int rejoined_at;  // frame where the motion had rejoined it; -1: it did not
    int continued_at; // first frame made after an interruption; -1: there was none
    double gap;       // m, at rejoined_at: the largest distance that was left
    const char
        *fresh; // why a file that was there was not used: "another rig", "other parameters", "damaged", ...; "" else
} FaRunFileReport;

typedef struct FaRunFile FaRunFile;

/// Make all frames of the clip (NULL: the rig's own), or as few as needed. Method and clip must outlive it. options and
/// report are nullable. *file is NULL on failure; what was made stays in `path`.part.
FA_API FaCode fa_run_file_open(FaMethod *method, const FaClip *clip, const char *path, const FaRunFileOptions *options,
                               FaRunFile **file, FaRunFileReport *report, FaError *err);
/// The frames, read from the file. Borrowed from the file.
FA_API FaSequence *fa_run_file_sequence(FaRunFile *file);
/// The clip that goes with the frames: as given, or at the rate asked for. Borrowed from the file; NULL if the rig is
/// at rest.
FA_API const FaClip *fa_run_file_clip(const FaRunFile *file);
FA_API FaRunStats fa_run_file_stats(const FaRunFile *file); // of the frames made now
FA_API const FaNotes *fa_run_file_notes(FaRunFile *file);   // likewise, as fa_run_notes
FA_API void fa_run_file_close(FaRunFile *file);             // the file stays; NULL is fine

#ifdef __cplusplus
}
#endif
#endif
