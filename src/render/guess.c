// Skin, eyes, teeth or mouth: told by name where there is one, by form else.
#include "mesh/mesh.h"
#include "render/subject.h"
#include "render/vec.h"

#include <ctype.h>
#include <math.h>

// Words in the order in which they count: "eyelash" is no eye, "eyelid" is skin.
static const struct {
    const char *word;
    signed char material;
} words[] = {
    {"lash", FA_RENDER_HIDDEN},      {"occlusion", FA_RENDER_HIDDEN}, {"lacrimal", FA_RENDER_HIDDEN},
    {"tearline", FA_RENDER_HIDDEN},  {"cornea", FA_RENDER_HIDDEN},    {"eyewet", FA_RENDER_HIDDEN},
    {"eyeshadow", FA_RENDER_HIDDEN}, {"eyeblend", FA_RENDER_HIDDEN},  {"eyelid", FA_RENDER_SKIN},
    {"brow", FA_RENDER_OTHER},       {"socket", FA_RENDER_SKIN},      {"eyeline", FA_RENDER_OTHER},
    {"eyeball", FA_RENDER_EYE},      {"eye", FA_RENDER_EYE},          {"iris", FA_RENDER_EYE},
    {"sclera", FA_RENDER_EYE},       {"teeth", FA_RENDER_TEETH},      {"tooth", FA_RENDER_TEETH},
    {"dentur", FA_RENDER_TEETH},     {"tongue", FA_RENDER_MOUTH},     {"gum", FA_RENDER_MOUTH},
    {"mouth", FA_RENDER_MOUTH},      {"palate", FA_RENDER_MOUTH},     {"skull", FA_RENDER_BONE},
    {"mandible", FA_RENDER_BONE},    {"cranium", FA_RENDER_BONE},     {"bone", FA_RENDER_BONE},
    {"hair", FA_RENDER_OTHER},       {"cloth", FA_RENDER_OTHER},      {"shirt", FA_RENDER_OTHER},
    {"glasses", FA_RENDER_OTHER},    {"skin", FA_RENDER_SKIN},        {"face", FA_RENDER_SKIN},
    {"head", FA_RENDER_SKIN},        {"body", FA_RENDER_SKIN},
};

int fai_material_of_name(const char *name) {
    char plain[128];
    size_t n = 0;
    for (const char *s = name; *s && n + 1 < sizeof plain; s++)
        if (isalnum((unsigned char)*s)) plain[n++] = (char)tolower((unsigned char)*s);
    plain[n] = 0;
    for (int i = 0; i < FA_COUNT(words); i++)
        if (strstr(plain, words[i].word)) return words[i].material;
    return -1;
}

// --- by form ------------------------------------------------------------------------------------------------------

typedef struct Piece { // a connected part of the mesh, canonical axes
    double lo[3], hi[3];
    double sum[3];
    int count;
    double centre[3], radius; // of a ball
    bool ball, skin;
    int material;
} Piece;

static double size_of(const Piece *p) {
    return FA_MAX(p->hi[0] - p->lo[0], FA_MAX(p->hi[1] - p->lo[1], p->hi[2] - p->lo[2]));
}

static void to_canonical(const double a[9], const float *x, double q[3]) {
    for (int k = 0; k < 3; k++) q[k] = a[3 * k] * x[0] + a[3 * k + 1] * x[1] + a[3 * k + 2] * x[2];
}

static void measure(const FaMesh *mesh, const double axes[9], const FaTopology *topo, Piece *piece) {
    for (int i = 0; i < topo->nparts; i++)
        for (int k = 0; k < 3; k++) piece[i].lo[k] = INFINITY, piece[i].hi[k] = -INFINITY;
    for (int v = 0; v < mesh->nvert; v++) {
        if (topo->part[v] < 0) continue;
        Piece *p = &piece[topo->part[v]];
        double q[3];
        to_canonical(axes, mesh->x + 3 * v, q);
        for (int k = 0; k < 3; k++)
            p->lo[k] = FA_MIN(p->lo[k], q[k]), p->hi[k] = FA_MAX(p->hi[k], q[k]), p->sum[k] += q[k];
        p->count++;
    }
    // a ball fills its box: all vertices lie near one radius about the middle of the two sides that are whole (x and y;
    // the back of an eyeball is often missing)
    for (int i = 0; i < topo->nparts; i++) {
        Piece *p = &piece[i];
        p->radius = 0.25 * (p->hi[0] - p->lo[0] + p->hi[1] - p->lo[1]);
        p->centre[0] = 0.5 * (p->lo[0] + p->hi[0]);
        p->centre[1] = 0.5 * (p->lo[1] + p->hi[1]);
        p->centre[2] = p->hi[2] - p->radius;
        p->ball = p->count >= 30 && p->radius > 0.008 && p->radius < 0.020;
    }
}

// Strike out the balls that are none: more than a tenth of the vertices off the radius by a fifth.
static FaCode check_balls(const FaMesh *mesh, const double axes[9], const FaTopology *topo, Piece *piece,
                          FaError *err) {
    int *off = FA_NEW(topo->nparts, int);
    if (!off) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < mesh->nvert; v++) {
        int i = topo->part[v];
        if (i < 0 || !piece[i].ball) continue;
        double q[3];
        to_canonical(axes, mesh->x + 3 * v, q);
        double r = sqrt((q[0] - piece[i].centre[0]) * (q[0] - piece[i].centre[0]) +
                        (q[1] - piece[i].centre[1]) * (q[1] - piece[i].centre[1]) +
                        (q[2] - piece[i].centre[2]) * (q[2] - piece[i].centre[2]));
        off[i] += fabs(r / piece[i].radius - 1) > 0.2;
    }
    for (int i = 0; i < topo->nparts; i++) piece[i].ball = piece[i].ball && off[i] * 10 <= piece[i].count;
    fa_free(off);
    return FA_OK;
}

// The two balls that mirror each other best, 45 to 85 mm apart.
static bool find_eyes(const Piece *piece, int n, int eye[2]) {
    double best = 0.01;
    bool found = false;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n && piece[i].ball; j++) {
            if (!piece[j].ball) continue;
            double apart = fabs(piece[i].centre[0] - piece[j].centre[0]);
            double off = fabs(piece[i].centre[1] - piece[j].centre[1]) + fabs(piece[i].centre[2] - piece[j].centre[2]) +
                         fabs(piece[i].radius - piece[j].radius);
            if (apart < 0.045 || apart > 0.085 || off >= best) continue;
            best = off;
            eye[0] = i, eye[1] = j;
            found = true;
        }
    return found;
}

// What a piece is, seen from the eyes.
static int judge(const Piece *p, const Piece *a, const Piece *b) {
    double apart = fabs(a->centre[0] - b->centre[0]), size = size_of(p);
    double mid[3], at[3];
    for (int k = 0; k < 3; k++) mid[k] = 0.5 * (a->centre[k] + b->centre[k]), at[k] = 0.5 * (p->lo[k] + p->hi[k]);
    for (int e = 0; e < 2; e++) {
        const Piece *eye = e ? b : a;
        double r = eye->radius, dx = at[0] - eye->centre[0], dy = at[1] - eye->centre[1], dz = at[2] - eye->centre[2];
        if (fabs(dx) > 0.9 * r || fabs(dy) > 0.9 * r || fabs(dz) > 2.2 * r || size > 3.2 * r) continue;
        // within the ball: its iris; a thin thing wholly before its middle: tears, lashes, a shell; else the socket
        bool inside = true;
        for (int k = 0; k < 3; k++)
            inside &= p->lo[k] > eye->centre[k] - 1.02 * r && p->hi[k] < eye->centre[k] + 1.12 * r;
        if (inside && (p->hi[0] - p->lo[0] < 1.5 * r || p->ball)) return FA_RENDER_EYE;
        if (p->lo[2] > eye->centre[2] - 0.15 * r) return FA_RENDER_HIDDEN;
        return FA_RENDER_SKIN;
    }
    bool in_mouth = fabs(at[0] - mid[0]) < 0.6 * apart && at[1] < mid[1] - 0.6 * apart &&
                    at[1] > mid[1] - 1.8 * apart && at[2] > mid[2] - 0.9 * apart && at[2] < mid[2] + 0.6 * apart &&
                    size < 1.6 * apart;
    if (!in_mouth) return FA_RENDER_SKIN;
    return size < 0.3 * apart ? FA_RENDER_TEETH : FA_RENDER_MOUTH;
}

FaCode fai_material_guess(const FaMesh *mesh, const double axes[9], unsigned char *material, FaError *err) {
    FaTopology topo;
    memset(material, FA_RENDER_SKIN, (size_t)mesh->ntri);
    FA_TRY(fai_topology_build(mesh, &topo, err));
    FaCode rc = FA_OK;
    int eye[2];
    Piece *piece = FA_NEW(topo.nparts, Piece);
    if (!piece) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    if (topo.nparts < 3 || topo.nparts > 4096) goto done;
    measure(mesh, axes, &topo, piece);
    FA_TRY_GOTO(done, rc, check_balls(mesh, axes, &topo, piece, err));
    if (!find_eyes(piece, topo.nparts, eye)) goto done;
    for (int i = 0; i < topo.nparts; i++)
        piece[i].material =
            i == eye[0] || i == eye[1] ? FA_RENDER_EYE : judge(&piece[i], &piece[eye[0]], &piece[eye[1]]);
    for (int t = 0; t < mesh->ntri; t++) {
        int p = topo.part[mesh->tri[3 * t]];
        if (p >= 0) material[t] = (unsigned char)piece[p].material;
    }
done:
    fa_free(piece);
    fai_topology_free(&topo);
    return rc;
}
