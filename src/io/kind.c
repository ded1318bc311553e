// What a path holds, judged by its name and its first bytes.
#include "base/file.h"
#include "fascia/output.h"
#include "fascia/sequence.h"

#include <ctype.h>
#include <dirent.h>
#include <strings.h>
#include <sys/stat.h>

// A folder of frames: every .obj ends in digits and they share what stands before them.
static bool folder_is_cache(const char *path) {
    DIR *dir = opendir(path);
    if (!dir) return false;
    char prefix[256] = "";
    int count = 0;
    bool cache = true;
    for (struct dirent *e; cache && (e = readdir(dir));) {
        if (!fai_path_has_ext(e->d_name, "obj")) continue;
        size_t n = strlen(e->d_name) - 4, digits = 0;
        while (digits < n && isdigit((unsigned char)e->d_name[n - 1 - digits])) digits++;
        n -= digits;
        if (!digits || n >= sizeof prefix)
            cache = false;
        else if (count++ == 0)
            memcpy(prefix, e->d_name, n);
        else if (strlen(prefix) != n || memcmp(prefix, e->d_name, n))
            cache = false;
    }
    closedir(dir);
    return cache && count > 0;
}

FaKind fa_file_kind(const char *path) {
    if (fai_dir_exists(path)) return folder_is_cache(path) ? FA_KIND_CACHE : FA_KIND_RIG;
    size_t n = strlen(path);
    if (strchr(fai_path_base(path), '#') || (n && path[n - 1] == '/')) return FA_KIND_CACHE;
    char head[512];
    n = fai_file_start(path, head, sizeof head);
    if (n >= 12 && !memcmp(head, "POINTCACHE2", 12)) return FA_KIND_CACHE;
    if (n >= 4 && !memcmp(head, "glTF", 4)) return FA_KIND_RIG;
    if (n >= 9 && !strncasecmp(head, "HIERARCHY", 9)) return FA_KIND_CLIP;
    static const struct {
        const char *ext;
        FaKind kind;
    } known[] = {{"pc2", FA_KIND_CACHE},
                 {"mdd", FA_KIND_CACHE},
                 {"csv", FA_KIND_CLIP},
                 {"bvh", FA_KIND_CLIP},
                 {"json", FA_KIND_CLIP}};
    for (int i = 0; i < FA_COUNT(known); i++)
        if (fai_path_has_ext(path, known[i].ext)) return known[i].kind;
    return FA_KIND_RIG;
}

// --- what is written where ----------------------------------------------------------------------------------------

// Files that are known by their first bytes. magic "": written here, known by nothing.
static const struct Kind {
    const char *ext, *magic;
    int at, size;
    const char *name;
} kinds[] = {{"glb", "glTF", 0, 4, "a GLB"},
             {"vrm", "glTF", 0, 4, "a GLB"},
             {"face",
              "\x89"
              "FACE\r\n\x1a",
              0, 8, "a face"},
             {"run", "FATAKE", 0, 6, "a run"},
             {"pc2", "POINTCACHE2", 0, 11, "a PC2 cache"},
             {"png", "\x89PNG\r\n\x1a\n", 0, 8, "a PNG picture"},
             {"mp4", "ftyp", 4, 4, "a film"},
             {"m4v", "ftyp", 4, 4, "a film"},
             {"mov", "ftyp", 4, 4, "a film"},
             {"gif", "GIF8", 0, 4, "a GIF"},
             {"usda", "#usda", 0, 5, "a USD file"},
             {"fbx", "Kaydara FBX Binary", 0, 18, "an FBX file"},
             {"fbx", "; FBX", 0, 5, "an FBX file"},
             {"blend", "BLENDER", 0, 7, "a Blender file"},
             {"zip", "PK\x03\x04", 0, 4, "an archive"},
             {"jpg", "\xff\xd8\xff", 0, 3, "a JPEG picture"},
             {"pdf", "%PDF", 0, 4, "a PDF"}};

static const struct Kind *kind_of_bytes(const char *head, size_t n) {
    for (int i = 0; i < FA_COUNT(kinds); i++)
        if (n >= (size_t)(kinds[i].at + kinds[i].size) &&
            !memcmp(head + kinds[i].at, kinds[i].magic, (size_t)kinds[i].size))
            return &kinds[i];
    return NULL;
}

static const struct Kind *kind_of_ext(const char *ext) {
    for (int i = 0; i < FA_COUNT(kinds); i++)
        if (!strcasecmp(ext, kinds[i].ext)) return &kinds[i];
    return NULL;
}

FaCode fa_output_fits(const char *path, const char *ext, FaError *err) {
    char head[64];
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0) return FA_OK;
    size_t n = fai_file_start(path, head, sizeof head);
    const struct Kind *there = kind_of_bytes(head, n), *wanted = kind_of_ext(ext ? ext : fai_path_ext(path));
    if (!strcmp(there ? there->name : "", wanted ? wanted->name : "")) return FA_OK;
    return fai_fail_in(err,
                       FA_FAIL(err, FA_E_ARG, NULL, "name another file, or add --force to replace it",
                               "a file of another kind is there (%s), and this writes %s: it is not replaced",
                               there ? there->name : "not what its name says", wanted ? wanted->name : "another kind"),
                       path);
}
