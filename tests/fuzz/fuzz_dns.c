/*
 * net/dns: an answer of any octets to a question of ours. The first octet chooses the question, and how much of it the answer
 * repeats; the rest is the message, or what follows the question in it. What counts repeats the question.
 */
#include "tests/fuzz/input.h"

#include "lib/bytes.h"
#include "net/dns/message.h"

static const char *const names[] = {"a", "host.example", "a.very.long.name.of-many-labels.example", "x_1.y"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t message[2 * DNS_MESSAGE_MAX];
	struct dns_answer a;
	unsigned n = 0;
	if (size == 0)
		return 0;
	const char *name = names[data[0] & 3];
	const enum dns_type type = data[0] & 4 ? DNS_AAAA : DNS_A;
	if (data[0] & 8) {
		n = dns_question(message, 0x1234, name, type);
		assert(n > 12 && n <= DNS_MESSAGE_MAX);
		be16_store(message + 2, 0x8180);
		be16_store(message + 6, data[0] >> 4);
	}
	const unsigned more = (unsigned)(size - 1 < DNS_MESSAGE_MAX ? size - 1 : DNS_MESSAGE_MAX);
	memcpy(message + n, data + 1, more);
	uint8_t *copy = malloc(n + more ? n + more : 1);
	memcpy(copy, message, n + more);
	const enum counter why = dns_answer(copy, n + more, 0x1234, name, type, &a);
	assert(why == CNT_NONE || why == CNT_drop_dns_malformed || why == CNT_drop_dns_question);
	assert(n == 0 || why != CNT_drop_dns_question);
	if (why == CNT_NONE) {
		assert(be16_load(copy) == 0x1234 && copy[2] & 0x80);
		assert((a.result == DNS_FOUND) == (a.addresses > 0) && a.addresses <= DNS_ADDRESSES_MAX && a.ttl_s <= DNS_TTL_MAX_S);
		for (unsigned i = 0; i < a.addresses; i++)
			assert(type == DNS_AAAA || net_addr_is_ip4(&a.address[i]));
	}
	free(copy);
	return 0;
}
