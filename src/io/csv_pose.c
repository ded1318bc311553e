#include "io/csv_pose.h"

const char *const fai_csv_pose_name[FA_CSV_POSE] = {"head.qx", "head.qy", "head.qz", "head.qw",
                                                    "head.px", "head.py", "head.pz"};

int fai_csv_pose_column(const FaCsvCell *cell) {
    for (int i = 0; i < FA_CSV_POSE; i++)
        if (fai_csv_is(cell, fai_csv_pose_name[i])) return i;
    return -1;
}

FaCode fai_csv_pose_whole(const bool has[FA_CSV_POSE], FaError *err) {
    int q = has[0] + has[1] + has[2] + has[3], p = has[4] + has[5] + has[6];
    if (q % FA_CSV_QUAT || p % (FA_CSV_POSE - FA_CSV_QUAT))
        return FA_FAIL(err, FA_E_FORMAT, "line 1", "give head.qx head.qy head.qz head.qw and head.px head.py head.pz",
                       "some of the head's columns are missing");
    return FA_OK;
}

FaCode fai_csv_pose_unit(FaPose *pose, int line, FaNotes *notes, FaError *err) {
    if (fai_pose_unit(pose, notes, FA_PLACE("line %d", line))) return FA_OK;
    return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", line), "head.q* is a unit quaternion",
                   "the head's quaternion has no direction");
}

void fai_csv_pose_header(FaText *out) {
    for (int i = 0; i < FA_CSV_POSE; i++) fai_text_printf(out, ",%s", fai_csv_pose_name[i]);
}

void fai_csv_pose_write(const FaPose *pose, FaText *out) {
    for (int i = 0; i < FA_CSV_POSE; i++) {
        fai_text_bytes(out, ",", 1);
        fai_text_double(out, i < FA_CSV_QUAT ? pose->q[i] : pose->p[i - FA_CSV_QUAT]);
    }
}
