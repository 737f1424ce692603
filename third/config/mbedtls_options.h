/*
 * What of Mbed TLS is built: all of its configuration, not additions to its default. What is not named here is off:
 * DTLS, CBC, renegotiation, tickets, session cache, PSK, early data, RSA key exchange, RSA decryption, and the time
 * (control/crypto/tls_trust.c checks dates). library/check_config.h refuses an inconsistent set.
 */
#ifndef MBEDTLS_OPTIONS_H
#define MBEDTLS_OPTIONS_H

#include <stdarg.h>
#include <stddef.h>

/* --- platform: control/crypto/library.c fills it in --- */
#define MBEDTLS_HAVE_ASM
#define MBEDTLS_NO_UDBL_DIVISION /* else GCC calls a function of its run-time library */
#define MBEDTLS_AESNI_C       /* inline assembly, used if CPUID has AES-NI */
#define MBEDTLS_AES_ROM_TABLES /* else 8 KiB of .bss on every core */
#define MBEDTLS_PLATFORM_C
#define MBEDTLS_PLATFORM_MEMORY
#define MBEDTLS_MEMORY_BUFFER_ALLOC_C /* a heap in one given block */
#define MBEDTLS_MEMORY_ALIGN_MULTIPLE 8 /* of what it gives; its default, 4, is less than pointers need */
#define MBEDTLS_MEMORY_DEBUG /* its use can be asked for */
#define MBEDTLS_PLATFORM_NO_STD_FUNCTIONS
#define MBEDTLS_PLATFORM_ZEROIZE_ALT
int crypto_snprintf(char *to, size_t size, const char *format, ...);
int crypto_vsnprintf(char *to, size_t size, const char *format, va_list args);
#define MBEDTLS_PLATFORM_SNPRINTF_MACRO crypto_snprintf
#define MBEDTLS_PLATFORM_VSNPRINTF_MACRO crypto_vsnprintf
int crypto_fprintf(void *file, const char *format, ...);
#define MBEDTLS_PLATFORM_FPRINTF_MACRO crypto_fprintf

/* --- random numbers: CTR_DRBG, seeded by runtime/entropy.h through control/crypto/library.c --- */
#define MBEDTLS_ENTROPY_C
#define MBEDTLS_NO_PLATFORM_ENTROPY
#define MBEDTLS_ENTROPY_HARDWARE_ALT
#define MBEDTLS_CTR_DRBG_C

/* --- PSA: the interface that control/crypto calls --- */
#define MBEDTLS_PSA_CRYPTO_C
#define MBEDTLS_PSA_CRYPTO_CONFIG
#define MBEDTLS_PSA_CRYPTO_CONFIG_FILE "psa_options.h"
#define MBEDTLS_USE_PSA_CRYPTO
#define MBEDTLS_PSA_KEY_STORE_DYNAMIC

/* --- elliptic curves --- */
#define MBEDTLS_ECP_NIST_OPTIM

/* --- certificates and keys --- */
#define MBEDTLS_ASN1_PARSE_C
#define MBEDTLS_ASN1_WRITE_C
#define MBEDTLS_BASE64_C
#define MBEDTLS_OID_C
#define MBEDTLS_PEM_PARSE_C
#define MBEDTLS_PEM_WRITE_C
#define MBEDTLS_PK_C
#define MBEDTLS_PK_PARSE_C
#define MBEDTLS_PK_WRITE_C
#define MBEDTLS_X509_USE_C
#define MBEDTLS_X509_CRT_PARSE_C
#define MBEDTLS_X509_CREATE_C
#define MBEDTLS_X509_CRT_WRITE_C
#define MBEDTLS_X509_CSR_WRITE_C
#define MBEDTLS_X509_REMOVE_INFO
#define MBEDTLS_X509_RSASSA_PSS_SUPPORT
#define MBEDTLS_X509_MAX_INTERMEDIATE_CA 4 /* bounds the signatures that a client verifies in one step */

/* --- TLS --- */
#define MBEDTLS_SSL_TLS_C
#define MBEDTLS_SSL_SRV_C
#define MBEDTLS_SSL_CLI_C
#define MBEDTLS_SSL_PROTO_TLS1_2
#define MBEDTLS_SSL_PROTO_TLS1_3
#define MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_EPHEMERAL_ENABLED
#define MBEDTLS_SSL_TLS1_3_COMPATIBILITY_MODE
#define MBEDTLS_SSL_KEEP_PEER_CERTIFICATE /* TLS 1.3 requires it */
#define MBEDTLS_SSL_EXTENDED_MASTER_SECRET
#define MBEDTLS_SSL_ALL_ALERT_MESSAGES
#define MBEDTLS_SSL_ALPN
#define MBEDTLS_SSL_SERVER_NAME_INDICATION
#define MBEDTLS_KEY_EXCHANGE_ECDHE_ECDSA_ENABLED
#define MBEDTLS_KEY_EXCHANGE_ECDHE_RSA_ENABLED
#define MBEDTLS_SSL_IN_CONTENT_LEN 16384 /* a peer may send records of that size (RFC 8446 5.1) */
#define MBEDTLS_SSL_OUT_CONTENT_LEN 4096

#endif
