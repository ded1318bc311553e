// Drawing on a finished picture: rectangles, lines, text in our own stroke font.
#ifndef FAI_CANVAS_H
#define FAI_CANVAS_H

#include "base/base.h"
#include "fascia/render.h"

typedef struct FaInk {
    unsigned char r, g, b;
    float alpha; // 0..1
} FaInk;

// Edges may fall between pixels; what lies outside of the picture is cut off.
void fai_canvas_rect(FaImage *image, float x0, float y0, float x1, float y1, FaInk ink);
void fai_canvas_line(FaImage *image, float x0, float y0, float x1, float y1, float width, FaInk ink);

typedef enum FaAlign { FA_ALIGN_LEFT, FA_ALIGN_CENTRE, FA_ALIGN_RIGHT } FaAlign;
// One line of UTF-8 text; size is the height of capitals in pixels, y the base line. What the font lacks is a box.
void fai_canvas_text(FaImage *image, float x, float y, float size, FaAlign align, const char *text, FaInk ink);
float fai_text_width(const char *text, float size);
// The same with a soft dark edge, so that it reads on any ground.
void fai_canvas_label(FaImage *image, float x, float y, float size, FaAlign align, const char *text, FaInk ink);
// Shorten text to fit into `width` pixels: a tail of ".." replaces what is lost.
void fai_text_fit(char *text, float size, float width);

// Copy a picture into another, its upper left corner at x, y.
void fai_canvas_place(FaImage *image, const FaImage *tile, int x, int y);

// --- font.c -------------------------------------------------------------------------------------------------------
// Strokes of a character: segments in units of the grid (capitals are 9 high, the base line is 0), and its width.
enum { FA_GLYPH_SEGMENTS = 192 };
typedef struct FaGlyph {
    int n;
    float segment[FA_GLYPH_SEGMENTS][4]; // x0 y0 x1 y1, y upwards
    float width;
} FaGlyph;
void fai_glyph(uint32_t code, FaGlyph *glyph);
float fai_glyph_width(uint32_t code);

#endif
