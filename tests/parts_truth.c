// Where all meshes of a head are when a clip plays on it: our own evaluation, for checks of other programs.
// usage: parts_truth RIG.glb CLIP FRAME OUT.json
// {"unit": m, "parts": [{"name", "follows", "world": [...], "face": [...]}]}: vertices in the document's world and
// unit (those that triangles use), and in the face's frame, m (all). The face itself is the first.
#include "base/base.h"
#include "render/subject.h"

#include <stdio.h>
#include <stdlib.h>

static FaError err;
#define DO(expr)                                                                                                       \
    do {                                                                                                               \
        if ((expr) < 0) return printf("%s: %s\n", err.path, err.what), 1;                                              \
    } while (0)

static void pose_point(const FaPose *p, const float *x, double out[3]) {
    double a = p->q[0], b = p->q[1], c = p->q[2], w = p->q[3], v[3] = {x[0], x[1], x[2]};
    double t[3] = {2 * (b * v[2] - c * v[1]), 2 * (c * v[0] - a * v[2]), 2 * (a * v[1] - b * v[0])};
    out[0] = v[0] + w * t[0] + b * t[2] - c * t[1] + p->p[0];
    out[1] = v[1] + w * t[1] + c * t[0] - a * t[2] + p->p[1];
    out[2] = v[2] + w * t[2] + a * t[1] - b * t[0] + p->p[2];
}

// pose NULL: as they are, all of them.
static void put(FILE *to, const char *key, const float *x, const FaMesh *m, const FaPose *pose, double unit) {
    bool *used = FA_NEW(m->nvert, bool), first = true;
    for (int i = 0; i < 3 * m->ntri; i++) used[m->tri[i]] = true;
    fprintf(to, ",\"%s\":[", key);
    for (int i = 0; i < m->nvert; i++) {
        if (pose && !used[i]) continue;
        double q[3] = {x[3 * i], x[3 * i + 1], x[3 * i + 2]};
        if (pose) pose_point(pose, x + 3 * (size_t)i, q);
        for (int k = 0; k < 3; k++) fprintf(to, "%s%.9g", first ? "" : ",", q[k] / unit), first = false;
    }
    fprintf(to, "]");
    fa_free(used);
}

int main(int argc, char **argv) {
    static const char *const how[] = {"alone", "skull", "jaw", "shapes"};
    if (argc < 5) return 2;
    FaRig *rig;
    FaClip *clip;
    FaSubject *s;
    DO(fa_rig_load(argv[1], &(FaRigOptions){.any_size = true}, &rig, &err));
    DO(fa_clip_load(argv[2], NULL, &clip, &err));
    DO(fai_subject_new(rig, clip, false, &s, &err));
    int frame = atoi(argv[3]);
    float *x = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    FaPose head;
    fai_subject_pose(s, x, clip->time[frame], NULL);
    fa_rig_blend(rig, s->weights, x);
    fa_clip_sample(clip, clip->time[frame], NULL, &head);
    head = fa_rig_pose(rig, &head);
    FILE *to = fopen(argv[4], "w");
    if (!to) return 1;
    fprintf(to, "{\"unit\":%.9g,\"parts\":[", rig->unit);
    for (int i = 0; i < s->nparts; i++) {
        // companions are the nodes with meshes in order, as the list of parts is
        const char *follows = i ? how[rig->part[i - 1].how] : "face";
        if (i && rig->part[i - 1].how == FA_PART_ALONE) continue;
        fprintf(to, "%s{\"name\":\"%s\",\"follows\":\"%s\"", i ? "," : "", i ? rig->part[i - 1].name : "", follows);
        put(to, "world", s->x[i], s->part[i].mesh, &head, rig->unit);
        put(to, "face", s->x[i], s->part[i].mesh, NULL, 1);
        fprintf(to, "}");
    }
    fprintf(to, "]}\n");
    fclose(to);
    fa_free(x);
    fai_subject_free(s);
    fa_clip_free(clip);
    fa_rig_free(rig);
    return 0;
}
