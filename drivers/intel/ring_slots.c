/*
 * See ring.h: a transmit ring whose descriptors stay as put (nic_ops.slots_open), for applications
 * that send prepared frames repeatedly.
 *
 * The device reports only descriptors with RS (7.2.3.5.2: TXDCTL.WTHRESH is 0), and a send may end
 * anywhere. With RS in all of them the device would write its head for each frame. With RS at fixed
 * places alone up to INTEL_TX_REPORT - 1 frames would go unreported at the end. So the last
 * descriptor of a send has RS as well. A send that ends at a fixed place costs no store into the
 * ring. Any other costs two byte stores, to set RS and to clear it when the slot comes round, and a
 * word of the bitmap. While the device is behind, slots_free ends at a fixed place, so a caller
 * that sends all free slots pays nothing.
 */
#include "drivers/intel/ring.h"

#include "hal/barrier.h"
#include "hal/dma.h"
#include "hal/mmio.h"
#include "lib/mem.h"

#define CMD (INTEL_TXD_DTYP_DATA | INTEL_TXD_DEXT | INTEL_TXD_IFCS | INTEL_TXD_EOP)
#define CMD_BYTE 3 /* of cmd_len, contains RS; equal in all slots, so it is stored unread */
#define BITS 32u   /* in a word of the bitmap */

/* Descriptors from one fixed place to the next; a power of two, as the ring size is. */
static inline uint32_t interval(const struct intel_tx *r)
{
	uint32_t quarter = (r->mask + 1) / 4;
	return quarter < INTEL_TX_REPORT ? quarter : INTEL_TX_REPORT;
}

static inline bool is_fixed_place(const struct intel_tx *r, uint32_t at)
{
	uint32_t every = interval(r);
	return (at & (every - 1)) == every - 1;
}

static inline void store_command(struct intel_tx *r, uint32_t at, uint32_t cmd)
{
	((uint8_t *)&r->desc[at].data.cmd_len)[CMD_BYTE] = (uint8_t)(cmd >> 8 * CMD_BYTE);
}

unsigned intel_slots_open(struct intel_tx *r, struct bufpool *pool, struct nic_counters *cnt,
                          bool *broken)
{
	intel_tx_burst(r, pool, cnt, NULL, 0, broken);
	if (*broken || r->tail != r->head)
		return 0;
	memset(r->owner, 0, (r->mask + BITS) / BITS * sizeof r->owner[0]);
	r->slot_base = r->head;
	return r->mask + 1;
}

void intel_slots_put(struct intel_tx *r, unsigned first, const struct nic_slot *s, unsigned n)
{
	uint32_t pos = r->slot_base + first;
	for (unsigned i = 0; i < n; i++, pos++) {
		uint32_t at = pos & r->mask, len = s[i].len;
		uint32_t cmd = CMD | len | (is_fixed_place(r, at) ? INTEL_TXD_RS : 0);
		r->desc[at].word[0] = dma_addr(s[i].data).bus;
		r->desc[at].word[1] = cmd | (uint64_t)len << (INTEL_TXO_PAYLEN_SHIFT + 32);
	}
}

void intel_slot_stamp(struct intel_tx *r, unsigned slot)
{
	r->desc[(r->slot_base + slot) & r->mask].data.cmd_len |= INTEL_TXD_1588;
}

unsigned intel_slots_free(struct intel_tx *r, struct nic_counters *cnt, bool *broken)
{
	uint32_t written = __atomic_load_n(r->written_head, __ATOMIC_ACQUIRE);
	uint32_t done = (written - r->tail) & r->mask;
	if (unlikely(written > r->mask || done > r->head - r->tail)) {
		cnt->tx_bad_desc++;
		*broken = true;
		return 0;
	}
	r->tail += done;
	uint32_t end = r->tail + r->mask; /* one stays unused */
	if (r->head - r->tail > r->mask / 2)
		end &= ~(interval(r) - 1);
	return (int32_t)(end - r->head) > 0 ? end - r->head : 0;
}

/* Makes n slots from position `pos` on request reports at the fixed places only. */
static inline void take_away_reports(struct intel_tx *r, uint32_t pos, uint32_t n)
{
	uint32_t size = r->mask + 1, word_bits = size < BITS ? size : BITS;
	while (n) {
		uint32_t at = pos & r->mask, bit = at & (word_bits - 1), left = word_bits - bit;
		uint32_t most = n < left ? n : left, *word = &r->owner[at / BITS];
		uint32_t bits = *word & (uint32_t)((1ull << most) - 1) << bit;
		*word &= ~bits;
		for (; unlikely(bits); bits &= bits - 1)
			store_command(r, (at - bit) + (uint32_t)__builtin_ctz(bits), CMD);
		pos += most;
		n -= most;
	}
}

void intel_slots_send(struct intel_tx *r, struct nic_counters *cnt, unsigned n, uint64_t bytes)
{
	assert(n <= r->tail + r->mask - r->head);
	if (n == 0)
		return;
	take_away_reports(r, r->head, n);
	r->head += n;
	uint32_t last = (r->head - 1) & r->mask;
	if (!is_fixed_place(r, last)) {
		store_command(r, last, CMD | INTEL_TXD_RS);
		r->owner[last / BITS] |= 1u << last % BITS;
	}
	cnt->tx_pkts += n;
	cnt->tx_bytes += bytes;
	barrier_write();
	mmio_write32(r->tail_reg, r->head & r->mask);
	cnt->mmio_writes++;
}
