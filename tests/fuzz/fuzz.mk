# Fuzzing of net/, of the words of filters, and of the generator's scripts and captures, by libFuzzer,
# under ASan and UBSan.
#   make test-fuzz           each entry over its corpus, then a fixed number of executions
#   make fuzz SECONDS=600    each entry for so long; F=tcp one of them only
# What a run finds is written to build/fuzz/ (crash-…): mend it, and put the file into
# tests/fuzz/corpus/NAME/. Included by the top Makefile, or on its own:
#   make -f tests/fuzz/fuzz.mk test-fuzz

FUZZ_BUILD := build/fuzz
F ?= ip4 ip6 acl udp nd tcp http telnet match script pcap
SECONDS ?= 20
FUZZ_RUNS_ip4 := 300000
FUZZ_RUNS_ip6 := 50000
FUZZ_RUNS_acl := 600
FUZZ_RUNS_udp := 300000
FUZZ_RUNS_nd := 60000
FUZZ_RUNS_tcp := 60000
FUZZ_RUNS_http := 300000
FUZZ_RUNS_telnet := 300000
FUZZ_RUNS_match := 200000
FUZZ_RUNS_script := 40000
FUZZ_RUNS_pcap := 300000
FUZZ_NET := $(sort $(wildcard net/*.c)) $(filter-out lib/mem.c,$(sort $(wildcard lib/*.c)))
FUZZ_SRC_ip4 := $(FUZZ_NET)
FUZZ_SRC_ip6 := $(FUZZ_NET)
FUZZ_SRC_acl := $(FUZZ_NET) $(sort $(wildcard net/acl/*.c)) tests/unit/acl_rig.c
FUZZ_SRC_udp := $(FUZZ_NET)
FUZZ_SRC_nd := $(FUZZ_NET)
FUZZ_SRC_tcp := $(FUZZ_NET) $(sort $(wildcard net/tcp/*.c))
FUZZ_SRC_http := $(sort $(wildcard net/http/*.c)) lib/fmt.c
FUZZ_SRC_telnet := net/telnet.c
FUZZ_SRC_match := net/match.c net/ip6.c control/match_words.c control/text.c lib/csum.c lib/fmt.c
FUZZ_SRC_script := $(sort $(wildcard tools/pktgen/script*.c tools/pktgen/frames*.c)) \
	control/text.c net/ip4.c net/ip6.c lib/csum.c lib/fmt.c
FUZZ_SRC_pcap := tools/pktgen/pcap.c tools/pktgen/trace.c
FUZZ_CFLAGS := -std=gnu11 -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=all -Itests/host -I. -Wall -Wextra -Werror -Wshadow -Wwrite-strings \
	-Wcast-align

.PHONY: fuzz test-fuzz

# each source once for all entries
$(FUZZ_BUILD)/obj/%.o: %.c tests/fuzz/fuzz.mk
	@mkdir -p $(@D)
	@clang $(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<

fuzz_obj = $(patsubst %.c,$(FUZZ_BUILD)/obj/%.o,tests/fuzz/fuzz_$(1).c $(FUZZ_SRC_$(1)))

define FUZZ_LINK
$(FUZZ_BUILD)/fuzz_$(1): $(call fuzz_obj,$(1))
	@clang $$(FUZZ_CFLAGS) -o $$@ $$^
endef
$(foreach f,$(F),$(eval $(call FUZZ_LINK,$(f))))

test-fuzz: $(F:%=$(FUZZ_BUILD)/fuzz_%) ## net/ over its fuzz corpora, and some thousand inputs more
	@tests/fuzz/run.sh $(FUZZ_BUILD) $(foreach f,$(F),$(f):$(FUZZ_RUNS_$(f)))

fuzz: $(F:%=$(FUZZ_BUILD)/fuzz_%) ## fuzz net/ for SECONDS each
	@tests/fuzz/run.sh -t $(SECONDS) $(FUZZ_BUILD) $(F)

-include $(patsubst %.o,%.d,$(sort $(foreach f,$(F),$(call fuzz_obj,$(f)))))
