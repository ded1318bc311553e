// Rays through a triangle soup, on Embree 3.
//
// Embree builds with one thread: its tree, and so the order in which equally near triangles are found, must not
// depend on the number of threads. 50k triangles build in some 30 ms.
#include "render/scene.h"

#ifdef FA_HAVE_EMBREE
#include <embree3/rtcore.h>

struct FaRays {
    RTCDevice device;
    RTCScene scene;
    RTCGeometry geometry;
};

static FaCode fail_embree(FaRays *rays, const char *doing, FaError *err) {
    enum RTCError code = rtcGetDeviceError(rays->device);
    if (code == RTC_ERROR_NONE) return FA_OK;
    if (code == RTC_ERROR_OUT_OF_MEMORY) return FA_FAIL_MEMORY(err);
    return FA_FAIL(err, FA_E_NUMERIC, NULL, NULL, "Embree failed while %s (code %d)", doing, (int)code);
}

FaCode fai_rays_new(FaRays **rays, FaError *err) {
    *rays = FA_NEW(1, FaRays);
    if (!*rays) return FA_FAIL_MEMORY(err);
    (*rays)->device = rtcNewDevice("threads=1,set_affinity=0,ignore_config_files=1");
    if (!(*rays)->device) {
        fai_rays_free(*rays);
        *rays = NULL;
        return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "check the installation of libembree3", "Embree does not start");
    }
    return FA_OK;
}

FaCode fai_rays_set(FaRays *rays, const float *x, int nvert, const int *tri, int ntri, FaError *err) {
    rays->scene = rtcNewScene(rays->device);
    rays->geometry = rtcNewGeometry(rays->device, RTC_GEOMETRY_TYPE_TRIANGLE);
    if (!rays->scene || !rays->geometry) return FA_FAIL_MEMORY(err);
    rtcSetSceneFlags(rays->scene, RTC_SCENE_FLAG_ROBUST);
    rtcSetSceneBuildQuality(rays->scene, RTC_BUILD_QUALITY_MEDIUM);
    if (ntri > 0) {
        rtcSetSharedGeometryBuffer(rays->geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, x, 0, 12,
                                   (size_t)nvert);
        rtcSetSharedGeometryBuffer(rays->geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, tri, 0, 12,
                                   (size_t)ntri);
        rtcAttachGeometryByID(rays->scene, rays->geometry, 0);
    }
    return fail_embree(rays, "taking the triangles", err);
}

FaCode fai_rays_build(FaRays *rays, FaError *err) {
    rtcUpdateGeometryBuffer(rays->geometry, RTC_BUFFER_TYPE_VERTEX, 0);
    rtcCommitGeometry(rays->geometry);
    rtcCommitScene(rays->scene);
    return fail_embree(rays, "building its tree", err);
}

void fai_rays_free(FaRays *rays) {
    if (!rays) return;
    if (rays->geometry) rtcReleaseGeometry(rays->geometry);
    if (rays->scene) rtcReleaseScene(rays->scene);
    if (rays->device) rtcReleaseDevice(rays->device);
    fa_free(rays);
}

static void set_ray(struct RTCRay *ray, FaVec from, FaVec dir, float near, float far) {
    ray->org_x = from.x, ray->org_y = from.y, ray->org_z = from.z;
    ray->dir_x = dir.x, ray->dir_y = dir.y, ray->dir_z = dir.z;
    ray->tnear = near;
    ray->tfar = far;
    ray->time = 0;
    ray->mask = -1u;
    ray->id = 0;
    ray->flags = 0;
}

FaHit fai_rays_hit(const FaRays *rays, FaVec from, FaVec dir) {
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    struct RTCRayHit rh;
    set_ray(&rh.ray, from, dir, 0, INFINITY);
    rh.hit.geomID = RTC_INVALID_GEOMETRY_ID;
    rh.hit.instID[0] = RTC_INVALID_GEOMETRY_ID;
    rtcIntersect1(rays->scene, &context, &rh);
    if (rh.hit.geomID == RTC_INVALID_GEOMETRY_ID) return (FaHit){.tri = -1};
    return (FaHit){(int)rh.hit.primID, rh.hit.u, rh.hit.v, rh.ray.tfar};
}

unsigned fai_rays_blocked(const FaRays *rays, FaVec from, const FaVec *dir, int n, float near) {
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    RTC_ALIGN(32) int valid[FA_RAYS_AT_ONCE];
    struct RTCRay8 ray;
    for (int i = 0; i < FA_RAYS_AT_ONCE; i++) {
        int k = i < n ? i : 0;
        valid[i] = i < n ? -1 : 0;
        ray.org_x[i] = from.x, ray.org_y[i] = from.y, ray.org_z[i] = from.z;
        ray.dir_x[i] = dir[k].x, ray.dir_y[i] = dir[k].y, ray.dir_z[i] = dir[k].z;
        ray.tnear[i] = near;
        ray.tfar[i] = INFINITY;
        ray.time[i] = 0;
        ray.mask[i] = -1u;
        ray.id[i] = 0;
        ray.flags[i] = 0;
    }
    rtcOccluded8(valid, rays->scene, &context, &ray);
    unsigned blocked = 0;
    for (int i = 0; i < n; i++) blocked |= (unsigned)(ray.tfar[i] < 0) << i;
    return blocked;
}

#else

FaCode fai_rays_new(FaRays **rays, FaError *err) {
    *rays = NULL;
    return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "install libembree-dev and build again",
                   "this build cannot render: it has no Embree");
}
FaCode fai_rays_set(FaRays *rays, const float *x, int nvert, const int *tri, int ntri, FaError *err) {
    (void)rays, (void)x, (void)nvert, (void)tri, (void)ntri, (void)err;
    return FA_E_UNSUPPORTED;
}
FaCode fai_rays_build(FaRays *rays, FaError *err) {
    (void)rays, (void)err;
    return FA_E_UNSUPPORTED;
}
void fai_rays_free(FaRays *rays) { (void)rays; }
FaHit fai_rays_hit(const FaRays *rays, FaVec from, FaVec dir) {
    (void)rays, (void)from, (void)dir;
    return (FaHit){.tri = -1};
}
unsigned fai_rays_blocked(const FaRays *rays, FaVec from, const FaVec *dir, int n, float near) {
    (void)rays, (void)from, (void)dir, (void)n, (void)near;
    return 0;
}
#endif
