// fascia/output.h: files that are written. All of them are made aside and renamed when they are whole; what is here
// keeps two runs from one file, inputs from being replaced, and folders clean when a program is stopped.
//
// A program that writes what its user names calls, before the work begins:
//     fa_inputs_protect(true);
//     fa_output_fits(path, NULL, &err);              what is there is of the same kind, or there is nothing
//     fa_claim_new(path, "my program", &claim, &err); no other run writes it now
// and fa_scratch_remove() where a signal ends it.
#ifndef FASCIA_OUTPUT_H
#define FASCIA_OUTPUT_H

#include "fascia/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// May a file of this kind be written to `path`? Fails with FA_E_ARG where a file of another kind is there (a face over
/// a rig) or a folder; an empty file, a device or nothing is fine. ext: "glb", "run", ...; NULL: that of the path.
FA_API FaCode fa_output_fits(const char *path, const char *ext, FaError *err);

/// The right to write a file, until freed: a lock beside it (.NAME.lock) that ends with the process. Fails with
/// FA_E_FILE, and names the holder, while another run has it; or where the folder cannot be written. A folder that does
/// not exist yet, and a device, need no claim. who: "fascia enrich".
typedef struct FaClaim FaClaim;
FA_API FaCode fa_claim_new(const char *path, const char *who, FaClaim **claim, FaError *err);
FA_API void fa_claim_free(FaClaim *claim); // NULL is fine

/// From now on a file that this process has read is never replaced by one it writes: that fails with FA_E_ARG. Files
/// that it has written itself may be. Off at the start.
FA_API void fa_inputs_protect(bool on);

/// Files that belong together. From begin on a file that is finished waits, whole and on the disk, beside its place;
/// end gives all of them their names (keep), never a new one beside an old one, or removes them. What fails before
/// leaves the old ones. Up to 8 files, of one thread.
FA_API void fa_outputs_begin(void);
FA_API FaCode fa_outputs_end(bool keep, FaError *err);

/// Remove every file that is not whole yet. Safe in a signal handler; the process must end then.
FA_API void fa_scratch_remove(void);

#ifdef __cplusplus
}
#endif
#endif
