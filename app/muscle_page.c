#include "muscle_page.h"

#include "cli.h"

#include <stdlib.h>
#include <string.h>

FaCode muscle_page_fill(FaMuscleModel *model, const double *activation, MusclePage *page, FaError *err) {
    *page = (MusclePage){.n = fa_muscle_count(model)};
    size_t nvert = 0, at = 0;
    for (int i = 0; i < page->n; i++) {
        const FaMuscleInfo info = fa_muscle_info(model, i);
        FaMuscleMesh mesh;
        FaCode rc = fa_muscle_mesh(model, i, &mesh, err);
        if (rc < 0) return rc;
        page->muscle[i] = (FaPageMuscle){.name = info.name,
                                         .bone = strcmp(info.origin, "none") ? info.origin : info.insertion,
                                         .force = info.force,
                                         .nvert = mesh.nvert,
                                         .ntri = mesh.ntri,
                                         .rest = mesh.x,
                                         .tri = mesh.tri};
        page->activation[i] = activation[i];
        nvert += (size_t)mesh.nvert;
    }
    if (!(page->x = malloc((3 * nvert + 1) * sizeof *page->x))) return cli_no_memory(err);
    for (int i = 0; i < page->n; i++) {
        FaCode rc = fa_muscle_mesh_posed(model, i, page->x + at, err);
        if (rc < 0) return rc;
        at += 3 * (size_t)page->muscle[i].nvert;
    }
    return FA_OK;
}

void muscle_page_tracks(const MusclePage *page, FaPageTrack *rest, FaPageTrack *posed) {
    rest->activation = page->slack;
    posed->activation = page->activation, posed->muscle_x = page->x;
}

void muscle_page_free(MusclePage *page) {
    free(page->x);
    page->x = NULL;
}
