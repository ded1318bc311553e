// Flesh, muscles and samples of a model as bytes, kept in the .face file so that opening a face need not make them
// again. They are a cache: what does not fit the face and the rig, or is damaged, is made again, to the same bits.
#ifndef FAI_MUSCLE_FILE_H
#define FAI_MUSCLE_FILE_H

#include "muscle/muscle_model.h"

// Free *data with fa_free.
FaCode fai_muscle_pack(const FaMuscleModel *model, unsigned char **data, size_t *size, FaError *err);
// The model's rig, face and flesh_size are set; all that was packed is filled in. False: the bytes are of something
// else, or not sound; the model is as before.
bool fai_muscle_unpack(FaMuscleModel *model, const unsigned char *data, size_t size);
// How many muscles of the user's own files such bytes hold, be they sound or not. data may be NULL.
int fai_muscle_packed_own(const unsigned char *data, size_t size);

#endif
