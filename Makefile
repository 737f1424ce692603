# Hayate. `make help` lists the targets; all output goes to build/.
#
# One image has two link units (ARCHITECTURE.md, Rooms). The core program (ring 3: runtime, drivers,
# net, dataplane, control, apps) is linked first and embedded in the kernel (ring 0: boot, kernel).
# lib/ is compiled into both.

BUILD := build
CC := gcc
LD := ld
NASM := nasm
PYTHON := /usr/bin/python3

# Without the tools that a build needs, say which packages have them. Some targets install them first.
ifneq ($(filter-out help clean run run-bgp test check-deps,$(or $(MAKECMDGOALS),all)),)
ABSENT := $(strip $(foreach tool,$(firstword $(CC)) $(LD) $(NASM) $(PYTHON), \
	$(if $(wildcard $(filter /%,$(tool)) $(addsuffix /$(tool),$(subst :, ,$(PATH)))),,$(tool))))
ifneq ($(ABSENT),)
$(shell tools/deps.sh check build >&2)
$(error cannot build without $(ABSENT))
endif
endif

# --- sources, in reading order ---
KERNEL_ASM := boot/entry.asm boot/ap.asm kernel/trap.asm
KERNEL_SRC := kernel/main.c kernel/boot.c kernel/console.c kernel/fbcon.c kernel/font.c \
	kernel/numa.c kernel/vm_ram.c kernel/vm.c kernel/acpi.c kernel/apic.c kernel/tsc.c kernel/rtc.c kernel/core.c kernel/smp.c kernel/pci_config.c kernel/pci.c kernel/pci_bars.c kernel/pci_assign.c kernel/pci_bridges.c kernel/pci_room.c kernel/pci_report.c kernel/pci_errors.c \
	kernel/dmar.c kernel/vtd.c kernel/vtd_kind.c kernel/ivrs.c kernel/amdvi.c kernel/amdvi_kind.c kernel/iommu.c kernel/iomap.c \
	kernel/irt_vtd.c kernel/irt_amdvi.c kernel/intr.c kernel/smbios.c kernel/hardware.c \
	kernel/shares.c kernel/partition.c kernel/lend.c kernel/regions.c kernel/audit.c kernel/program.c kernel/trap.c kernel/watchdog.c kernel/kcall.c kernel/crash.c kernel/coredump.c kernel/fault.c \
	kernel/guard.c kernel/panic.c kernel/mce.c kernel/keep.c kernel/selftest.c kernel/symbols.c
LIB_SRC := $(sort $(wildcard lib/*.c))
# the interpreter of BPF is for tests
PROGRAM_SRC := $(filter-out bpf/interpret.c,$(sort $(wildcard runtime/*.c dataplane/*.c disk/*.c drivers/*.c drivers/*/*.c net/*.c net/*/*.c bpf/*.c bpf/*/*.c control/*.c \
	control/*/*.c apps/*.c apps/*/*.c tools/pktgen/*.c tools/pktgen/*/*.c)))

# --- flags ---
WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef \
	-Wpointer-arith -Wcast-align -Wwrite-strings -Wvla -Wformat=2
# A stack overflow is caught before the function returns: the guard word behind the local arrays is
# compared with __stack_chk_guard. The kernel and each core's program have a __stack_chk_guard each.
GUARD := -fstack-protector-strong -mstack-protector-guard=global
# No header of a C library is visible, nor the compiler's own headers.
COMMON := -std=gnu11 -O2 -g -ffreestanding -nostdinc -fno-pic $(GUARD) \
	-fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fno-strict-aliasing \
	-fno-tree-loop-distribute-patterns -ffile-prefix-map=$(CURDIR)=. -I. -MMD -MP $(WARN)
LDFLAGS := -nostdlib -static -z max-page-size=4096 -z noexecstack --no-warn-rwx-segments
KERNEL_CFLAGS := $(COMMON) -mcmodel=kernel -mno-red-zone -mgeneral-regs-only
# Baseline x86-64; wider vectors are used only after a check at run time.
PROGRAM_CFLAGS := $(COMMON) -mcmodel=small -fno-math-errno

# Per-packet code, in short functions that pass the addresses of a local variable or two. GUARD costs
# six instructions per function there: 31 of TCP's 1,500 for a request. In these files only functions
# with an array of bytes have a guard (12 of the 31).
GUARD_ARRAYS := net/ip net/udp net/tcp/ack net/tcp/loss net/tcp/output net/tcp/recv net/tcp/wire \
	tools/pktgen/measure/judge
$(GUARD_ARRAYS:%=$(BUILD)/program/%.o): PROGRAM_CFLAGS += -fstack-protector
# In functions with the attribute `target`, GCC 12 ignores -mstack-protector-guard=global and reads the
# guard from the C library's thread block, which does not exist here (test_isolation.py checks this).
GUARD_NONE := $(patsubst %.c,%,$(wildcard net/*/avx*.c apps/*/*_avx2.c drivers/*/*_avx2.c tools/*/*/*_avx2.c))
$(GUARD_NONE:%=$(BUILD)/program/%.o): PROGRAM_CFLAGS += -fno-stack-protector

KERNEL_OBJ := $(KERNEL_ASM:%.asm=$(BUILD)/kernel/%.asm.o) $(KERNEL_SRC:%.c=$(BUILD)/kernel/%.o) \
	$(LIB_SRC:%.c=$(BUILD)/kernel/%.o) $(BUILD)/kernel/program.o
PROGRAM_OBJ := $(PROGRAM_SRC:%.c=$(BUILD)/program/%.o) $(LIB_SRC:%.c=$(BUILD)/program/%.o)

# Foreign code, which only control/crypto calls: see there.
include third/third.mk
$(eval $(call THIRD_BUILD,$(BUILD)/third,$$(CC) $$(filter-out $$(WARN) -MMD -MP -I. -ffreestanding -nostdinc,$$(PROGRAM_CFLAGS)) $$(THIRD_PLACE)))
# Else debugging information would name the folder of the cache.
THIRD_PLACE := -fno-canonical-system-headers
CRYPTO_OBJ := $(filter $(BUILD)/program/control/crypto/%,$(PROGRAM_OBJ))
$(CRYPTO_OBJ): PROGRAM_CFLAGS += $(THIRD_HEADERS) $(THIRD_INCLUDE) $(THIRD_PLACE)
$(CRYPTO_OBJ): $(THIRD_READY) $(wildcard third/config/*.h)

# Keep intermediate files.
.SECONDARY:

# V=1 shows the commands themselves.
Q := $(if $(V),,@)
SAY = $(if $(V),@:,@printf '  %-7s %s\n')

.DEFAULT_GOAL := all
.PHONY: all help run demo run-bgp demo-bgp rfc2544 image iso release test soak test-system test-matrix test-witness check bench bench-page bench-pktgen \
	check-deps clean compile_commands
all: $(BUILD)/hayate.elf ## build the image for direct boot, build/hayate.elf

help: ## this list
	@awk -F ':.*## ' '/^[a-z_ -]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## install what is missing, build, and show the router at work between two hosts
	@tools/deps.sh install run $(if $(filter-out virtio,$(NIC)),models)
	@$(MAKE) --no-print-directory demo

# APP=switch: a switch and hosts in two VLANs; APP=web: a web server and a host
# NIC=igb: on two 82576, NIC=vmxnet3: two cards of VMware's, modelled by QEMU; NIC=ixgbe: on two 82599 ports,
# NIC=igc: two I226, NIC=mlx5: two ports of a ConnectX-5, modelled by nicsim
demo: all $(if $(filter ixgbe igc mlx5,$(NIC)),nicsim) ## the same without looking for missing packages
	@tools/hayate demo $(if $(APP),--app $(APP)) $(if $(NIC),--nic $(NIC))

run-bgp: ## install what is missing, build, and show two routers with BGP and a cable that is pulled out
	@tools/deps.sh install run-bgp
	@$(MAKE) --no-print-directory demo-bgp

demo-bgp: all ## the same without looking for missing packages
	@tools/hayate demo-bgp

# OPTIONS: those of `tools/hayate rfc2544 --help`
rfc2544: all $(if $(findstring --nic,$(OPTIONS)),nicsim) ## our router by our generator: report in build/rfc2544
	@tools/deps.sh install run
	@tools/hayate rfc2544 $(OPTIONS)

image iso: all ## build/hayate.iso: boots by GRUB from BIOS and UEFI, as CD and as USB stick
	@tools/hayate image

release: all lib ## build/release/hayate-VERSION: image, library, checksums; everywhere the same bytes
	@tools/deps.sh install release
	@tools/release.sh

check: all ## includes and calls go the ways of ARCHITECTURE.md; documents and lists of fuzz entries name what is there
	@$(PYTHON) tests/check_includes.py --self-test
	@$(PYTHON) tests/check_includes.py
	@$(PYTHON) tests/check_symbols.py --self-test
	@$(PYTHON) tests/check_symbols.py
	@$(PYTHON) tests/check_docs.py --self-test
	@$(PYTHON) tests/check_docs.py
	@$(PYTHON) tests/check_fuzz.py --self-test
	@$(PYTHON) tests/check_fuzz.py
	@$(MAKE) -n BUILD=build/none bench-programs >/dev/null # nothing is there that hides a missing source

check-deps: ## which packages are missing
	@tools/deps.sh check all

compile_commands: ## compile_commands.json for editors
	@$(PYTHON) tools/compile_commands.py

$(BUILD)/kernel/%.asm.o: %.asm boot/long_mode.inc
	@mkdir -p $(@D)
	$(SAY) NASM $<
	$(Q)$(NASM) -f elf64 -I. -Werror -o $@ $<

$(BUILD)/kernel/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(SAY) CC0 $<
	$(Q)$(CC) $(KERNEL_CFLAGS) -c -o $@ $<

$(BUILD)/program/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(SAY) CC3 $<
	$(Q)$(CC) $(PROGRAM_CFLAGS) -c -o $@ $<

$(BUILD)/program/control/management/web.o: control/management/index.html
$(BUILD)/program/tools/pktgen/report/report_html.o: tools/pktgen/report/report.html

$(BUILD)/program.elf: $(PROGRAM_OBJ) $(BUILD)/third/crypto.a runtime/program.ld
	$(SAY) LD $@
	$(Q)$(LD) $(LDFLAGS) -T runtime/program.ld -o $@ $(PROGRAM_OBJ) $(BUILD)/third/crypto.a

$(BUILD)/program-stripped.elf: $(BUILD)/program.elf
	$(Q)objcopy --strip-debug $< $@

$(BUILD)/kernel/program.o: $(BUILD)/program-stripped.elf
	@mkdir -p $(@D)
	@printf 'section .program progbits alloc noexec nowrite align=4096\nincbin "%s"\n' $< \
		> $(@D)/program.asm
	$(Q)$(NASM) -f elf64 -o $@ $(@D)/program.asm

# The kernel is linked twice: first to learn its functions' addresses, then with their names included.
$(BUILD)/symbols-empty.o: tools/symbols.awk
	@mkdir -p $(@D)
	$(Q)awk -f tools/symbols.awk /dev/null > $(BUILD)/symbols-empty.asm
	$(Q)$(NASM) -f elf64 -o $@ $(BUILD)/symbols-empty.asm

$(BUILD)/hayate-nosymbols.elf: $(KERNEL_OBJ) $(BUILD)/symbols-empty.o linker.ld
	$(Q)$(LD) $(LDFLAGS) -T linker.ld -o $@ $(KERNEL_OBJ) $(BUILD)/symbols-empty.o

# The build id identifies the image. It is a hash of the first link, core program included, without
# debugging information, which names the build's folders. The same sources and compiler give the same id.
$(BUILD)/build-id: $(BUILD)/hayate-nosymbols.elf
	$(Q)objcopy --strip-debug $< $(BUILD)/hayate-hashed.elf
	$(Q)sha256sum < $(BUILD)/hayate-hashed.elf | cut -c1-40 > $@

$(BUILD)/hayate.elf: $(BUILD)/hayate-nosymbols.elf $(BUILD)/build-id tools/symbols.awk
	$(SAY) LD $@
	$(Q)nm -n $< | awk -v id=$$(cat $(BUILD)/build-id) -f tools/symbols.awk > $(BUILD)/symbols.asm
	$(Q)$(NASM) -f elf64 -o $(BUILD)/symbols.o $(BUILD)/symbols.asm
	$(Q)$(LD) $(LDFLAGS) -T linker.ld -o $(BUILD)/hayate-debug.elf $(KERNEL_OBJ) $(BUILD)/symbols.o
	$(Q)objcopy --strip-debug $(BUILD)/hayate-debug.elf $@

# --- tests: each layer ends in a line "LAYER: N passed, N failed" ---
include tests/bpf/programs/programs.mk
include tests/bpf/bpf.mk
include tests/unit/unit.mk
include tests/packet/packet.mk
include tests/drill/drill.mk
include tests/fuzz/fuzz.mk
include tests/coverage/coverage.mk
include examples/examples.mk
include tests/peer/peer.mk
include tools/nicsim/nicsim.mk
include tests/sharing/sharing.mk
include tests/bench/bench.mk

# tests/all.sh says what the two lists are. Those that take longest come first.
LAYERS := test-witness test-system/8 test-peer test-nicsim
LAYERS_BESIDE := test-packet unit test-fuzz test-drill test-bpf bench-gate check-portable check

.PHONY: test-builds
test-builds: all nicsim $(UNIT_BIN) $(PORTABLE_OBJ) $(F:%=$(FUZZ_BUILD)/fuzz_%) $(PACKET_BUILD)/harness \
	$(DRILL_BUILD)/harness examples examples-asan $(BUILD)/nicsim-asan/nicsim \
	$(BENCH_GATED) $(BENCH_BUILD)/engine_bench $(BENCH_BUILD)/maps_bench $(BENCH_BUILD)/bpf_bench \
	bpf-programs build/bpf-run build/bpf-differential

# A prerequisite of `test`, which says so before it builds.
.PHONY: needs-root
needs-root:
	@[ "$$(id -u)" = 0 ] || { echo "make test makes network namespaces: sudo make test. Without root:" \
		"make unit test-packet test-drill test-nicsim test-fuzz check" >&2; exit 1; }

# If the recipe named $(MAKE) itself, `make -n` would run it too.
TEST_MAKE := $(MAKE)
# The tests above the driver run on one card each (tests/system/conftest.py), not on all.
test: export DEAL_CARDS := 1
test: needs-root ## everything: checks, unit, fuzz, packet, drill, peer, nicsim, system and witness tests
	@tools/deps.sh install test
	@exec tests/all.sh $(TEST_MAKE) test-builds $(LAYERS) -- $(LAYERS_BESIDE)

test-system: all nicsim bpf-programs ## boots the real image under QEMU between network namespaces
	@$(PYTHON) -m pytest -c tests/system/pytest.ini tests/system $(if $(SHARE),--share $(SHARE)) $(if $(DEAL_CARDS),--deal-cards)

# OPTIONS: those of `tests/system/matrix.py --help`
test-matrix: all nicsim bpf-programs ## the same tests for every card, application and 1, 2, 4 CPUs: a table
	@tools/deps.sh install test
	@$(PYTHON) tests/system/matrix.py $(OPTIONS)

# Defaults: MINUTES=10, NIC=virtio, CPUS=3, SEED=0 (a new seed). ONLY="link core" selects kinds of faults.
soak: all nicsim bpf-programs ## a router under traffic while everything fails that can; MINUTES=n NIC=ixgbe SEED=n
	@$(PYTHON) tests/soak/soak.py $(if $(MINUTES),--minutes $(MINUTES)) $(if $(NIC),--nic $(NIC)) \
		$(if $(CPUS),--cpus $(CPUS)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

test-witness: all nicsim ## stock Linux on the modelled cards: are the models honest?
	@$(PYTHON) -m pytest -c tests/witness/pytest.ini tests/witness

bench-pktgen: all nicsim ## the generator beside testpmd; into build/bench.json
	@tools/deps.sh install bench
	@$(PYTHON) tests/bench/bench.py --only pktgen --only pktgen-curve \
		--only pktgen-latency

bench-page: all nicsim bpf-programs ## the tables of docs/performance.md and README.md, from one run [RUNS=3]
	@tools/deps.sh install bench
	@$(PYTHON) tests/bench/bench.py --page --runs $(or $(RUNS),3)

bench: all nicsim ## speed beside a peer in the same run; writes build/bench.json
	@tools/deps.sh install bench
	@$(PYTHON) tests/bench/bench.py

clean: ## remove build/
	rm -rf $(BUILD)

-include $(KERNEL_OBJ:.o=.d) $(PROGRAM_OBJ:.o=.d)
