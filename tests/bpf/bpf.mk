# Host programs that run BPF programs.
#   make bpf-run             build/bpf-run: runs the instructions of a program (tests/bpf/run.c)
#   make test-bpf            bpf-run, and random programs against Linux; PROGRAMS=n SEED=n
#   make fuzz-bpf            random programs against Linux for SECONDS=3600, a quarter of the time mutated ones
# Included by the top Makefile.

include tests/host/host.mk

BPF_SRC := $(sort $(wildcard bpf/*.c bpf/*/*.c)) lib/csum.c lib/fmt.c

.PHONY: bpf-run
bpf-run: build/bpf-run ## a command that runs the bytes of a BPF program, compiled or interpreted

build/bpf-run: $(patsubst %.c,$(HOST_BUILD)/gcc/%.o,tests/bpf/run.c tests/bpf/execute.c $(BPF_SRC))
	@mkdir -p $(@D)
	@gcc $(HOST_CFLAGS_gcc) -o $@ $^

# A static program, so that it runs on any Linux: without sanitizers, and with the image's bpf_core.
BPF_STATIC := build/bpf/static
BPF_STATIC_SRC := $(patsubst %,tests/bpf/%.c,contents differential execute generate host_helpers linux mutate) $(BPF_SRC)
$(BPF_STATIC)/%.o: %.c tests/bpf/bpf.mk
	@mkdir -p $(@D)
	@gcc $(HOST_COMMON) -O2 -I. -MMD -MP -c -o $@ $<

build/bpf-differential: $(BPF_STATIC_SRC:%.c=$(BPF_STATIC)/%.o)
	@gcc -static -o $@ $^

-include $(BPF_STATIC_SRC:%.c=$(BPF_STATIC)/%.d)

.PHONY: test-bpf fuzz-bpf
test-bpf: build/bpf-run build/bpf-differential bpf-programs ## BPF programs: compiled, interpreted, and in Linux
	@$(PYTHON) -m pytest -c tests/bpf/pytest.ini $(if $(K),-k "$(K)") tests/bpf

fuzz-bpf: build/bpf-differential ## the same with random programs for SECONDS=3600
	@seconds=$(if $(filter command line,$(origin SECONDS)),$(SECONDS),3600); \
		build/bpf-differential --seconds $$((seconds * 3 / 4)) && build/bpf-differential --mutate --seconds $$((seconds / 4))
