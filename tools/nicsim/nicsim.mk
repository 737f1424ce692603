# nicsim: models of network cards for QEMU (docs/nicsim.md).
#   make nicsim                   build/nicsim
#   make test-nicsim              its tests, against a build with ASan and UBSan; K="gen or link"
#                                 runs some only
# Included by the top Makefile, or on its own: make -f tools/nicsim/nicsim.mk nicsim

BUILD ?= build
NICSIM_SRC := $(sort $(wildcard tools/nicsim/*.c tools/nicsim/*/*.c))
NICSIM_CFLAGS := -std=gnu11 -g -D_GNU_SOURCE -fno-omit-frame-pointer -fno-strict-aliasing -I. -MMD \
	-MP -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef \
	-Wpointer-arith -Wcast-align -Wwrite-strings -Wvla -Wformat=2
# every x86-64 CPU takes prefetchw, if only as a no-op
NICSIM_CFLAGS += -mprfchw
NICSIM_ASAN := -g1 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
NICSIM_OBJ := $(NICSIM_SRC:%.c=$(BUILD)/nicsim-obj/%.o)
NICSIM_ASAN_OBJ := $(NICSIM_SRC:%.c=$(BUILD)/nicsim-asan/%.o)

.PHONY: nicsim test-nicsim nicsim-bench

nicsim: $(BUILD)/nicsim ## the models of network cards, build/nicsim

$(BUILD)/nicsim: $(NICSIM_OBJ)
	@printf '  %-7s %s\n' LD $@
	@$(CC) -O3 -flto=auto -o $@ $^

$(BUILD)/nicsim-asan/nicsim: $(NICSIM_ASAN_OBJ)
	@printf '  %-7s %s\n' LD $@
	@$(CC) $(NICSIM_ASAN) -o $@ $^

$(BUILD)/nicsim-obj/%.o: %.c tools/nicsim/nicsim.mk
	@mkdir -p $(@D)
	@printf '  %-7s %s\n' CC $<
	@$(CC) $(NICSIM_CFLAGS) -O3 -flto=auto -c -o $@ $<

$(BUILD)/nicsim-asan/%.o: %.c tools/nicsim/nicsim.mk
	@mkdir -p $(@D)
	@printf '  %-7s %s\n' ASAN $<
	@$(CC) $(NICSIM_CFLAGS) $(NICSIM_ASAN) -c -o $@ $<

test-nicsim: $(BUILD)/nicsim-asan/nicsim ## tests of nicsim itself (ASan, UBSan)
	@NICSIM=$(abspath $<) /usr/bin/python3 -m pytest -c tests/nicsim/pytest.ini tests/nicsim \
		$(if $(K),-k "$(K)")

# The benchmark's guest is the driver, with the host's twins of what the kernel provides
# (tests/unit/rig/model_port.h).
NICSIM_BENCH_CFLAGS := -std=gnu11 -g -O2 -fno-strict-aliasing -Itests/unit/twin -Itests/unit/twin_clock \
	-Itests/host -I. -MMD -MP -Wall -Wextra -Werror -Wshadow
NICSIM_BENCH_OBJ = $(patsubst %.c,$(BUILD)/nicsim-obj/bench/%.o,$(1))
NICSIM_BENCHES := $(addprefix $(BUILD)/nicsim-obj/throughput-,82599 mlx5)

$(BUILD)/nicsim-obj/bench/%.o: %.c tools/nicsim/nicsim.mk
	@mkdir -p $(@D)
	@$(CC) $(NICSIM_BENCH_CFLAGS) -c -o $@ $<

$(BUILD)/nicsim-obj/throughput-82599: $(call NICSIM_BENCH_OBJ,$(wildcard drivers/ixgbe/*.c drivers/intel/*.c) \
	tests/unit/rig/ixgbe_port.c tests/unit/rig/intel_port.c)
$(BUILD)/nicsim-obj/throughput-mlx5: $(call NICSIM_BENCH_OBJ,$(wildcard drivers/mlx5/*.c) lib/fmt.c net/rss.c \
	tests/unit/rig/mlx5_port.c)
$(NICSIM_BENCHES): $(filter-out %/main.o %/loop.o %/control.o %/port.o %/pci.o %/vfio_user.o,$(NICSIM_OBJ)) $(call NICSIM_BENCH_OBJ, \
		tests/nicsim/throughput.c lib/pkt.c lib/csum.c \
		$(addprefix tests/unit/rig/,model_port.c nicsim_rig.c guest.c host.c))
	@$(CC) -O3 -flto=auto -o $@ $^ -lcmocka

nicsim-bench: $(NICSIM_BENCHES) ## what a frame costs nicsim, with each card
	@set -e; for bench in $^; do $$bench; done

-include $(NICSIM_OBJ:.o=.d) $(NICSIM_ASAN_OBJ:.o=.d) \
	$(shell find $(BUILD)/nicsim-obj/bench -name '*.d' 2>/dev/null)
