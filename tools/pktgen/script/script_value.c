/* Numbers with units; see script_parse.h. */
#include "lib/divide.h"
#include "tools/pktgen/script/script_parse.h"

/* Appends a digit; false if it does not fit. */
static bool add_digit(uint64_t *value, char c)
{
	/* 19 digits always fit */
	if (*value >= 1000000000000000000ull)
		return false;
	*value = *value * 10 + (uint64_t)(c - '0');
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int script_decimal(struct text t, unsigned exponent, uint64_t *out)
{
	uint64_t value = 0;
	size_t i = 0;
	if (t.len == 0 || !is_digit(t.at[0]) || (t.len > 1 && t.at[0] == '0' && is_digit(t.at[1])))
		return E_INVAL;
	for (; i < t.len && is_digit(t.at[i]); i++)
		if (!add_digit(&value, t.at[i]))
			return E_INVAL;
	if (i < t.len) {
		if (t.at[i] != '.' || i + 1 == t.len)
			return E_INVAL;
		for (i++; i < t.len; i++) {
			bool fits = is_digit(t.at[i]) && (exponent > 0 || t.at[i] == '0');
			if (!fits || (exponent > 0 && !add_digit(&value, t.at[i])))
				return E_INVAL;
			exponent -= exponent > 0;
		}
	}
	for (; exponent > 0; exponent--)
		if (!add_digit(&value, '0'))
			return E_INVAL;
	*out = value;
	return 0;
}

/* Splits a word such as "10Gbps" into *number and the unit, which it returns. */
static struct text unit_of(struct text word, struct text *number)
{
	size_t n = 0;
	while (n < word.len && (is_digit(word.at[n]) || word.at[n] == '.'))
		n++;
	*number = (struct text){word.at, n};
	return (struct text){word.at + n, word.len - n};
}

struct unit {
	const char *word;
	uint8_t exponent;
	uint16_t factor;
	enum plan_rate_unit rate;
};

static const struct unit times[] = {
	{"ns", 0, 1, 0}, {"us", 3, 1, 0}, {"ms", 6, 1, 0}, {"s", 9, 1, 0}, {"min", 9, 60, 0},
	{"h", 9, 3600, 0},
};

static const struct unit rates[] = {
	{"pps", 0, 1, PLAN_PPS},       {"kpps", 3, 1, PLAN_PPS},      {"Mpps", 6, 1, PLAN_PPS},
	{"Gpps", 9, 1, PLAN_PPS},      {"bps", 0, 1, PLAN_L1_BPS},    {"kbps", 3, 1, PLAN_L1_BPS},
	{"Mbps", 6, 1, PLAN_L1_BPS},   {"Gbps", 9, 1, PLAN_L1_BPS},   {"Tbps", 12, 1, PLAN_L1_BPS},
	{"%", SCRIPT_PERCENT_EXPONENT, 1, PLAN_PERCENT},
};

static const struct unit counts[] = {{"", 0, 1, 0}, {"k", 3, 1, 0}, {"M", 6, 1, 0}, {"G", 9, 1, 0}};

/* Finds the row of the word's unit and stores the value in *out. NULL: no row has this unit, or the
 * number is not valid. */
static const struct unit *parse_unit(struct text word, const struct unit *row, unsigned rows,
                                     uint64_t *out)
{
	struct text number, unit = unit_of(word, &number);
	for (const struct unit *u = row; u < row + rows; u++) {
		if (!text_is_word(unit, text_of(u->word)))
			continue;
		if (script_decimal(number, u->exponent, out) != 0 || *out > SCRIPT_TIME_MAX_NS / u->factor)
			return NULL;
		*out *= u->factor;
		return u;
	}
	return NULL;
}

static int parse_time(struct text word, uint64_t *ns)
{
	uint64_t value;
	if (parse_unit(word, times, ARRAY_LEN(times), &value) == NULL || value > SCRIPT_TIME_MAX_NS)
		return E_INVAL;
	*ns = value;
	return 0;
}

int script_time(struct script_parser *p, unsigned i, const char *what, bool zero_too, uint64_t *ns)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	uint64_t value;
	if (parse_time(p->w.word[i], &value) != 0 || (value == 0 && !zero_too))
		return FAIL(p, i, "%s must be a time such as 10s, 500ms or 2min%s", what,
		            zero_too ? "" : ", more than 0");
	*ns = value;
	return 0;
}

char *script_scaled(char buf[SCRIPT_NUMBER_MAX], uint64_t value, unsigned exponent)
{
	char digits[SCRIPT_NUMBER_MAX];
	unsigned n = 0, zeros = 0, at = 0;
	while (value > 0 || n <= exponent) {
		uint64_t rest = divide(value, 10);
		digits[n++] = (char)('0' + (value - rest * 10));
		value = rest;
	}
	while (zeros < exponent && digits[zeros] == '0')
		zeros++;
	while (n > zeros) {
		if (n == exponent)
			buf[at++] = '.';
		buf[at++] = digits[--n];
	}
	buf[at] = 0;
	return buf;
}

int script_percent(struct script_parser *p, unsigned i, const char *what, unsigned exponent,
                   uint64_t min, uint64_t max, uint64_t *out)
{
	char least[SCRIPT_NUMBER_MAX], most[SCRIPT_NUMBER_MAX];
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	struct text number, unit = unit_of(p->w.word[i], &number);
	uint64_t value;
	if (!text_is_word(unit, text_of("%")) || script_decimal(number, exponent, &value) != 0 ||
	    value < min || value > max)
		return FAIL(p, i, "%s must be from %s%% to %s%%, with at most %u digits behind the point",
		            what, script_scaled(least, min, exponent), script_scaled(most, max, exponent),
		            exponent);
	*out = value;
	return 0;
}

int script_rate(struct script_parser *p, unsigned *i, struct plan_rate *out)
{
	int error = words_expect(&p->w, *i);
	if (error != 0)
		return error;
	uint64_t value = 0;
	const struct unit *u = parse_unit(p->w.word[*i], rates, ARRAY_LEN(rates), &value);
	if (u == NULL || value == 0 || value > SCRIPT_RATE_MAX)
		return FAIL(p, *i, "a rate is such as 1.5Mpps, 10Gbps, \"8Gbps l2\" or 50%%, in whole "
		            "frames or bits a second, or in thousandths of a per cent");
	if (u->rate == PLAN_PERCENT && value > SCRIPT_PERCENT_ALL)
		return FAIL(p, *i, "a port sends no more than 100%% of its rate");
	*out = (struct plan_rate){u->rate, value};
	(*i)++;
	if (u->rate == PLAN_L1_BPS && words_is(&p->w, *i, "l2"))
		out->unit = PLAN_L2_BPS;
	if (u->rate == PLAN_L1_BPS && (words_is(&p->w, *i, "l1") || words_is(&p->w, *i, "l2")))
		(*i)++;
	return 0;
}

int script_limit(struct script_parser *p, unsigned i, struct plan_limit *out)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	*out = (struct plan_limit){0, 0};
	if (parse_time(p->w.word[i], &out->ns) == 0 && out->ns > 0) {
		if (!words_is(&p->w, i + 1, "or"))
			return words_end(&p->w, i + 1);
		i += 2;
		if ((error = words_expect(&p->w, i)) != 0)
			return error;
	}
	uint64_t value = 0;
	if (parse_unit(p->w.word[i], counts, ARRAY_LEN(counts), &value) == NULL || value == 0)
		return FAIL(p, i, out->ns != 0 ? "expected a number of frames"
		            : "expected a time such as 10s, or a number of frames, more than 0");
	out->frames = value;
	error = script_expect(p, i + 1, "frames");
	return error != 0 ? error : words_end(&p->w, i + 2);
}

int script_sizes(struct script_parser *p, unsigned i, uint16_t *size, uint8_t *sizes)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	struct text rest = p->w.word[i];
	unsigned n = 0;
	for (bool more = true; more; n++) {
		uint32_t bytes;
		size_t end = text_find(rest, '/');
		if (n == PLAN_SIZES_MAX)
			return FAIL(p, i, "too many sizes; at most %d", PLAN_SIZES_MAX);
		if (text_parse_u32((struct text){rest.at, end}, PLAN_FRAME_MIN + PLAN_FCS_BYTES,
		                   PLAN_FRAME_MAX + PLAN_FCS_BYTES, &bytes) != 0)
			return FAIL(p, i, "a size is from %d to %d bytes, FCS included; several are such as "
			            "64/128/1518", PLAN_FRAME_MIN + PLAN_FCS_BYTES,
			            PLAN_FRAME_MAX + PLAN_FCS_BYTES);
		size[n] = (uint16_t)(bytes - PLAN_FCS_BYTES);
		more = end < rest.len;
		if (more)
			rest = (struct text){rest.at + end + 1, rest.len - end - 1};
	}
	*sizes = (uint8_t)n;
	return 0;
}
