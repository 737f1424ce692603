/*
 * What the rigs of drivers' queue halves share: guest memory, frames that can be told apart, the
 * account of buffers.
 *
 * Guest memory is mapped at MEMORY_WINDOW, where it lies on the real machine, so hal/dma.h is
 * tested as it is and bus addresses start at 0.
 */
#ifndef TESTS_UNIT_GUEST_H
#define TESTS_UNIT_GUEST_H

#include "lib/pkt.h"
#include "tests/unit/host.h"

#define GUEST_BYTES (32u << 20)
#define GUEST_PAGE 4096u
#define GUEST_NOTHING GUEST_PAGE /* below this bus address there is no memory */

/* Group set-up for cmocka: maps guest memory. */
int guest_map(void **state);

/* Everybody may touch all of it; nobody may touch [from, to): ASan reports who does. */
void guest_open(void);
void guest_close(const void *from, const void *to);

/* Memory at a bus address; the device is stopped by an IOMMU from leaving guest memory. */
uint8_t *bus(uint64_t addr, size_t n);
uint64_t bus_of(const volatile void *p);

/* Little-endian values of 1 to 8 bytes at a bus address. */
uint64_t load(uint64_t addr, unsigned bytes);
void store(uint64_t addr, unsigned bytes, uint64_t v);

/* What a look at the clock takes at the time `now`, ns: `least`, or an eighth of what the looks
 * before it have taken since anything else took time. So a driver that waits for nothing but a
 * deadline is there after some hundred looks, though it be seconds away, and an eighth late at
 * most. */
uint64_t look_ns(uint64_t now, uint64_t least);

/* Frames that can be told apart: number `seq` has its own length, 60 to frame_most (at most a
 * standard buffer), and bytes. */
extern unsigned frame_most;
unsigned frame_len(uint32_t seq);
void make_frame(uint8_t *at, uint32_t seq);
void assert_frame(const uint8_t *at, unsigned len, uint32_t seq);
/* One in a buffer of this pool, which has to have one. */
void take_frame(struct bufpool *pool, struct pkt *p, uint32_t seq);

/* The same as a chain of so many fragments behind the first piece, cut anywhere; some of them lie
 * in the same buffer. */
void take_chain(struct bufpool *pool, struct pkt *p, uint32_t seq, unsigned frags);
/* The bytes of a packet, in one piece; returns how many. */
unsigned flat(const struct bufpool *pool, const struct pkt *p, uint8_t *to);

/* Every buffer has one owner, or as many holders as it counts: none is known, this owner is, this
 * holder is, those of this packet are, all of the pool's are. */
void owners_forget(const struct bufpool *pool);
void assert_owner(uint32_t buf);
void add_holder(uint32_t buf);
void assert_packet(const struct pkt *p);
/* The same of the packet that a driver's transmit ring notes in a word, all alike: its buffer in
 * bits 0 to 28, of its flags PKT_CHAIN and PKT_SHARED in bits 29 and 30. */
void assert_owner_word(uint32_t word);
void assert_all_owned(void);

#endif
