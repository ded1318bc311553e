// A directed pose: all that is known of an expression once muscles make it, and all that can be edited, played and
// taken to another head: how strongly muscles pull, where the bones are, the tracks that control points go along, and
// the part of the sculpt that no muscle makes.
//
// A track is the displacement of control points from rest (muscle/tracks.h), known at `nlevel` moments of the way from
// the neutral, 1/nlevel, 2/nlevel, ..., 1; the last one is the pose. Between them it is linear. Paper 002, section 4.
#ifndef FAI_DIRECTED_H
#define FAI_DIRECTED_H

#include "base/text.h"
#include "muscle/direct.h"

enum {
    FA_DIRECTED_LEVELS = 4,            // of tracks that targeting makes
    FA_DIRECTED_LEVELS_MOST = 16,      // of a file
    FA_DIRECTED_POINTS_MOST = 1 << 16, // of all muscles of a file
    FA_DIRECTED_VERTICES_MOST = 2000000
};

struct FaDirected {
    int nmuscle, npoint, nlevel;
    int nvert;             // of the rig
    char (*name)[48];      // of the muscles: "zygomaticus_major.L"                       (nmuscle)
    int *start;            // first control point of each, then their number              (nmuscle + 1)
    double *activation;    // 0..1                                                        (nmuscle)
    unsigned char *sprung; // the flesh is drawn to its track                             (nmuscle)
    double spring;         // N/m4, of those
    FaPose jaw;            // against the skull: a motion of the rig's frame
    FaPose cranium;        // of all of it, after the flesh came to rest
    double *track;         // m                                                           (nlevel x npoint x 3)
    float *snap;           // m: the sculpt less the flesh; all 0 where nothing was sculpted (nvert x 3)
    float *snap_weight;    // 0..1: how much of it is added                               (nvert)
    uint64_t mesh;         // fingerprint of the rig's vertex count and triangles; 0: not known
    char *face;            // path of the face that it was made for; NULL: not known
    FaArena *arena;
};

// All of the model's muscles, at rest: nothing pulls, no track. Free with fa_directed_free.
FaCode fai_directed_new(const FaMuscleDirector *director, int nlevel, FaDirected **out, FaError *err);
// Of these sizes, all zero but spring and bones, with no names.
FaCode fai_directed_sized(int nmuscle, int npoint, int nlevel, int nvert, FaDirected **out, FaError *err);
FaCode fai_directed_copy(const FaDirected *from, FaDirected **out, FaError *err);

// Does it fit: the same muscles with as many control points, the same number of vertices? Else FA_E_ARG, and why.
FaCode fai_directed_fits(const FaMuscleDirector *director, const FaDirected *d, FaError *err);

// Displacements of control points at `part` of the way, 0..1 (npoint x 3); beyond 1 as the last level has them, times
// part.
void fai_directed_track(const FaDirected *d, double part, double *track);
// The jaw at `part` of the way: turned about the hinge and slid by that part.
FaPose fai_directed_jaw(const FaJaw *jaw, const FaPose *pose, double part);

// The same as numbers: degrees about the hinge, and what is moved beside the slide that goes with them.
FaMuscleJaw fai_directed_jaw_numbers(const FaMuscleModel *model, const FaPose *pose);
// Ends of tracks (npoint x 3) that go as flesh x does (nnode x 3). Uses the director's scratch.
void fai_directed_flesh_track(FaMuscleDirector *director, const double *x, double *track);

// What the next poses are held by: bones into director->at, springs to the ends of tracks (npoint x 3) of the muscles
// that are sprung.
void fai_directed_hold(FaMuscleDirector *director, const FaPose *jaw, const double *track, const unsigned char *sprung,
                       double spring);

// The flesh at `part` of the way: bones, activations and tracks at that part. next: it goes on from x, where the last
// pose or frame ended (fai_muscle_body_frame); else it is made from rest. x: out (nnode x 3, m), in the skull's frame.
// Springs of the body are as they were set here until the next call, or until fai_muscle_body_pull.
FaCode fai_directed_pose(FaMuscleDirector *director, const FaDirected *d, double part, bool next, double *x,
                         FaMuscleReport *report, FaError *err);
// The same for any activations (nmuscle), jaw, ends of tracks (npoint x 3) and what is drawn to them: what a pose and a
// frame between two poses share.
FaCode fai_directed_solve(FaMuscleDirector *director, const double *activation, const FaPose *jaw, const double *track,
                          const unsigned char *sprung, double spring, bool next, double *x, FaMuscleReport *report,
                          FaError *err);
// The rig's surface on flesh x (nvert x 3, m), with `part` of the weighted snap, moved by the cranium.
void fai_directed_surface(const FaMuscleDirector *director, const FaDirected *d, double part, const double *x,
                          float *surface);

// --- .pose files --------------------------------------------------------------------------------------------------

// The text of a file (free with fai_text_free); face: what it says of its face, nullable.
FaCode fai_directed_write(const FaDirected *d, const char *face, FaText *text, FaError *err);
// Back. folder: where relative paths begin; NULL: they stay as they are.
FaCode fai_directed_parse(const char *json, size_t size, const char *folder, FaDirected **out, FaError *err);

#endif
