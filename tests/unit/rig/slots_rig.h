/*
 * Slots of a transmit ring (drivers/nic.h) of any card: numbered frames in them, a device that has
 * sent some, and the tests that the slots of every card must pass. The linked test's `slots_card`
 * provides the card's functions.
 */
#ifndef TESTS_UNIT_RIG_SLOTS_RIG_H
#define TESTS_UNIT_RIG_SLOTS_RIG_H

#include "drivers/nic.h"
#include "tests/unit/rig/hand.h"

#define SLOTS_MAX 1024u

extern const struct slots_card {
	unsigned kept_back; /* slots that are not available */
	/* Starts rings of `size`, with as many buffers as all slots and a full receive ring need.
	 * `kind` selects one of the card's kinds, modulo their number. */
	void (*start)(unsigned size, unsigned kind);
	unsigned (*open)(void);
	void (*put)(unsigned first, const struct nic_slot *s, unsigned n);
	unsigned (*free)(void);
	void (*send)(unsigned n, uint64_t bytes);
	void (*end)(void); /* before the accounting: frames of slots have no owner in the ring */
	unsigned (*tx)(void);
	unsigned (*doorbells)(void);
	/* The device sends the next frame, which must be this one; true: it has to report it. */
	bool (*device_send)(uint32_t seq);
	void (*device_report)(void);
	/* That many reports were requested by what was sent from slot `from` on. NULL: the device
	 * reports as it likes. */
	void (*assert_reports)(uint32_t from, unsigned reports);
} slots_card;

/* The frames of the test's slots lie in the first buffers of the pool, which it keeps. */
extern struct slots {
	unsigned n, all;      /* all: available ones */
	unsigned put;         /* how often a slot was put */
	uint32_t next, seen;  /* slots sent by the test, and by the device */
	uint32_t seq[SLOTS_MAX]; /* the frame in each */
	struct nic_slot slot[SLOTS_MAX];
} t;

/* Opens the slots of a started ring, without frames; puts frames of their own into n of them; both,
 * with a new ring; ends the test. */
void open_slots(void);
void put(unsigned first, unsigned n);
void begin(unsigned size, unsigned kind);
void end(void);

unsigned slots_free(void);
void send(unsigned n);
/* The device sends n more; returns how many of them requested a report. */
unsigned device_sends(unsigned n);
/* The device sends all it has and reports it: all slots are free. */
void device_sends_all(void);
unsigned outstanding(void);

/* Tests. */
void any_portion(void **s);
void opened_after_packets(void **s);

#endif
