/* For foreign code: libsodium includes it for size_t. */
#ifndef THIRD_SYS_TYPES_H
#define THIRD_SYS_TYPES_H

#include <stddef.h>

#endif
