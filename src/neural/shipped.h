// The network that ships: data/neural.net as built in (CMakeLists.txt, tools/embed); size 0: there was none.
#ifndef FAI_SHIPPED_H
#define FAI_SHIPPED_H

#include <stddef.h>

extern const unsigned char fai_shipped_net[];
extern const size_t fai_shipped_net_size;

#endif
