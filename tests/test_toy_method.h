// A method that is not part of the library (toy_method.c).
#ifndef TEST_TOY_METHOD_H
#define TEST_TOY_METHOD_H

#include "method/method.h"

extern const FaMethodOps toy_method;

#endif
