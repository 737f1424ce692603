/*
 * Slots of a transmit ring (drivers/nic.h) whatever the card: numbered frames in them, a device
 * that has sent some, and the tests that the slots of every card have to pass. What the card's are
 * tells the `slots_card` of the test that is linked.
 */
#ifndef TESTS_UNIT_SLOTS_RIG_H
#define TESTS_UNIT_SLOTS_RIG_H

#include "drivers/nic.h"
#include "tests/unit/hand.h"

#define SLOTS_MAX 1024u

extern const struct slots_card {
	unsigned kept_back; /* slots that are not to be had */
	/* Rings of `size`, and as many buffers as all slots and a full receive ring need; of the
	 * kinds there are the one with this number, counted round. */
	void (*start)(unsigned size, unsigned kind);
	unsigned (*open)(void);
	void (*put)(unsigned first, const struct nic_slot *s, unsigned n);
	unsigned (*free)(void);
	void (*send)(unsigned n, uint64_t bytes);
	void (*end)(void); /* before the accounts: frames of slots are nobody's in the ring */
	unsigned (*tx)(void);
	unsigned (*doorbells)(void);
	/* The device sends the next frame, which has to be this one; true: it is to report that. */
	bool (*device_send)(uint32_t seq);
	void (*device_report)(void);
	/* So many reports were asked for by what was sent from slot `from` on. NULL: the device
	 * reports what it likes. */
	void (*assert_reports)(uint32_t from, unsigned reports);
} slots_card;

/* The frames of the test's slots lie in the first buffers of the pool, which it keeps. */
extern struct slots {
	unsigned n, all;      /* all: that are to be had */
	unsigned put;         /* how often a slot was */
	uint32_t next, seen;  /* slots sent, and sent by the device */
	uint32_t seq[SLOTS_MAX]; /* the frame in each */
	struct nic_slot slot[SLOTS_MAX];
} t;

/* Slots of a ring that was started, without frames; frames of their own in n of them; both, with a
 * new ring; its end. */
void open_slots(void);
void put(unsigned first, unsigned n);
void begin(unsigned size, unsigned kind);
void end(void);

unsigned slots_free(void);
void send(unsigned n);
/* The device sends so many more; returns how many of them asked for a report. */
unsigned device_sends(unsigned n);
/* It sends all it has and says so: all slots are free. */
void device_sends_all(void);
unsigned outstanding(void);

/* Tests. */
void any_portion(void **s);
void opened_after_packets(void **s);

#endif
