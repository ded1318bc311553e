// Plays a bound face. Build with one command, here for a build in build/:
//     cc rt/example.c -Iinclude -Lbuild -l:libfascia-rt.a -lm -o play
//     ./play face.fart jawOpen 0.5
#include "fascia_rt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    FaRt *face;
    char why[FA_RT_TEXT];
    if (argc != 4 || fa_rt_load(argv[1], &face, why) < 0) {
        fprintf(stderr, "%s\n", argc != 4 ? "usage: play face.fart SHAPE WEIGHT" : why);
        return 1;
    }
    int n = fa_rt_vertices(face), shape = fa_rt_find(face, argv[2]);
    float *weights = calloc((size_t)fa_rt_shapes(face) + 1, sizeof *weights);
    float *x = malloc(3 * sizeof *x * (size_t)n), *linear = malloc(3 * sizeof *x * (size_t)n);
    if (!weights || !x || !linear || shape < 0) return 1;
    weights[shape] = strtof(argv[3], NULL);
    fa_rt_linear(face, weights, linear);
    fa_rt_frame(face, weights, x);
    double most = 0;
    for (int i = 0; i < 3 * n; i++) most = fmax(most, fabs((double)x[i] - (double)linear[i]));
    printf("%d vertices, %d targets; the network adds up to %.3f mm\n", n, fa_rt_targets(face), 1000 * most);
    free(weights), free(x), free(linear);
    fa_rt_free(face);
    return 0;
}
