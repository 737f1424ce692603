# The stack in a Linux process.
#   make lib        build/libhayate-net.a: net/ and lib/ for a Linux process
#   make examples   build/examples/: programs on a tap device
# Included by the top Makefile, or used alone: make -f examples/examples.mk examples
#
# A program that links the library supplies assert_fail() (lib/assert.h), memory, and the time.

include tests/host/host.mk

BUILD ?= build
FACE_COMMON := $(addprefix examples/,host.c host4.c host6.c status.c tap.c impair.c options.c pattern.c)
FACE_PROGRAMS := echo httpd client
FACE_CFLAGS := -std=gnu11 -g -fno-omit-frame-pointer -fno-strict-aliasing -MMD -MP -Wall -Wextra \
	-Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wpointer-arith -Wcast-align \
	-Wwrite-strings -Wvla -Wformat=2 -ffile-prefix-map=$(CURDIR)=.

.PHONY: lib examples examples-asan

lib: $(BUILD)/libhayate-net.a ## build/libhayate-net.a: the stack for a Linux process

examples: $(FACE_PROGRAMS:%=$(BUILD)/examples/%) ## the stack on a tap device: echo, httpd, client

examples-asan: $(FACE_PROGRAMS:%=$(BUILD)/examples-asan/%)

$(BUILD)/face/%.o: %.c examples/examples.mk
	@mkdir -p $(@D)
	@gcc $(FACE_CFLAGS) -O2 -I. -c -o $@ $<

$(BUILD)/libhayate-net.a: $(HOST_NET:%.c=$(BUILD)/face/%.o)
	@printf '  %-7s %s\n' AR $@
	@rm -f $@
	@ar rcs $@ $^

$(BUILD)/examples/%: $(BUILD)/face/examples/%.o $(FACE_COMMON:%.c=$(BUILD)/face/%.o) $(BUILD)/libhayate-net.a
	@mkdir -p $(@D)
	@printf '  %-7s %s\n' LD $@
	@gcc -g -o $@ $^

# For tests: sanitizers, and the host's version of lib/pkt.h, which marks free buffers.
$(BUILD)/examples-asan/%: $(HOST_BUILD)/gcc/examples/%.o $(FACE_COMMON:%.c=$(HOST_BUILD)/gcc/%.o) \
		$(HOST_NET:%.c=$(HOST_BUILD)/gcc/%.o)
	@mkdir -p $(@D)
	@printf '  %-7s %s\n' ASAN $@
	@gcc $(HOST_CFLAGS) -o $@ $^

-include $(wildcard $(BUILD)/face/*/*.d $(BUILD)/face/*/*/*.d)
