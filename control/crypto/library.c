/*
 * See library.h. Below: what the libraries need of a C library and a platform (third/libc, Mbed TLS's
 * include/mbedtls/platform.h and entropy_poll.h, libsodium's utils.h and randombytes.h).
 */
#include "control/crypto/library.h"

#include <mbedtls/build_info.h>
#include <mbedtls/memory_buffer_alloc.h>
#include <psa/crypto.h>
#include <sodium/randombytes.h>
#include <sodium/utils.h>

#include "lib/assert.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "runtime/entropy.h"
#include "runtime/runtime.h"

static void *heap;
static bool ready;
static const char *why = "";

const char *crypto_why(void)
{
	return why;
}

bool crypto_start(void)
{
	if (ready || *why)
		return ready;
	heap = core_private_alloc(CRYPTO_HEAP);
	if (!heap) {
		why = "there is no memory for cryptography";
		return false;
	}
	mbedtls_memory_buffer_alloc_init(heap, CRYPTO_HEAP);
	const psa_status_t status = psa_crypto_init();
	ready = status == PSA_SUCCESS;
	if (!ready)
		why = status == PSA_ERROR_INSUFFICIENT_ENTROPY ? "no source of entropy passes its tests" :
		                                                 "the cryptographic library does not start";
	return ready;
}

bool crypto_random(void *out, size_t bytes)
{
	if (crypto_start() && psa_generate_random(out, bytes) == PSA_SUCCESS)
		return true;
	memset(out, 0, bytes);
	return false;
}

struct crypto_use crypto_use(void)
{
	struct crypto_use use = {.started = ready, .heap = CRYPTO_HEAP};
	size_t blocks;
	if (heap) {
		mbedtls_memory_buffer_alloc_cur_get(&use.used, &blocks);
		mbedtls_memory_buffer_alloc_max_get(&use.peak, &blocks);
	}
	return use;
}

const char *crypto_libraries(void)
{
	return MBEDTLS_VERSION_STRING_FULL " (Apache-2.0), libsodium " LIBSODIUM_VERSION " (ISC)";
}

void crypto_wipe(void *at, size_t bytes)
{
	memset(at, 0, bytes);
	__asm__ volatile("" : : "r"(at) : "memory");
}

/* --- for Mbed TLS --- */

int mbedtls_hardware_poll(void *data, unsigned char *output, size_t len, size_t *olen);
void mbedtls_platform_zeroize(void *buf, size_t len);

/* include/mbedtls/entropy.h: a strong source, asked for at least MBEDTLS_ENTROPY_MIN_HARDWARE bytes. */
int mbedtls_hardware_poll(void *data, unsigned char *output, size_t len, size_t *olen)
{
	(void)data;
	*olen = entropy_get(output, len) ? len : 0;
	return *olen ? 0 : -1;
}

void mbedtls_platform_zeroize(void *buf, size_t len)
{
	if (len)
		crypto_wipe(buf, len);
}

int crypto_vsnprintf(char *to, size_t size, const char *format, va_list args)
{
	return (int)fmt_vformat(to, size, format, args);
}

int crypto_snprintf(char *to, size_t size, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const int n = crypto_vsnprintf(to, size, format, args);
	va_end(args);
	return n;
}

/* Called only by functions that print the heap, which nothing calls. */
int crypto_fprintf(void *file, const char *format, ...)
{
	(void)file;
	(void)format;
	return 0;
}

/* --- for both: third/libc renames the C library's functions to these --- */

_Noreturn void crypto_abort(void);
_Noreturn void crypto_exit(int code);
char *crypto_strstr(const char *text, const char *what);
char *crypto_strchr(const char *text, int c);
char *crypto_strncpy(char *restrict to, const char *restrict from, size_t n);

void crypto_abort(void)
{
	assert_fail("a cryptographic library called abort()", __FILE__, __LINE__);
}

/* Mbed TLS's heap has found itself damaged. */
void crypto_exit(int code)
{
	(void)code;
	assert_fail("a cryptographic library called exit()", __FILE__, __LINE__);
}

/* C11 7.24.5.7 */
char *crypto_strstr(const char *text, const char *what)
{
	const size_t n = strlen(what);
	for (;; text++) {
		if (strncmp(text, what, n) == 0)
			return (char *)(uintptr_t)text;
		if (!*text)
			return NULL;
	}
}

/* C11 7.24.5.2 */
char *crypto_strchr(const char *text, int c)
{
	for (; *text != (char)c; text++)
		if (!*text)
			return NULL;
	return (char *)(uintptr_t)text;
}

/* C11 7.24.2.4 */
char *crypto_strncpy(char *restrict to, const char *restrict from, size_t n)
{
	size_t i = 0;
	for (; i < n && from[i]; i++)
		to[i] = from[i];
	for (; i < n; i++)
		to[i] = 0;
	return to;
}

/* --- for libsodium, instead of its utils.c and randombytes.c, which need an operating system --- */

void sodium_memzero(void *const at, const size_t bytes)
{
	mbedtls_platform_zeroize(at, bytes);
}

/* 0 if equal, else -1; the time depends on `bytes` alone. */
int sodium_memcmp(const void *const a, const void *const b, size_t bytes)
{
	const volatile uint8_t *x = a, *y = b;
	uint8_t differ = 0;
	for (size_t i = 0; i < bytes; i++)
		differ |= x[i] ^ y[i];
	return (int)(1 & ((differ - 1u) >> 8)) - 1;
}

/* 1 if all are 0, else 0; likewise. */
int sodium_is_zero(const unsigned char *n, const size_t bytes)
{
	const volatile uint8_t *x = n;
	uint8_t any = 0;
	for (size_t i = 0; i < bytes; i++)
		any |= x[i];
	return (int)(1 & ((any - 1u) >> 8));
}

void randombytes_buf(void *const buf, const size_t size)
{
	if (!crypto_random(buf, size))
		crypto_abort(); /* the callers in control/crypto have asked crypto_start() */
}
