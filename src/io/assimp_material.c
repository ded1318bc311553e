// Materials and their pictures. glTF holds PNG and JPEG: others are named in a note. Pictures come from the file
// itself, or from its folder; nothing outside of that is opened, whatever path the file names.
#include "base/base.h"

#ifdef FA_HAVE_ASSIMP

#include "io/assimp_scene.h"
#include "io/clip_tools.h"

#include <assimp/material.h>
#include <ctype.h>
#include <math.h>

static const size_t MAX_PICTURE = 256u << 20;

// --- pictures -----------------------------------------------------------------------------------------------------

static const char *mime_of(const unsigned char *p, size_t n) {
    if (n > 8 && !memcmp(p, "\x89PNG\r\n\x1a\n", 8)) return "image/png";
    if (n > 3 && !memcmp(p, "\xff\xd8\xff", 3)) return "image/jpeg";
    return NULL;
}

// What stands after the last separator of either kind.
static const char *base_of(const char *path) {
    const char *at = path;
    for (const char *c = path; *c; c++)
        if (*c == '/' || *c == '\\') at = c + 1;
    return at;
}

static const struct aiTexture *embedded(const FaScene *s, const char *path) {
    if (path[0] == '*') {
        unsigned i = 0;
        for (const char *c = path + 1; isdigit((unsigned char)*c) && i < 1000000; c++)
            i = 10 * i + (unsigned)(*c - '0');
        return i < s->ai->mNumTextures ? s->ai->mTextures[i] : NULL;
    }
    for (unsigned i = 0; i < s->ai->mNumTextures; i++)
        if (!strcmp(base_of(s->ai->mTextures[i]->mFilename.data), base_of(path))) return s->ai->mTextures[i];
    return NULL;
}

// By its name beside the file, or in the folders where pictures usually are. Whatever ends in a known picture's name.
static bool read_beside(const FaScene *s, const char *name, FaBytes *bytes) {
    static const char *const folder[] = {"", "textures", "Textures", "tex", "images", "maps"};
    char *dir = fai_path_dir(s->path);
    bool found = false;
    for (int i = 0; dir && name[0] && name[0] != '.' && i < FA_COUNT(folder) && !found; i++) {
        char *in = folder[i][0] ? fai_path_join(dir, folder[i]) : fai_strdup(dir);
        char *path = in ? fai_path_join(in, name) : NULL;
        found = path && fai_file_exists(path) && fai_file_read(path, MAX_PICTURE, bytes, NULL) >= 0;
        fa_free(in);
        fa_free(path);
    }
    fa_free(dir);
    return found;
}

static int add_picture(FaScene *s, const char *name, const unsigned char *data, size_t size, const char *mime) {
    FaGltfOut *out = &s->out;
    int view;
    void *to = fai_out_view(out, size, 0, 0, &view);
    if (to) memcpy(to, data, size);
    FaJson *image = fai_out_push(out, fai_out_array(out, out->root, "images"));
    if (name) fai_out_str(out, image, "name", name);
    fai_out_str(out, image, "mimeType", mime);
    fai_out_int(out, image, "bufferView", view);
    FaJson *textures = fai_out_array(out, out->root, "textures");
    fai_out_int(out, fai_out_push(out, textures), "source", s->ngot);
    return s->ngot++;
}

// Names for a note that lists them: one list each of what is missing and of what glTF cannot hold.
static void name_lost(FaSceneLost *lost, const char *name) {
    if (lost->count++) fai_text_str(&lost->names, ", ");
    fai_text_str(&lost->names, name);
}

static void note_lost(FaScene *s) {
    if (s->missing.count && !s->missing.names.failed)
        fai_note_count(s->notes, s->missing.count, "texture-missing", "",
                       "put the pictures beside the file, as PNG or JPEG, and read it again",
                       "textures that are neither in the file nor in its folder are left out: %s",
                       s->missing.names.data);
    if (s->unfit.count && !s->unfit.names.failed)
        fai_note_count(s->notes, s->unfit.count, "texture-format", "", "save the pictures as PNG or JPEG",
                       "textures that are neither PNG nor JPEG, which is all that glTF holds, are left out: %s",
                       s->unfit.names.data);
    fai_text_free(&s->missing.names);
    fai_text_free(&s->unfit.names);
}

static int find_picture(FaScene *s, const char *path) {
    const char *base = base_of(path);
    char *name = fai_clip_name(s->work, base, strlen(base), false);
    const struct aiTexture *own = embedded(s, path);
    FaBytes beside = {0};
    const unsigned char *data = NULL;
    size_t size = 0;
    if (own && own->mHeight == 0 && own->pcData)
        data = (const unsigned char *)own->pcData, size = own->mWidth;
    else if (!own && read_beside(s, base, &beside))
        data = beside.data, size = beside.size;
    const char *mime = data ? mime_of(data, size) : NULL;
    int at = mime ? add_picture(s, name, data, size, mime) : -1;
    if (at < 0) name_lost(data || own ? &s->unfit : &s->missing, name ? name : base);
    fai_bytes_free(&beside);
    return at;
}

// The texture's number, -1: it cannot be had. Each picture is looked for once.
static int texture_at(FaScene *s, const char *path) {
    for (int i = 0; i < s->ntexture; i++)
        if (!strcmp(s->texture[i], path)) return s->texture_at[i];
    char *copy = fai_arena_strndup(s->work, path, strlen(path));
    int at = find_picture(s, path);
    if (copy) {
        s->texture[s->ntexture] = copy;
        s->texture_at[s->ntexture++] = at;
    }
    return at;
}

static bool texture_path(const struct aiMaterial *m, enum aiTextureType type, struct aiString *path) {
    return aiGetMaterialTexture(m, type, 0, path, NULL, NULL, NULL, NULL, NULL, NULL) == AI_SUCCESS && path->data[0];
}

static bool put_texture(FaScene *s, FaJson *owner, const char *key, const struct aiString *path) {
    int at = texture_at(s, path->data);
    if (at >= 0) fai_out_int(&s->out, fai_out_object(&s->out, owner, key), "index", at);
    return at >= 0;
}

// --- materials ----------------------------------------------------------------------------------------------------

static bool number(const struct aiMaterial *m, const char *key, float *v) {
    unsigned n = 1;
    return aiGetMaterialFloatArray(m, key, 0, 0, v, &n) == AI_SUCCESS && n == 1 && isfinite(*v);
}

static float unit(float v) { return v > 0 ? fminf(v, 1) : 0; }

static void write_color(FaScene *s, const struct aiMaterial *m, FaJson *pbr, bool textured, float alpha) {
    struct aiColor4D c = {0.8f, 0.8f, 0.8f, 1};
    if (aiGetMaterialColor(m, "$clr.base", 0, 0, &c) != AI_SUCCESS) aiGetMaterialColor(m, "$clr.diffuse", 0, 0, &c);
    if (textured) c = (struct aiColor4D){1, 1, 1, 1}; // a texture stands in for the colour
    FaJson *list = fai_out_array(&s->out, pbr, "baseColorFactor");
    fai_out_push_float(&s->out, list, unit(c.r));
    fai_out_push_float(&s->out, list, unit(c.g));
    fai_out_push_float(&s->out, list, unit(c.b));
    fai_out_push_float(&s->out, list, alpha);
}

// Textures that have no place in what is written.
static void note_others(FaScene *s, const struct aiMaterial *m, const char *name) {
    static const enum aiTextureType other[] = {aiTextureType_SPECULAR,          aiTextureType_AMBIENT,
                                               aiTextureType_EMISSIVE,          aiTextureType_SHININESS,
                                               aiTextureType_DISPLACEMENT,      aiTextureType_LIGHTMAP,
                                               aiTextureType_REFLECTION,        aiTextureType_METALNESS,
                                               aiTextureType_DIFFUSE_ROUGHNESS, aiTextureType_AMBIENT_OCCLUSION};
    int n = 0;
    for (int i = 0; i < FA_COUNT(other); i++) n += (int)aiGetMaterialTextureCount(m, other[i]);
    if (n)
        fai_note_count(s->notes, n, "textures-dropped", name, "assign them again where they matter",
                       "textures other than base colour, opacity and normal are left out");
}

// Programs write an opacity of 0 where they mean nothing by it: nobody draws what cannot be seen.
static float opacity_of(const struct aiMaterial *m) {
    float v = 1;
    return number(m, "$mat.opacity", &v) && v > 0 ? unit(v) : 1;
}

static void write_material(FaScene *s, const struct aiMaterial *m, const char *name) {
    FaGltfOut *out = &s->out;
    FaJson *json = fai_out_push(out, fai_out_array(out, out->root, "materials"));
    if (name[0]) fai_out_str(out, json, "name", name);
    FaJson *pbr = fai_out_object(out, json, "pbrMetallicRoughness");
    struct aiString color, cut, bumps;
    bool has_color =
        texture_path(m, aiTextureType_BASE_COLOR, &color) || texture_path(m, aiTextureType_DIFFUSE, &color);
    bool textured = has_color && put_texture(s, pbr, "baseColorTexture", &color);
    float alpha = opacity_of(m), metal = 0, rough = 0.6f, shine;
    // Phong's exponent as roughness, the way Blender reads it
    if (number(m, "$mat.shininess", &shine) && shine >= 0) rough = 1 - unit(sqrtf(shine) / 10);
    number(m, "$mat.roughnessFactor", &rough);
    number(m, "$mat.metallicFactor", &metal);
    write_color(s, m, pbr, textured, alpha);
    fai_out_num(out, pbr, "metallicFactor", (double)unit(metal));
    fai_out_num(out, pbr, "roughnessFactor", (double)unit(rough));
    if (texture_path(m, aiTextureType_NORMALS, &bumps)) put_texture(s, json, "normalTexture", &bumps);
    bool has_cut = texture_path(m, aiTextureType_OPACITY, &cut),
         same = has_cut && has_color && !strcmp(cut.data, color.data);
    if (alpha < 1)
        fai_out_str(out, json, "alphaMode", "BLEND");
    else if (textured && same)
        fai_out_str(out, json, "alphaMode", "MASK"); // strands of hair: what is thin is cut out
    else if (has_cut && !same)
        fai_note(s->notes, "opacity-texture", name, "put it into the alpha of the base colour",
                 "a picture of its own for the opacity is left out: glTF has it in the base colour");
    fai_out_bool(out, json, "doubleSided", true); // as programs show an FBX
    note_others(s, m, name);
}

FaCode fai_scene_materials(FaScene *s, FaError *err) {
    size_t room = 0;
    for (unsigned i = 0; i < s->ai->mNumMaterials; i++) room += 4;
    s->texture = FA_PUSH(s->work, room, const char *);
    s->texture_at = FA_PUSH(s->work, room, int);
    if (!s->texture || !s->texture_at) return FA_FAIL_MEMORY(err);
    for (unsigned i = 0; i < s->ai->mNumMaterials; i++) {
        struct aiString name = {0};
        aiGetMaterialString(s->ai->mMaterials[i], AI_MATKEY_NAME, &name);
        const char *text = fai_scene_name(s, &name);
        if (!text) return FA_FAIL_MEMORY(err);
        write_material(s, s->ai->mMaterials[i], text);
    }
    note_lost(s);
    return FA_OK;
}

#endif
