// fascia_rt.h: plays a face that `fascia run RIG --bind face.fart` wrote. The library libfascia-rt needs libc and libm,
// and nothing else; no call but fa_rt_load allocates.
//
//     FaRt *face;  char why[FA_RT_TEXT];
//     if (fa_rt_load("face.fart", &face, why) < 0) ...
//     float *x = malloc(3 * sizeof *x * (size_t)fa_rt_vertices(face));
//     fa_rt_frame(face, weights, x);                  // every frame: the rig's shapes, and what the network adds
//     fa_rt_free(face);
//
// A face has scratch of its own: one thread each. The same bits on every machine that has IEEE floats, whichever
// kernels run. Files are little endian, and so must the machine be. What is not in here: contact of lips and lids,
// which the program and the library fascia add.
#ifndef FASCIA_RT_H
#define FASCIA_RT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FA_RT_API __attribute__((visibility("default")))
#else
#define FA_RT_API
#endif

enum { FA_RT_OK = 0, FA_RT_FILE = -1, FA_RT_FORMAT = -2, FA_RT_MEMORY = -3, FA_RT_TEXT = 160 };

typedef struct FaRt FaRt;

/// A file, into memory of its own. why (nullable): what is wrong, in words. *face is NULL on failure.
FA_RT_API int fa_rt_load(const char *path, FaRt **face, char why[FA_RT_TEXT]);
FA_RT_API void fa_rt_free(FaRt *face); // of fa_rt_load; NULL is fine

/// The same without any allocation: a file's bytes, which must stay, aligned to 8, and memory of the caller's, aligned
/// to 64, of at least fa_rt_room bytes (0: not such a file).
FA_RT_API size_t fa_rt_room(const void *data, size_t size);
FA_RT_API int fa_rt_place(const void *data, size_t size, void *memory, size_t room, FaRt **face, char why[FA_RT_TEXT]);

FA_RT_API int fa_rt_vertices(const FaRt *face);
FA_RT_API int fa_rt_shapes(const FaRt *face);
FA_RT_API int fa_rt_targets(const FaRt *face); // K, that the network gives weights of
FA_RT_API const char *fa_rt_shape_name(const FaRt *face, int shape);
FA_RT_API int fa_rt_find(const FaRt *face, const char *name); // the shape of that name, -1: none

/// A frame: weights per shape of the rig -> positions, m (vertices x 3), in the rig's own frame. A weight that is not a
/// number counts as 0.
FA_RT_API void fa_rt_frame(FaRt *face, const float *weights, float *x);
/// Its parts. linear: the rig as it is. network: weights of the K targets. correct: x += amount times what they add.
FA_RT_API void fa_rt_linear(const FaRt *face, const float *weights, float *x);
FA_RT_API void fa_rt_network(FaRt *face, const float *weights, float *targets);
FA_RT_API void fa_rt_correct(FaRt *face, const float *targets, float amount, float *x);

/// Soft motion in closed form: every weight is a mass on a spring that follows its goal (`fascia blend`). spring: kg,
/// kg/s, kg/s2, all above 0 (damping may be 0); the weights come to rest. soften: one step of `seconds` towards goals
/// that move evenly within it; out (shapes) may be goals. The first step after spring begins at rest on its goals.
FA_RT_API int fa_rt_spring(FaRt *face, double mass, double damping, double stiffness);
FA_RT_API void fa_rt_soften(FaRt *face, double seconds, const float *goals, float *out);

/// 0: plain C, 1: AVX2 where the processor has it (as from the start). The bits are the same.
FA_RT_API void fa_rt_simd(FaRt *face, int wanted);

#ifdef __cplusplus
}
#endif
#endif
