// Contact sheets: tiles of one size in a grid, each with a caption below.
#ifndef FAI_SHEET_H
#define FAI_SHEET_H

#include "base/base.h"
#include "fascia/render.h"

typedef struct FaSheet {
    FaImage image;
    int tile_width, tile_height; // of a picture
    int columns, rows, count;
    int gap, caption, top; // pixels: between tiles, for a caption, for the title
} FaSheet;

// columns 0: chosen so that the sheet is about 4:3 and its last row is full. title nullable. legend: keep room for one.
FaCode fai_sheet_new(FaSheet *sheet, int count, int columns, int tile_width, int tile_height, const char *title,
                     bool legend, FaError *err);
// The same with room for so many lines in each caption, parted by '\n'.
FaCode fai_sheet_new_lines(FaSheet *sheet, int count, int columns, int tile_width, int tile_height, const char *title,
                           bool legend, int lines, FaError *err);
int fai_caption_lines(const char *caption); // 1 to 8
void fai_sheet_legend(FaSheet *sheet, double heat_max_mm, const char *title);
void fai_sheet_put(FaSheet *sheet, int i, const FaImage *tile, const char *caption);
void fai_sheet_free(FaSheet *sheet);

#endif
