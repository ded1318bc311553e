// Time codes of a take: from text to exact seconds. The rate that the frame field counts at is not written in the file;
// it is found from all stamps together. See livelink.h for the rules.
#ifndef FAI_TIMECODE_H
#define FAI_TIMECODE_H

#include "base/text.h"

typedef enum FaStampKind {
    FA_STAMP_NONE,
    FA_STAMP_TIMECODE, // HH:MM:SS:FF[.fff]
    FA_STAMP_CLOCK,    // HH:MM:SS[.fff]
    FA_STAMP_FRAMES,   // frame and subframe at a rate that the file states
} FaStampKind;

typedef struct FaTimecode {
    FaStampKind kind;
    bool semicolon;  // HH:MM:SS;FF was seen
    double num, den; // FA_STAMP_FRAMES: frames per second, given
    int rate;        // found: what FF counts to
    bool drop;       // found: drop-frame counting
    bool assumed;    // nothing in the stamps tells the rate; 60 was taken
} FaTimecode;

// A stamp is one integer that orders like the time it stands for: (second * 1000 + FF) * 1e9 + billionths of a frame
// or, for a clock, of a second; for frames, frame * 1e9 + billionths.
enum { FA_STAMP_FRAME_MAX = 999 };
#define FA_STAMP_UNIT 1000000000LL
#define FA_STAMP_SECOND (1000 * FA_STAMP_UNIT)
#define FA_STAMP_DAY (86400 * FA_STAMP_SECOND)

// Read "13:13:04:31.652" exactly between s and end; fills kind and semicolon. False: not a time code.
bool fai_timecode_parse(const char *s, const char *end, FaTimecode *tc, int64_t *stamp);
bool fai_timecode_frames(double frame, double subframe, int64_t *stamp);

// Seconds from the first stamp (n), and of the first one. Stamps must increase strictly. Finds rate, drop and assumed.
FaCode fai_timecode_times(FaTimecode *tc, const int64_t *stamp, int n, double *time, double *start, FaError *err);

// Append seconds (0 or more) as HH:MM:SS:FF.mmm at 60, wrapped at midnight. Returns the thousandths written, unwrapped.
int64_t fai_timecode_write(FaText *out, double seconds);

#endif
