# Foreign code: Mbed TLS and files of libsodium, of which the tree has pins, options and C headers, and
# tools/get-crypto fetches the sources. Only control/crypto may call them (make check).
#   $(BUILD)/third/crypto.a    for the image
#   build/third/host/crypto.a  for tests on the host, which sanitizers watch from outside
#   build/third/fuzz/crypto.a  for fuzz_tls, instrumented
# An archive, so only objects that something refers to get into the image.

ifndef THIRD_MK
THIRD_MK := 1
THIRD_SRC := build/third/src
THIRD_READY := build/third/ready

THIRD_MBEDTLS := aes aesni asn1parse asn1write base64 bignum bignum_core block_cipher chacha20 chachapoly cipher \
	cipher_wrap constant_time ctr_drbg ecdh ecdsa ecp ecp_curves entropy gcm hmac_drbg md memory_buffer_alloc oid \
	pem pk pk_ecc pk_wrap pkparse pkwrite platform platform_util poly1305 psa_crypto psa_crypto_aead \
	psa_crypto_cipher psa_crypto_client psa_crypto_driver_wrappers_no_static psa_crypto_ecp psa_crypto_hash \
	psa_crypto_mac psa_crypto_random psa_crypto_rsa psa_crypto_slot_management psa_util rsa rsa_alt_helpers \
	sha256 sha512 ssl_ciphersuites ssl_client ssl_msg ssl_tls ssl_tls12_client ssl_tls12_server ssl_tls13_client \
	ssl_tls13_generic ssl_tls13_keys ssl_tls13_server x509 x509_create x509_crt x509write x509write_crt x509write_csr
THIRD_LIBSODIUM := crypto_core/ed25519/ref10/ed25519_ref10 crypto_sign/ed25519/ref10/open \
	crypto_sign/ed25519/ref10/sign crypto_sign/ed25519/ref10/keypair crypto_hash/sha512/cp/hash_sha512_cp \
	crypto_hash/sha512/hash_sha512 crypto_verify/verify crypto_onetimeauth/poly1305/donna/poly1305_donna \
	crypto_onetimeauth/poly1305/onetimeauth_poly1305 crypto_scalarmult/curve25519/ref10/x25519_ref10 \
	crypto_scalarmult/curve25519/scalarmult_curve25519
THIRD_FILES := $(THIRD_MBEDTLS:%=mbedtls/library/%) $(THIRD_LIBSODIUM:%=libsodium/src/libsodium/%)

# How files of the libraries, and those of control/crypto, find the libraries' headers.
THIRD_INCLUDE := -Ithird/config -isystem $(THIRD_SRC)/mbedtls/include \
	-isystem $(THIRD_SRC)/libsodium/src/libsodium/include -DMBEDTLS_CONFIG_FILE='"mbedtls_options.h"' \
	-DMBEDTLS_ALIGNMENT_DISABLE_EFFICENT_UNALIGNED_ACCESS \
	-DLIBSODIUM_VERSION='"$(shell awk '$$1 == "libsodium" { print $$2 }' third/pins)"'
# GCC's own headers (stdint.h and others need no C library) behind ours
THIRD_HEADERS := -isystem third/libc -isystem $(shell gcc -print-file-name=include 2>/dev/null)
# -U: no fork, no unistd.h. stderr: of crypto_fprintf, which prints nothing. libsodium: limbs of 51 bits. Debian sets the DISABLE above likewise.
THIRD_CFLAGS := -ffreestanding -nostdinc $(THIRD_HEADERS) $(THIRD_INCLUDE) -U__unix__ -U__unix -Uunix -Dstderr=0 \
	-I$(THIRD_SRC)/libsodium/src/libsodium/include/sodium -I$(THIRD_SRC)/mbedtls/library \
	-DCONFIGURED=1 -DHAVE_TI_MODE=1 -DNATIVE_LITTLE_ENDIAN=1 -DHAVE_INLINE_ASM=1
THIRD_HOST_CFLAGS := -std=gnu11 -O2 -g1 -fno-omit-frame-pointer -fno-strict-aliasing

# The compiler sees no folder of this machine, so the image is the same everywhere.
$(THIRD_READY): third/pins
	@mkdir -p $(@D)
	@tools/get-crypto --link $(THIRD_SRC)
	@touch $@
ifneq ($(words $(wildcard $(THIRD_SRC)/mbedtls/LICENSE $(THIRD_SRC)/libsodium/LICENSE)),2)
.PHONY: $(THIRD_READY) # the cache was emptied
endif

# folder, compiler with flags
define THIRD_BUILD
$(1)/%.o: $$(THIRD_READY) third/third.mk $$(wildcard third/config/*.h third/libc/*.h third/libc/*/*.h)
	@mkdir -p $$(@D)
	$$(if $$(SAY),$$(SAY) CCX $$*)
	@$(2) $$(THIRD_CFLAGS) -c -o $$@ $$(THIRD_SRC)/$$*.c
$(1)/crypto.a: $$(THIRD_FILES:%=$(1)/%.o)
	@rm -f $$@
	@ar rcsD $$@ $$^
endef
$(eval $(call THIRD_BUILD,build/third/host,gcc $$(THIRD_HOST_CFLAGS)))
$(eval $(call THIRD_BUILD,build/third/fuzz,clang $$(THIRD_HOST_CFLAGS) -fsanitize=address -fsanitize=fuzzer-no-link))
THIRD_HOST := build/third/host/crypto.a
THIRD_FUZZ := build/third/fuzz/crypto.a
endif
