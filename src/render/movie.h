// Pictures to a film: raw frames are piped to ffmpeg, which writes MP4 (H.264) or GIF beside the final name.
#ifndef FAI_MOVIE_H
#define FAI_MOVIE_H

#include "base/base.h"
#include "fascia/render.h"

typedef struct FaMovie FaMovie;

// By extension: .mp4 .m4v .mov or .gif. False for anything else.
bool fai_movie_path(const char *path);
// The rate a film of this name is played at when the animation runs at fps: GIF counts hundredths of a second, and few
// players show more than 25 a second.
double fai_movie_rate(const char *path, double fps);

FaCode fai_movie_open(const char *path, int width, int height, double fps, const char *comment, FaMovie **movie,
                      FaError *err);
FaCode fai_movie_frame(FaMovie *movie, const FaImage *image, FaError *err);
// Frees, also on failure; the file appears complete or not at all.
FaCode fai_movie_finish(FaMovie *movie, FaError *err);
void fai_movie_abandon(FaMovie *movie); // NULL is fine

#endif
