# packetdrill scripts: TCP as one host process in virtual time, under ASan and UBSan
# (tests/drill/harness.c), driven by tests/drill/drill.py.
#   make test-drill               all; K="close or paws" runs some only
#   tests/drill/drill.py -v FILE  one script, every packet shown
# Included by the top Makefile, or on its own: make -f tests/drill/drill.mk test-drill

DRILL_BUILD := build/drill
DRILL_SRC := tests/drill/harness.c tests/host/lines.c $(sort $(wildcard net/*.c net/*/*.c)) \
	$(filter-out lib/mem.c,$(sort $(wildcard lib/*.c)))
DRILL_OBJ := $(DRILL_SRC:%.c=$(DRILL_BUILD)/%.o)
# The host's twins go before the real headers.
DRILL_CFLAGS := -std=gnu11 -O1 -g -fno-omit-frame-pointer -fno-strict-aliasing \
	-fsanitize=address,undefined -fno-sanitize-recover=all -Itests/host -I. -MMD -MP \
	-Wall -Wextra -Werror -Wshadow -Wwrite-strings -Wcast-align

.PHONY: test-drill

$(DRILL_BUILD)/%.o: %.c tests/drill/drill.mk
	@mkdir -p $(@D)
	@gcc $(DRILL_CFLAGS) -c -o $@ $<

$(DRILL_BUILD)/harness: $(DRILL_OBJ)
	@gcc -fsanitize=address,undefined -o $@ $^

test-drill: $(DRILL_BUILD)/harness ## TCP by packetdrill scripts, in virtual time
	@/usr/bin/python3 -m pytest -c tests/drill/pytest.ini $(if $(K),-k "$(K)") tests/drill

-include $(DRILL_OBJ:.o=.d)
