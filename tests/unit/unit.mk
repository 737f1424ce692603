# Unit tests on the host: the product's sources by gcc under ASan and UBSan, and by clang at -O2.
#   make unit                all tests; SEED=n repeats a random run, T="arp fib" runs some only
#   make check-portable      net/ and lib/ for other CPUs (ARCHITECTURE.md, invariant 7)
#   make pktgen-bench        cost of judging a frame on this host
#   make pktgen-report       the generator's report of made-up results
# Included by the top Makefile, or on its own: make -f tests/unit/unit.mk unit

include tests/host/host.mk
include tests/bpf/programs/programs.mk

UNIT_BUILD := build/unit
# tests/unit mirrors the tree; rig/ has what tests share
UNIT_TESTS := $(shell find tests/unit -name 'test_*.c')

# --- tests, and the sources each is linked with ---
UNIT_SRC_csum := lib/csum.c
UNIT_SRC_fmt := lib/fmt.c
UNIT_SRC_rfc3339 := lib/civil.c lib/rfc3339.c lib/fmt.c
UNIT_SRC_rtc := lib/civil.c
UNIT_SRC_walltime := runtime/sealed.c lib/siphash.c
UNIT_SRC_siphash := lib/siphash.c
BPF_MAPS_SRC := $(wildcard bpf/maps/*.c) bpf/csum.c lib/csum.c lib/fmt.c tests/unit/rig/maps_rig.c
UNIT_SRC_bpf_interpret := bpf/interpret.c bpf/helpers.c bpf/program.c $(BPF_MAPS_SRC)
UNIT_SRC_bpf_compile := $(wildcard bpf/compiler/*.c) bpf/helpers.c bpf/program.c tests/bpf/execute.c $(BPF_MAPS_SRC)
UNIT_SRC_bpf_maps := $(BPF_MAPS_SRC)
UNIT_SRC_bpf_maps_lpm := $(BPF_MAPS_SRC)
UNIT_SRC_bpf_maps_crash := $(BPF_MAPS_SRC)
UNIT_SRC_bpf_maps_threads := $(BPF_MAPS_SRC)
UNIT_SRC_bpf_maps_damage := $(BPF_MAPS_SRC)
UNIT_SRC_bpf_maps_linux := $(BPF_MAPS_SRC) tests/unit/rig/linux_maps.c
UNIT_SRC_bpf_maps_between := $(BPF_MAPS_SRC)
UNIT_SRC_bpf_ring := $(BPF_MAPS_SRC)
UNIT_SRC_sha256 := lib/sha256.c lib/pbkdf2.c
UNIT_SRC_bpf_tnum := bpf/verifier/tnum.c
UNIT_SRC_bpf_scalar := $(sort $(wildcard bpf/verifier/scalar*.c)) bpf/verifier/tnum.c
BPF_VERIFY_SRC := $(wildcard bpf/verifier/*.c) bpf/program.c bpf/helpers.c bpf/insn_text.c lib/fmt.c \
	tests/unit/rig/bpf_insns.c
UNIT_SRC_bpf_attacks := $(BPF_VERIFY_SRC)
UNIT_SRC_bpf_verify := $(BPF_VERIFY_SRC)
UNIT_SRC_pkt := lib/pkt.c lib/csum.c tests/unit/rig/guest.c
UNIT_SRC_counters := net/counters.c
UNIT_SRC_addr := control/text/text.c lib/fmt.c
UNIT_SRC_ip4 := net/ip4.c lib/csum.c
UNIT_SRC_ip6 := net/ip6.c lib/csum.c
UNIT_SRC_icmp6 := net/icmp6.c net/ip6.c lib/csum.c
UNIT_SRC_icmp4 := net/icmp4.c net/ip4.c lib/csum.c
UNIT_SRC_reassembly := net/reassembly.c net/ip6.c net/ip4.c net/counters.c lib/csum.c
UNIT_SRC_acl_mac := net/acl/mac.c
UNIT_SRC_acl := $(wildcard net/acl/*.c) net/ip6.c net/ip4.c lib/csum.c tests/unit/rig/acl_rig.c
UNIT_SRC_udp := net/udp.c net/ip.c net/ip4.c net/ip6.c lib/csum.c
UNIT_SRC_routing := net/routing.c net/link.c net/ip4.c net/ip6.c lib/csum.c
UNIT_SRC_vxlan := net/vxlan.c net/ip4.c net/ip6.c lib/csum.c
UNIT_SRC_rib := $(wildcard net/rib/*.c)
HTTP_SRC := $(wildcard net/http/*.c) lib/civil.c lib/fmt.c
UNIT_SRC_http := $(HTTP_SRC)
UNIT_SRC_http_fields := $(HTTP_SRC)
UNIT_SRC_http_date := $(HTTP_SRC)
UNIT_SRC_http_range := $(HTTP_SRC)
UNIT_SRC_http_condition := $(HTTP_SRC)
UNIT_SRC_http_coding := $(HTTP_SRC)
UNIT_SRC_http_response := net/http/response.c
UNIT_SRC_http_url := net/http/url.c
UNIT_SRC_web_log := apps/web/log_text.c net/http/date.c lib/civil.c lib/fmt.c
UNIT_SRC_web_site := $(sort $(wildcard apps/web/site*.c)) net/archive/tar.c net/http/answer.c net/http/coding.c net/http/date.c net/http/media.c lib/civil.c lib/fmt.c lib/siphash.c
UNIT_SRC_tar := net/archive/tar.c
UNIT_SRC_generations := disk/generations.c lib/sha256.c
UNIT_SRC_gpt := disk/gpt.c lib/crc32.c
UNIT_SRC_crc32 := lib/crc32.c
UNIT_SRC_boot_env := disk/boot_env.c
UNIT_SRC_upgrade := disk/upgrade.c disk/image.c lib/sha256.c
UNIT_SRC_install := disk/install.c disk/boot_env.c disk/gpt.c lib/crc32.c lib/sha256.c
FPM_SRC := $(wildcard net/fpm/*.c) tests/unit/rig/fpm_contract.c
UNIT_SRC_fpm := $(FPM_SRC)
UNIT_SRC_fpm_hostile := $(FPM_SRC)
UNIT_SRC_fpm_zebra := $(FPM_SRC)
UNIT_SRC_fpm_nexthops := $(FPM_SRC)
UNIT_SRC_bfd := net/bfd/packet.c net/bfd/session.c
UNIT_SRC_bfd_dplane := net/bfd/dplane.c
UNIT_SRC_stp := $(wildcard net/stp/*.c)
UNIT_SRC_snoop := $(wildcard net/snoop/*.c) net/icmp6.c net/ip6.c lib/csum.c
UNIT_SRC_snoop_message := $(UNIT_SRC_snoop)
UNIT_SRC_stp_bpdu := net/stp/bpdu.c
UNIT_SRC_stp_net := $(UNIT_SRC_stp) tests/unit/rig/stp_net.c
UNIT_SRC_dhcp4 := net/dhcp/dhcp4.c
UNIT_SRC_dhcp_client := net/dhcp/dhcp4.c net/dhcp/client4.c net/dhcp/lease4.c
UNIT_SRC_dhcp_relay := net/dhcp/dhcp4.c net/dhcp/relay4.c net/dhcp/relay6.c
UNIT_SRC_ntp := $(wildcard net/ntp/*.c)
UNIT_SRC_ntp_client := $(UNIT_SRC_ntp)
UNIT_SRC_dns := net/dns/message.c
UNIT_SRC_lldp := $(wildcard net/lldp/*.c)
UNIT_SRC_lldp_pdu := net/lldp/pdu.c
UNIT_SRC_lacp := $(wildcard net/lacp/*.c)
UNIT_SRC_lacp_pdu := net/lacp/pdu.c
UNIT_SRC_engine_tags := control/engine/tags.c lib/siphash.c
UNIT_SRC_link := net/link.c
UNIT_SRC_telnet := net/telnet.c
UNIT_SRC_ssh := $(wildcard net/ssh/*.c) lib/sha256.c tests/unit/rig/ssh_rig.c
UNIT_SRC_match := net/match.c net/ip6.c control/text/match_words.c control/text/text.c lib/csum.c \
	lib/fmt.c
UNIT_SRC_mirror_ring := dataplane/mirror_ring.c
UNIT_SRC_tcp_move_area = $(UNIT_SRC_tcp_icmp) runtime/bucket_hash.c net/rss.c
UNIT_SRC_tcp_icmp := $(wildcard net/tcp/*.c) net/ip.c net/ip4.c net/ip6.c lib/pkt.c lib/csum.c \
	lib/siphash.c
UNIT_SRC_tcp_room := $(UNIT_SRC_tcp_icmp)
UNIT_SRC_tcp_worst := $(UNIT_SRC_tcp_icmp) tests/unit/rig/tcp_worst.c
UNIT_SRC_tcp_full := $(UNIT_SRC_tcp_icmp)
UNIT_SRC_tcp_wire := net/tcp/wire.c net/ip.c net/ip4.c net/ip6.c lib/csum.c
UNIT_SRC_arp := $(wildcard net/arp*.c) net/neigh_table.c lib/fmt.c tests/unit/rig/neigh_rig.c
UNIT_SRC_fib := $(wildcard net/fib/*.c) tests/unit/rig/prefixes.c tests/unit/rig/routes_file.c \
	tests/unit/rig/fib_paths.c
UNIT_SRC_fdb := $(wildcard net/fdb/*.c)
UNIT_SRC_fib6 := $(UNIT_SRC_fib)
UNIT_SRC_routes_file := tests/unit/rig/routes_file.c
ND_SRC := $(wildcard net/nd*.c) net/mld.c net/neigh_table.c net/icmp6.c net/ip6.c \
	lib/csum.c tests/unit/rig/neigh_rig.c tests/unit/rig/nd_rig.c
UNIT_SRC_nd := $(ND_SRC)
UNIT_SRC_nd_limits := $(ND_SRC)
UNIT_SRC_mld := $(ND_SRC)
UNIT_SRC_ra := $(ND_SRC) net/ra.c
UNIT_SRC_slaac := $(ND_SRC) net/slaac.c
UNIT_SRC_rss := net/rss.c
UNIT_SRC_ecmp := net/ecmp.c
UNIT_SRC_wheel := net/tcp/wheel.c
UNIT_SRC_congestion := net/tcp/congestion.c
UNIT_SRC_router_forward := apps/router/check_avx2.c net/ip4.c net/ip6.c lib/csum.c lib/pkt.c
UNIT_SRC_router_filter := $(wildcard net/acl/*.c) dataplane/filter.c net/ip4.c net/ip6.c lib/csum.c
UNIT_SRC_storm :=
UNIT_SRC_errdisable := runtime/sealed.c lib/siphash.c
# two instances of TCP and a wire between them: one rig for all
TCP_SRC := $(sort $(wildcard net/*.c net/tcp/*.c)) $(filter-out lib/mem.c,$(sort $(wildcard lib/*.c)))
UNIT_SRC_tcp_pair := $(TCP_SRC) tests/unit/rig/tcp_rig.c tests/unit/rig/tcp_link.c tests/unit/rig/tcp_police.c \
	tests/unit/rig/tcp_flow.c
UNIT_SRC_tcp_rate := $(UNIT_SRC_tcp_pair)
UNIT_SRC_tcp_move := $(UNIT_SRC_tcp_pair)
UNIT_SRC_fuzz := $(wildcard net/arp*.c) net/neigh_table.c net/icmp4.c net/udp.c net/ip.c net/ip4.c \
	net/ip6.c lib/csum.c
UNIT_SRC_config := $(filter-out control/config/config_hash.c,$(wildcard control/config/config*.c)) \
	control/config/words.c control/config/password.c control/text/base64.c \
	control/text/text.c control/text/words.c control/text/interface_name.c lib/fmt.c lib/log_level.c \
	net/routing.c net/link.c net/stp/show.c tests/unit/rig/config_rig.c
UNIT_SRC_candidate := $(UNIT_SRC_config) $(wildcard control/config/candidate*.c) control/config/history.c
UNIT_SRC_module := control/text/module.c control/text/text.c lib/fmt.c
UNIT_SRC_json := control/text/json.c control/text/text.c lib/fmt.c
UNIT_SRC_config_wrong := $(UNIT_SRC_config)
UNIT_SRC_config6 := $(UNIT_SRC_config)
UNIT_SRC_config_acl := $(UNIT_SRC_config)
UNIT_SRC_config_engine := $(UNIT_SRC_config)
UNIT_SRC_config_switch := $(UNIT_SRC_config)
UNIT_SRC_config_stp := $(UNIT_SRC_config)
UNIT_SRC_config_lldp := $(UNIT_SRC_config)
UNIT_SRC_config_logging := $(UNIT_SRC_config)
UNIT_SRC_config_time := $(UNIT_SRC_config)
UNIT_SRC_config_sflow := $(UNIT_SRC_config)
UNIT_SRC_config_users := $(UNIT_SRC_candidate)
UNIT_SRC_base64 := control/text/base64.c control/text/text.c lib/fmt.c
UNIT_SRC_config_dhcp := $(UNIT_SRC_config)
UNIT_SRC_json_statements := control/text/json_statements.c control/text/text.c lib/fmt.c
UNIT_SRC_config_lacp := $(UNIT_SRC_config)
UNIT_SRC_bundle := runtime/bundle.c
UNIT_SRC_ssh_crypto := tests/unit/rig/crypto_heap.c control/crypto/ssh_crypto.c control/crypto/library.c runtime/entropy.c lib/sha256.c lib/fmt.c
UNIT_SRC_tls_client := tests/unit/rig/crypto_heap.c $(addprefix control/crypto/,tls.c tls_identity.c tls_trust.c library.c) runtime/entropy.c lib/civil.c lib/sha256.c lib/fmt.c
UNIT_SRC_tls_stream := $(addprefix control/crypto/,tls.c tls_identity.c tls_trust.c library.c) tests/unit/rig/openssl_client.c \
	lib/civil.c lib/sha256.c lib/fmt.c
UNIT_SRC_tls := tests/unit/rig/crypto_heap.c $(UNIT_SRC_tls_stream)
UNIT_LIBS_tls := -lssl -lcrypto
UNIT_LIBS_tls_stream := $(UNIT_LIBS_tls)
UNIT_SRC_crypto := control/crypto/known.c control/crypto/library.c runtime/entropy.c lib/sha256.c lib/fmt.c
UNIT_SRC_password := control/config/password.c control/text/base64.c control/text/text.c lib/pbkdf2.c lib/sha256.c lib/fmt.c
UNIT_SRC_shell := control/console/shell.c control/console/shell_words.c control/text/text.c lib/fmt.c
UNIT_SRC_virtio_ring := $(sort $(wildcard drivers/virtio_net/ring*.c)) tests/unit/rig/virtq_device.c tests/unit/rig/virtio_rig.c \
	tests/unit/rig/hand.c tests/unit/rig/guest.c lib/pkt.c lib/csum.c
UNIT_SRC_virtio_tx := $(UNIT_SRC_virtio_ring)
UNIT_SRC_virtio_hostile := $(UNIT_SRC_virtio_ring) tests/unit/rig/virtio_liar.c
UNIT_SRC_virtio_slots := $(UNIT_SRC_virtio_ring) tests/unit/rig/slots_rig.c
UNIT_SRC_virtio_net := $(wildcard drivers/virtio/*.c drivers/virtio_net/*.c) lib/pkt.c lib/csum.c tests/unit/rig/guest.c
UNIT_SRC_virtio_blk := drivers/virtio/transport.c drivers/virtio_blk/virtio_blk.c lib/pkt.c lib/csum.c tests/unit/rig/guest.c
UNIT_SRC_values := control/storage/values.c net/archive/tar.c
UNIT_SRC_boot_disk := $(filter-out disk/generations.c,$(wildcard disk/*.c)) lib/crc32.c lib/sha256.c
UNIT_SRC_nvme := drivers/nvme/nvme.c lib/pkt.c lib/csum.c tests/unit/rig/guest.c
UNIT_SRC_cmdline := lib/cmdline.c
UNIT_SRC_impair := examples/impair.c net/ip4.c lib/csum.c
UNIT_SRC_tcp_reset := net/tcp/reset.c net/tcp/wire.c net/ip.c net/ip4.c net/ip6.c lib/csum.c
UNIT_SRC_log := lib/siphash.c lib/fmt.c lib/log_level.c lib/rfc3339.c lib/civil.c
UNIT_SRC_sflow := net/sflow.c
UNIT_SRC_sample :=
UNIT_SRC_syslog := net/syslog.c lib/rfc3339.c lib/civil.c lib/fmt.c
UNIT_SRC_sealed := runtime/sealed.c lib/siphash.c
UNIT_SRC_random := runtime/random.c lib/siphash.c
UNIT_SRC_entropy := runtime/entropy.c lib/sha256.c
UNIT_SRC_slots := runtime/slots.c lib/pkt.c lib/csum.c tests/unit/rig/guest.c
UNIT_SRC_loop := runtime/loop.c runtime/idle.c
UNIT_SRC_idle := runtime/idle.c
UNIT_SRC_app_timer :=
UNIT_SRC_mce := lib/fmt.c
UNIT_SRC_dmar := kernel/dmar.c
UNIT_SRC_pci := lib/fmt.c $(addprefix kernel/pci_,bars.c bridges.c room.c assign.c)
UNIT_SRC_pci_assign := $(UNIT_SRC_pci)
UNIT_SRC_numa := kernel/numa.c
UNIT_SRC_boot := kernel/numa.c
UNIT_SRC_iommu := kernel/dmar.c kernel/irt_vtd.c lib/cmdline.c lib/fmt.c
UNIT_SRC_fault := lib/fmt.c
UNIT_SRC_smp := lib/fmt.c
UNIT_SRC_vtd :=
UNIT_SRC_intr := kernel/irt_vtd.c lib/fmt.c
UNIT_SRC_intr_amdvi := kernel/irt_amdvi.c lib/fmt.c
UNIT_SRC_ivrs := kernel/ivrs.c
UNIT_SRC_amdvi := lib/fmt.c
UNIT_SRC_amdvi_kind := kernel/ivrs.c kernel/irt_amdvi.c lib/cmdline.c lib/fmt.c
UNIT_SRC_kcall := lib/fmt.c
UNIT_SRC_watchdog := lib/cmdline.c
UNIT_SRC_regions := lib/cmdline.c
UNIT_SRC_events := lib/fmt.c
UNIT_SRC_coredump := runtime/events.c lib/fmt.c
UNIT_SRC_stream = $(UNIT_SRC_udp_control) lib/pkt.c tests/unit/rig/guest.c
UNIT_SRC_ssh_server := control/text/base64.c control/text/text.c lib/fmt.c
UNIT_SRC_login := control/config/password.c control/text/base64.c control/text/text.c lib/pbkdf2.c lib/sha256.c lib/fmt.c
UNIT_SRC_crash := lib/civil.c lib/rfc3339.c runtime/crash.c runtime/events.c runtime/coredump.c control/management/page.c control/text/text.c lib/fmt.c
UNIT_SRC_page_kept := control/management/page.c control/text/text.c lib/fmt.c
UNIT_SRC_subnets := net/ip6.c lib/csum.c
UNIT_SRC_persist := $(wildcard net/rib/*.c) net/ip6.c lib/csum.c lib/siphash.c
UNIT_SRC_restore := net/fib/host6.c net/ip6.c lib/siphash.c lib/csum.c
UNIT_SRC_steer_management := control/forwarding/steer_rules.c control/text/text.c lib/fmt.c net/ip6.c
UNIT_SRC_host_number := control/forwarding/fate.c $(wildcard net/arp*.c net/fib/*.c) net/neigh_table.c net/ip4.c \
	lib/csum.c lib/fmt.c
UNIT_SRC_udp_control := $(wildcard net/fib/*.c) net/ecmp.c net/ip.c net/udp.c net/ip4.c net/ip6.c lib/csum.c \
	lib/siphash.c
UNIT_SRC_journal := control/config/journal.c control/text/text.c lib/fmt.c lib/siphash.c
UNIT_SRC_ports := runtime/ports.c runtime/balance.c runtime/balancer.c runtime/buckets.c runtime/elastic.c runtime/move.c runtime/recovery.c runtime/restart.c runtime/rules.c runtime/steer_plan.c runtime/memory.c runtime/warm_restart.c lib/siphash.c lib/fmt.c
UNIT_SRC_extent :=
UNIT_SRC_steer_plan :=
UNIT_SRC_flow :=
UNIT_SRC_inject_whole := lib/pkt.c lib/csum.c net/counters.c
UNIT_SRC_bucket_hash := runtime/bucket_hash.c net/rss.c
UNIT_SRC_balance := runtime/balance.c
UNIT_SRC_move_data := runtime/bucket_hash.c net/rss.c
UNIT_SRC_lend := lib/cmdline.c
UNIT_SRC_steer := lib/pkt.c lib/csum.c
UNIT_SRC_region_pieces := runtime/extent.c lib/siphash.c
UNIT_SRC_null := drivers/null/null.c net/ip.c net/ip4.c net/ip6.c net/udp.c lib/csum.c lib/pkt.c \
	tests/unit/rig/guest.c
NICSIM_82599_SRC := $(wildcard tools/nicsim/82599/*.c tools/nicsim/intel/*.c tools/nicsim/packet/*.c) tools/nicsim/model.c \
	tools/nicsim/reg.c tools/nicsim/json.c tools/nicsim/wires/wire.c tests/unit/rig/nicsim_rig.c
UNIT_SRC_82599_model := $(NICSIM_82599_SRC) tests/unit/rig/drive_82599.c tests/unit/rig/nicsim_frames.c
UNIT_SRC_x550_model := $(UNIT_SRC_82599_model)
UNIT_SRC_82599_rx := $(UNIT_SRC_82599_model)
UNIT_SRC_82599_tx := $(UNIT_SRC_82599_model)
UNIT_SRC_82599_timesync := $(UNIT_SRC_82599_model)
UNIT_SRC_82599_fuzz := $(UNIT_SRC_82599_model) tests/unit/rig/intel_fuzz.c
UNIT_SRC_nicsim_gen := $(addprefix tools/nicsim/,wires/gen.c wires/judge.c wires/flows.c wires/stamped.c wires/wire.c \
	json.c parse.c intel/offload.c packet/headers.c)
NICSIM_I226_SRC := $(wildcard tools/nicsim/i226/*.c tools/nicsim/intel/*.c tools/nicsim/packet/*.c) tools/nicsim/model.c \
	tools/nicsim/reg.c tools/nicsim/json.c tools/nicsim/wires/wire.c tests/unit/rig/nicsim_rig.c
UNIT_SRC_i226_model := $(NICSIM_I226_SRC) tests/unit/rig/drive_i226.c tests/unit/rig/nicsim_frames.c
UNIT_SRC_i226_fuzz := $(UNIT_SRC_i226_model) tests/unit/rig/intel_fuzz.c
NICSIM_MLX5_SRC := $(wildcard tools/nicsim/mlx5/*.c tools/nicsim/packet/*.c) tools/nicsim/model.c \
	tools/nicsim/reg.c tools/nicsim/json.c tools/nicsim/wires/wire.c tests/unit/rig/nicsim_rig.c
UNIT_SRC_mlx5_objects := $(NICSIM_MLX5_SRC) tests/unit/rig/drive_mlx5.c
UNIT_SRC_mlx5_tx := $(NICSIM_MLX5_SRC) tests/unit/rig/drive_mlx5.c tests/unit/rig/nicsim_frames.c
UNIT_SRC_mlx5_rx := $(UNIT_SRC_mlx5_tx)
UNIT_SRC_mlx5_fuzz := $(UNIT_SRC_mlx5_tx)
UNIT_SRC_mlx5_model := $(NICSIM_MLX5_SRC) tests/unit/rig/drive_mlx5.c
# the whole driver with the model, in one process
UNIT_SRC_mlx5_driver := $(wildcard drivers/mlx5/*.c) lib/fmt.c lib/pkt.c lib/csum.c net/rss.c \
	$(NICSIM_MLX5_SRC) tests/unit/rig/model_port.c tests/unit/rig/mlx5_port.c tests/unit/rig/guest.c \
	tests/unit/rig/nicsim_frames.c
UNIT_SRC_mlx5_faults := $(UNIT_SRC_mlx5_driver)
UNIT_SRC_mlx5_promiscuous := $(UNIT_SRC_mlx5_driver)
UNIT_MAIN_mlx5_promiscuous := tests/unit/drivers/test_promiscuous.c
UNIT_SRC_mlx5_pair := $(UNIT_SRC_mlx5_driver)
UNIT_MAIN_mlx5_pair := tests/unit/drivers/test_pair_alone.c
UNIT_SRC_mlx5_steer := $(UNIT_SRC_mlx5_driver)
UNIT_MAIN_mlx5_steer := tests/unit/drivers/test_steer_rules.c
INTEL_RING_SRC := $(wildcard drivers/intel/ring*.c) lib/pkt.c lib/csum.c tests/unit/rig/intel_rig.c \
	tests/unit/rig/hand.c tests/unit/rig/guest.c
UNIT_SRC_intel_ring := $(INTEL_RING_SRC) tests/unit/rig/ring_tests.c
UNIT_SRC_intel_hostile := $(INTEL_RING_SRC)
UNIT_SRC_intel_slots := $(INTEL_RING_SRC) tests/unit/rig/slots_rig.c
VMXNET3_RING_SRC := $(wildcard drivers/vmxnet3/ring*.c) lib/pkt.c lib/csum.c tests/unit/rig/vmxnet3_rig.c \
	tests/unit/rig/hand.c tests/unit/rig/guest.c
UNIT_SRC_vmxnet3_ring := $(VMXNET3_RING_SRC) tests/unit/rig/ring_tests.c
UNIT_SRC_vmxnet3_hostile := $(VMXNET3_RING_SRC)
UNIT_SRC_vmxnet3_slots := $(VMXNET3_RING_SRC) tests/unit/rig/slots_rig.c
UNIT_SRC_vmxnet3_driver := $(wildcard drivers/vmxnet3/*.c) lib/pkt.c lib/csum.c tests/unit/rig/guest.c
# the whole driver with the model, in one process
IXGBE_SRC := $(wildcard drivers/ixgbe/*.c drivers/intel/*.c) lib/pkt.c lib/csum.c $(NICSIM_82599_SRC) \
	$(addprefix tests/unit/rig/,model_port.c intel_port.c guest.c)
UNIT_SRC_ixgbe_driver := $(IXGBE_SRC) tests/unit/rig/ixgbe_port.c
UNIT_SRC_ixgbe_traffic := $(UNIT_SRC_ixgbe_driver)
UNIT_SRC_ixgbe_rules := $(UNIT_SRC_ixgbe_driver)
UNIT_SRC_ixgbe_steer := $(UNIT_SRC_ixgbe_driver)
UNIT_MAIN_ixgbe_steer := tests/unit/drivers/test_steer_rules.c
UNIT_SRC_ixgbe_promiscuous := $(UNIT_SRC_ixgbe_driver) tests/unit/rig/nicsim_frames.c
UNIT_MAIN_ixgbe_promiscuous := tests/unit/drivers/test_promiscuous.c
UNIT_SRC_ixgbe_pair := $(UNIT_SRC_ixgbe_driver) tests/unit/rig/nicsim_frames.c
UNIT_MAIN_ixgbe_pair := tests/unit/drivers/test_pair_alone.c
UNIT_SRC_ixgbe_link := $(UNIT_SRC_ixgbe_pair)
UNIT_MAIN_ixgbe_link := tests/unit/drivers/test_link_lost.c
UNIT_SRC_ixgbe_faults := $(UNIT_SRC_ixgbe_driver) tests/unit/rig/intel_faults.c
UNIT_SRC_ixgbe_hostile := $(UNIT_SRC_ixgbe_faults)
UNIT_MAIN_ixgbe_hostile := tests/unit/drivers/test_hostile_card.c
UNIT_SRC_ixgbe_x550 := $(IXGBE_SRC) tests/unit/rig/x550_port.c
UNIT_SRC_x550_traffic := $(UNIT_SRC_ixgbe_x550)
UNIT_MAIN_x550_traffic := tests/unit/drivers/ixgbe/test_ixgbe_traffic.c
UNIT_SRC_x550_steer := $(UNIT_SRC_ixgbe_x550)
UNIT_MAIN_x550_steer := tests/unit/drivers/test_steer_rules.c
UNIT_SRC_x550_pair := $(UNIT_SRC_ixgbe_x550) tests/unit/rig/nicsim_frames.c
UNIT_MAIN_x550_pair := tests/unit/drivers/test_pair_alone.c
UNIT_SRC_x550_link := $(UNIT_SRC_x550_pair)
UNIT_MAIN_x550_link := tests/unit/drivers/test_link_lost.c
UNIT_SRC_igb_driver := $(wildcard drivers/igb/*.c drivers/intel/*.c) lib/pkt.c lib/csum.c $(NICSIM_I226_SRC) \
	$(addprefix tests/unit/rig/,model_port.c intel_port.c intel_faults.c igb_port.c guest.c)
UNIT_SRC_igb_promiscuous := $(UNIT_SRC_igb_driver) tests/unit/rig/nicsim_frames.c
UNIT_MAIN_igb_promiscuous := tests/unit/drivers/test_promiscuous.c
UNIT_SRC_igb_pair := $(UNIT_SRC_igb_driver) tests/unit/rig/nicsim_frames.c
UNIT_MAIN_igb_pair := tests/unit/drivers/test_pair_alone.c
UNIT_SRC_igb_link := $(UNIT_SRC_igb_pair)
UNIT_MAIN_igb_link := tests/unit/drivers/test_link_lost.c
UNIT_SRC_igb_hostile := $(UNIT_SRC_igb_driver)
UNIT_MAIN_igb_hostile := tests/unit/drivers/test_hostile_card.c
MLX5_RING_SRC := $(wildcard drivers/mlx5/ring*.c) lib/pkt.c lib/csum.c tests/unit/rig/mlx5_ring_rig.c \
	tests/unit/rig/hand.c tests/unit/rig/guest.c
UNIT_SRC_mlx5_ring := $(MLX5_RING_SRC) tests/unit/rig/ring_tests.c
UNIT_SRC_mlx5_slots := $(MLX5_RING_SRC) tests/unit/rig/slots_rig.c
UNIT_SRC_mlx5_sessions := $(MLX5_RING_SRC)
UNIT_SRC_mlx5_mend :=
UNIT_SRC_mlx5_hca := $(wildcard drivers/mlx5/*.c) lib/fmt.c lib/pkt.c lib/csum.c \
	tests/unit/rig/mlx5_firmware.c tests/unit/rig/guest.c
# the parts of the packet generator that do not depend on the machine
UNIT_SRC_pktgen_answer := tools/pktgen/frames/answer.c net/nd_wire.c net/icmp6.c net/ip6.c lib/csum.c
UNIT_SRC_pktgen_histogram := tools/pktgen/measure/histogram.c
UNIT_SRC_pktgen_pace := tools/pktgen/measure/pace.c tools/pktgen/measure/histogram.c
UNIT_SRC_pktgen_rfc2544 := tools/pktgen/measure/rfc2544.c
UNIT_SRC_pktgen_judge := tools/pktgen/measure/judge.c tools/pktgen/measure/histogram.c lib/csum.c
REPORT_SRC := $(wildcard tools/pktgen/report/report*.c) tools/pktgen/measure/rfc2544.c tools/pktgen/measure/histogram.c \
	tools/pktgen/measure/judge.c tools/pktgen/measure/pace.c lib/fmt.c lib/csum.c tests/unit/rig/report_sample.c
UNIT_SRC_pktgen_report := $(REPORT_SRC)
UNIT_SRC_pktgen_screen := tools/pktgen/report/screen.c $(REPORT_SRC)
UNIT_SRC_pktgen_frames := $(wildcard tools/pktgen/frames/frames*.c) net/ip4.c net/ip6.c \
	lib/csum.c tests/unit/rig/pktgen_nicsim.c tools/nicsim/wires/judge.c tools/nicsim/json.c
UNIT_SRC_pktgen_replay := tools/pktgen/frames/pcap.c tools/pktgen/frames/replay.c
UNIT_SRC_pktgen_capture := tools/pktgen/measure/capture.c net/pcapng.c tools/pktgen/frames/pcap.c lib/fmt.c
UNIT_SRC_pktgen_script := $(wildcard tools/pktgen/script/*.c tools/pktgen/frames/frames*.c) \
	control/text/text.c control/text/words.c net/ip4.c net/ip6.c lib/csum.c lib/fmt.c

BPF_OBJECT_SRC := $(wildcard bpf/object/*.c) bpf/layout.c bpf/program.c lib/fmt.c tests/unit/rig/bpf_contract.c \
	tests/unit/rig/bpf_elf.c
UNIT_SRC_bpf_elf := $(BPF_OBJECT_SRC)
UNIT_SRC_bpf_btf := $(BPF_OBJECT_SRC)
UNIT_SRC_bpf_layout := $(BPF_OBJECT_SRC)
UNIT_SRC_bpf_memory := $(wildcard bpf/*.c bpf/*/*.c) lib/csum.c lib/fmt.c
UNIT_SRC_bpf_objects := $(BPF_OBJECT_SRC)

# --- kinds of compilation: each compiler compiles each source once for each kind that a test needs ---
# A twin of a header goes before the real one. UNIT_WAY_x: the kind of test x, if not that of
# tests/host/host.mk. UNIT_SAME_w: sources that are the same in kind w as in the plain one, because
# their room may not include the headers that have a twin there (ARCHITECTURE.md, Rooms).
# hal/mmio.h
UNIT_FLAGS_ring := -Itests/unit/twin
# and the clock
UNIT_FLAGS_device := -Itests/unit/twin -Itests/unit/twin_clock
# the CPU's random numbers, and the clock
UNIT_FLAGS_random := -Itests/unit/twin_random -Itests/unit/twin_clock
UNIT_WAYS := plain ring device random
UNIT_SAME_ring := lib/% tools/nicsim/%
UNIT_SAME_device := $(UNIT_SAME_ring)
UNIT_SAME_random := lib/%

# these test lib/pkt.h itself, or a driver with the real clock
UNIT_WAY_pkt := plain
UNIT_WAY_null := plain
UNIT_WAY_slots := plain
# beside the drivers' tests, which link the same model
UNIT_WAY_82599_model := plain
UNIT_WAY_x550_model := plain
UNIT_WAY_82599_rx := plain
UNIT_WAY_82599_tx := plain
UNIT_WAY_82599_fuzz := plain
UNIT_WAY_82599_timesync := plain
UNIT_WAY_i226_model := plain
UNIT_WAY_i226_fuzz := plain
UNIT_WAY_random := random
UNIT_WAY_walltime := random
UNIT_WAY_entropy := random
UNIT_WAY_virtio_net := device
UNIT_WAY_virtio_blk := device
UNIT_WAY_nvme := device
UNIT_WAY_virtio_ring := ring
UNIT_WAY_virtio_tx := ring
UNIT_WAY_virtio_hostile := ring
UNIT_WAY_virtio_slots := ring
UNIT_WAY_intel_ring := ring
UNIT_WAY_intel_hostile := ring
UNIT_WAY_intel_slots := ring
UNIT_WAY_vmxnet3_ring := ring
UNIT_WAY_vmxnet3_hostile := ring
UNIT_WAY_vmxnet3_slots := ring
UNIT_WAY_vmxnet3_driver := device
UNIT_WAY_ixgbe_driver := device
UNIT_WAY_ixgbe_traffic := device
UNIT_WAY_ixgbe_pair := device
UNIT_WAY_ixgbe_promiscuous := device
UNIT_WAY_ixgbe_link := device
UNIT_WAY_ixgbe_rules := device
UNIT_WAY_ixgbe_steer := device
UNIT_WAY_ixgbe_faults := device
UNIT_WAY_ixgbe_x550 := device
UNIT_WAY_x550_traffic := device
UNIT_WAY_x550_pair := device
UNIT_WAY_x550_link := device
UNIT_WAY_x550_steer := device
UNIT_WAY_igb_driver := device
UNIT_WAY_igb_pair := device
UNIT_WAY_igb_promiscuous := device
UNIT_WAY_igb_link := device
UNIT_WAY_igb_hostile := device
UNIT_WAY_ixgbe_hostile := device
UNIT_WAY_pci := ring
UNIT_WAY_pci_assign := ring
UNIT_WAY_mlx5_ring := ring
UNIT_WAY_mlx5_slots := ring
UNIT_WAY_mlx5_sessions := ring
UNIT_WAY_mlx5_mend := ring
UNIT_WAY_mlx5_hca := device
UNIT_WAY_mlx5_driver := device
UNIT_WAY_mlx5_faults := device
UNIT_WAY_mlx5_pair := device
UNIT_WAY_mlx5_promiscuous := device
UNIT_WAY_mlx5_steer := device
# Every test_x.c is test x, unless it is the main() of others (UNIT_MAIN_x).
UNIT_MAINS := $(patsubst UNIT_MAIN_%,%,$(filter UNIT_MAIN_%,$(.VARIABLES)))
ifeq ($(origin T),undefined)
T := $(sort $(filter-out pair_alone promiscuous link_lost hostile_card steer_rules,$(patsubst test_%,%,$(basename $(notdir $(UNIT_TESTS))))) $(UNIT_MAINS))
endif

UNIT_CC := gcc clang

.PHONY: unit check-portable pktgen-report pktgen-bench

define UNIT_COMPILE
$(UNIT_BUILD)/$(1)/$(2)/%.o: %.c tests/unit/unit.mk
	@mkdir -p $$(@D)
	@$(1) $$(UNIT_FLAGS_$(2)) $$(HOST_CFLAGS_$(1)) -I. -MMD -MP -c -o $$@ $$<
endef
$(foreach cc,$(UNIT_CC),$(foreach way,$(UNIT_WAYS),$(eval $(call UNIT_COMPILE,$(cc),$(way)))))

# UNIT_MAIN_x: the file with main(), if it is not test_x.c
unit_src = $(or $(UNIT_MAIN_$(1)),$(filter %/test_$(1).c,$(UNIT_TESTS))) tests/unit/rig/host.c $(UNIT_SRC_$(1))
unit_same = $(filter $(UNIT_SAME_$(UNIT_WAY_$(1))),$(call unit_src,$(1)))
# compiler, test
unit_dir = $(if $(UNIT_WAY_$(2)),$(UNIT_BUILD)/$(1)/$(UNIT_WAY_$(2)),$(HOST_BUILD)/$(1))
unit_obj = $(patsubst %.c,$(call unit_dir,$(1),$(2))/%.o, \
	$(filter-out $(call unit_same,$(2)),$(call unit_src,$(2)))) \
	$(patsubst %.c,$(UNIT_BUILD)/$(1)/plain/%.o,$(call unit_same,$(2)))

define UNIT_LINK
$(UNIT_BUILD)/$(1)/test_$(2): $(call unit_obj,$(1),$(2))
	@mkdir -p $$(@D)
	@$(1) $$(HOST_CFLAGS_$(1)) -o $$@ $$^ $$(UNIT_LIBS_$(2)) -lcmocka -lm
$(UNIT_BUILD)/$(1)/test_$(2): $(if $(filter control/crypto/%,$(UNIT_SRC_$(2))),$(THIRD_HOST))
endef
$(foreach cc,$(UNIT_CC),$(foreach t,$(T),$(eval $(call UNIT_LINK,$(cc),$(t)))))

# These read the objects while they run.
$(foreach cc,$(UNIT_CC),$(UNIT_BUILD)/$(cc)/test_bpf_objects): | $(BPF_PROGRAMS) $(BPF_REFUSED)

# Archives of GNU tar and Python's tarfile, for test_tar.
UNIT_ARCHIVES := build/archives/made
$(UNIT_ARCHIVES): tests/unit/rig/archives.py
	@/usr/bin/python3 $< $(@D)
	@touch $@
$(foreach cc,$(UNIT_CC),$(UNIT_BUILD)/$(cc)/test_tar): | $(UNIT_ARCHIVES)

UNIT_BIN := $(foreach t,$(T),$(foreach cc,$(UNIT_CC),$(UNIT_BUILD)/$(cc)/test_$(t)))
UNIT_OBJ := $(sort $(foreach t,$(T),$(foreach cc,$(UNIT_CC),$(call unit_obj,$(cc),$(t)))))

unit: $(UNIT_BIN) ## unit tests on the host (gcc with ASan and UBSan, clang)
	@tests/unit/run.sh $(UNIT_BUILD) $(UNIT_BIN)

# The generator's report of made-up results, for viewing.
$(UNIT_BUILD)/report_page: $(patsubst %.c,$(HOST_BUILD)/gcc/%.o, \
		tests/unit/rig/report_page.c tests/unit/rig/host.c $(REPORT_SRC))
	@mkdir -p $(@D)
	@gcc $(HOST_CFLAGS) -o $@ $^ -lcmocka

pktgen-report: $(UNIT_BUILD)/report_page ## pages of made-up results, build/pktgen-*.html
	@for what in run rfc2544; do $< html $$what > build/pktgen-$$what.html; done

# --- net/ and lib/ for other CPUs: clang checks, GCC compiles ---
# Sources: all but mem.c, which is x86-64 assembly.
PORTABLE_SRC := $(sort $(wildcard net/*.c net/*/*.c)) $(filter-out lib/mem.c,$(sort $(wildcard lib/*.c)))
PORTABLE_CFLAGS := -std=c11 -O2 -ffreestanding -nostdinc -I. -Wall -Wextra -Werror -Wshadow \
	-Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes -Wundef \
	-Wpointer-arith -Wwrite-strings -Wvla
PORTABLE_CLANG := aarch64-none-elf riscv64-none-elf i686-none-elf x86_64-none-elf
# RISC-V with the bit operations of its profiles from RVA22 on: without them GCC calls its library
# for each byte swap
PORTABLE_GCC := aarch64-linux-gnu riscv64-linux-gnu i686-linux-gnu
PORTABLE_FLAGS_riscv64-linux-gnu := -march=rv64gc_zbb -mabi=lp64d
PORTABLE_BUILD := build/portable
PORTABLE_OBJ := $(foreach t,$(PORTABLE_GCC),$(PORTABLE_SRC:%.c=$(PORTABLE_BUILD)/$(t)/%.o))
# Symbols that the linking program must provide: those a compiler calls by itself, the strings of
# lib/mem.h, and assert_fail. No 64-bit division of the compiler's library (lib/divide.h), no
# floating point.
PORTABLE_NEEDS := memcpy memmove memset memcmp strlen strcmp strncmp assert_fail

define PORTABLE_RULE
$(PORTABLE_BUILD)/$(1)/%.o: %.c tests/unit/unit.mk
	@mkdir -p $$(@D)
	@$(1)-gcc $$(PORTABLE_CFLAGS) $$(PORTABLE_FLAGS_$(1)) -fno-pic -fno-stack-protector -MMD -MP \
		-c -o $$@ $$<

.PHONY: portable-$(1)
portable-$(1): $$(PORTABLE_SRC:%.c=$(PORTABLE_BUILD)/$(1)/%.o)
	@$(1)-ld -r -o $(PORTABLE_BUILD)/$(1)/all.o $$^
	@if $(1)-nm -u $(PORTABLE_BUILD)/$(1)/all.o | grep -vw $$(PORTABLE_NEEDS:%=-e %); then \
		echo "check-portable: $(1): net/ and lib/ may not need these"; exit 1; fi
endef
$(foreach t,$(PORTABLE_GCC),$(eval $(call PORTABLE_RULE,$(t))))

check-portable: $(PORTABLE_GCC:%=portable-%) ## net/ and lib/ for AArch64, RISC-V and 32-bit x86 too
	@for f in $(PORTABLE_SRC); do \
		for t in $(PORTABLE_CLANG); do \
			clang --target=$$t $(PORTABLE_CFLAGS) -fsyntax-only $$f || exit 1; \
		done; \
		gcc $(PORTABLE_CFLAGS) -fsyntax-only $$f || exit 1; \
	done
	@echo "check-portable: $(words $(PORTABLE_SRC)) files: $(PORTABLE_CLANG) (clang), host (gcc);" \
		"compiled for $(PORTABLE_GCC)"

-include $(PORTABLE_OBJ:.o=.d) $(UNIT_OBJ:.o=.d)

$(UNIT_BUILD)/pktgen_bench: tests/bench/pktgen/pktgen_bench.c tests/unit/rig/host.c tools/pktgen/measure/judge.c \
		tools/pktgen/measure/pace.c tools/pktgen/measure/histogram.c lib/csum.c $(wildcard tools/pktgen/*.h tools/pktgen/*/*.h)
	@mkdir -p $(@D)
	gcc -std=gnu11 -O2 -g -I. -Wall -Wextra -Werror -o $@ $(filter %.c,$^) -lcmocka

pktgen-bench: $(UNIT_BUILD)/pktgen_bench ## what the generator's judge costs a frame on this host
	$(UNIT_BUILD)/pktgen_bench
