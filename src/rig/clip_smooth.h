// The filter of fa_clip_smooth_head for one number per frame, in place.
#ifndef FAI_CLIP_SMOOTH_H
#define FAI_CLIP_SMOOTH_H

#include "fascia/clip.h"

FaCode fai_smooth_numbers(int n, double fps, double hz, double *x, FaError *err);

#endif
