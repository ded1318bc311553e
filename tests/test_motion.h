// A runner as a BVH, as motion capture writes them: a rest pose first, centimetres, jitter, and a way of 3 m/s.
#ifndef FASCIA_TEST_MOTION_H
#define FASCIA_TEST_MOTION_H

#include "test.h"

#include "base/base.h"

// nframe at 120 fps, the rest pose included. jump: metres to the side that the runner is moved by half way.
static inline void write_runner(const char *path, int nframe, double jump) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation "
          "Xrotation\n"
          "JOINT Leg\n{\nOFFSET 0 -90 0\nCHANNELS 3 Zrotation Yrotation Xrotation\nEnd Site\n{\nOFFSET 0 -5 0\n}\n}\n"
          "JOINT Neck\n{\nOFFSET 0 55 0\nCHANNELS 3 Zrotation Yrotation Xrotation\n"
          "JOINT Head\n{\nOFFSET 0 12 2\nCHANNELS 3 Zrotation Yrotation Xrotation\nEnd Site\n{\nOFFSET 0 10 "
          "0\n}\n}\n}\n}\n",
          f);
    fprintf(f, "MOTION\nFrames: %d\nFrame Time: 0.00833333\n", nframe);
    for (int i = 0; i < nframe; i++) {
        double t = (i - 1) / 120.0, s = sin(2 * M_PI * 2.6 * t), noise[3];
        for (int k = 0; k < 3; k++) noise[k] = 0.2 * (fai_random_unit(5, 8 * (uint64_t)i + (uint64_t)k) - 0.5);
        if (i == 0) // all angles 0, at the origin
            fputs("0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", f);
        else // it runs along -x: the hips are turned by -90 degrees
            fprintf(f, "%.4f %.4f %.4f 0 -90 8 0 0 0 0 0 0 %.4f %.4f %.4f\n", -300 * t + noise[0],
                    95 + 4 * s + noise[1], 20 + noise[2] + (i > nframe / 2 ? 100 * jump : 0), 2 * s, 14 * s, 5 * s);
    }
    fclose(f);
}

#endif
