/* For foreign code: the functions of lib/mem.h, and those that only foreign code calls, which
 * control/crypto/library.c defines. */
#ifndef THIRD_STRING_H
#define THIRD_STRING_H

#include <stddef.h>

#define strstr crypto_strstr
#define strchr crypto_strchr
#define strncpy crypto_strncpy

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strstr(const char *text, const char *what);
char *strchr(const char *text, int c);
char *strncpy(char *restrict to, const char *restrict from, size_t n);

#endif
