# Packet tests: the product's sources as one host process per machine, under ASan and UBSan
# (tests/host/harness.c), driven by pytest and scapy.
#   make test-packet              all; SEED=n repeats a fuzz run, K="arp or icmp" runs some only
# Included by the top Makefile, or on its own: make -f tests/packet/packet.mk test-packet

PACKET_BUILD := build/packet
PACKET_SRC := tests/host/harness.c tests/host/lines.c $(filter-out core/loop.c core/pci.c,$(sort $(wildcard core/*.c))) \
	$(sort $(wildcard control/*.c apps/*.c apps/*/*.c tools/pktgen/*.c net/*.c net/*/*.c)) \
	$(filter-out lib/mem.c,$(sort $(wildcard lib/*.c)))
PACKET_OBJ := $(PACKET_SRC:%.c=$(PACKET_BUILD)/%.o)
# The host's twins go before the real headers.
PACKET_CFLAGS := -std=gnu11 -O1 -g -fno-omit-frame-pointer -fno-strict-aliasing \
	-fsanitize=address,undefined -fno-sanitize-recover=all -Itests/host -I. -MMD -MP \
	-Wall -Wextra -Werror -Wshadow -Wwrite-strings -Wcast-align
# the harness stands between core/ring.c and who takes messages
PACKET_WRAP := -Wl,--wrap=ring_punt_next -Wl,--wrap=ring_punt_done

.PHONY: test-packet

$(PACKET_BUILD)/%.o: %.c tests/packet/packet.mk
	@mkdir -p $(@D)
	@gcc $(PACKET_CFLAGS) -c -o $@ $<

$(PACKET_BUILD)/control/web.o: control/web/index.html

$(PACKET_BUILD)/harness: $(PACKET_OBJ)
	@gcc -fsanitize=address,undefined $(PACKET_WRAP) -o $@ $^

test-packet: $(PACKET_BUILD)/harness ## bytes in, bytes out and nothing else, with counters
	@$(if $(SEED),SEED=$(SEED) )/usr/bin/python3 -m pytest -c tests/packet/pytest.ini \
		$(if $(K),-k "$(K)") tests/packet

-include $(PACKET_OBJ:.o=.d)
