# Benchmarks that are programs of the host. The parts of the product in them are the very objects of
# the image: its flags, its lib/mem.c.
#   make tcp-bench                what TCP itself costs, without a card; T="rr.64B bulk" some of it

BENCH_BUILD := $(BUILD)/bench
BENCH_CFLAGS := -std=gnu11 -O2 -g -I. -MMD -MP -Wall -Wextra -Werror -Wshadow -Wwrite-strings \
	-Wcast-align
BENCH_PRODUCT := $(filter $(BUILD)/program/net/% $(BUILD)/program/lib/%,$(PROGRAM_OBJ))
BENCH_TCP := $(patsubst %,$(BENCH_BUILD)/%.o,tcp_side tcp_work)

.PHONY: tcp-bench

$(BENCH_BUILD)/%.o: tests/bench/%.c tests/bench/bench.mk
	@mkdir -p $(@D)
	@gcc $(BENCH_CFLAGS) -c -o $@ $<

# not position-independent, as the product's objects
$(BENCH_BUILD)/stack_bench: $(BENCH_BUILD)/stack_bench.o $(BENCH_TCP) $(BENCH_PRODUCT)
	@gcc -no-pie -o $@ $^

tcp-bench: $(BENCH_BUILD)/stack_bench ## cycles of TCP alone: requests, bulk, connections, memory
	$(BENCH_BUILD)/stack_bench $(if $(filter command line,$(origin T)),$(T))

-include $(wildcard $(BENCH_BUILD)/*.d)
