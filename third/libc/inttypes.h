/* For foreign code: formats of messages that are not built. */
#ifndef THIRD_INTTYPES_H
#define THIRD_INTTYPES_H

#include <stdint.h>

#define PRId64 "ld"

#endif
