// fascia/page.h: one self-contained HTML file to look at an animation: orbit, play, scrub, compare, heat map, sliders.
//
// A page shows tracks, two at a time and large: a pair is a before and an after, with one sentence of what to look at
// and buttons that jump to the moments that tell. Pairs that nobody gave are made: the first track before each other
// one, with a jump to the peak of each of its numbers.
#ifndef FASCIA_PAGE_H
#define FASCIA_PAGE_H

#include "fascia/markers.h"
#include "fascia/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Numbers per frame, drawn as a chart; tracks that share a name share a chart.
typedef struct FaPageNumbers {
    const char *name;    // "distance max, mm"
    const double *value; // one per frame of the track
} FaPageNumbers;

/// One animation. Everything is borrowed.
typedef struct FaPageTrack {
    const char *name;
    const char *note;   // a few words beside the name; nullable
    const FaRig *rig;   // another face than the page's, with the other meshes of its file; NULL: the page's
    FaSequence *seq;    // exact frames, of the rig's vertices
    const FaClip *clip; // the weights and head motion that go with them; nullable
    const FaPageNumbers *numbers;
    int nnumbers;
    bool crossings; // count the triangle pairs that cross in every frame, chart them, paint them red (slower)
    const FaMarkerTake *markers; // that go with the frames, in the rig's own frame; nullable. In step where there are
                                 // as many frames, else by time
    const FaMarkerMap *map;      // the surface points they belong to, coloured and joined by distance; nullable
    const float *muscle_x;       // where the page's muscles are, one after another, the same in all frames; NULL: at
                                 // rest                                                 (their vertices x 3, m)
    bool muscles_rise;  // in the first frame they are at rest, in the last at muscle_x, between them in between
    const float *lines; // middles of the muscles on their way, shown for the one that is picked; nullable
                        //                                              (nmuscles x nlines x line_points x 3, m)
    int nlines, line_points;
    const double *activation;  // of them, 0..1; NULL, and no muscle_x: this track shows none
                               //                                                      (nmuscles of the page)
    const char *const *labels; // "17: jawOpen 0.50": the page lets one pick frames by a click and lists the numbers
                               // that their labels begin with; nullable                     (frames)
} FaPageTrack;

/// A moment that tells: a button that jumps there.
typedef struct FaPageJump {
    const char *name; // "most crossings: 280"
    int frame;        // of the track `after`
} FaPageJump;

typedef enum FaPageFocus { FA_PAGE_HEAD, FA_PAGE_MOUTH } FaPageFocus;

/// Two tracks side by side. The page opens on its first pair, at that pair's first jump.
typedef struct FaPagePair {
    const char *name;        // a few words, on the button that chooses it
    const char *sentence;    // what to look at; nullable
    int before, after;       // tracks
    const FaPageJump *jumps; // NULL: where most triangles of either cross, the peaks of the numbers of `after`
    int njumps;
    FaPageFocus focus; // where the camera looks at first
    double exaggerate; // the difference of `after` from `before` is shown this many times as large; 0: once
    double speed;      // of playing; 0: 1
    bool hold_head;    // show the head held still
} FaPagePair;

/// A mesh that comes along, moved by its own shapes under each track's clip: eyes, teeth, tongue.
typedef struct FaPagePart {
    const FaRig *rig;
    const char *material;       // "eye", "teeth", "mouth", "bone" or "other"
    const unsigned char *color; // sRGB per vertex instead (e.g. an iris); nullable       (nvert x 3)
} FaPagePart;

/// A muscle under the skin, which the page then can make transparent: picked by a click, switched on and off.
typedef struct FaPageMuscle {
    const char *name;  // "zygomaticus_major.L"
    const char *bone;  // what holds it: "skull", "jaw", "none"
    double force;      // N at full strength
    int nvert, ntri;   //
    const float *rest; // m, the page's own rig's frame        (nvert x 3)
    const int *tri;    //                                      (ntri x 3)
} FaPageMuscle;

/// A target that the page's own sliders move: its weight, its moment, its spring. The first track of such a page shows
/// linear blending, the others what the springs make of it.
typedef struct FaPageSlider {
    const char *name;
    const int *shape; // of the page's rig               (nshape)
    int nshape;
} FaPageSlider;

typedef struct FaPageOptions {
    const FaPagePart *parts; // what comes along; NULL: the other meshes of the rig's own file
    int nparts;
    const unsigned char
        *color;              // sRGB per vertex of the rig itself, and of tracks' own rigs that have its mesh; nullable
                             //                                                        (nvert x 3)
    const FaPagePair *pairs; // NULL: made
    int npairs;
    const FaPageMuscle *muscles; // of the page's own rig; nullable
    int nmuscles;
    const FaPageSlider *sliders; // nullable
    int nsliders;
    double mass, damping, stiffness; // that they begin with
    const char *title;               // nullable
    const char *facts;               // lines at the bottom: command, parameters, figures; nullable
    double bake_error_mm;            // how exactly frames are stored; 0: 0.02
    FaProgressFn *progress;          // nullable
    void *progress_user;
} FaPageOptions;
FA_API FaPageOptions fa_page_options_default(void); // bake_error_mm

/// Write the page. The frames are stored as the rig's shapes plus as few extra targets as keep every vertex within the
/// error asked for. Atomic.
FA_API FaCode fa_page_save(const char *path, const FaRig *rig, const FaPageTrack *tracks, int ntrack,
                           const FaPageOptions *options, FaError *err);

#ifdef __cplusplus
}
#endif
#endif
