// The viewer, bundled at build time (web/build.mjs); size 0 where the build had no node packages.
#ifndef FAI_PAGE_TEMPLATE_H
#define FAI_PAGE_TEMPLATE_H

#include <stddef.h>

extern const unsigned char fai_page_template[];
extern const size_t fai_page_template_size;

#endif
