// A face driven by dots: markers, landmarks, or another face's animation. Shared by the verb, its report page and the
// demo.
#ifndef FASCIA_DRIVE_DOTS_H
#define FASCIA_DRIVE_DOTS_H

#include "markers_job.h"

#include "fascia/camera.h"
#include "fascia/drive.h"
#include "fascia/face.h"
#include "fascia/retarget.h"

enum { FLESH_OFF, FLESH_CONTACT, FLESH_FULL };

typedef struct DriveSettings {
    int method;        // FaDriveKind
    int residual, jaw; // 0: on, 1: off; -1: on for auto and bf, off else
    int flesh;         // FLESH_..; -1: by what drives
    bool literal, retarget;
    double smooth; // frames; NAN: default
    const char *map, *trust, *from, *report, *truth;
    int count, neutral;
    double reach;                                              // mm; 0: default
    const char *model, *identities, *points, *overlay, *image; // landmarks
    int model_unit;                                            // FaUnit
    double focal;                                              // pixels; 0: found
} DriveSettings;
extern DriveSettings drive_settings;

typedef struct DotsJob {
    const char *motion;
    FaMotionKind kind;
    FaRig *rig;
    FaFace *face; // NULL: none is needed, or none can be built
    FaMarkerTake *take;
    FaMarkerMap *map;
    float *trust;
    FaRetargetReport warp;
    FaCameraFit *fit;
    FaDriveOptions options;
    int flesh;
    FaDrive *drive;
    FaDriveReport rep;
    Recording control, result; // the frames of the control; with flesh on top
    FaMethod *method;
    FaRun *run;
    FaSequence *linear;
    FaCompare compare; // linear, result
    char *json;        // of the flesh's parameters
    char generator[1024];
    // what the above were made from
    FaMarkerTake *loaded;
    FaRig *source;
    FaClip *source_clip;
    FaSequence *source_seq;
    FaMarkerMap *source_map;
    FaLandmarkTake *landmarks;
    FaFaceModel *model;
} DotsJob;

// The program's exit code. face_path: nullable.
int drive_dots(const char *rig_path, const char *face_path, const char *motion, FaMotionKind kind);

// One page that shows the result beside SBS, RSBS and BF with the same jaw and residual pass, and plain SBS.
typedef struct DotsTrack {
    char name[40];
    double before_mm, after_mm, inside_mm, outside_mm;
    double dense_mm, dense_max_mm; // NAN: no truth
    int regions;
    double region_mm[32];
    double seconds;
} DotsTrack;
typedef struct DotsReport {
    int count;
    DotsTrack track[8];
} DotsReport;
FaCode drive_report(DotsJob *job, const char *path, DotsReport *report, FaError *err);
void print_dots_report(const DotsReport *report); // JSON array

#endif
