// Takes of markers: what the readers and writers of the formats share. See fascia/markers.h for the type.
//
// Decisions for all formats: text that is no number, Inf, beyond float range: error with its place. NaN and empty: a
// missing sample ("missing-samples", with the worst markers' names and the longest gap). A sample with some coordinates
// only is missing ("partial-samples"). No marker seen at all: error. A marker never seen: kept, "markers-never-seen".
// Two markers at the same place in every frame: kept, "same-markers". Time backwards or equal: error. Names that are
// not there: marker_1, "unnamed-markers"; equal names: CSV error; TRC and C3D (whose old files cut names at four
// letters) the later ones become NAME#2, "duplicate-names".
//
// Unit: the one asked for; else the declared one ("unit-suspect" if that makes no face); else that of m, cm, mm which
// makes the cloud 0.08 to 0.25 m large ("marker-unit"); else, in formats where metres are the convention and nothing
// above 0.5 m comes out, metres; else error. The size: the longest side of the box around the frame that shows most
// markers, one in twenty left out at each end.
#ifndef FAI_MARKERS_H
#define FAI_MARKERS_H

#include "base/text.h"
#include "fascia/markers.h"

// Any of the three formats, known by content; `name` (nullable) helps with its extension.
FaCode fai_markers_parse(const void *data, size_t size, const char *name, const FaMarkerOptions *options,
                         FaMarkerTake **take, FaError *err);

// time,NAME.x,NAME.y,NAME.z,...; in any order; head.qx .. head.pz as in clip_csv.h (then positions are the head's). No
// `time` but `frame` and a rate given: time = frame / rate. Other columns: left out, "unknown-columns". A marker with
// one or two of its three columns: error. Separators and decimal commas as in csv.h; a cut last row: "last-row-cut".
FaCode fai_markers_csv_parse(const void *data, size_t size, const FaMarkerOptions *options, FaMarkerTake **take,
                             FaError *err);
FaCode fai_markers_csv_write(const FaMarkerTake *take, FaText *out, FaError *err);

// Track Row Column (Motion Analysis, OpenSim): tab-separated text. Counts in the header that do not fit the rows:
// "marker-count", "frames-missing", "frames-extra". Rows may end early (programs strip tabs): missing samples. 0 0 0
// where the marker is over 2 cm away before and after: missing, "zero-samples". A rate that is none: error unless one
// is given.
bool fai_markers_trc_sniff(const void *data, size_t size);
FaCode fai_markers_trc_parse(const void *data, size_t size, const FaMarkerOptions *options, FaMarkerTake **take,
                             FaError *err);
FaCode fai_markers_trc_write(const FaMarkerTake *take, FaText *out, FaError *err);

// C3D: see markers_c3d.c. Residual below 0, or a coordinate that is no finite number: missing. 0 0 0 as in TRC.
bool fai_markers_c3d_sniff(const void *data, size_t size);
FaCode fai_markers_c3d_parse(const void *data, size_t size, const FaMarkerOptions *options, FaMarkerTake **take,
                             FaError *err);
FaCode fai_markers_c3d_write(const FaMarkerTake *take, FaText *out, FaError *err);

// How a file remembers FaMarkerTake.mesh: the text rig#0123456789abcdef. CSV: the name of a last column without
// numbers; TRC: a field more in its first line; C3D: the parameter FASCIA:RIG. Other programs pass over all three.
enum { FA_RIG_TAG = 20 };
void fai_rig_tag(uint64_t mesh, char tag[FA_RIG_TAG + 1]);
uint64_t fai_rig_tag_read(const char *text, size_t size); // 0: the text is no such tag

// --- for the readers ----------------------------------------------------------------------------------------------

// Metres per unit that is given or declared (0: undeclared); 0 if neither. Positions are multiplied by it when read.
double fai_markers_unit(const FaMarkerOptions *options, double declared);
double fai_unit_named(const char *name, size_t size); // "mm", "Millimeters", "in", ...: metres; 0: unknown

// Fail with FA_E_LIMIT if a take of this size is out of proportion to the file that asks for it.
FaCode fai_markers_room(size_t file_size, int64_t nframe, int64_t nmarker, FaError *err);

// Copies of names from a file, made different; what was changed is noted. name: n, from the arena; NULL: none given.
FaCode fai_markers_names(FaArena *arena, const char **name, int n, FaNotes *notes, FaError *err);

typedef struct FaMarkerFacts {
    double declared;   // metres per unit the file declares, 0: none
    bool metres;       // metres are the format's convention
    bool zero_missing; // 0 0 0 stands for a missing sample
    int nan_cells;     // coordinates spelled NaN
} FaMarkerFacts;
// Times from 0, the rest to take->start; take->fps from `stated` (0: nothing is), else from the times; where they
// differ by over 2 %, the times win, "fps-mismatch". A rate given in the options scales the times.
FaCode fai_markers_rate(FaMarkerTake *take, double stated, const FaMarkerOptions *options, FaError *err);

// What all readers end with, on x as read (times 1 where fai_markers_unit gave 0): ok, unit, rate, notes.
FaCode fai_markers_finish(FaMarkerTake *take, const FaMarkerFacts *facts, const FaMarkerOptions *options, FaError *err);

#endif
