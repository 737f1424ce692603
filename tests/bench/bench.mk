# Benchmarks that run as host programs. They link the image's own object files: its flags, its
# lib/mem.c.
#   make tcp-bench                cycles of TCP alone, without a card; T="rr.64B bulk": only these,
#                                 T="-6 rr.64B": over IPv6
#   make frames-bench             cycles of a generated frame before it is sent
#   make bench-fib                look-up tables: ours and DPDK's; T="1M 6-250k": only these sizes;
#                                 PREFIXES=FILE T="global 6-global": the prefixes of an MRT
#                                 dump or of a text file
#   make slots-bench              cycles of the drivers' rings without a device: a prepared frame
#                                 sent again, a packet sent, received, both, routed;
#                                 T="ixgbe full": only one of them
#   make engine-bench             routes of the routing engine, from a frame to the forwarding table;
#                                 T="1000000 200000": prefixes of each family
#   make bench-gate               instructions of the loops of the first three, of look-ups and of access lists,
#                                 against tests/bench/gate.txt (gate.py); part of make test
#   make acl-bench                cycles of an access list, beside DPDK's rte_acl;
#                                 T="ip4 ip6 acl fw ipc": only these lists
#   make maps-bench               look-ups of BPF maps beside Linux' own; T="hash-1M lpm4": only these;
#                                 needs root for bpf(2)
#   make bpf-bench                XDP programs by our compiler, beside the same C by GCC
# The programs that tests/bench/*.py run are built by file name.

BENCH_BUILD := $(BUILD)/bench
BENCH_CFLAGS := -std=gnu11 -O2 -g -I. -MMD -MP -Wall -Wextra -Werror -Wshadow -Wwrite-strings \
	-Wcast-align
BENCH_PRODUCT := $(filter $(BUILD)/program/net/% $(BUILD)/program/lib/%,$(PROGRAM_OBJ)) \
	$(BENCH_BUILD)/guard.o
BENCH_TCP := $(patsubst %,$(BENCH_BUILD)/tcp/%.o,tcp_side tcp_work)
BENCH_FRAMES := $(patsubst %,$(BUILD)/program/tools/pktgen/frames/%.o,frames frames_patch frames_avx2)
BENCH_SLOTS := $(patsubst %,$(BUILD)/program/%.o,runtime/slots drivers/virtio_net/ring \
	drivers/virtio_net/ring_tx drivers/virtio_net/ring_slots \
	drivers/intel/ring drivers/intel/ring_tx drivers/intel/ring_slots \
	drivers/mlx5/ring drivers/mlx5/ring_tx drivers/mlx5/ring_avx2 drivers/mlx5/ring_slots \
	drivers/mlx5/ring_mend drivers/null/null apps/router/forward apps/router/check_avx2 apps/router/filter apps/router/verify \
	dataplane/filter) \
	$(patsubst %,$(BENCH_BUILD)/%.o,slots/slots_route unit/host unit/prefixes unit/routes_file)

BENCH_ENGINE := $(patsubst %,$(BUILD)/program/control/forwarding/%.o,routes persist groups subnets interfaces) \
	$(patsubst %,$(BENCH_BUILD)/%.o,engine/control_rig unit/host unit/prefixes unit/routes_file)
BENCH_CONFIG := $(patsubst %.c,$(BUILD)/program/%.o,$(filter-out %/config_hash.c,$(wildcard control/config/config*.c)) \
	control/config/words.c control/config/password.c $(patsubst %,control/text/%.c,base64 text words interface_name module))

.PHONY: tcp-bench frames-bench slots-bench bench-gate engine-bench boot-bench bench-fib acl-bench maps-bench bpf-bench bench-wire bench-programs

$(BENCH_BUILD)/%.o: tests/bench/%.c tests/bench/bench.mk
	@mkdir -p $(@D)
	@gcc $(BENCH_CFLAGS) -c -o $@ $<

# not position-independent, like the product's objects
BENCH_OURS := $(addprefix $(BENCH_BUILD)/,stack_bench frames_bench slots_bench engine_bench boot_bench maps_bench bpf_bench fib_count acl_count)
$(BENCH_OURS): $(BENCH_PRODUCT)
	@gcc -no-pie -o $@ $(filter %.o,$^)
$(BENCH_BUILD)/stack_bench: $(BENCH_BUILD)/tcp/stack_bench.o
$(BENCH_BUILD)/frames_bench: $(BENCH_BUILD)/pktgen/frames_bench.o
$(BENCH_BUILD)/slots_bench: $(BENCH_BUILD)/slots/slots_bench.o
$(BENCH_BUILD)/fib_count: $(patsubst %,$(BENCH_BUILD)/%.o,fib/fib_count unit/host unit/prefixes unit/routes_file)
$(BENCH_BUILD)/acl_count: $(patsubst %,$(BENCH_BUILD)/%.o,acl/acl_count acl/acl_mix unit/acl_rig unit/host)
$(BENCH_BUILD)/stack_bench: $(BENCH_TCP) $(BENCH_BUILD)/unit/tcp_worst.o
$(BENCH_BUILD)/frames_bench: $(BENCH_FRAMES)
$(BENCH_BUILD)/slots_bench: $(BENCH_SLOTS)
$(BENCH_BUILD)/engine_bench: $(BENCH_BUILD)/engine/engine_bench.o $(BENCH_ENGINE) \
	$(patsubst %,$(BUILD)/program/control/engine/%.o,apply hops tags)
$(BENCH_BUILD)/boot_bench: $(BENCH_BUILD)/boot/boot_bench.o $(BENCH_ENGINE) $(BENCH_CONFIG)

$(BENCH_BUILD)/maps_bench: $(BENCH_BUILD)/maps/maps_bench.o $(BENCH_BUILD)/unit/linux_maps.o $(BENCH_BUILD)/unit/host.o \
	$(filter $(BUILD)/program/bpf/maps/% $(BUILD)/program/bpf/csum.o,$(PROGRAM_OBJ))
# XDP programs: each compiled by clang and us, and by GCC (bpf/native_prefix.h)
BENCH_NATIVE := drop tx count five_tuple lpm
BENCH_LOOKUP_count := ARRAY
BENCH_LOOKUP_lpm := LPM
$(BENCH_NATIVE:%=$(BENCH_BUILD)/bpf/native_%.o): $(BENCH_BUILD)/bpf/native_%.o: tests/bpf/programs/%.c tests/bench/bench.mk
	@mkdir -p $(@D)
	@gcc $(BENCH_CFLAGS) -Wno-unused -Wno-unknown-pragmas -fno-strict-aliasing -D$*=native_$* \
		-include tests/bench/bpf/native_prefix.h -D_license=native_$*_license -DNATIVE_LOOKUP=$(or $(BENCH_LOOKUP_$*),HASH) -c -o $@ $<

$(BENCH_BUILD)/bpf/execute.o: tests/bpf/execute.c tests/bench/bench.mk
	@mkdir -p $(@D)
	@gcc $(BENCH_CFLAGS) -c -o $@ $<

$(BENCH_BUILD)/bpf_bench: $(patsubst %,$(BENCH_BUILD)/bpf/%.o,bpf_bench execute $(BENCH_NATIVE:%=native_%)) \
	$(filter $(BUILD)/program/bpf/%,$(PROGRAM_OBJ))

bpf-bench: $(BENCH_BUILD)/bpf_bench bpf-programs ## XDP programs compiled by us, beside the same C by GCC: cycles a packet
	@$<

# A full table and destinations in it, for bench.py
$(BENCH_BUILD)/route_table: $(patsubst %,$(BENCH_BUILD)/%.o,fib/route_table unit/host unit/prefixes \
		unit/routes_file) $(filter-out %/mem.o,$(BENCH_PRODUCT))
	@gcc -no-pie -o $@ $^

# The load generator on a vhost-user socket or a tap, with the C library's memcpy. Only wire_vhost.c
# and vhost_ring.c include DPDK's headers
DPDK_CFLAGS = -O3 -march=native -Wall $(shell pkg-config --cflags libdpdk)
DPDK_LIBS = $(shell pkg-config --libs libdpdk) -lrte_vhost
BENCH_VHOST := $(patsubst %,$(BENCH_BUILD)/wire/%.o,wire_vhost vhost_ring)

$(BENCH_VHOST): $(BENCH_BUILD)/%.o: tests/bench/%.c tests/bench/bench.mk
	@mkdir -p $(@D)
	@gcc $(DPDK_CFLAGS) -MMD -MP -c -o $@ $<

$(BENCH_BUILD)/tcp_load: $(patsubst %,$(BENCH_BUILD)/%.o,tcp/tcp_load wire/wire_tap) $(BENCH_TCP) \
		$(BENCH_VHOST) $(filter-out %/mem.o,$(BENCH_PRODUCT))
	@gcc -no-pie -o $@ $^ $(DPDK_LIBS) -pthread

# The generator of bench.py, for the frame sizes (without checksum) of each family; the distance of
# two CPUs
BENCH_GENERATORS := vhost_gen vhost_gen_78 vhost_gen6_64 vhost_gen6_78 vhost_gen_stations vhost_gen_tagged \
    vhost_gen_512 vhost_gen_1518 vhost_gen_9018 vhost_gen_imix
BENCH_FLAGS_vhost_gen_78 := -DFRAME_BYTES=74
BENCH_FLAGS_vhost_gen_512 := -DFRAME_BYTES=508
BENCH_FLAGS_vhost_gen_1518 := -DFRAME_BYTES=1514
BENCH_FLAGS_vhost_gen_9018 := -DFRAME_BYTES=9014
BENCH_FLAGS_vhost_gen_imix := -DIMIX=1 -DFRAME_BYTES=1514
BENCH_FLAGS_vhost_gen_tagged := -DTAG=10
BENCH_FLAGS_vhost_gen_stations := -DSTATIONS=1
BENCH_FLAGS_vhost_gen6_64 := -DFAMILY=6
BENCH_FLAGS_vhost_gen6_78 := -DFAMILY=6 -DFRAME_BYTES=74
$(BENCH_GENERATORS:%=$(BENCH_BUILD)/%): $(patsubst %,tests/bench/wire/%,vhost_gen.c vhost_ring.c vhost_ring.h) \
		tests/bench/open_loop.h tools/nicsim/wires/histogram.h tests/bench/bench.mk
	@mkdir -p $(@D)
	@gcc $(DPDK_CFLAGS) -I. $(BENCH_FLAGS_$(@F)) -o $@ $(filter %.c,$^) $(DPDK_LIBS)

# How late the host serves a CPU, for bfd.py; what a spinning program sees of it, for tail.py
$(BENCH_BUILD)/stall_probe $(BENCH_BUILD)/spin_probe: $(BENCH_BUILD)/%: tests/bench/%.c tests/bench/bench.mk
	@mkdir -p $(@D)
	@gcc $(BENCH_CFLAGS) -D_GNU_SOURCE -o $@ $< -pthread

$(BENCH_BUILD)/core_ping: tests/bench/wire/core_ping.c tests/bench/bench.mk
	@mkdir -p $(@D)
	@gcc -O3 -Wall -o $@ $< -pthread

bench-wire: $(BENCH_GENERATORS:%=$(BENCH_BUILD)/%) $(BENCH_BUILD)/core_ping $(BENCH_BUILD)/spin_probe

# Linux' part of xdp.py: objects of XDP programs and what runs them. Hayate gets the same objects
BENCH_XDP := $(patsubst tests/bench/xdp/%.c,$(BENCH_BUILD)/xdp/%.o,$(filter-out %/xdp_linux.c,$(wildcard tests/bench/xdp/*.c)))
$(BENCH_XDP): $(BENCH_BUILD)/xdp/%.o: tests/bench/xdp/%.c tests/bench/bench.mk
	@mkdir -p $(@D)
	@clang $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

$(BENCH_BUILD)/xdp_linux: tests/bench/xdp/xdp_linux.c tests/bench/bench.mk
	@mkdir -p $(@D)
	@gcc $(BENCH_CFLAGS) -D_GNU_SOURCE -o $@ $< -lbpf -pthread

.PHONY: bench-xdp
bench-xdp: $(BENCH_XDP) $(BENCH_BUILD)/xdp_linux $(BENCH_BUILD)/bpf_bench bpf-programs

# All programs of the benchmarks: `make check` asks whether their sources are there.
bench-programs: bench-wire bench-xdp $(BENCH_OURS) $(patsubst %,$(BENCH_BUILD)/%,route_table tcp_load fib_compare acl_bench stall_probe \
		epoll_echo xdp_echo.o)

# Look-up tables and packet filters beside DPDK's, whose headers only fib_dpdk.c and acl_dpdk.c
# include
$(patsubst %,$(BENCH_BUILD)/%.o,fib/fib_dpdk acl/acl_dpdk): $(BENCH_BUILD)/%.o: tests/bench/%.c \
		tests/bench/bench.mk
	@mkdir -p $(@D)
	@gcc $(DPDK_CFLAGS) -I. -MMD -MP -c -o $@ $<

$(BENCH_BUILD)/unit/%.o: tests/unit/rig/%.c tests/bench/bench.mk
	@mkdir -p $(@D)
	@gcc $(BENCH_CFLAGS) -c -o $@ $<

$(BENCH_BUILD)/fib_compare: $(patsubst %,$(BENCH_BUILD)/%.o,fib/fib_bench fib/fib_dpdk unit/host unit/prefixes \
		unit/routes_file unit/fib_paths) $(filter-out %/mem.o,$(BENCH_PRODUCT))
	@gcc -no-pie -o $@ $^ $(DPDK_LIBS) -lcmocka

bench-fib: $(BENCH_BUILD)/fib_compare ## look-up tables: million look-ups a second, bytes, loading, changes
	@tests/bench/with_hugepages.sh 768 $< $(if $(filter command line,$(origin T)),$(T))

# with the C library's memcpy, which rte_acl uses too
$(BENCH_BUILD)/acl_bench: $(patsubst %,$(BENCH_BUILD)/%.o,acl/acl_bench acl/acl_dpdk acl/acl_mix unit/acl_rig unit/host) \
		$(filter-out %/mem.o,$(BENCH_PRODUCT))
	@gcc -no-pie -o $@ $^ $(DPDK_LIBS) -lcmocka

acl-bench: $(BENCH_BUILD)/acl_bench ## cycles of packet filters, beside DPDK's rte_acl
	SEED=1 $< $(if $(filter command line,$(origin T)),$(T))

# Peers: a Linux server, and an XDP program if clang can build it
$(BENCH_BUILD)/epoll_echo: tests/bench/tcp/epoll_echo.c tests/bench/bench.mk
	@mkdir -p $(@D)
	@gcc -std=gnu11 -O2 -g -Wall -Wextra -Werror -o $@ $<

$(BENCH_BUILD)/xdp_echo.o: tests/bench/wire/xdp_echo.c tests/bench/bench.mk
	@mkdir -p $(@D)
	@clang -O2 -Wall -target bpf -I/usr/include/$(shell gcc -print-multiarch) -c -o $@ $<

tcp-bench: $(BENCH_BUILD)/stack_bench ## cycles of TCP alone: requests, bulk, connections, memory
	$(BENCH_BUILD)/stack_bench -p $(if $(filter command line,$(origin T)),$(T))

BENCH_GATED := $(addprefix $(BENCH_BUILD)/,slots_bench frames_bench stack_bench fib_count acl_count boot_bench)
bench-gate: $(BENCH_GATED) $(addprefix $(BUILD)/nicsim-obj/throughput-,82599 mlx5) ## instructions of the hot loops (callgrind), against tests/bench/gate.txt
	@$(PYTHON) tests/bench/gate.py

frames-bench: $(BENCH_BUILD)/frames_bench ## cycles of a generated frame: stamps, fields, sizes
	$(BENCH_BUILD)/frames_bench

slots-bench: $(BENCH_BUILD)/slots_bench ## cycles of the drivers' rings, without a device
	$(BENCH_BUILD)/slots_bench $(if $(filter command line,$(origin T)),$(T))

engine-bench: $(BENCH_BUILD)/engine_bench ## routes of the routing engine, without TCP
	$(BENCH_BUILD)/engine_bench $(if $(filter command line,$(origin T)),$(T))

boot-bench: $(BENCH_BUILD)/boot_bench ## a configuration of a million routes: read, checked, applied
	$(BENCH_BUILD)/boot_bench $(if $(filter command line,$(origin T)),$(T))

maps-bench: $(BENCH_BUILD)/maps_bench ## look-ups of BPF maps, beside Linux' own
	$< $(if $(filter command line,$(origin T)),$(T))

-include $(wildcard $(BENCH_BUILD)/*.d $(BENCH_BUILD)/*/*.d)
