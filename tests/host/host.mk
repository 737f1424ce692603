# Sources for the host, under ASan and UBSan: each is compiled once by a compiler, whoever of the
# unit, packet, drill and peer tests links it.
#   $(HOST_BUILD)/gcc/x.o, $(HOST_BUILD)/clang/x.o    x.c, with tests/host's twins of headers
# Included by those that link them.

ifndef HOST_MK
HOST_MK := 1
HOST_BUILD := build/host
HOST_CFLAGS := -std=gnu11 -O1 -g -fno-omit-frame-pointer -fno-strict-aliasing \
	-fsanitize=address,undefined -fno-sanitize-recover=all -Wall -Wextra -Werror -Wshadow \
	-Wwrite-strings -Wcast-align
# GCC 14 on Debian 13: frames that ASan keeps for uses after return lie at odd multiples of 32, though
# what lies in them is aligned to 64, and AVX-512's stores fail. GCC 12 keeps none by itself.
HOST_CFLAGS_gcc := --param asan-use-after-return=0
# The twins go before the real headers.
HOST_TWINS := -Itests/host
# what the packet, drill and peer tests run (mem.c is what the C library has)
HOST_NET := $(sort $(wildcard net/*.c net/*/*.c)) $(filter-out lib/mem.c,$(sort $(wildcard lib/*.c)))

define HOST_COMPILE
$(HOST_BUILD)/$(1)/%.o: %.c tests/host/host.mk
	@mkdir -p $$(@D)
	@$(1) $$(HOST_TWINS) $$(HOST_CFLAGS) $$(HOST_CFLAGS_$(1)) -I. -MMD -MP -c -o $$@ $$<
endef
$(foreach cc,gcc clang,$(eval $(call HOST_COMPILE,$(cc))))

# what they take in whole
$(HOST_BUILD)/gcc/control/web.o: control/web/index.html
$(foreach cc,gcc clang,$(HOST_BUILD)/$(cc)/tools/pktgen/report_html.o): tools/pktgen/report.html

-include $(shell find $(HOST_BUILD) -name '*.d' 2>/dev/null)
endif
