// A face driven by markers: those of an actor, of a camera's landmarks, or of another face's animation.
#ifndef FASCIA_DRIVE_MARKERS_H
#define FASCIA_DRIVE_MARKERS_H

#include "job.h"

enum { STREAM_POINTS, STREAM_WEIGHTS };
enum { PHYSICS_OFF, PHYSICS_CONTACT, PHYSICS_FULL };

typedef struct DriveSettings {
    int method;        // FaDriveKind
    int residual, jaw; // 0: on, 1: off; -1: on for auto and bf, off else
    int physics;       // PHYSICS_..; -1: by what drives
    bool literal, retarget;
    double smooth; // frames; NAN: default
    const char *map, *trust, *from, *report, *truth;
    int count, neutral;
    double reach;                                              // mm; 0: default
    const char *model, *identities, *points, *overlay, *image; // landmarks
    FaUnit model_unit;
    double focal; // pixels; 0: found
    int stream;   // STREAM_..: what goes out
} DriveSettings;
extern DriveSettings drive_settings;

// One page that shows the result beside SBS, RSBS and BF with the same jaw and residual pass, and plain SBS.
enum { DRIVE_TRACKS = 8, DRIVE_REGIONS = 32 };
typedef struct DriveTrack {
    char name[40];
    double before_mm, after_mm, inside_mm, outside_mm;
    double dense_mm, dense_max_mm; // NAN: no truth
    int regions;
    double region_mm[DRIVE_REGIONS];
} DriveTrack;
typedef struct DriveTracks {
    int count;
    DriveTrack track[DRIVE_TRACKS];
} DriveTracks;

typedef struct DriveJob {
    Job job; // its face is NULL where none is needed, or none can be built; its record has the flesh
    const char *motion;
    FaMotionKind kind;
    FaMarkerTake *take;
    FaMarkerMap *map;
    float *trust;
    FaRetargetReport warp;
    FaCameraFit *fit;
    FaDriveOptions options;
    int physics;
    FaDrive *drive;
    FaDriveReport rep;
    Record control; // the frames of the control
    FaClip *played; // its weights, and where the eyes look
    DriveTracks tracks;
    // what the above were made from
    FaMarkerTake *loaded;
    FaRig *source;
    FaClip *source_clip;
    FaSequence *source_seq;
    FaMarkerMap *source_map;
    FaLandmarkTake *landmarks;
    FaFaceModel *model;
} DriveJob;

// The program's exit code.
int drive_markers(const char *rig_path, const char *motion, FaMotionKind kind);

int drive_stream(const char *rig_path);
FaCode drive_image_size(double *width, double *height, FaError *err); // of --image; 0: not given

// Fills job->tracks; the page is written to path (nullable).
FaCode drive_report(DriveJob *job, const char *path, FaError *err);
void drive_report_json(const DriveTracks *tracks, const char *key, FaJsonWriter *w);

#endif
