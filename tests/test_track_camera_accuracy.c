// The long half of test_track_camera.c: accuracy on takes, a thousand frames, the user's model.
// labels: heavy
#define CAMERA_ACCURACY 1
#include "test_track_camera.c"
