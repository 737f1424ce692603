# The stack outside of the kernel.
#   make lib        build/libhayate-net.a: net/ and lib/ for a Linux process
#   make examples   build/examples/: programs on a tap device
# Included by the top Makefile, or on its own: make -f examples/examples.mk examples
#
# Who links the library brings assert_fail() (lib/assert.h), memory, and the time.

BUILD ?= build
# mem.c is what the C library has
FACE_LIB_SRC := $(sort $(wildcard net/*.c net/*/*.c)) $(filter-out lib/mem.c,$(sort $(wildcard lib/*.c)))
FACE_COMMON := $(addprefix examples/,host.c host4.c host6.c status.c tap.c impair.c options.c pattern.c)
FACE_PROGRAMS := echo httpd client
FACE_CFLAGS := -std=gnu11 -g -fno-omit-frame-pointer -fno-strict-aliasing -MMD -MP -Wall -Wextra \
	-Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wpointer-arith -Wcast-align \
	-Wwrite-strings -Wvla -Wformat=2
# the second way is for tests: sanitizers, and the twin of lib/pkt.h that marks free buffers
FACE_ASAN := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all

.PHONY: lib examples examples-asan

lib: $(BUILD)/libhayate-net.a ## build/libhayate-net.a: the stack for a Linux process

examples: $(FACE_PROGRAMS:%=$(BUILD)/examples/%) ## the stack on a tap device: echo, httpd, client

examples-asan: $(FACE_PROGRAMS:%=$(BUILD)/examples-asan/%)

$(BUILD)/face/%.o: %.c examples/examples.mk
	@mkdir -p $(@D)
	@gcc $(FACE_CFLAGS) -O2 -I. -c -o $@ $<

$(BUILD)/face-asan/%.o: %.c examples/examples.mk
	@mkdir -p $(@D)
	@gcc $(FACE_CFLAGS) $(FACE_ASAN) -Itests/host -I. -c -o $@ $<

$(BUILD)/libhayate-net.a: $(FACE_LIB_SRC:%.c=$(BUILD)/face/%.o)
	@printf '  %-7s %s\n' AR $@
	@rm -f $@
	@ar rcs $@ $^

$(BUILD)/examples/%: $(BUILD)/face/examples/%.o $(FACE_COMMON:%.c=$(BUILD)/face/%.o) $(BUILD)/libhayate-net.a
	@mkdir -p $(@D)
	@printf '  %-7s %s\n' LD $@
	@gcc -g -o $@ $^

FACE_ASAN_OBJ := $(FACE_COMMON:%.c=$(BUILD)/face-asan/%.o) $(FACE_LIB_SRC:%.c=$(BUILD)/face-asan/%.o)
$(BUILD)/examples-asan/%: $(BUILD)/face-asan/examples/%.o $(FACE_ASAN_OBJ)
	@mkdir -p $(@D)
	@printf '  %-7s %s\n' ASAN $@
	@gcc -g $(FACE_ASAN) -o $@ $^

-include $(wildcard $(BUILD)/face/*/*.d $(BUILD)/face/*/*/*.d $(BUILD)/face-asan/*/*.d \
	$(BUILD)/face-asan/*/*/*.d)
