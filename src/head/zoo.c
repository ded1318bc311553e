// The animals: which traits each has, the order in which traits are put on, and the folder they are written to.
#include "head/zoo.h"

#include "base/file.h"
#include "base/text.h"
#include "head/shape_ids.h"
#include "head/skin.h"
#include "io/fileset.h"
#include "math/mat3.h"

#include <math.h>

typedef enum Trait {
    CROSS_FEW,
    CROSS_MANY,
    TOUCH,
    NO_BAG,
    OPEN_BAG,
    FLAT_BAG,
    LOOSE_JAW,
    WEAK_JAW,
    MOUTH_OPEN,
    STYLISED,
    LOW,
    ONE_MESH,
    TEETH_IN,
    SEAM,
    CARDS,
    HAIR_CAP,
    BODY,
    FAMILIES,
    VROID,
    PAIRS,
    SWAPPED,
    SAME_NAMES,
    TWO_HEADS,
    Z_UP,
    X_FRONT,
    MIRRORED,
    CM,
    MM,
    INCH,
    NODE_UNDOES,
    MID_CLIP,
    CREATURE,
    TENTACLES,
    FOLDER,
} Trait;
#define T(trait) (UINT64_C(1) << (trait))

typedef struct Animal {
    const char *name;
    uint64_t traits;
    const char *help;
} Animal;

// clang-format off
static const Animal animals[] = {
    {"plain",         0, "the shipped head itself, to compare the others with"},
    {"lips_cross_5",  T(CROSS_FEW), "lips that cross at rest, a few pairs of triangles"},
    {"lips_cross_60", T(CROSS_MANY), "lips that cross at rest, 60 pairs of triangles and more"},
    {"lips_touch",    T(TOUCH), "lips that share their places at rest and cross nowhere"},
    {"mid_clip",      T(MID_CLIP), "a clip that starts with an open mouth"},
    {"no_bag",        T(NO_BAG), "lips without a mouth behind them"},
    {"open_bag",      T(OPEN_BAG), "a mouth that is open at its back"},
    {"flat_bag",      T(FLAT_BAG), "a mouth whose walls lie on each other, without teeth"},
    {"same_names",    T(SAME_NAMES), "eyes, teeth and tongue as meshes with all 52 names; the skin comes last"},
    {"one_mesh",      T(ONE_MESH), "eyes, teeth and tongue within the skin's mesh"},
    {"teeth_in_skin", T(ONE_MESH) | T(TEETH_IN), "the same, and the teeth stand in the lips"},
    {"families",      T(FAMILIES), "AK_ names and AU_ names for the same shapes, both sides and each side"},
    {"vroid_names",   T(VROID), "ARKit's names and Fcl_ names for the same shapes"},
    {"pairs",         T(PAIRS), "mouthSmile beside mouthSmileLeft and mouthSmileRight, and so on"},
    {"swapped_sides", T(SWAPPED), "Left means what the viewer has on the left"},
    {"loose_jaw",     T(LOOSE_JAW), "a jawOpen that goes straight down and turns nothing"},
    {"weak_jaw",      T(WEAK_JAW), "jaw shapes of 15 % of the usual size"},
    {"mouth_open",    T(MOUTH_OPEN), "mouthOpen in place of jawOpen, no other shape of the jaw"},
    {"low",           T(LOW), "1,200 vertices"},
    {"stylised",      T(STYLISED), "huge eyes and a snout"},
    {"snout",         T(CREATURE), "a creature: a long muzzle, a broad jaw, small eyes, pointed ears; its shapes go along"},
    {"tentacles",     T(TENTACLES), "a creature with six tentacles on cheeks and chin that hang free, and a head that shakes and lies down"},
    {"seams_cards",   T(SEAM) | T(CARDS), "vertices split at a seam; strands of hair with a front and a back on the same places"},
    {"hair_cap",      T(HAIR_CAP), "hair as a shell, with fins where three triangles share an edge"},
    {"body",          T(ONE_MESH) | T(BODY), "a whole body in one mesh, skinned to a chain of joints"},
    {"two_heads",     T(TWO_HEADS), "two people in one file"},
    {"z_up",          T(Z_UP), "z up, -y front, and nothing in the file says so"},
    {"z_up_node",     T(Z_UP) | T(NODE_UNDOES), "z up, and a node turns it upright"},
    {"x_front",       T(X_FRONT), "facing +x"},
    {"mirrored",      T(MIRRORED) | T(NODE_UNDOES), "mirrored vertices under a node with a scale of -1"},
    {"cm",            T(CM), "centimetres, and nothing in the file says so"},
    {"cm_node",       T(CM) | T(NODE_UNDOES), "centimetres under a node with a scale of 0.01"},
    {"mm",            T(MM), "millimetres, and nothing in the file says so"},
    {"inch",          T(INCH), "inches, and nothing in the file says so"},
    {"obj_cm",        T(CM) | T(FOLDER), "a folder of OBJ files in centimetres"},
    // several at once, as they come
    {"crowd_avatar",  T(BODY) | T(ONE_MESH) | T(FAMILIES) | T(CROSS_FEW) | T(CM), "a game's crowd: body, one mesh, two families of names, crossing lips, centimetres"},
    {"web_avatar",    T(BODY) | T(SAME_NAMES) | T(TOUCH), "a web avatar: skinned body, parts with the same names, touching lips"},
    {"toon_avatar",   T(STYLISED) | T(NO_BAG) | T(CARDS) | T(MOUTH_OPEN) | T(VROID), "a toon: huge eyes, no mouth, hair cards, mouthOpen, Fcl_ names"},
    {"mask",          T(LOW) | T(NO_BAG) | T(WEAK_JAW) | T(PAIRS) | T(MM) | T(Z_UP), "a tracker's mask: few vertices, no mouth, a weak jaw, z up, millimetres"},
    {"obj_low",       T(LOW) | T(CROSS_FEW) | T(HAIR_CAP) | T(X_FRONT) | T(FOLDER), "OBJ files: few vertices, crossing lips, a hair cap, facing +x"},
};
// clang-format on

int fa_zoo_count(void) { return FA_COUNT(animals); }

FaZooAnimal fa_zoo_animal(int i) {
    FA_ASSERT(i >= 0 && i < FA_COUNT(animals));
    return (FaZooAnimal){animals[i].name, animals[i].help, animals[i].traits & T(FOLDER) ? "" : ".glb"};
}

// --- putting traits on --------------------------------------------------------------------------------------------

// The head is shaken once and lies down on its side and up again, so that what hangs on it swings, falls together and
// parts.
static void lie_down(FaClip *clip) {
    for (int f = 0; f < clip->nframe; f++) {
        const double t = (double)f / (clip->nframe - 1), on = fai_smooth(0.2, 0.4, t) - fai_smooth(0.65, 0.85, t),
                     shake = 0.5 * sin(2 * M_PI * t / 0.2) * fai_smooth(0.2, 0.1, t) * fai_smooth(0, 0.05, t),
                     turn[3] = {0, shake, 1.2 * on};
        fai_q_exp(turn, clip->head[f].q);
        fai_v3_set(clip->head[f].p, 0, 0, 0);
    }
}

// A second and a half of speech (two and a half on a moving head where something hangs on it), from where the face is
// nearest to rest, or from where the mouth is widest open.
static FaCode make_clip(FaZoo *zoo, uint64_t traits, FaError *err) {
    const bool mid = (traits & T(MID_CLIP)) != 0, hangs = (traits & T(TENTACLES)) != 0;
    const int frames = hangs ? 150 : 90;
    FaClip *talk;
    FA_TRY(fa_head_clip("talk", &talk, err));
    int best = 0;
    double most = -INFINITY;
    for (int f = 0; f + frames < talk->nframe; f++) {
        const float *w = talk->weight + (size_t)f * (size_t)talk->nchan;
        double all = 0;
        for (int c = 0; c < talk->nchan; c++) all += fabs((double)w[c]);
        double good = mid ? (double)w[jawOpen] : -all;
        if (good > most) most = good, best = f;
    }
    FaCode rc = fa_clip_slice(talk, best, best + frames - 1, &zoo->clip, err);
    fa_clip_free(talk);
    if (rc >= 0 && hangs) lie_down(zoo->clip);
    return rc;
}

static FaCode add_head(FaZoo *zoo, const FaHead *head, int which, FaError *err) {
    for (int p = 0; p < head->npart; p++)
        if (strcmp(head->part[p].region[0], "bone")) FA_TRY(fai_zoo_add_part(zoo, head, p, which, err));
    return FA_OK;
}

static FaCode change_mouth(FaZoo *zoo, uint64_t traits, FaError *err) {
    if (traits & T(TOUCH)) FA_TRY(fai_zoo_touch_lips(zoo, err));
    if (traits & T(FLAT_BAG)) fai_zoo_flat_bag(zoo);
    if (traits & T(NO_BAG)) FA_TRY(fai_zoo_cut_bag(zoo, 5, err));
    if (traits & T(OPEN_BAG)) FA_TRY(fai_zoo_cut_bag(zoo, 6.3, err));
    if (traits & T(LOOSE_JAW)) fai_zoo_loose_jaw(zoo);
    if (traits & T(WEAK_JAW)) fai_zoo_weak_jaw(zoo);
    if (traits & T(MOUTH_OPEN)) fai_zoo_mouth_open(zoo);
    return FA_OK;
}

static FaCode change_form(FaZoo *zoo, uint64_t traits, FaError *err) {
    if (traits & T(STYLISED)) fai_zoo_stylise(zoo);
    if (traits & T(CREATURE)) fai_zoo_creature(zoo);
    if (traits & T(TENTACLES)) FA_TRY(fai_zoo_tentacles(zoo, err));
    if (traits & T(LOW)) FA_TRY(fai_zoo_low(zoo, 1200, err));
    // after all that moves lips, so that the count is the file's
    if (traits & T(CROSS_FEW)) FA_TRY(fai_zoo_cross_lips(zoo, 5, err));
    if (traits & T(CROSS_MANY)) FA_TRY(fai_zoo_cross_lips(zoo, 60, err));
    if (traits & T(ONE_MESH)) FA_TRY(fai_zoo_one_mesh(zoo, (traits & T(TEETH_IN)) != 0, err));
    if (traits & T(SEAM)) FA_TRY(fai_zoo_seam(zoo, err));
    if (traits & T(CARDS)) FA_TRY(fai_zoo_cards(zoo, err));
    if (traits & T(HAIR_CAP)) FA_TRY(fai_zoo_hair_cap(zoo, err));
    return traits & T(BODY) ? fai_zoo_body(zoo, err) : FA_OK;
}

static FaCode change_names(FaZoo *zoo, uint64_t traits, FaError *err) {
    if (traits & T(FAMILIES)) FA_TRY(fai_zoo_families(zoo, err));
    if (traits & T(VROID)) FA_TRY(fai_zoo_vroid(zoo, err));
    if (traits & T(PAIRS)) FA_TRY(fai_zoo_pairs(zoo, err));
    if (traits & T(SWAPPED)) fai_zoo_swap_sides(zoo);
    return traits & T(SAME_NAMES) ? fai_zoo_same_names(zoo, err) : FA_OK;
}

static void choose_frame(FaZoo *zoo, uint64_t traits) {
    static const double z_up[9] = {1, 0, 0, 0, 0, -1, 0, 1, 0}, x_front[9] = {0, 0, 1, 0, 1, 0, -1, 0, 0},
                        mirror[9] = {-1, 0, 0, 0, 1, 0, 0, 0, 1}, same[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const double *axes = traits & T(Z_UP) ? z_up : traits & T(X_FRONT) ? x_front : traits & T(MIRRORED) ? mirror : same;
    double units = traits & T(CM) ? 100 : traits & T(MM) ? 1000 : traits & T(INCH) ? 1 / 0.0254 : 1;
    for (int i = 0; i < 9; i++) zoo->file[i] = units * axes[i];
    zoo->node_undoes = (traits & T(NODE_UNDOES)) != 0;
}

static FaCode raise_animal(FaZoo *zoo, uint64_t traits, const FaHead *second, FaError *err) {
    FA_TRY(make_clip(zoo, traits, err));
    FA_TRY(add_head(zoo, zoo->head, 0, err));
    FA_TRY(change_mouth(zoo, traits, err));
    FA_TRY(change_form(zoo, traits, err));
    zoo->nhead = 1;
    if (second) {
        zoo->nhead = 2;
        zoo->place[1][0] = 0.35;
        FA_TRY(add_head(zoo, second, 1, err));
    }
    FA_TRY(change_names(zoo, traits, err));
    choose_frame(zoo, traits);
    return FA_OK;
}

// --- files --------------------------------------------------------------------------------------------------------

FaCode fa_zoo_save(int animal, int level, const char *generator, const char *path, FaError *err) {
    FA_ASSERT(animal >= 0 && animal < FA_COUNT(animals));
    uint64_t traits = animals[animal].traits;
    FaHeadParams params = fa_head_params_default();
    params.level = level;
    FaHead *head = NULL, *second = NULL;
    FaArena *arena = fai_arena_new(0);
    FaZoo *zoo = arena ? FA_PUSH(arena, 1, FaZoo) : NULL;
    FaCode rc = zoo ? fa_head_new(&params, &head, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0 && traits & T(TWO_HEADS)) {
        fa_head_params_seed(&params, 7);
        rc = fa_head_new(&params, &second, err);
    }
    if (rc >= 0) {
        zoo->arena = arena;
        zoo->head = head;
        rc = raise_animal(zoo, traits, second, err);
        if (rc >= 0) rc = traits & T(FOLDER) ? fai_zoo_obj(zoo, path, err) : fai_zoo_glb(zoo, generator, path, err);
        fa_clip_free(zoo->clip);
    }
    fa_head_free(head);
    fa_head_free(second);
    fai_arena_free(arena);
    return rc;
}

// zoo.json for programs, README.md for people.
static FaCode write_list(const char *dir, FaError *err) {
    FaText json = {0}, text = {0};
    FaJsonWriter w = {.text = &json, .pretty = true};
    fai_jw_open(&w, NULL, '{');
    fai_jw_open(&w, "animals", '[');
    fai_text_str(&text,
                 "# The zoo\n\nThe head that ships with fascia as rigs with traits that files of strangers have, one "
                 "or several at a time.\nEach has a second and a half of speech in it; the clip of a folder is "
                 "the .json beside it.\n\n| file | trait |\n|---|---|\n");
    for (int i = 0; i < FA_COUNT(animals); i++) {
        FaZooAnimal a = fa_zoo_animal(i);
        fai_text_printf(&text, "| `%s%s` | %s |\n", a.name, a.ext, a.help);
        fai_jw_open(&w, NULL, '{');
        fai_jw_str(&w, "name", a.name);
        fai_jw_str(&w, "file", FA_PLACE("%s%s", a.name, a.ext));
        fai_jw_str(&w, "trait", a.help);
        fai_jw_close(&w);
    }
    fai_jw_close(&w);
    fai_jw_close(&w);
    FaFileSet *set;
    FaCode rc = json.failed || text.failed ? FA_FAIL_MEMORY(err) : fai_fileset_open(dir, &set, err);
    if (rc >= 0) {
        rc = fai_fileset_add(set, "zoo.json", json.data, json.size, err);
        if (rc >= 0) rc = fai_fileset_add(set, "README.md", text.data, text.size, err);
        if (rc >= 0)
            rc = fai_fileset_finish(set, err);
        else
            fai_fileset_abandon(set);
    }
    fai_text_free(&json);
    fai_text_free(&text);
    return rc;
}

FaCode fa_zoo_save_all(int level, const char *generator, const char *dir, FaProgressFn *progress, void *user,
                       FaError *err) {
    FA_TRY(write_list(dir, err)); // makes the folder
    for (int i = 0; i < FA_COUNT(animals); i++) {
        FaZooAnimal a = fa_zoo_animal(i);
        if (progress && !progress(user, a.name, (double)i / FA_COUNT(animals)))
            return FA_FAIL(err, FA_E_LIMIT, NULL, NULL, "cancelled");
        char *path = fai_path_join(dir, FA_PLACE("%s%s", a.name, a.ext));
        FaCode rc = path ? fa_zoo_save(i, level, generator, path, err) : FA_FAIL_MEMORY(err);
        fa_free(path);
        FA_TRY(rc);
    }
    return FA_OK;
}
