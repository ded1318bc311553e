#include "method/touching.h"

#include "face/region_text.h"
#include "math/mat3.h"

#include <math.h>

static const float TOUCHES = 0.05f, STICKS = 0.3f; // of the regions' weights
static const float WALL = 0.01f;                   // m: a lip is no thicker

static int add_colliders(FaTouching *t, const FaFace *f, bool eyes, FaContactBody *collider) {
    int n = 0;
    for (int b = 0; b < f->nbone && n < FA_TOUCH_COLLIDERS; b++) {
        const FaBone *bone = &f->bone[b];
        bool teeth = bone->kind == FA_BONE_TEETH_UPPER || bone->kind == FA_BONE_TEETH_LOWER;
        if (!teeth && bone->kind != FA_BONE_OTHER && !(eyes && bone->kind == FA_BONE_EYE)) continue;
        collider[n] = (FaContactBody){bone->nvert, bone->ntri, bone->x, bone->tri};
        t->with_jaw[n++] = bone->with_jaw;
    }
    return n;
}

// Skin around one node that may touch, mm2: rows are springs of that much skin, so that a finer mesh is not stiffer.
static double touch_area(const FaFace *f, const unsigned char *touch) {
    double sum = 0;
    int n = 0;
    for (int t = 0; t < f->ntri; t++) {
        const int *c = f->tri + 3 * (size_t)t;
        double cross[3];
        if (!(touch[c[0]] & touch[c[1]] & touch[c[2]] & 1)) continue;
        fai_v3_tri_cross(f->x0, c, cross);
        sum += 0.5e6 * fai_v3_norm(cross);
    }
    for (int i = 0; i < f->nskin; i++) n += touch[i] & 1;
    return fmax(sum / FA_MAX(n, 1), 1e-3);
}

// Is a node of the mouth within WALL?
static bool is_around_mouth(const FaFace *f, int i) {
    const float *x = f->x0 + 3 * (size_t)i;
    for (int j = 0; j < f->nskin; j++) {
        const float *y = f->x0 + 3 * (size_t)j;
        float d[3] = {x[0] - y[0], x[1] - y[1], x[2] - y[2]};
        if (f->region[FA_REGION_MOUTH][j] > TOUCHES && d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < WALL * WALL)
            return true;
    }
    return false;
}

static int mark(const FaFace *f, FaTouch what, unsigned sticky, unsigned char *touch) {
    int touching = 0;
    for (int i = 0; i < f->nskin; i++)
        if (fai_face_hangs(f, i) > TOUCHES) what = FA_TOUCH_FACE; // it may swing against any of the skin
    if (!sticky) sticky = 1u << FA_REGION_LIP_UPPER | 1u << FA_REGION_LIP_LOWER;
    for (int i = 0; i < f->nskin; i++) {
        bool in = what == FA_TOUCH_FACE || f->region[FA_REGION_MOUTH][i] > TOUCHES;
        if (what == FA_TOUCH_OPENINGS) in = in || f->region[FA_REGION_EYELIDS][i] > TOUCHES || is_around_mouth(f, i);
        bool sticks = (sticky >> FA_REGIONS & 1) && fai_face_hangs(f, i) > STICKS;
        for (int r = 0; r < FA_REGIONS; r++) sticks |= (sticky >> r & 1) && f->region[r][i] > STICKS;
        bool hangs = fai_face_hangs(f, i) > TOUCHES;
        touch[i] = (unsigned char)((in ? 1 : 0) | (in && sticks ? 2 : 0) | (hangs ? 4 : 0));
        touching += in;
    }
    return touching;
}

FaCode fai_touching_new(const FaFace *f, const FaTouchOptions *o, FaTouching *t, FaNotes *notes, FaError *err) {
    *t = (FaTouching){0};
    if (o->what == FA_TOUCH_OFF) return FA_OK;
    t->touch = FA_NEW(f->nskin, unsigned char);
    if (!t->touch) return FA_FAIL_MEMORY(err);
    if (!mark(f, o->what, o->sticks, t->touch)) {
        fai_note(notes, "no-mouth", "", "paint the region 'mouth', or give --contact face",
                 "no mouth was found: nothing touches");
        return FA_OK;
    }
    FaContactBody collider[FA_TOUCH_COLLIDERS];
    t->ncollider = o->teeth ? add_colliders(t, f, o->what == FA_TOUCH_FACE, collider) : 0;
    double area = touch_area(f, t->touch);
    FaContactOptions c = {.stiffness = area * o->stiffness,
                          .friction = o->friction,
                          .sticky_stiffness = area * o->sticky_stiffness,
                          .sticky_length = o->sticky_length,
                          .sticky_break = 0.1,
                          .nearby = o->nearby,
                          .soft = o->soft,
                          .max_rows = o->max_rows,
                          .seed = o->seed};
    FaContactSurface surface = {f->nskin, f->ntri, f->tri, f->x0, t->touch};
    FA_TRY(fai_contact_new(&surface, t->ncollider, collider, &c, &t->contact, err));
    size_t n = 3 * (size_t)f->nskin;
    t->rest = FA_NEW(n, float);
    if (!t->rest) return FA_FAIL_MEMORY(err);
    memcpy(t->rest, f->x0, n * sizeof *t->rest);
    fai_contact_part(t->contact, t->rest);
    return FA_OK;
}

void fai_touching_free(FaTouching *t) {
    fai_contact_free(t->contact);
    fa_free(t->touch);
    fa_free(t->rest);
    *t = (FaTouching){0};
}

void fai_touching_poses(const FaTouching *t, const FaFace *face, const float *weights,
                        FaPose pose[FA_TOUCH_COLLIDERS]) {
    FaPose jaw = fai_jaw_pose(&face->jaw, weights);
    for (int i = 0; i < t->ncollider; i++) pose[i] = t->with_jaw[i] ? jaw : fai_pose_identity();
}
