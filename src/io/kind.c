// What a path holds, judged by its name and its first bytes.
#include "base/file.h"
#include "fascia/sequence.h"

#include <ctype.h>
#include <dirent.h>
#include <strings.h>

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

static size_t read_start(const char *path, char *head, size_t room) {
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    size_t n = fread(head, 1, room, f);
    fclose(f);
    return n;
}

FaKind fa_file_kind(const char *path) {
    if (fai_dir_exists(path)) return folder_is_cache(path) ? FA_KIND_CACHE : FA_KIND_RIG;
    size_t n = strlen(path);
    if (strchr(fai_path_base(path), '#') || (n && path[n - 1] == '/')) return FA_KIND_CACHE;
    char head[512];
    n = read_start(path, head, sizeof head);
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
