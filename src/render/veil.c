#include "render/veil.h"

#include "base/task.h"

#include <math.h>

enum { SIDE = 3 }; // rays of a pixel, squared

typedef struct Job {
    const FaRenderer *r;
    const FaImage *over;
    FaImage *under;
    float thin;
} Job;

// How much of the skin is seen at a point of the picture.
static float cover_at(const Job *job, float px, float py) {
    const FaScene *s = job->r->scene;
    FaVec from, dir, n = {0, 0, 0};
    fai_camera_ray(&job->r->camera, px, py, &from, &dir);
    FaHit hit = fai_rays_hit(s->rays, from, dir);
    if (hit.tri < 0 || s->material[hit.tri] != FA_RENDER_SKIN) return 0;
    const float w[3] = {1 - hit.u - hit.v, hit.u, hit.v};
    for (int k = 0; k < 3; k++) n = fai_mad(n, fai_vec_of(s->normal + 3 * s->corner_normal[3 * hit.tri + k]), w[k]);
    float edge = 1 - FA_MIN(1.0f, fabsf(fai_dot(fai_unit(n), dir)));
    return job->thin + (1 - job->thin) * edge * edge * sqrtf(edge);
}

static void lay_rows(void *ctx, int begin, int end, int chunk) {
    const Job *job = ctx;
    (void)chunk;
    for (int y = begin; y < end; y++)
        for (int x = 0; x < job->over->width; x++) {
            float cover = 0;
            for (int k = 0; k < SIDE * SIDE; k++)
                cover += cover_at(job, (float)x + ((float)(k % SIDE) + 0.5f) / SIDE,
                                  (float)y + ((float)(k / SIDE) + 0.5f) / SIDE);
            cover /= SIDE * SIDE;
            size_t at = 3 * ((size_t)y * (size_t)job->over->width + (size_t)x);
            for (size_t k = at; k < at + 3; k++) {
                float a = job->under->rgb[k], b = job->over->rgb[k];
                job->under->rgb[k] = (unsigned char)(a + (b - a) * cover + 0.5f);
            }
        }
}

FaCode fai_veil(const FaRenderer *skin, const FaImage *over, double thin, FaImage *under, FaError *err) {
    if (over->width != under->width || over->height != under->height || over->width != skin->camera.width)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "pictures of different sizes cannot be laid over each other");
    Job job = {.r = skin, .over = over, .under = under, .thin = (float)thin};
    fai_parallel(over->height, 4, lay_rows, &job);
    return FA_OK;
}
