// fascia/fascia.h: all of the public API. Physics for blendshape faces.
#ifndef FASCIA_H
#define FASCIA_H

#include "fascia/analytic.h"
#include "fascia/base.h"
#include "fascia/camera.h"
#include "fascia/clip.h"
#include "fascia/dataset.h"
#include "fascia/drive.h"
#include "fascia/enrich.h"
#include "fascia/face.h"
#include "fascia/head.h"
#include "fascia/json.h"
#include "fascia/markers.h"
#include "fascia/mesh.h"
#include "fascia/method.h"
#include "fascia/muscle.h"
#include "fascia/neural.h"
#include "fascia/neural_train.h"
#include "fascia/output.h"
#include "fascia/page.h"
#include "fascia/projective.h"
#include "fascia/render.h"
#include "fascia/report.h"
#include "fascia/retarget.h"
#include "fascia/rig.h"
#include "fascia/run_file.h"
#include "fascia/sequence.h"
#include "fascia/skulls.h"

#endif
