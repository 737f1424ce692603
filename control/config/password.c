/* See password.h. */
#include "control/config/password.h"

#include "control/text/base64.h"
#include "lib/fmt.h"
#include "lib/mem.h"

static const char scheme[] = "$pbkdf2-sha256$";

/* Writes n bytes as digits and a NUL; returns the address of the NUL. */
static char *encode(char *to, const uint8_t *from, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./";
	uint32_t bits = 0;
	unsigned have = 0;
	for (size_t i = 0; i < n; i++) {
		bits = (bits << 8 | from[i]) & 0xffff;
		for (have += 8; have >= 6; have -= 6)
			*to++ = digits[bits >> (have - 6) & 63];
	}
	if (have > 0)
		*to++ = digits[bits << (6 - have) & 63];
	*to = 0;
	return to;
}

/* Cuts the text up to the next '$', or all that is left, off *rest. Skips the '$'. */
static struct text next_part(struct text *rest)
{
	size_t n = text_find(*rest, '$'), used = n < rest->len ? n + 1 : n;
	struct text part = {rest->at, n};
	*rest = (struct text){rest->at + used, rest->len - used};
	return part;
}

int password_parse(struct text t, struct password_hash *out, const char **why)
{
	struct password_hash h = {0};
	const size_t n = sizeof scheme - 1;
	*why = "expected $pbkdf2-sha256$ITERATIONS$SALT$HASH, as \"tools/hayate password\" prints it";
	if (t.len < n || memcmp(t.at, scheme, n) != 0)
		return E_INVAL;
	t = (struct text){t.at + n, t.len - n};
	struct text iterations = next_part(&t), salt = next_part(&t);
	if (text_parse_u32(iterations, PASSWORD_ITERATIONS_MIN, PASSWORD_ITERATIONS_MAX,
	                   &h.iterations) != E_OK) {
		*why = "the number of iterations must be 1000 to 10000000";
		return E_INVAL;
	}
	int salt_len = base64_decode_digits(salt, '.', h.salt, sizeof h.salt);
	if (salt_len < PASSWORD_SALT_MIN) {
		*why = "the salt must be 8 to 64 bytes in base64";
		return E_INVAL;
	}
	h.salt_len = (uint8_t)salt_len;
	if (base64_decode_digits(t, '.', h.hash, sizeof h.hash) != sizeof h.hash) {
		*why = "the hash must be 32 bytes in base64 (43 characters)";
		return E_INVAL;
	}
	*out = h;
	return E_OK;
}

char *password_format(char buf[PASSWORD_TEXT_MAX], const struct password_hash *h)
{
	_Static_assert(sizeof scheme + 10 + (PASSWORD_SALT_MAX * 4 + 2) / 3 + 43 + 2 <=
	               PASSWORD_TEXT_MAX, "the longest fits");
	size_t n = fmt_format(buf, PASSWORD_TEXT_MAX, "%s%u$", scheme, h->iterations);
	char *end = encode(buf + n, h->salt, h->salt_len);
	*end++ = '$';
	encode(end, h->hash, sizeof h->hash);
	return buf;
}

bool password_is(const struct password_hash *h, const uint8_t key[SHA256_BYTES])
{
	unsigned differ = 0;
	for (unsigned i = 0; i < SHA256_BYTES; i++)
		differ |= h->hash[i] ^ key[i];
	return differ == 0;
}
