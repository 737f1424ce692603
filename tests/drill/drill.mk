# packetdrill scripts: TCP as one host process in virtual time, under ASan and UBSan
# (tests/drill/harness.c), driven by tests/drill/drill.py.
#   make test-drill               all; K="close or paws" runs some only
#   tests/drill/drill.py -v FILE  one script, every packet shown
# Included by the top Makefile, or on its own: make -f tests/drill/drill.mk test-drill

include tests/host/host.mk

DRILL_BUILD := build/drill
DRILL_SRC := tests/drill/harness.c tests/host/lines.c $(HOST_NET)

.PHONY: test-drill

$(DRILL_BUILD)/harness: $(DRILL_SRC:%.c=$(HOST_BUILD)/gcc/%.o)
	@mkdir -p $(@D)
	@gcc $(HOST_CFLAGS) -o $@ $^

test-drill: $(DRILL_BUILD)/harness ## TCP by packetdrill scripts, in virtual time
	@/usr/bin/python3 -m pytest -c tests/drill/pytest.ini $(if $(K),-k "$(K)") tests/drill
