/*
 * A client of the SSH server (net/ssh): its bytes before the key exchange, and its messages after it, or
 * after a log-in, or in a session, framed and encrypted by the made-up cipher of tests/unit/rig/ssh_rig.h.
 *
 *     byte 0   bits 0 to 1: where the input begins: raw bytes, key exchange done, logged in, shell started;
 *              bit 2: a strict client; bit 3: chacha20-poly1305; bit 4: the server reads one byte at a time
 *     then     raw: bytes; else messages, each with a byte of flags and two of length. Flags: bit 0: the
 *              owner sends data; bit 1: consumes what came; bit 2: begins a key exchange; bit 3: ends the session;
 *              bit 4: a password is right; bit 5: the client takes no output; bit 6: the client exchanges
 *              keys
 *
 * Whatever comes: buffers are bounded, what the server sends can be decrypted, nobody is logged in by
 * anything but a right password or signature, and after the end nothing is sent but what was.
 */
#include "tests/fuzz/input.h"

#include "lib/mem.h"
#include "tests/unit/rig/ssh_rig.h"

static struct ssh_rig r;

static void check(void)
{
	const struct ssh *s = &r.ssh;
	assert(s->in_len <= SSH_IN_BYTES && s->in_at <= s->in_len);
	assert(s->out_len <= SSH_OUT_BYTES && s->out_at <= s->out_len);
	assert(s->late_len <= SSH_LATE_BYTES);
	assert(s->window <= SSH_WINDOW);
	assert(r.logins <= 1 && (r.logins == 1) == s->logged_in);
	assert(!s->started || (s->logged_in && s->open));
	assert(r.closed <= 1 && r.ended <= 1);
}

/* Everything that the server sends is whole and decrypts. */
static void read_all(void)
{
	struct ssh_reader f;
	int number;
	while ((number = rig_take(&r, &f)) >= 0)
		check();
	assert(number == -1);
}

static void owner(uint8_t flags)
{
	static const char output[3000];
	if (flags & 1)
		(void)ssh_send(&r.ssh, output, sizeof output);
	if (flags & 2 && r.data_len) {
		ssh_consumed(&r.ssh, r.data_len);
		r.data_len = 0;
	}
	if (flags & 4)
		ssh_rekey(&r.ssh);
	if (flags & 8)
		ssh_end(&r.ssh, flags);
	if (r.ssh.work == SSH_WAIT_PASSWORD)
		ssh_password_is(&r.ssh, flags & 16);
}

/* Sends one message; returns false after the last. */
static bool message(const uint8_t **data, size_t *size, bool by_byte)
{
	static uint8_t packet[(1 << 16) + 64];
	if (*size < 3)
		return false;
	const uint8_t flags = (*data)[0];
	uint32_t n = be16_load(*data + 1);
	*data += 3;
	*size -= 3;
	n = n < *size ? n : (uint32_t)*size;
	if (flags & 64 && !ssh_is_over(&r.ssh)) {
		rig_kexinit(&r);
		if (!ssh_is_over(&r.ssh) && !r.ssh.kex_ours)
			(void)rig_kex_rest(&r);
	}
	struct ssh_writer *w = rig_message(&r, n ? **data : 0);
	ssh_put_bytes(w, *data + (n > 0), n ? n - 1 : 0);
	*data += n;
	*size -= n;
	const uint32_t bytes = rig_frame(&r, packet);
	for (uint32_t at = 0; at < bytes;) {
		const uint32_t taken = ssh_input(&r.ssh, packet + at, by_byte ? 1 : bytes - at);
		check();
		if (taken == 0)
			break; /* full, until a password is judged */
		at += taken;
	}
	while (ssh_has_work(&r.ssh))
		ssh_work(&r.ssh);
	owner(flags);
	check();
	if (!(flags & 32))
		read_all();
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	const uint8_t how = *data++;
	size--;
	memset(&r, 0, sizeof r);
	r.strict = how & 4;
	r.ext_info = true;
	r.cipher = how & 8 ? "chacha20-poly1305@openssh.com" : NULL;
	bool ready = true;
	switch (how & 3) {
	case 0:
		rig_begin(&r);
		for (size_t at = 0; at < size; at++) {
			rig_raw(&r, data + at, 1);
			check();
		}
		break;
	case 1:
		ready = rig_connect(&r);
		break;
	case 2:
		ready = rig_login(&r);
		break;
	default:
		ready = rig_shell(&r);
	}
	assert(ready);
	if (how & 3) {
		while (message(&data, &size, how & 16))
			;
	}
	const uint8_t *at;
	const uint32_t waits = ssh_output(&r.ssh, &at);
	if (ssh_is_over(&r.ssh)) {
		assert(ssh_input(&r.ssh, "x", 1) == 1);
		assert(ssh_send(&r.ssh, "x", 1) == 0);
		assert(ssh_output(&r.ssh, &at) == waits);
	}
	ssh_forget(&r.ssh);
	return 0;
}
