/*
 * The cryptography of SSH (struct ssh_crypto, net/ssh/ssh.h) by Mbed TLS and libsodium. The host key is
 * Ed25519 (RFC 8032); it is derived from a seed of 32 bytes, which the caller keeps.
 *
 *     AES-GCM, ECDH and ECDSA with P-256, RSA, SHA-2      Mbed TLS (PSA)
 *     Ed25519, X25519, Poly1305                           libsodium
 *     ChaCha20                                            Mbed TLS, with the counter from 0
 *
 * An operation with a public key takes up to some milliseconds; the others some microseconds and as long as
 * the bytes need.
 */
#ifndef CONTROL_CRYPTO_SSH_CRYPTO_H
#define CONTROL_CRYPTO_SSH_CRYPTO_H

#include "net/ssh/ssh.h"

#define SSH_SEED 32

extern const struct ssh_crypto ssh_crypto;

/* Takes a host key into use, made of random bytes. Until then there is none. */
void ssh_crypto_set_host_key(const uint8_t seed[SSH_SEED]);

#endif
