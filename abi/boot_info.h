/*
 * The information that the kernel gives to the core programs: one structure, mapped read-only at
 * the same address in every address space. Only the kernel writes it. After the start it changes
 * `status`, `sleep`, `crash`, `iommu.refused` and `config_hash`. KCALL_SHARE moves the boundary between
 * published memory and the tables; KCALL_REGION adds a region.
 */
#ifndef ABI_BOOT_INFO_H
#define ABI_BOOT_INFO_H

#include "abi/events.h"
#include "abi/hardware.h"
#include "abi/pci.h"
#include "abi/coredump.h"
#include "lib/types.h"

#define CORES_MAX 256
#define NODES_MAX 16
#define BOOT_PCI_MAX 64
#define BOOT_DISKS_MAX 8 /* of them */
#define BOOT_CMDLINE_MAX 1024
#define BOOT_BUILD_ID 41 /* characters, with the NUL */
/* The start of each core's shared memory and of published memory, which is zeroed once, at boot. */
#define BOOT_HEADER_BYTES 16384

enum core_role {
	CORE_CONTROL = 1, /* runs the control program: console, configuration, neighbours */
	CORE_DATA = 2,    /* polls queues and forwards; with one CPU the same core is both */
};

enum core_state {
	CORE_OFF,     /* not started */
	CORE_RUNNING, /* at ring 3, or asleep (struct core_sleep) */
	CORE_DEAD,    /* faulted too often; stays stopped */
	CORE_FAILED,  /* its program has failed; the kernel writes the report and restores the program */
};

/* Memory of one core; addresses are virtual, in the MEMORY_WINDOW. */
struct core_memory {
	uint32_t roles;         /* enum core_role */
	uint64_t shm;           /* this core writes, all others read: counters, ring producers */
	uint64_t shm_bytes;
	uint64_t arena;         /* a data core writes, the control core reads: packet buffers, NIC
	                         * rings, the application's memory */
	uint64_t arena_bytes;
	uint32_t node;          /* NUMA node of the core; 0 if there is one, or none is known */
	uint32_t arena_node;    /* of the arena, or of the control core's tables */
	uint64_t tables;        /* the control core's alone; directly behind published memory */
	uint64_t tables_bytes;
};

/* Written by the kernel when a program starts or fails. */
struct core_status {
	volatile uint32_t state;  /* enum core_state */
	volatile uint32_t faults; /* times its program was restarted after a fault */
	volatile uint64_t failed_tsc; /* TSC when it last became CORE_FAILED; written before that; 0: never */
};

/* Written by the kernel at each sleep. Every core has a cache line of its own, which no other core reads
 * on its way to sleep. */
struct core_sleep {
	_Alignas(64) volatile uint32_t asleep; /* 1: halted in the kernel until an interrupt or its deadline */
};
_Static_assert(sizeof(struct core_sleep) == 64, "a cache line");

#define CRASHES_MAX 4
#define CRASH_TEXT_MAX 4064

/* The report of a program's failure, as printed on the console. It survives restarts of programs. */
struct crash {
	uint64_t number; /* 1 for the first report, and so on; 0: none, or being written */
	uint64_t tsc;
	uint32_t core;
	uint32_t bytes; /* of the text */
	uint64_t code; /* the first address of RIP and backtrace that lies in CODE_WINDOW; 0: none */
	char text[CRASH_TEXT_MAX]; /* lines that end in \n; no NUL */
	uint64_t parts; /* pieces of the program's memory, copied into `state` in order, at multiples of 8 */
	struct coredump_part part[COREDUMP_PARTS];
	uint8_t state[COREDUMP_STATE];
	uint64_t pkts;  /* number of packets in pkt[], the last ones the program received */
	struct coredump_pkt pkt[COREDUMP_PKTS]; /* newest first */
	struct event_ring events; /* of the core; count is 0 if they could not be read */
};

/*
 * Memory that the control core has given away, for XDP programs and their maps or for an application's
 * content (KCALL_REGION). It was a part of its tables, and still lies among them. No device reaches it, but
 * all may read REGION_CONTENT.
 *
 *     kind            control core            data cores
 *     REGION_CODE     reads, in CODE_WINDOW   execute, in CODE_WINDOW (both with one CPU)
 *     REGION_SHARED   writes                  all write
 *     REGION_OWN      writes                  each writes its own part, no other core's is mapped
 *     REGION_CONTROL  writes                  read                     (also files on their way to a disk)
 *     REGION_CONTENT  writes                  read
 */
enum region_kind {
	REGION_CODE, REGION_SHARED, REGION_OWN, REGION_CONTROL,
	REGION_XDP_KINDS, /* those above are of XDP programs */
	REGION_CONTENT = REGION_XDP_KINDS, /* what an application sends: files of the web application */
	REGION_KINDS
};

struct region {
	uint64_t at;     /* in the MEMORY_WINDOW; of REGION_CODE nothing is mapped there */
	uint64_t bytes;  /* of REGION_OWN: of each part; that of data core d begins at at + d * bytes */
	uint32_t kind;   /* enum region_kind */
	uint32_t offset; /* of REGION_CODE: where in CODE_WINDOW it begins */
};
#define REGIONS_MAX 64

#define BOOT_BEFORE_MAX 8168

/* The report of the failure that ended the previous boot, if memory survived the restart. */
struct boot_before {
	uint64_t bytes; /* 0: no report */
	char text[BOOT_BEFORE_MAX]; /* lines that end in \n; no NUL */
};

/* The units that remap the DMA of network cards (kernel/iommu.h). */
enum boot_iommu_kind { BOOT_IOMMU_NONE, BOOT_IOMMU_VTD, BOOT_IOMMU_AMDVI };
struct boot_iommu {
	uint32_t kind;  /* enum boot_iommu_kind: of the units in firmware's table, used or not */
	uint32_t units; /* in use; 0: devices reach all memory */
	uint32_t cards; /* network functions behind them */
	volatile uint64_t refused; /* refused accesses, as far as the units recorded them */
};

struct boot_info {
	uint64_t tsc_hz;
	uint64_t tsc_boot;        /* TSC when kmain began */
	uint64_t clock_ns;        /* UTC at clock_tsc by the CMOS clock, ns since 1970; 0: not known */
	uint64_t clock_tsc;
	uint32_t cores;           /* cores in use, numbered from 0; core 0 is the control core */
	uint32_t data_cores;
	uint32_t first_data_core; /* 1, or 0 with one CPU */
	uint32_t hypervisor;      /* CPUID reports a hypervisor */
	uint64_t config;          /* boot module with the configuration; 0: none */
	uint64_t config_bytes;
	uint64_t config_left_out; /* bytes of a module dropped for lack of memory; config is then 0 */
	volatile uint64_t config_hash; /* KCALL_CONFIG_HASH; 0: none */
	uint64_t published;       /* control core writes, data cores read */
	uint64_t published_bytes;
	uint64_t ram_bytes;       /* usable memory in the machine */
	uint64_t ram_used_bytes;  /* taken by kernel and core programs */
	uint64_t image_bytes;     /* the loaded image */
	uint32_t nodes;           /* NUMA nodes, 1 to NODES_MAX */
	uint64_t node_bytes[NODES_MAX]; /* usable memory of each */
	uint32_t tsc_invariant;
	uint32_t pci_count;
	uint32_t regions; /* the kernel adds one at a time, and never removes one */
	struct region region[REGIONS_MAX];
	struct boot_iommu iommu;
	struct core_memory core[CORES_MAX];
	struct core_status status[CORES_MAX];
	struct core_sleep sleep[CORES_MAX];
	struct crash crash[CRASHES_MAX]; /* kernel/crash.h says which are kept */
	struct boot_before before;
	struct pci_dev pci[BOOT_PCI_MAX]; /* network cards and disks, by bus, device, function */
	struct hardware hardware;
	char build_id[BOOT_BUILD_ID]; /* of the image, in hexadecimal digits */
	char loader[32];
	char cpu[64];
	char cmdline[BOOT_CMDLINE_MAX];
};

#endif
