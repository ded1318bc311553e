// The head's pose in a table: columns head.qx .. head.qw, head.px .. head.pz.
#ifndef FAI_CSV_POSE_H
#define FAI_CSV_POSE_H

#include "io/clip_tools.h"
#include "io/csv.h"

enum { FA_CSV_POSE = 7, FA_CSV_QUAT = 4 };
extern const char *const fai_csv_pose_name[FA_CSV_POSE];

int fai_csv_pose_column(const FaCsvCell *cell); // which of them; -1: none
FaCode fai_csv_pose_whole(const bool has[FA_CSV_POSE],
                          FaError *err); // all of the rotation or none, the same for the place
FaCode fai_csv_pose_unit(FaPose *pose, int line, FaNotes *notes,
                         FaError *err);                   // a rotation's quaternion, made of length 1
void fai_csv_pose_write(const FaPose *pose, FaText *out); // seven cells, each after a comma
void fai_csv_pose_header(FaText *out);

#endif
