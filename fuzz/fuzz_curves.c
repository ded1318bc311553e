// Tables of activation by length: what is accepted is a curve, and answers with 0..1.
#include "fuzz.h"
#include "json_mutator.h"

#include "muscle/curves.h"

#include <stdlib.h>

void fuzz_one(const uint8_t *data, size_t size) {
    FaCurveTable t;
    FaError err = {0};
    FaCode rc = fai_curve_table_parse((const char *)data, size, &t, &err);
    if (rc < 0 ? t.arena || !err.what[0] : !t.arena) abort();
    for (int i = 0; i < t.n; i++)
        for (int k = 0; k <= 10; k++) {
            const double a = fa_muscle_curve_activation(&t.curve[i], 0.01 * k);
            if (!t.name[i][0] || t.curve[i].n < 2 || !(a >= 0 && a <= 1)) abort();
        }
    fai_curve_table_free(&t);
}
