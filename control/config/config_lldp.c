/*
 * The statements of LLDP (IEEE 802.1AB): `lldp run` turns it on; a port transmits and receives unless its
 * block says `no lldp transmit`, `no lldp receive`. See docs/configuration.md, "LLDP".
 */
#include "control/config/config_parse.h"

#include "lib/fmt.h"
#include "net/lldp/lldp.h"

int config_lldp_run(struct parser *p, unsigned i)
{
	p->out->lldp.run = true;
	return words_end(&p->w, i);
}

int config_lldp_timer(struct parser *p, unsigned i)
{
	uint32_t s;
	int error = words_u32(&p->w, i, "the time between LLDP frames", 1, CONFIG_LLDP_TIMER_MAX_S, &s);
	if (error == 0)
		p->out->lldp.timer_s = (uint16_t)s;
	return error != 0 ? error : words_end(&p->w, i + 1);
}

int config_lldp_holdtime(struct parser *p, unsigned i)
{
	uint32_t s;
	int error = words_u32(&p->w, i, "the time to live of LLDP frames", 1, CONFIG_LLDP_HOLD_MAX_S, &s);
	if (error == 0) {
		p->out->lldp.hold_s = (uint16_t)s;
		p->out->lldp.hold_line = p->w.line;
	}
	return error != 0 ? error : words_end(&p->w, i + 1);
}

/* A port's direction is off, or on. */
static int set(struct parser *p, unsigned i, bool *off, bool value)
{
	if (p->interface->key >= CONFIG_PORTS_MAX)
		return FAIL(p, i - 1, "LLDP is spoken by a port: this belongs into the block of one, such as eth0");
	*off = value;
	return words_end(&p->w, i);
}

int config_lldp_transmit(struct parser *p, unsigned i) { return set(p, i, &p->interface->lldp_no_transmit, false); }
int config_lldp_receive(struct parser *p, unsigned i) { return set(p, i, &p->interface->lldp_no_receive, false); }
int config_no_lldp_transmit(struct parser *p, unsigned i) { return set(p, i, &p->interface->lldp_no_transmit, true); }
int config_no_lldp_receive(struct parser *p, unsigned i) { return set(p, i, &p->interface->lldp_no_receive, true); }

uint16_t config_lldp_timer_s(const struct config *c)
{
	return c->lldp.timer_s ? c->lldp.timer_s : LLDP_INTERVAL_S;
}

uint16_t config_lldp_hold_s(const struct config *c)
{
	/* txTTL of 9.2.5.22, whose maximum no timer of CONFIG_LLDP_TIMER_MAX_S reaches */
	_Static_assert(CONFIG_LLDP_TIMER_MAX_S * LLDP_HOLD + 1 <= CONFIG_LLDP_HOLD_MAX_S, "16 bits");
	return c->lldp.hold_s ? c->lldp.hold_s : (uint16_t)(config_lldp_timer_s(c) * LLDP_HOLD + 1);
}

/* Neighbours would forget this machine before its next frame, again and again. */
int config_check_lldp(const struct config *c, struct text_error *err)
{
	char word[24];
	if (c->lldp.hold_s == 0 || c->lldp.hold_s > config_lldp_timer_s(c))
		return 0;
	fmt_format(word, sizeof word, "holdtime %u", c->lldp.hold_s);
	return text_fail(err, c->lldp.hold_line, text_of(word), "the hold time must be longer than the time between "
	                 "LLDP frames, %u seconds", config_lldp_timer_s(c));
}
