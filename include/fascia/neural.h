// fascia/neural.h: a trained network bound to a rig, what of it an engine plays, and the network that ships.
//
//     FaNeural *bound;  FaNeuralReport report;
//     fa_neural_bind(rig, NULL, FA_NEURAL_INT8, &bound, &report, &err);   // NULL: the network that ships
//     fa_neural_write(bound, "face.fart", &err);                          // for libfascia-rt (fascia_rt.h)
//     fa_neural_free(bound);
// The method "neural" (fascia/method.h) binds by itself and adds the contact of lips and lids.
#ifndef FASCIA_NEURAL_H
#define FASCIA_NEURAL_H

#include "fascia/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum FaNeuralPrecision { FA_NEURAL_F32, FA_NEURAL_F16, FA_NEURAL_INT8 } FaNeuralPrecision;

typedef struct FaNeuralReport {
    double scale;   // of the rig to the template, for which the network sees it
    int pairs;      // shapes known by name that the two were brought together by
    double fit;     // m: root mean square distance of the vertices to the template laid over them
    double covered; // share of the template's moving nodes that the rig has a surface for
    int moving;     // vertices that a shape moves by 0.1 mm
    int unmatched;  // of them, without a counterpart; most follow their neighbours
    double chain;   // what of the shapes is lost from the rig to the template and back: of their root mean square
    const char *worst_shape; // that loses most, and how much of it; of the rig
    double worst;
    double lip_upper, lip_lower; // m: how far jawOpen moves the lips of the template; 0: unknown
    double far;   // how many standard deviations the neutral is from those learnt from, before it is limited
    size_t bytes; // of the file
    int targets;
} FaNeuralReport;

typedef struct FaNeural FaNeural;

/// The size of the network that the program has built in; 0: it has none.
FA_API size_t fa_neural_shipped(void);

/// A network (F.net of `fascia train`; NULL: the one that ships) bound to a rig. FA_E_MESH: this rig is not a face that
/// it knows; the remedy says what to do. FA_E_UNSUPPORTED: none ships. report is nullable; names in it are the rig's.
FA_API FaCode fa_neural_bind(const FaRig *rig, const char *net, FaNeuralPrecision precision, FaNeural **bound,
                             FaNeuralReport *report, FaError *err);
FA_API void fa_neural_free(FaNeural *bound); // NULL is fine
/// The bytes of a .fart file, and the file itself.
FA_API const void *fa_neural_bytes(const FaNeural *bound, size_t *size);
FA_API FaCode fa_neural_write(const FaNeural *bound, const char *path, FaError *err);
/// For engines: the rig with K more morph targets `fascia_000`... (.glb, or what fa_rig_save writes), and the small
/// network that gives their weights as JSON text; free with fa_free.
FA_API FaCode fa_neural_bake(const FaNeural *bound, const FaRig *rig, const char *path, FaError *err);
FA_API FaCode fa_neural_json(const FaNeural *bound, char **json, FaError *err);
/// Files of it: that text, and the same network as ONNX, `weights` [1, shapes] -> weights of the targets [1, K].
FA_API FaCode fa_neural_write_onnx(const FaNeural *bound, const char *path, FaError *err);
FA_API FaCode fa_neural_write_json(const FaNeural *bound, const char *path, FaError *err);

#ifdef __cplusplus
}
#endif
#endif
