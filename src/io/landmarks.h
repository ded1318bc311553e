// Landmarks found in pictures, over time: JSON and CSV. See fascia/markers.h for the type.
//
// Decisions: another number of points than 68, 468 or 478: error. Inf or beyond float range: error with its place; NaN
// (CSV) and null: the point is missing. A frame without a face (no points, null, OpenFace's success 0): all missing,
// "face-lost". More than one face in a frame: the first (OpenFace: the face_id most seen), "several-faces". No face in
// any frame: error. Normalised coordinates (all x and y from -1 to 2, or "units": "normalized") become pixels: times
// the width, z also times the width, y times the height; where no size is known the image is taken as 1 x 1,
// "image-size". Time backwards or equal, fps 0 or negative: error. No times and no rate: 30 per second, "rate-unknown".
// Unknown keys and columns are passed over.
#ifndef FAI_LANDMARKS_H
#define FAI_LANDMARKS_H

#include "base/text.h"
#include "fascia/markers.h"

FaCode fai_landmarks_parse(const void *data, size_t size, const FaLandmarkOptions *options, FaLandmarkTake **take,
                           FaError *err);
FaCode fai_landmarks_json_parse(const void *data, size_t size, const FaLandmarkOptions *options, FaLandmarkTake **take,
                                FaError *err);
// One frame; without a face *take is NULL.
FaCode fai_landmarks_json_frame(const void *data, size_t size, const FaLandmarkOptions *options, FaLandmarkTake **take,
                                FaError *err);
FaCode fai_landmarks_csv_parse(const void *data, size_t size, const FaLandmarkOptions *options, FaLandmarkTake **take,
                               FaError *err);
FaCode fai_landmarks_json_write(const FaLandmarkTake *take, FaText *out, FaError *err);
FaCode fai_landmarks_csv_write(const FaLandmarkTake *take, FaText *out, FaError *err);

// --- for the readers ----------------------------------------------------------------------------------------------

int fai_landmark_count(FaLandmarkLayout layout);
bool fai_landmark_layout(int count, FaLandmarkLayout *layout); // false: no layout has this many

// Fail with FA_E_LIMIT if a take of this size is out of proportion to the file that asks for it.
FaCode fai_landmarks_room(size_t file_size, int64_t nframe, int count, int dims, FaError *err);

typedef struct FaLandmarkFacts {
    bool timed;  // take->time is filled, not from 0
    bool stamps; // those are of unknown unit: s, or ms where the steps are at least 1
    double fps;  // stated; 0: not
    double width, height;
    int normalized; // 1 yes, 0 pixels, 2 metres, -1 not said
    int lost;       // frames without a face
    int first_lost;
    int several; // frames with more than one
} FaLandmarkFacts;
// What both readers end with: times and rate, pixels, notes.
FaCode fai_landmarks_finish(FaLandmarkTake *take, const FaLandmarkFacts *facts, const FaLandmarkOptions *options,
                            FaError *err);

#endif
