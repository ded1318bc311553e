// The heat map: mm to colour, a scale with round numbers, and the bar that explains it.
#ifndef FAI_HEAT_H
#define FAI_HEAT_H

#include "fascia/render.h"
#include "render/vec.h"

// Linear colour of a fraction 0..1 of the scale; beyond 1 it is the last one. 0 is the grey of undisturbed clay.
FaVec fai_heat_colour(float fraction);
// The round end of a scale that holds `most` mm; at least 0.01.
double fai_heat_scale(double most_mm);
// Draw the bar with its ticks in mm along the right edge. exceeded: the data goes beyond the scale (the bar says so).
void fai_heat_legend(FaImage *image, double max_mm, const char *title, bool exceeded);
// A lying bar from x0 to x1, its upper edge at y, numbers of the given size below it, the title to its left.
void fai_heat_strip(FaImage *image, float x0, float y, float x1, float size, double max_mm, const char *title);

#endif
