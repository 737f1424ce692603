/*
 * What the files of net/stp share: states of the machines, procedures, conditions (IEEE 802.1D-2004
 * 17.20, 17.21). A run function makes transitions until its machine has none, and returns whether it
 * has made one. A block that ends in an unconditional transition (UCT) goes on to the next state, so
 * the state left is never seen from outside and is not in the enumeration.
 */
#ifndef NET_STP_INSIDE_H
#define NET_STP_INSIDE_H

#include "lib/number.h"
#include "net/stp/stp.h"

#define MIGRATE_TIME 3u /* seconds, fixed (table 17-1) */

enum receive_state { PRX_DISCARD, PRX_RECEIVE };
enum migration_state { PPM_CHECKING_RSTP, PPM_SELECTING_STP, PPM_SENSING };
enum detection_state { BDM_EDGE, BDM_NOT_EDGE };
enum information_state { PIM_DISABLED, PIM_AGED, PIM_CURRENT };
enum role_state {
	PRT_DISABLE_PORT,
	PRT_DISABLED_PORT,
	PRT_ROOT_PORT,
	PRT_DESIGNATED_PORT,
	PRT_BLOCK_PORT,
	PRT_ALTERNATE_PORT,
};
enum topology_state { TCM_INACTIVE, TCM_LEARNING, TCM_ACTIVE };

#define FOR_EACH_PORT(b, p) \
	for (struct stp_port *p = (b)->port; p < (b)->port + (b)->ports; p++)
#define FOR_EACH_CONST_PORT(b, p) \
	for (const struct stp_port *p = (b)->port; p < (b)->port + (b)->ports; p++)

/* --- machines: *_begin is what BEGIN does (17.18.1) --- */

void receive_begin(struct stp_port *p);
void migration_begin(struct stp *b, struct stp_port *p);
void detection_begin(struct stp_port *p);
void information_begin(struct stp_port *p);
void selection_begin(struct stp *b);
void roles_begin(struct stp_port *p);
void state_begin(struct stp *b, struct stp_port *p);
void topology_begin(struct stp *b, struct stp_port *p);
void transmit_begin(struct stp_port *p);

void timers_run(struct stp_port *p);
bool receive_run(struct stp_port *p);
bool migration_run(struct stp *b, struct stp_port *p);
bool detection_run(struct stp_port *p);
bool information_run(const struct stp *b, struct stp_port *p);
bool selection_run(struct stp *b);
bool roles_run(struct stp *b, struct stp_port *p);
bool state_run(struct stp *b, struct stp_port *p);
bool topology_run(struct stp *b, struct stp_port *p);
void transmit_run(struct stp *b, struct stp_port *p);

/* --- priority vectors (17.5, 17.6) --- */

/* Below 0: a is better, 0: the same, above 0: worse. All components, or those of a BPDU. */
int vector_compare(const struct stp_vector *a, const struct stp_vector *b);
int vector_compare_message(const struct stp_vector *a, const struct stp_vector *b);

bool times_equal(const struct stp_times *a, const struct stp_times *b);

/* --- times, whole seconds; a timer of a fraction lasts the whole second --- */

static inline uint16_t seconds(uint16_t time)
{
	return (uint16_t)((time + STP_TIME_UNIT - 1) / STP_TIME_UNIT);
}

/* 17.21.23, 17.21.25: the message age, one second more, rounded to a whole one, in 1/256 s. */
static inline uint32_t message_age_next(uint16_t age)
{
	return (age + STP_TIME_UNIT + STP_TIME_UNIT / 2) / STP_TIME_UNIT * STP_TIME_UNIT;
}

static inline uint16_t HelloTime(const struct stp_port *p) /* 17.20.7 */
{
	return seconds(p->designatedTimes.HelloTime);
}

static inline uint16_t MaxAge(const struct stp_port *p) /* 17.20.8 */
{
	return seconds(p->designatedTimes.MaxAge);
}

/* 17.20.6. The value may be a root's, from the wire: 4 s is the least that table 17-1 accepts, lest a
 * message with 0 has ports forward at once. */
static inline uint16_t FwdDelay(const struct stp_port *p)
{
	return (uint16_t)u32_max(seconds(p->designatedTimes.ForwardDelay), 4);
}

static inline uint16_t forwardDelay(const struct stp_port *p) /* 17.20.5 */
{
	return p->sendRSTP ? HelloTime(p) : FwdDelay(p);
}

static inline uint16_t EdgeDelay(const struct stp_port *p) /* 17.20.4 */
{
	return p->operPointToPointMAC ? MIGRATE_TIME : MaxAge(p);
}

static inline bool rstpVersion(const struct stp *b) /* 17.20.11 */
{
	return b->params.version >= STP_VERSION_RSTP;
}

#endif
