# Packet tests: the product's sources as one host process per machine, under ASan and UBSan
# (tests/host/harness.c), driven by pytest and scapy.
#   make test-packet              all; SEED=n repeats a fuzz run, K="arp or icmp" runs some only
# Included by the top Makefile, or on its own: make -f tests/packet/packet.mk test-packet

include tests/host/host.mk
include tests/bpf/programs/programs.mk

PACKET_BUILD := build/packet
PACKET_SRC := tests/host/harness.c tests/host/code_window.c tests/host/disk.c tests/host/lines.c tests/host/lives.c tests/host/refuse.c tests/host/wires.c \
	$(filter-out runtime/loop.c runtime/pci.c,$(sort $(wildcard runtime/*.c))) \
	$(sort $(wildcard dataplane/*.c disk/*.c control/*.c control/*/*.c apps/*.c apps/*/*.c tools/pktgen/*.c tools/pktgen/*/*.c)) $(HOST_NET) \
	$(filter-out bpf/interpret.c,$(sort $(wildcard bpf/*.c bpf/*/*.c)))
# The harness intercepts the calls that take messages from runtime/ring.c, and (tests/host/refuse.c)
# those that take memory from runtime/memory.c; -no-pie: tests/host/lives.h
PACKET_WRAP := -Wl,--wrap=ring_punt_next -Wl,--wrap=ring_punt_done \
	-Wl,--wrap=core_private_alloc -Wl,--wrap=core_persist_alloc -Wl,--wrap=core_persist_alloc_aligned

.PHONY: test-packet

$(PACKET_BUILD)/harness: $(PACKET_SRC:%.c=$(HOST_BUILD)/gcc/%.o) $(THIRD_HOST)
	@mkdir -p $(@D)
	@gcc $(HOST_CFLAGS) $(PACKET_WRAP) -no-pie -o $@ $^

test-packet: $(PACKET_BUILD)/harness bpf-programs ## bytes in, bytes out and nothing else, with counters
	@$(if $(SEED),SEED=$(SEED) )/usr/bin/python3 -m pytest -c tests/packet/pytest.ini \
		$(if $(K),-k "$(K)") tests/packet
