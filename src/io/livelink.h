// Takes of Epic's Live Link Face app: one CSV row per frame, 61 values after a time code.
//
// Times. A time code is HH:MM:SS:FF.mmm: FF counts frames of the time code's own rate, mmm thousandths of such a frame.
// That rate is not in the file, and it is not the rate of the rows (alex_rom_3.csv: time code at 60, rows at 30). It is
// found from what happens where the second changes, and from the largest FF. `HH:MM:SS;FF`, or 2 (of 60: 4) numbers
// missing at each full minute but the tenth, mean drop-frame counting at 29.97 (59.94). HH:MM:SS.mmm is a time in
// seconds. Times are whole thousandths subtracted before the one division, so they are exact. A jump back by more than
// half a day is midnight. Also read: columns frame, subframe, fps_num, fps_den, as the app's UDP stream has them.
//
// Columns go by name, whatever their case and order; names come out as ARKit spells them. HeadYaw, HeadPitch, HeadRoll
// become poses; the six eye angles stay channels (leftEyeYaw ...), in radians, left out when all are 0.
//
// Angles. The app's unit is disputed (radians, or half turns: degrees / 180). Auto measures it: the same file has each
// eye's pitch and its eyeLookDown and eyeLookUp weights, and an eye turns 0.61 rad (35 degrees) per unit of weight in
// every take seen (correlation 0.998), so the slope names the unit. Without eyes: radians, or degrees if an angle
// exceeds pi. A note says what was decided and why. Axes: x subject's left, y up, z front. R = Ry(yaw) Rx(pitch)
// Rz(roll), right-handed: positive pitch looks down, positive yaw turns to the subject's left, positive roll tilts the
// head to the subject's right shoulder. The app documents no signs: in takes the eyes' pitch is positive downwards, as
// here, but the eyes' yaw is positive to the right; the eyes' angles are kept as they are.
//
// Decisions (note codes in quotes):
//   NaN, Inf, text in a number's place, over 3e38    error, with line and column
//   time backwards, a row of the wrong length        error
//   a short last row without line end                left out, "last-row-cut"
//   equal time codes                                 the first row is kept, "equal-stamps"; error if most rows are so
//   empty cells                                      the value before is held (at first: the next one), "empty-cells"
//   a row without face: the count is 0               likewise, "face-lost"; error if all rows are so
//   missing frames                                   times keep the gap, "dropped-frames"
//   weights outside 0..1, huge, denormal             kept, see fai_clip_note_weights
//   decimal comma between semicolons or tabs         read, "decimal-comma"
//   no rows                                          error
//   one row                                          a clip of one frame
#ifndef FAI_LIVELINK_H
#define FAI_LIVELINK_H

#include "base/text.h"
#include "fascia/clip.h"

// Does the text start with the header of such a take? Fails on no memory only.
FaCode fai_livelink_sniff(const void *data, size_t size, bool *is_take, FaError *err);
FaCode fai_livelink_parse(const void *data, size_t size, const FaClipOptions *options, FaClip **clip, FaError *err);

// Can the clip be written as a take: does every channel match an ARKit shape of its own (fa_arkit_match), or an eye
// angle?
bool fai_livelink_fits(const FaClip *clip);
// Append the clip as a take: 63 columns in the app's order and spelling, time code at 60, angles in radians. Weights
// read back to the same bits; times to the nearest thousandth of 1/60 s. Head positions have no column: they are
// dropped with a log line.
FaCode fai_livelink_write(const FaClip *clip, FaText *out, FaError *err);

// headYaw 0, headPitch 1, headRoll 2, leftEyeYaw 3 ... rightEyeRoll 8, whatever the case; -1 for any other name.
int fai_livelink_angle(const char *name);

#endif
