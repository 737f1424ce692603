# Which lines of net/ and drivers/ the tests on the host and the inputs of the fuzz entries reach.
#   make coverage            builds all of it once more with counters, runs it, prints a table: a
#                            quarter of an hour. build/coverage/missing has the other lines
# Of the fuzz entries the seeds and the corpora are run, build/fuzz/corpus/ included: what `make
# fuzz` has learned counts. System tests do not: they run the real image, which has no counters.
# Included by the top Makefile.

COV := build/coverage
# little optimisation, so that a line is a line; ASan is what the twins of headers call
COV_CFLAGS := -std=gnu11 -Og -g -fno-strict-aliasing -fsanitize=address --coverage -w
# unit tests of what is not counted
COV_NOT := csum fmt mem pkt cmdline siphash sha256 counters addr routes_file config config6 config_acl \
	candidate module password shell impair random histogram shares audit watch crash mirror_ring slots \
	ports loop 82599_% pktgen_% mlx5_model mlx5_objects mlx5_tx mlx5_rx mlx5_fuzz
COV_MAKE := $(MAKE) --no-print-directory HOST_BUILD=$(COV)/host UNIT_BUILD=$(COV)/unit \
	PACKET_BUILD=$(COV)/packet DRILL_BUILD=$(COV)/drill UNIT_CC=gcc HOST_CFLAGS="$(COV_CFLAGS)" \
	T="$(filter-out $(COV_NOT),$(T))"

define COV_COMPILE
$(COV)/fuzz/$(1)/%.o: %.c tests/fuzz/fuzz.mk tests/coverage/coverage.mk
	@mkdir -p $$(@D)
	@gcc $$(FUZZ_TWINS_$(1)) $$(COV_CFLAGS) -I. -MMD -MP -c -o $$@ $$<
endef
$(foreach way,host ring device nicsim,$(eval $(call COV_COMPILE,$(way))))

cov_obj = $(patsubst %.c,$(COV)/fuzz/$(or $(FUZZ_WAY_$(1)),host)/%.o,$(call fuzz_src,$(1))) \
	$(COV)/fuzz/host/tests/coverage/replay.o

define COV_LINK
$(COV)/fuzz_$(1): $(call cov_obj,$(1))
	@gcc $$(COV_CFLAGS) -o $$@ $$^ -lcmocka
endef
$(foreach f,$(F),$(eval $(call COV_LINK,$(f))))

.PHONY: coverage coverage-run coverage-fuzz
coverage-fuzz: $(F:%=$(COV)/fuzz_%)
	@for f in $(F); do mkdir -p $(COV)/seeds/$$f; \
		$(PYTHON) tests/fuzz/seeds.py $$f $(COV)/seeds/$$f || exit 1; \
		$(COV)/fuzz_$$f $(COV)/seeds/$$f tests/fuzz/corpus/$$f $(FUZZ_BUILD)/corpus/$$f \
			>/dev/null 2>$(COV)/fuzz_$$f.log || { cat $(COV)/fuzz_$$f.log; exit 1; }; done

coverage-run: coverage-fuzz
	+@$(COV_MAKE) unit
	+@$(COV_MAKE) $(COV)/packet/harness $(COV)/drill/harness
	+@HARNESS=$(CURDIR)/$(COV)/drill/harness $(COV_MAKE) test-drill
	+@HARNESS=$(CURDIR)/$(COV)/packet/harness $(COV_MAKE) test-packet

coverage: ## lines of net/ and drivers/ that host tests and fuzz corpora reach, by file
	@find $(COV) -name '*.gcda' -delete 2>/dev/null || true
	@$(MAKE) --no-print-directory coverage-run
	@$(PYTHON) tests/coverage/coverage.py $(COV) net drivers

-include $(patsubst %.o,%.d,$(sort $(foreach f,$(F),$(call cov_obj,$(f)))))
