# XDP programs in C for the tests of bpf/, by clang and libbpf's headers, as users build theirs:
#   make bpf-programs        build/bpf/NAME.o of each tests/bpf/programs/NAME.c, and
#                            build/bpf/refused/NAME.o of tests/bpf/refused/NAME.c
# Included by the makefiles whose tests load them.

ifndef BPF_PROGRAMS_MK
BPF_PROGRAMS_MK := 1
BPF_BUILD := build/bpf
BPF_PROGRAMS := $(patsubst tests/bpf/programs/%.c,$(BPF_BUILD)/%.o,$(sort $(wildcard tests/bpf/programs/*.c)))
# Objects that the loader must refuse, or need not run.
BPF_REFUSED := $(patsubst tests/bpf/refused/%.c,$(BPF_BUILD)/refused/%.o,$(sort $(wildcard tests/bpf/refused/*.c)))
# linux/types.h includes asm/types.h, which Debian has in the folder of the architecture.
BPF_CFLAGS := -O2 -g -target bpf -I. -isystem /usr/include/$(shell gcc -print-multiarch 2>/dev/null) -Wall -Werror

$(BPF_BUILD)/%.o: tests/bpf/programs/%.c tests/bpf/programs/programs.mk
	@mkdir -p $(@D)
	@clang $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

$(BPF_BUILD)/refused/%.o: tests/bpf/refused/%.c tests/bpf/programs/programs.mk
	@mkdir -p $(@D)
	@clang $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

.PHONY: bpf-programs
bpf-programs: $(BPF_PROGRAMS) $(BPF_REFUSED) ## XDP programs for tests, as objects in build/bpf/

-include $(BPF_PROGRAMS:.o=.d) $(BPF_REFUSED:.o=.d)
endif
