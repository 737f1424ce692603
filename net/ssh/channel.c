/*
 * The connection protocol (RFC 4254): one session channel, whose number is 0 on our side, with one shell or
 * command.
 *
 *     (none) --CHANNEL_OPEN session--> open --shell or exec--> started --CLOSE both ways--> (closed)
 */
#include "net/ssh/inside.h"

#define COLUMNS_MAX 65535 /* of a terminal; what a client says beyond is cut */
#define DATA_OVERHEAD 64  /* of a packet with data: head, channel, length, padding, tag */

/* RFC 4254 5.1 */
enum open_failure {
	OPEN_ADMINISTRATIVELY_PROHIBITED = 1,
	OPEN_UNKNOWN_CHANNEL_TYPE = 3,
	OPEN_RESOURCE_SHORTAGE = 4,
};

static struct ssh_writer to_peer(struct ssh *s, uint8_t number)
{
	struct ssh_writer w = ssh_message(s, number);
	ssh_put_u32(&w, s->peer);
	return w;
}

static void say(struct ssh *s, uint8_t number)
{
	const struct ssh_writer w = to_peer(s, number);
	ssh_message_end(s, &w);
}

/* --- requests of the connection --- */

/* Keep-alives among them (keepalive@openssh.com): for those any answer will do. Forwarding is refused. */
static void global_request(struct ssh *s, struct ssh_reader *r)
{
	(void)ssh_get_string(r);
	if (!ssh_get_bool(r))
		return;
	const struct ssh_writer w = ssh_message(s, MSG_REQUEST_FAILURE);
	ssh_message_end(s, &w);
}

static void refuse_open(struct ssh *s, uint32_t peer, enum open_failure reason, const char *text)
{
	struct ssh_writer w = ssh_message(s, MSG_CHANNEL_OPEN_FAILURE);
	ssh_put_u32(&w, peer);
	ssh_put_u32(&w, reason);
	ssh_put_word(&w, text);
	ssh_put_word(&w, "");
	ssh_message_end(s, &w);
}

static bool is_forwarding(struct ssh_text type)
{
	return ssh_text_is(type, "direct-tcpip") || ssh_text_is(type, "forwarded-tcpip") ||
	       ssh_text_is(type, "x11") || ssh_text_is(type, "direct-streamlocal@openssh.com") ||
	       ssh_text_is(type, "tun@openssh.com");
}

static void channel_open(struct ssh *s, struct ssh_reader *r)
{
	const struct ssh_text type = ssh_get_string(r);
	const uint32_t peer = ssh_get_u32(r), window = ssh_get_u32(r), max = ssh_get_u32(r);
	if (r->bad) {
		ssh_fail(s, SSH_BAD_PACKET);
		return;
	}
	if (!ssh_text_is(type, "session")) {
		refuse_open(s, peer, is_forwarding(type) ? OPEN_ADMINISTRATIVELY_PROHIBITED : OPEN_UNKNOWN_CHANNEL_TYPE,
		            "only sessions are supported");
		return;
	}
	if (s->open) {
		refuse_open(s, peer, OPEN_RESOURCE_SHORTAGE, "a connection has one session");
		return;
	}
	s->open = true;
	s->peer = peer;
	s->peer_window = window;
	s->peer_max = max;
	s->window = SSH_WINDOW;
	struct ssh_writer w = to_peer(s, MSG_CHANNEL_OPEN_CONFIRMATION);
	ssh_put_u32(&w, 0);
	ssh_put_u32(&w, SSH_WINDOW);
	ssh_put_u32(&w, SSH_WINDOW);
	ssh_message_end(s, &w);
}

/* --- requests of the channel --- */

static uint32_t at_most(uint32_t n, uint32_t most) { return n < most ? n : most; }

/* RFC 4254 6.2: a dimension of 0 is ignored. */
static void take_size(struct ssh *s, struct ssh_reader *r)
{
	const uint32_t columns = ssh_get_u32(r), rows = ssh_get_u32(r);
	s->columns = columns ? at_most(columns, COLUMNS_MAX) : s->columns;
	s->rows = rows ? at_most(rows, COLUMNS_MAX) : s->rows;
	(void)ssh_get_u32(r); /* pixels */
	(void)ssh_get_u32(r);
}

/* Starts the shell (command.n 0) or the command. */
static bool start(struct ssh *s, struct ssh_text command)
{
	if (s->started || s->eof_in || !s->ops->start(s, command))
		return false;
	s->started = true;
	return true;
}

/* Does what a request wants; false: it is refused. Its fields are read to their end, except those of an
 * unknown one. */
static bool grant(struct ssh *s, struct ssh_text type, struct ssh_reader *r)
{
	if (ssh_text_is(type, "pty-req")) {
		(void)ssh_get_string(r); /* TERM */
		take_size(s, r);
		(void)ssh_get_string(r); /* modes */
		if (r->bad || s->started)
			return false;
		s->pty = true;
		return true;
	}
	if (ssh_text_is(type, "window-change")) {
		take_size(s, r);
		return !r->bad && s->pty;
	}
	if (ssh_text_is(type, "shell"))
		return start(s, (struct ssh_text){NULL, 0});
	if (ssh_text_is(type, "exec")) {
		const struct ssh_text command = ssh_get_string(r);
		return !r->bad && command.n > 0 && start(s, command);
	}
	return false; /* env, subsystem, signal, x11-req and others */
}

static void channel_request(struct ssh *s, struct ssh_reader *r)
{
	const struct ssh_text type = ssh_get_string(r);
	const bool wants_reply = ssh_get_bool(r);
	const bool granted = !r->bad && grant(s, type, r);
	if (r->bad) {
		ssh_fail(s, SSH_BAD_PACKET);
		return;
	}
	if (wants_reply && !s->over && !s->close_out) /* RFC 4254 5.3: nothing follows our CLOSE */
		say(s, granted ? MSG_CHANNEL_SUCCESS : MSG_CHANNEL_FAILURE);
}

/* --- data --- */

static void channel_data(struct ssh *s, struct ssh_text data, bool extended)
{
	if (data.n > s->window || s->eof_in || !s->started) {
		ssh_fail(s, SSH_TOO_MUCH);
		return;
	}
	s->window -= data.n;
	if (extended || s->close_out)
		ssh_consumed(s, data.n); /* for nobody */
	else if (data.n)
		s->ops->data(s, data.at, data.n);
}

static void window_adjust(struct ssh *s, uint32_t more)
{
	if (more > UINT32_MAX - s->peer_window) /* RFC 4254 5.2 */
		ssh_fail(s, SSH_TOO_MUCH);
	else
		s->peer_window += more;
}

static void end_of_file(struct ssh *s)
{
	if (!s->eof_in && s->started)
		s->ops->ended(s, false);
	s->eof_in = true;
}

static void close_channel(struct ssh *s)
{
	s->close_in = s->eof_in = true;
	if (!s->close_out) {
		s->close_out = true;
		say(s, MSG_CHANNEL_CLOSE); /* RFC 4254 5.3 */
	}
	if (s->started)
		s->ops->ended(s, true);
}

void ssh_channel_input(struct ssh *s, uint8_t number, struct ssh_reader *r)
{
	struct ssh_text data = {NULL, 0};
	uint32_t more = 0;
	if (number == MSG_GLOBAL_REQUEST) {
		global_request(s, r);
		return;
	}
	if (number == MSG_CHANNEL_OPEN) {
		channel_open(s, r);
		return;
	}
	const uint32_t channel = ssh_get_u32(r);
	if (number == MSG_CHANNEL_EXTENDED_DATA)
		(void)ssh_get_u32(r); /* its type */
	if (number == MSG_CHANNEL_DATA || number == MSG_CHANNEL_EXTENDED_DATA)
		data = ssh_get_string(r);
	if (number == MSG_CHANNEL_WINDOW_ADJUST)
		more = ssh_get_u32(r);
	if (r->bad || channel != 0 || !s->open || s->close_in) {
		ssh_fail(s, r->bad ? SSH_BAD_PACKET : SSH_BAD_ORDER);
		return;
	}
	switch (number) {
	case MSG_CHANNEL_DATA:
	case MSG_CHANNEL_EXTENDED_DATA:
		channel_data(s, data, number == MSG_CHANNEL_EXTENDED_DATA);
		break;
	case MSG_CHANNEL_WINDOW_ADJUST:
		window_adjust(s, more);
		break;
	case MSG_CHANNEL_EOF:
		end_of_file(s);
		break;
	case MSG_CHANNEL_CLOSE:
		close_channel(s);
		break;
	case MSG_CHANNEL_REQUEST:
		channel_request(s, r);
		break;
	case MSG_CHANNEL_SUCCESS:
	case MSG_CHANNEL_FAILURE:
		break; /* our only request, exit-status, wants no reply */
	default:
		ssh_fail(s, SSH_BAD_ORDER);
	}
}

/* --- the owner's calls --- */

uint32_t ssh_send_room(const struct ssh *s)
{
	const uint32_t kept = SSH_OUT_RESERVE + DATA_OVERHEAD, room = ssh_out_room(s);
	if (s->over || !s->started || s->kex_ours || s->close_out || room <= kept)
		return 0;
	return at_most(at_most(s->peer_window, s->peer_max), room - kept);
}

uint32_t ssh_send(struct ssh *s, const void *data, uint32_t n)
{
	n = at_most(n, ssh_send_room(s));
	if (n == 0)
		return 0;
	struct ssh_writer w = to_peer(s, MSG_CHANNEL_DATA);
	ssh_put_string(&w, data, n);
	ssh_message_end(s, &w);
	s->peer_window -= n;
	return n;
}

void ssh_channel_window(struct ssh *s)
{
	if (s->consumed < SSH_WINDOW / 2 || s->close_out || s->eof_in || ssh_out_room(s) < SSH_OUT_RESERVE / 2)
		return;
	struct ssh_writer w = to_peer(s, MSG_CHANNEL_WINDOW_ADJUST);
	ssh_put_u32(&w, s->consumed);
	ssh_message_end(s, &w);
	s->window += s->consumed;
	s->consumed = 0;
}

void ssh_consumed(struct ssh *s, uint32_t n)
{
	s->consumed += n;
	if (!s->over)
		ssh_channel_window(s);
}

void ssh_end(struct ssh *s, uint32_t status)
{
	if (s->over || !s->started || s->close_out)
		return;
	struct ssh_writer w = to_peer(s, MSG_CHANNEL_REQUEST);
	ssh_put_word(&w, "exit-status"); /* RFC 4254 6.10 */
	ssh_put_bool(&w, false);
	ssh_put_u32(&w, status);
	ssh_message_end(s, &w);
	say(s, MSG_CHANNEL_EOF);
	say(s, MSG_CHANNEL_CLOSE);
	s->close_out = true;
}
