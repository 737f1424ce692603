# Sources for the host: each compiler compiles each source once, and the unit, packet, drill and peer
# tests link the results.
#   $(HOST_BUILD)/gcc/x.o      x.c under ASan and UBSan, with tests/host's twins of headers
#   $(HOST_BUILD)/clang/x.o    the same by another compiler, optimised as the image is, without
#                              sanitizers: clang's would find again what GCC's find, in three times
#                              the time to compile and run. The fuzz entries have clang's.
# Included by the makefiles that link them.

ifndef HOST_MK
HOST_MK := 1
HOST_BUILD := build/host
# Functions and lines for the sanitizers' reports, without variables: with -g, which a debugger needs
# (make HOST_DEBUG=-g), GCC takes 1.4 times the time, clang 1.1 times.
HOST_DEBUG := -g1
HOST_COMMON := -std=gnu11 $(HOST_DEBUG) -fno-omit-frame-pointer -fno-strict-aliasing -Wall -Wextra -Werror \
	-Wshadow -Wwrite-strings -Wcast-align
HOST_CFLAGS := $(HOST_COMMON) -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
# GCC 14 on Debian 13: ASan's fake stack frames for use-after-return lie at odd multiples of 32,
# although their contents are aligned to 64, so AVX-512 stores fault. GCC 12 does not use them by
# default.
HOST_CFLAGS_gcc = $(HOST_CFLAGS) --param asan-use-after-return=0
HOST_CFLAGS_clang := $(HOST_COMMON) -O2
# The twins precede the real headers.
HOST_TWINS := -Itests/host
# what the packet, drill and peer tests run (the C library replaces mem.c)
HOST_NET := $(sort $(wildcard net/*.c net/*/*.c)) $(filter-out lib/mem.c,$(sort $(wildcard lib/*.c)))

define HOST_COMPILE
$(HOST_BUILD)/$(1)/%.o: %.c tests/host/host.mk
	@mkdir -p $$(@D)
	@$(1) $$(HOST_TWINS) $$(HOST_CFLAGS_$(1)) -I. -MMD -MP -c -o $$@ $$<
endef
$(foreach cc,gcc clang,$(eval $(call HOST_COMPILE,$(cc))))

# control/crypto, with the headers of foreign code
include third/third.mk
HOST_CRYPTO := $(foreach cc,gcc clang,$(patsubst %.c,$(HOST_BUILD)/$(cc)/%.o, \
	$(wildcard control/crypto/*.c) tests/unit/control/crypto/test_tls.c))
$(HOST_CRYPTO): HOST_TWINS += $(THIRD_INCLUDE)
$(HOST_CRYPTO): $(THIRD_READY)

# files that are embedded whole
$(HOST_BUILD)/gcc/control/management/web.o: control/management/index.html
$(foreach cc,gcc clang,$(HOST_BUILD)/$(cc)/tools/pktgen/report/report_html.o): tools/pktgen/report/report.html

-include $(shell find $(HOST_BUILD) -name '*.d' 2>/dev/null)
endif
