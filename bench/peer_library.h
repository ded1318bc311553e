// Libraries that are only measured against: loaded when asked for, so that their threads and their memory are no part
// of the program's other verbs.
#ifndef FAI_PEER_LIBRARY_H
#define FAI_PEER_LIBRARY_H

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

// to: where the pointer to the function `name` goes. false: there is no such library, or it has no such function.
static inline bool fai_peer_get(const char *path, const char *name, void *to) {
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL); // counted: the same one, and it stays
    void *found = library ? dlsym(library, name) : NULL;
    memcpy(to, &found, sizeof found);
    return found != NULL;
}

#endif
