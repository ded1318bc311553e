// Contact of a face: what of it may touch, what it may touch beside itself, and how stiff that is.
#ifndef FAI_TOUCHING_H
#define FAI_TOUCHING_H

#include "contact/contact.h"
#include "face/face.h"

enum { FA_TOUCH_COLLIDERS = 12 };

// What may touch; the whole face where something hangs free, which may swing against any of it. OPENINGS: the mouth
// with the skin that its lining lies behind, which it comes through where a lip is rolled far, and the lids: all that
// crosses on faces driven by others' shapes, at a third of what the whole face costs.
typedef enum FaTouch { FA_TOUCH_MOUTH, FA_TOUCH_FACE, FA_TOUCH_OFF, FA_TOUCH_OPENINGS } FaTouch;

typedef struct FaTouchOptions {
    FaTouch what;
    bool teeth;       // and other bones given beside skull and jaw; eyeballs where the whole face may touch
    double stiffness; // N/m/mm2
    double friction;
    double sticky_stiffness; // N/m/mm2; 0: nothing sticks
    double sticky_length;    // m
    unsigned sticks;         // what sticks, as fai_region_list has it; 0: the lips
    double nearby, soft;     // m: of fai_contact_nearby; 0: not used
    int max_rows;
    uint64_t seed;
} FaTouchOptions;

typedef struct FaTouching {
    FaContact *contact; // NULL: off, or no mouth was found (noted)
    int ncollider;
    bool with_jaw[FA_TOUCH_COLLIDERS];
    unsigned char *touch; // bits as FaContactSurface has them                       (nskin)
    float *rest;          // m: the face's x0, lips that lie on each other a little apart (fai_contact_part); NULL as
                          // contact is                                              (nskin x 3)
} FaTouching;

FaCode fai_touching_new(const FaFace *face, const FaTouchOptions *o, FaTouching *t, FaNotes *notes, FaError *err);
void fai_touching_free(FaTouching *t);
// Where the colliders are for these weights.
void fai_touching_poses(const FaTouching *t, const FaFace *face, const float *weights, FaPose pose[FA_TOUCH_COLLIDERS]);

#endif
