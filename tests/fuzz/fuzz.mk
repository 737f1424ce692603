# Fuzzing of everything that reads bytes from outside, by libFuzzer, under ASan and UBSan. For which
# parser has which entry see docs/RELIABILITY.md, "Hostile input".
#   make test-fuzz           each entry over its corpus, then a fixed number of executions
#   make fuzz SECONDS=600    each entry for that long; F=tcp only that one
#   make fuzz HOURS=8        all in turns, that long in total, on all CPUs
#   make fuzz-merge          adds what `make fuzz` has learned to tests/fuzz/corpus/: of the inputs
#                            that reach a new edge, the smallest
# What a run finds is written to build/fuzz/ (NAME-crash-…), with the command that repeats it. Fix the
# bug, and put the file into tests/fuzz/corpus/NAME/. Included by the top Makefile, or on its own:
#   make -f tests/fuzz/fuzz.mk test-fuzz

include tests/bpf/programs/programs.mk
include third/third.mk

FUZZ_BUILD := build/fuzz
# All entries (tests/check_fuzz.py).
F ?= ip4 ip6 acl udp vxlan nd tcp tcp_move http http_range http_coding http_date http_condition http_response tar site fpm bfd stp snoop \
	dhcp lldp ntp dns lacp telnet ssh tls match script pcap config virtio intel vmxnet3 mlx5 firmware arp acpi candidate shell boot pci \
	virtio_regs vfio ixgbe_regs x550_regs program routes json store bpf_object bpf_verify xdp
SECONDS ?= 20
FUZZ_RUNS_ip4 := 300000
FUZZ_RUNS_ip6 := 50000
FUZZ_RUNS_acl := 300
FUZZ_RUNS_bpf_verify := 10000
FUZZ_RUNS_xdp := 12000
FUZZ_RUNS_udp := 300000
FUZZ_RUNS_vxlan := 300000
FUZZ_RUNS_nd := 15000
FUZZ_RUNS_tcp := 30000
FUZZ_RUNS_tcp_move := 15000
FUZZ_RUNS_http := 50000
FUZZ_RUNS_http_range := 300000
FUZZ_RUNS_http_coding := 150000
FUZZ_RUNS_http_date := 300000
FUZZ_RUNS_http_condition := 200000
FUZZ_RUNS_http_response := 200000
FUZZ_RUNS_tar := 100000
FUZZ_RUNS_site := 5000
FUZZ_RUNS_fpm := 200000
FUZZ_RUNS_bfd := 200000
FUZZ_RUNS_stp := 25000
FUZZ_RUNS_snoop := 6000
FUZZ_RUNS_dhcp := 20000
FUZZ_RUNS_lldp := 40000
FUZZ_RUNS_ntp := 20000
FUZZ_RUNS_dns := 100000
FUZZ_RUNS_lacp := 8000
FUZZ_RUNS_ssh := 8000
FUZZ_RUNS_tls := 400
FUZZ_RUNS_telnet := 150000
FUZZ_RUNS_match := 200000
FUZZ_RUNS_script := 40000
FUZZ_RUNS_pcap := 300000
FUZZ_RUNS_json := 200000
FUZZ_RUNS_store := 10000
FUZZ_RUNS_config := 15000
FUZZ_RUNS_virtio := 8000
FUZZ_RUNS_intel := 8000
FUZZ_RUNS_vmxnet3 := 8000
FUZZ_RUNS_mlx5 := 8000
FUZZ_RUNS_firmware := 800
FUZZ_RUNS_arp := 40000
FUZZ_RUNS_acpi := 100000
FUZZ_RUNS_candidate := 1500
FUZZ_RUNS_shell := 20000
FUZZ_RUNS_boot := 50000
FUZZ_RUNS_pci := 40000
FUZZ_RUNS_virtio_regs := 15000
FUZZ_RUNS_vfio := 20000
FUZZ_RUNS_program := 200000
FUZZ_RUNS_routes := 50000
FUZZ_RUNS_ixgbe_regs := 150
FUZZ_RUNS_x550_regs := 100
FUZZ_RUNS_bpf_object := 60000
# the longest input, where it is not 1024 bytes
FUZZ_LEN_config := 4096
FUZZ_LEN_boot := 2048
FUZZ_LEN_tar := 8192
FUZZ_LEN_site := 8192
FUZZ_LEN_program := 8192
FUZZ_LEN_bpf_object := 8192
FUZZ_NET := $(sort $(wildcard net/*.c)) $(filter-out lib/mem.c,$(sort $(wildcard lib/*.c)))
FUZZ_SRC_bpf_verify := $(wildcard bpf/verifier/*.c bpf/compiler/*.c bpf/maps/*.c) bpf/program.c bpf/helpers.c \
	bpf/insn_text.c bpf/interpret.c bpf/csum.c lib/csum.c lib/fmt.c tests/unit/rig/bpf_insns.c tests/bpf/execute.c
FUZZ_SRC_ip4 := $(FUZZ_NET)
FUZZ_SRC_ip6 := $(FUZZ_NET)
FUZZ_SRC_acl := $(FUZZ_NET) $(sort $(wildcard net/acl/*.c)) tests/unit/rig/acl_rig.c
FUZZ_SRC_udp := $(FUZZ_NET)
FUZZ_SRC_vxlan := $(FUZZ_NET)
FUZZ_SRC_nd := $(FUZZ_NET)
FUZZ_SRC_tcp := $(FUZZ_NET) $(sort $(wildcard net/tcp/*.c))
FUZZ_SRC_tcp_move := $(FUZZ_SRC_tcp)
FUZZ_SRC_http := $(sort $(wildcard net/http/*.c)) lib/civil.c lib/fmt.c
FUZZ_SRC_http_range := net/http/range.c lib/fmt.c
FUZZ_SRC_http_coding := net/http/coding.c net/http/media.c
FUZZ_SRC_http_date := net/http/date.c lib/civil.c lib/fmt.c
FUZZ_SRC_http_condition := $(FUZZ_SRC_http)
FUZZ_SRC_http_response := net/http/response.c
FUZZ_SRC_tar := net/archive/tar.c
FUZZ_SRC_site := $(sort $(wildcard apps/web/site*.c)) net/archive/tar.c net/http/answer.c net/http/coding.c net/http/date.c lib/civil.c net/http/media.c \
	lib/fmt.c lib/siphash.c
FUZZ_SRC_fpm := $(sort $(wildcard net/fpm/*.c)) tests/unit/rig/fpm_contract.c
FUZZ_SRC_bfd := $(sort $(wildcard net/bfd/*.c))
FUZZ_SRC_snoop := $(FUZZ_NET) $(sort $(wildcard net/snoop/*.c))
FUZZ_SRC_stp := $(sort $(wildcard net/stp/*.c))
FUZZ_SRC_dhcp := $(sort $(wildcard net/dhcp/*.c))
FUZZ_SRC_ntp := $(sort $(wildcard net/ntp/*.c))
FUZZ_SRC_dns := net/dns/message.c
FUZZ_SRC_lldp := $(sort $(wildcard net/lldp/*.c))
FUZZ_SRC_lacp := $(sort $(wildcard net/lacp/*.c))
FUZZ_SRC_telnet := net/telnet.c
FUZZ_SRC_tls := tests/unit/rig/crypto_heap.c $(addprefix control/crypto/,tls.c tls_identity.c tls_trust.c library.c) lib/civil.c lib/sha256.c lib/fmt.c
FUZZ_SRC_ssh := $(wildcard net/ssh/*.c) lib/sha256.c tests/unit/rig/ssh_rig.c
FUZZ_SRC_match := net/match.c net/ip6.c control/text/match_words.c control/text/text.c lib/csum.c lib/fmt.c
FUZZ_SRC_script := $(sort $(wildcard tools/pktgen/script/*.c tools/pktgen/frames/frames*.c)) \
	control/text/text.c control/text/words.c net/ip4.c net/ip6.c lib/csum.c lib/fmt.c
FUZZ_SRC_store := disk/generations.c disk/gpt.c control/storage/values.c net/archive/tar.c lib/sha256.c lib/crc32.c
FUZZ_SRC_json := control/text/json.c control/text/json_statements.c control/text/text.c lib/fmt.c
FUZZ_SRC_pcap := tools/pktgen/frames/pcap.c tools/pktgen/frames/replay.c
# with a rig of the unit tests, which is linked with cmocka
FUZZ_SRC_config := $(filter-out control/config/config_hash.c,$(sort $(wildcard control/config/config*.c))) \
	control/config/words.c control/config/password.c control/text/base64.c control/text/text.c control/text/words.c \
	control/text/interface_name.c lib/fmt.c lib/log_level.c net/routing.c net/link.c net/stp/show.c tests/unit/rig/config_rig.c tests/fuzz/rig.c
FUZZ_RINGS := lib/pkt.c lib/csum.c tests/unit/rig/hand.c tests/unit/rig/guest.c tests/fuzz/rig.c
FUZZ_SRC_virtio := $(sort $(wildcard drivers/virtio_net/ring*.c)) tests/unit/rig/virtq_device.c tests/unit/rig/virtio_rig.c \
	tests/unit/rig/virtio_liar.c $(FUZZ_RINGS)
FUZZ_SRC_intel := $(sort $(wildcard drivers/intel/ring*.c)) tests/unit/rig/intel_rig.c $(FUZZ_RINGS)
FUZZ_SRC_vmxnet3 := $(sort $(wildcard drivers/vmxnet3/ring*.c)) tests/unit/rig/vmxnet3_rig.c $(FUZZ_RINGS)
FUZZ_SRC_mlx5 := $(sort $(wildcard drivers/mlx5/ring*.c)) tests/unit/rig/mlx5_ring_rig.c $(FUZZ_RINGS)
FUZZ_SRC_firmware := $(sort $(wildcard drivers/mlx5/*.c)) lib/fmt.c lib/pkt.c lib/csum.c \
	tests/unit/rig/mlx5_firmware.c tests/unit/rig/guest.c tests/fuzz/rig.c
FUZZ_SRC_arp := $(wildcard net/arp*.c) net/neigh_table.c lib/fmt.c tests/unit/rig/neigh_rig.c tests/fuzz/rig.c
FUZZ_SRC_acpi := tests/fuzz/rig.c
FUZZ_SRC_boot := tests/fuzz/rig.c kernel/numa.c
FUZZ_SRC_pci := tests/fuzz/rig.c lib/fmt.c $(addprefix kernel/pci_,bars.c bridges.c room.c assign.c)
FUZZ_IXGBE := $(sort $(wildcard drivers/ixgbe/*.c drivers/intel/*.c)) lib/pkt.c lib/csum.c \
	$(sort $(wildcard tools/nicsim/82599/*.c tools/nicsim/intel/*.c tools/nicsim/packet/*.c)) \
	$(addprefix tools/nicsim/,model.c reg.c json.c wires/wire.c) \
	$(addprefix tests/unit/rig/,nicsim_rig.c model_port.c intel_port.c guest.c) tests/fuzz/rig.c
FUZZ_SRC_ixgbe_regs := $(FUZZ_IXGBE) tests/unit/rig/ixgbe_port.c
FUZZ_SRC_x550_regs := $(FUZZ_IXGBE) tests/unit/rig/x550_port.c
FUZZ_MAIN_x550_regs := tests/fuzz/fuzz_ixgbe_regs.c
FUZZ_SRC_program := tests/fuzz/rig.c
FUZZ_SRC_routes :=
FUZZ_SRC_bpf_object := $(sort $(wildcard bpf/object/*.c)) bpf/layout.c bpf/program.c lib/fmt.c tests/unit/rig/bpf_contract.c
FUZZ_SRC_xdp := control/management/xdp.c control/management/xdp_entries.c control/management/page.c \
	control/programs/entries.c control/text/text.c control/text/json.c $(wildcard bpf/maps/*.c) bpf/csum.c bpf/layout.c \
	bpf/object/reason.c lib/csum.c lib/fmt.c
FUZZ_SRC_vfio := $(addprefix tools/nicsim/,vfio_user.c dma.c pci.c) tests/fuzz/rig.c
FUZZ_SRC_virtio_regs := $(sort $(wildcard drivers/virtio/*.c drivers/virtio_net/*.c)) lib/pkt.c lib/csum.c \
	tests/unit/rig/guest.c tests/fuzz/rig.c
FUZZ_SRC_candidate := $(FUZZ_SRC_config) $(wildcard control/config/candidate*.c)
FUZZ_SRC_shell := control/console/shell.c control/console/shell_words.c control/text/text.c lib/fmt.c
FUZZ_CFLAGS := -std=gnu11 -O1 -g1 -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=all -I. -Wall -Wextra -Werror -Wshadow -Wwrite-strings \
	-Wcast-align

.PHONY: fuzz fuzz-merge test-fuzz

# Twins of headers, as in the unit tests (tests/unit/unit.mk): each source is compiled once for each
# kind.
FUZZ_TWINS_host := -Itests/host
FUZZ_TWINS_ring := -Itests/unit/twin
FUZZ_TWINS_device := -Itests/unit/twin -Itests/unit/twin_clock
FUZZ_TWINS_nicsim := -D_GNU_SOURCE
FUZZ_TWINS_crypto := -Itests/host $(THIRD_INCLUDE)
FUZZ_WAY_tls := crypto
FUZZ_WAY_virtio := ring
FUZZ_WAY_intel := ring
FUZZ_WAY_vmxnet3 := ring
FUZZ_WAY_mlx5 := ring
FUZZ_WAY_firmware := device
FUZZ_WAY_pci := ring
FUZZ_WAY_vfio := nicsim
FUZZ_WAY_ixgbe_regs := device
FUZZ_WAY_x550_regs := device
FUZZ_WAY_virtio_regs := device

define FUZZ_COMPILE
$(FUZZ_BUILD)/obj/$(1)/%.o: %.c tests/fuzz/fuzz.mk
	@mkdir -p $$(@D)
	@clang $$(FUZZ_TWINS_$(1)) $$(FUZZ_CFLAGS) -MMD -MP -c -o $$@ $$<
endef
$(FUZZ_BUILD)/obj/crypto/%.o: $(THIRD_READY)
$(foreach way,host ring device nicsim crypto,$(eval $(call FUZZ_COMPILE,$(way))))

# An input is a few choices for a generator of rules, so the comparisons inside of the search tables
# teach libFuzzer nothing. To report them took three quarters of the time.
$(FUZZ_BUILD)/obj/host/net/acl/%.o: FUZZ_CFLAGS += -fno-sanitize-coverage=trace-cmp

# The sources of an entry; `make coverage` compiles the same.
fuzz_src = $(or $(FUZZ_MAIN_$(1)),tests/fuzz/fuzz_$(1).c) $(FUZZ_SRC_$(1))
fuzz_obj = $(patsubst %.c,$(FUZZ_BUILD)/obj/$(or $(FUZZ_WAY_$(1)),host)/%.o,$(call fuzz_src,$(1)))

define FUZZ_LINK
$(FUZZ_BUILD)/fuzz_$(1): $(call fuzz_obj,$(1))
	@clang $$(FUZZ_CFLAGS) -o $$@ $$^ $(if $(filter tests/fuzz/rig.c,$(FUZZ_SRC_$(1))),-lcmocka)
endef
$(foreach f,$(F),$(eval $(call FUZZ_LINK,$(f))))

$(FUZZ_BUILD)/fuzz_tls: $(THIRD_FUZZ)

# Its seeds are these objects.
$(FUZZ_BUILD)/fuzz_bpf_object: | $(BPF_PROGRAMS) $(BPF_REFUSED)

fuzz_named = $(foreach f,$(F),$(f):$(FUZZ_RUNS_$(f)):$(FUZZ_LEN_$(f)))

test-fuzz: $(F:%=$(FUZZ_BUILD)/fuzz_%) ## all parsers over their fuzz corpora, and some thousand inputs more
	@tests/fuzz/run.sh $(FUZZ_BUILD) $(fuzz_named)

fuzz: $(F:%=$(FUZZ_BUILD)/fuzz_%) ## fuzz all parsers, SECONDS each or HOURS in all; F=NAME one of them
	@tests/fuzz/run.sh $(if $(HOURS),-h $(HOURS),-t $(SECONDS)) $(FUZZ_BUILD) $(fuzz_named)

# Counters are left out: an input that only does the same more often is not kept.
fuzz-merge: $(F:%=$(FUZZ_BUILD)/fuzz_%) ## take what `make fuzz` has learned into tests/fuzz/corpus/
	@for f in $(F); do mkdir -p tests/fuzz/corpus/$$f $(FUZZ_BUILD)/corpus/$$f; \
		$(FUZZ_BUILD)/fuzz_$$f -merge=1 -use_counters=0 tests/fuzz/corpus/$$f \
			$(FUZZ_BUILD)/corpus/$$f >$(FUZZ_BUILD)/$$f-merge.log 2>&1 || exit 1; \
		echo "  $$f: $$(ls tests/fuzz/corpus/$$f | wc -l) inputs," \
			"$$(cat tests/fuzz/corpus/$$f/* | wc -c) bytes"; done

-include $(patsubst %.o,%.d,$(sort $(foreach f,$(F),$(call fuzz_obj,$(f)))))
