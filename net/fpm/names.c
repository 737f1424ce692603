/* Texts of errors, reasons and protocols. See fpm.h. */
#include "lib/assert.h"
#include "net/fpm/netlink.h"

const char *fpm_error_text(enum fpm_error e)
{
#define TEXT(name, text) text,
	static const char *const texts[] = {"no error", FPM_ERRORS(TEXT)};
#undef TEXT
	_Static_assert(ARRAY_LEN(texts) == FPM_ERRORS_END, "a text for each error");
	assert((unsigned)e < ARRAY_LEN(texts));
	return texts[e];
}

const char *fpm_skip_name(enum fpm_skip s)
{
#define NAME(name, word) word,
	static const char *const names[] = {"none", FPM_SKIPS(NAME)};
#undef NAME
	assert((unsigned)s < ARRAY_LEN(names));
	return names[s];
}

/* The numbers of zebra/rt_netlink.h from 186 on, */
static const uint8_t zebra_protocols[] = {
	FPM_BGP, FPM_ISIS, FPM_OSPF, FPM_RIP, FPM_RIPNG, FPM_NHRP, FPM_EIGRP,
	FPM_LDP, FPM_SHARP, FPM_PBR, FPM_STATIC, FPM_OPENFABRIC, FPM_SRTE,
};
#define ZEBRA_PROTOCOLS_FIRST 186

enum fpm_protocol fpm_protocol_of(uint8_t number)
{
	/* and those of Linux uapi rtnetlink.h that zebra sends or calls by a name */
	enum { ZEBRA = 11, BABEL = 42 };
	const unsigned i = (unsigned)number - ZEBRA_PROTOCOLS_FIRST;
	if (i < ARRAY_LEN(zebra_protocols)) /* not below the first, which wraps around */
		return (enum fpm_protocol)zebra_protocols[i];
	switch (number) {
	case RTPROT_KERNEL: return FPM_KERNEL;
	case RTPROT_STATIC: return FPM_STATIC;
	case ZEBRA: return FPM_TABLE;
	case BABEL: return FPM_BABEL;
	default: return FPM_OTHER;
	}
}

const char *fpm_protocol_name(enum fpm_protocol p)
{
#define NAME(name, letter, word) word,
	static const char *const names[] = {FPM_PROTOCOLS(NAME)};
#undef NAME
	assert((unsigned)p < ARRAY_LEN(names));
	return names[p];
}

char fpm_protocol_letter(enum fpm_protocol p)
{
#define LETTER(name, letter, word) letter,
	static const char letters[] = {FPM_PROTOCOLS(LETTER)};
#undef LETTER
	assert((unsigned)p < ARRAY_LEN(letters));
	return letters[p];
}
