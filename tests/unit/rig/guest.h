/*
 * What the rigs of drivers' queue halves share: guest memory, distinguishable frames, accounting of
 * buffers.
 *
 * Guest memory is mapped at MEMORY_WINDOW, its address on the real machine, so hal/dma.h is tested
 * as it is and bus addresses start at 0.
 */
#ifndef TESTS_UNIT_RIG_GUEST_H
#define TESTS_UNIT_RIG_GUEST_H

#include "lib/pkt.h"
#include "tests/unit/rig/host.h"

#define GUEST_BYTES (32u << 20)
#define GUEST_PAGE 4096u
#define GUEST_NOTHING GUEST_PAGE /* below this bus address there is no memory */

#define GUEST_OUTSIDE_BYTES (8u << 20) /* behind it: what frames name outside the pools (take_chain) */

/* Group set-up for cmocka: maps guest memory. */
int guest_map(void **state);

/* Makes all of it accessible; makes [from, to) inaccessible: ASan reports accesses. */
void guest_open(void);
void guest_close(const void *from, const void *to);

/* Memory at a bus address. As with an IOMMU, the device cannot leave guest memory. */
uint8_t *bus(uint64_t addr, size_t n);
uint64_t bus_of(const volatile void *p);

/* Little-endian values of 1 to 8 bytes at a bus address. */
uint64_t load(uint64_t addr, unsigned bytes);
void store(uint64_t addr, unsigned bytes, uint64_t v);

/* How long a read of the clock at time `now` takes, in ns: `least`, or an eighth of what the
 * consecutive reads before it have taken. So a driver that waits only for a deadline reaches it
 * after some hundred reads, even if it is seconds away, and is late by an eighth at most. */
uint64_t look_ns(uint64_t now, uint64_t least);

/* Distinguishable frames: number `seq` has its own length, 60 to frame_most (at most a standard
 * buffer), and its own bytes. */
extern unsigned frame_most;
unsigned frame_len(uint32_t seq);
void make_frame(uint8_t *at, uint32_t seq);
void assert_frame(const uint8_t *at, unsigned len, uint32_t seq);
/* Makes one in a buffer of this pool, which must have one. */
void take_frame(struct bufpool *pool, struct pkt *p, uint32_t seq);

/* The same as a chain of `frags` fragments behind the first piece, divided anywhere; some of them
 * share a buffer, some name bytes outside the pool. */
void take_chain(struct bufpool *pool, struct pkt *p, uint32_t seq, unsigned frags);
/* Copies the bytes of a packet into one piece; returns how many. */
unsigned flat(const struct bufpool *pool, const struct pkt *p, uint8_t *to);

/* Every buffer has one owner, or as many holders as it counts. In order: forget all owners; record
 * an owner; record a holder; record those of a packet; assert that all buffers of the pool are
 * accounted for. */
void owners_forget(const struct bufpool *pool);
void assert_owner(uint32_t buf);
void add_holder(uint32_t buf);
void assert_packet(const struct pkt *p);
/* Records the packet that a driver's transmit ring stores in a word; all drivers use one layout:
 * its buffer in bits 0 to 28, of its flags PKT_CHAIN and PKT_SHARED in bits 29 and 30. */
void assert_owner_word(uint32_t word);
void assert_all_owned(void);

#endif
