/*
 * `test connect ADDRESS PORT [tls [NAME] [HEX]]`: a connection of the machine's own, one at a time. It sends a line
 * when it is established. The event log has what happens: each piece that comes, and the end.
 */
#include "control/test/test_connect.h"

#include "control/console/log.h"
#include "control/management/tls_stream.h"
#include "control/text/text.h"
#include "lib/mem.h"

static struct stream *stream;
static bool encrypted;

static void tell(const char *what, const char *more)
{
	log_event(LOG_NOTICE, "TEST-CONNECT", "test connect: %s%s", what, more);
}

static void on_connected(struct stream *s)
{
	tell("established ", encrypted ? tls_stream_version(s) : "plain");
	(void)stream_send(s, "hello\n", 6);
}

static uint32_t on_data(struct stream *s, const uint8_t *data, uint32_t n)
{
	char text[64];
	uint32_t k = 0;
	for (; k < n && k + 1 < sizeof text && data[k] >= ' '; k++)
		text[k] = (char)data[k];
	text[k] = 0;
	tell("received: ", text);
	stream_consumed(s, n);
	return n;
}

static void on_fin(struct stream *s)
{
	tell("the peer has finished", "");
	stream_close(s);
}

static void on_closed(struct stream *s, int why)
{
	tell("ended: ", stream_why(s, why));
	stream = NULL;
}

/* The words behind `tls`. */
static bool read_peer(struct shell *sh, struct tls_peer *peer)
{
	for (unsigned i = 3; i < sh->argc; i++) {
		if (!peer->pinned && text_parse_hex(text_of(sh->argv[i]), peer->fingerprint, SHA256_BYTES) == E_OK)
			peer->pinned = true;
		else if (!peer->name[0] && strlen(sh->argv[i]) < sizeof peer->name)
			memcpy(peer->name, sh->argv[i], strlen(sh->argv[i]) + 1);
		else
			return false;
	}
	return true;
}

void test_connect(struct shell *sh)
{
	static const struct stream_app app = {
		.connected = on_connected, .data = on_data, .fin = on_fin, .closed = on_closed};
	struct stream_target to = {.local = NET_ADDR_ANY};
	struct tls_peer peer = {.pinned = false};
	uint32_t port;
	int error;
	const char *why;
	if (stream) {
		stream_abort(stream);
		stream = NULL;
	}
	encrypted = sh->argc > 2;
	if (sh->argc < 2 || text_parse_addr(text_of(sh->argv[0]), &to.remote) != E_OK ||
	    text_parse_u32(text_of(sh->argv[1]), 1, 65535, &port) != E_OK ||
	    (encrypted && (strcmp(sh->argv[2], "tls") != 0 || !read_peer(sh, &peer)))) {
		shell_print(sh, "ADDRESS PORT [tls [NAME] [HEX]]\n");
		return;
	}
	to.port = (uint16_t)port;
	stream = encrypted ? tls_stream_connect(&to, &peer, &app, NULL, &why) : stream_connect(&to, &app, NULL, &error);
	if (!stream)
		shell_print(sh, "%s\n", encrypted ? why : stream_error_text(error));
}
