/* See image_fetch.h. */
#include "control/management/image_fetch.h"

#include "control/console/log.h"
#include "control/host/names.h"
#include "control/management/tls_stream.h"
#include "control/storage/boot_disk.h"
#include "control/text/text.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "lib/sha256.h"
#include "net/http/http.h"
#include "net/http/response.h"
#include "net/http/url.h"

#define WHY_BYTES 512
#define REQUEST_BYTES 768

typedef unsigned long long ull;

enum state { IDLE, LOOKUP, CONNECT, ASK, RECEIVE, WRITE };

static struct {
	enum state state;
	char url[FETCH_URL + 1];
	struct http_url at;       /* `target` lies in url[] */
	bool hashed;              /* the file's SHA-256 must be: */
	uint8_t digest[SHA256_BYTES];
	struct stream *stream;    /* from CONNECT on; NULL: none */
	char request[REQUEST_BYTES];
	uint32_t request_bytes, sent;
	struct http_response answer;
	struct sha256 hash;       /* of what has come */
	uint8_t *header;          /* IMAGE_HEADER bytes, taken once */
	uint8_t *file;            /* of `bytes`; NULL: the header has not come */
	uint64_t got, bytes;
	uint64_t silent_ns, end_ns; /* deadlines */
	void (*done)(void *arg, const char *why);
	void *arg;
	char why[WHY_BYTES];      /* why the last one failed; "": it did not */
	bool ever;                /* there was one */
} fetch;

/* --- the end --- */

/* Gives memory and the connection back, and tells of the end. */
static void end(const char *why)
{
	struct stream *s = fetch.stream;
	fetch.stream = NULL;
	if (s)
		stream_abort(s);
	names_cancel(&fetch);
	if (fetch.file)
		core_region_free(REGION_CONTROL, fetch.file, fetch.bytes);
	fetch.file = NULL;
	fetch.state = IDLE;
	fmt_format(fetch.why, sizeof fetch.why, "%s", why ? why : "");
	if (why)
		log_event(LOG_ERR, "IMAGE", "%s: the other image has not been written: %s", fetch.url, why);
	else
		log_event(LOG_NOTICE, "IMAGE", "%s is the other image: `upgrade activate` has the next boot start it",
		          fetch.url);
	fetch.done(fetch.arg, why ? fetch.why : NULL);
}

static void written(void *arg, const char *why)
{
	(void)arg;
	end(why);
}

/* --- the content --- */

static const char *check_header(void)
{
	const char *why = boot_disk_file_bytes(fetch.header, &fetch.bytes);
	if (why)
		return why;
	if (fetch.answer.length != HTTP_RESPONSE_UNKNOWN && fetch.answer.length != fetch.bytes)
		return "the file has another length than its header says";
	fetch.file = core_region_alloc(REGION_CONTROL, fetch.bytes);
	if (!fetch.file)
		return "not enough memory for the file";
	memcpy(fetch.file, fetch.header, IMAGE_HEADER);
	return NULL;
}

/* Takes a piece of the file. */
static const char *take(struct http_piece p)
{
	sha256_add(&fetch.hash, p.at, p.n);
	if (!fetch.file) {
		const uint32_t n = u32_min(p.n, IMAGE_HEADER - (uint32_t)fetch.got);
		memcpy(fetch.header + fetch.got, p.at, n);
		fetch.got += n;
		p.at += n;
		p.n -= n;
		const char *why = fetch.got == IMAGE_HEADER ? check_header() : NULL;
		if (why || p.n == 0)
			return why;
	}
	if (p.n > fetch.bytes - fetch.got)
		return "the file is longer than its header says";
	memcpy(fetch.file + fetch.got, p.at, p.n);
	fetch.got += p.n;
	return NULL;
}

/* All has come. The connection is closed and not looked at any more. */
static void complete(void)
{
	uint8_t digest[SHA256_BYTES];
	struct stream *s = fetch.stream;
	const char *why = !fetch.file               ? "not an image of Hayate"
	                  : fetch.got != fetch.bytes ? "the file is shorter than its header says"
	                                             : NULL;
	fetch.stream = NULL;
	stream_close(s);
	sha256_end(&fetch.hash, digest);
	if (!why && fetch.hashed && memcmp(digest, fetch.digest, sizeof digest) != 0)
		why = "the file has another SHA-256 than the one that was stated";
	fetch.state = WRITE;
	if (!why)
		why = boot_disk_write(fetch.file, fetch.bytes, written, NULL);
	if (why)
		end(why);
}

/* Why the answer is of no use; NULL: it may be. */
static const char *refusal(void)
{
	static char said[HTTP_RESPONSE_TO + 128];
	const struct http_response *r = &fetch.answer;
	const char *words = http_reason(r->status);
	if (r->state == HTTP_RESPONSE_BROKEN)
		return r->why;
	if (r->state <= HTTP_RESPONSE_FIELDS || r->status == 200)
		return NULL;
	fmt_format(said, sizeof said, "the server answered %u%s%s%s%s", r->status, strcmp(words, "Error") ? " " : "",
	           strcmp(words, "Error") ? words : "",
	           r->location[0] ? "; redirects are not followed, this one leads to " : "", r->location);
	return said;
}

/* --- the connection --- */

static void send_request(struct stream *s)
{
	fetch.sent += stream_send(s, fetch.request + fetch.sent, fetch.request_bytes - fetch.sent);
	if (fetch.sent == fetch.request_bytes)
		fetch.state = RECEIVE;
}

static void on_connected(struct stream *s)
{
	if (s != fetch.stream)
		return;
	stream_set_rcv_buf(s, FETCH_WINDOW);
	fetch.silent_ns = core_now_ns() + FETCH_SILENT_NS;
	fetch.state = ASK;
	send_request(s);
}

static void on_acked(struct stream *s, uint32_t bytes)
{
	(void)bytes;
	if (s == fetch.stream && fetch.state == ASK)
		send_request(s);
}

static uint32_t on_data(struct stream *s, const uint8_t *data, uint32_t n)
{
	uint32_t at = 0;
	if (s == fetch.stream)
		fetch.silent_ns = core_now_ns() + FETCH_SILENT_NS;
	while (s == fetch.stream && at < n) {
		struct http_piece piece;
		at += http_response_input(&fetch.answer, data + at, n - at, &piece);
		const char *why = refusal();
		if (!why && piece.n)
			why = take(piece);
		if (why) {
			end(why);
			return n; /* the stream is no more */
		}
		if (fetch.answer.state == HTTP_RESPONSE_ENDED)
			complete();
	}
	stream_consumed(s, n);
	return n;
}

static void on_fin(struct stream *s)
{
	if (s != fetch.stream) {
		stream_close(s);
		return;
	}
	http_response_fin(&fetch.answer);
	const char *why = refusal();
	if (why)
		end(why);
	else
		complete();
}

static void on_closed(struct stream *s, int why)
{
	if (s != fetch.stream)
		return;
	fetch.stream = NULL;
	end(stream_why(s, why));
}

static const struct stream_app app = {.connected = on_connected, .data = on_data, .acked = on_acked, .fin = on_fin,
                                      .closed = on_closed};

static void found(void *ctx, const struct net_addr *addr, const char *why)
{
	struct tls_peer peer = {.pinned = false};
	char said[HTTP_URL_HOST + 80];
	int error;
	(void)ctx;
	if (!addr) {
		fmt_format(said, sizeof said, "%s: %s", fetch.at.host, why);
		end(said);
		return;
	}
	const struct stream_target to = {.remote = *addr, .local = NET_ADDR_ANY, .port = fetch.at.port};
	struct net_addr is;
	if (text_parse_addr(text_of(fetch.at.host), &is) != E_OK)
		fmt_format(peer.name, sizeof peer.name, "%s", fetch.at.host);
	fetch.state = CONNECT;
	fetch.stream = fetch.at.tls ? tls_stream_connect(&to, &peer, &app, NULL, &why)
	                            : stream_connect(&to, &app, NULL, &error);
	if (!fetch.stream)
		end(fetch.at.tls ? why : stream_error_text(error));
}

/* --- for others --- */

static void make_request(void)
{
	char port[8] = "";
	if (fetch.at.port != (fetch.at.tls ? 443 : 80))
		fmt_format(port, sizeof port, ":%u", fetch.at.port);
	fetch.request_bytes = (uint32_t)fmt_format(
	        fetch.request, sizeof fetch.request,
	        "GET %s HTTP/1.1\r\nHost: %s%s%s%s\r\nUser-Agent: Hayate\r\nAccept: */*\r\nConnection: close\r\n\r\n",
	        fetch.at.target[0] ? fetch.at.target : "/", fetch.at.brackets ? "[" : "", fetch.at.host,
	        fetch.at.brackets ? "]" : "", port);
	assert(fetch.request_bytes < sizeof fetch.request);
	fetch.sent = 0;
}

const char *image_fetch_begin(const char *url, const char *sha256, void (*done)(void *arg, const char *why), void *arg)
{
	const char *why = boot_disk_may_write();
	if (fetch.state != IDLE)
		return "another image is being downloaded";
	if (why)
		return why;
	if (strlen(url) > FETCH_URL)
		return "the URL is too long";
	if (sha256 && text_parse_hex(text_of(sha256), fetch.digest, sizeof fetch.digest) != E_OK)
		return "a SHA-256 has 64 hexadecimal digits";
	fmt_format(fetch.url, sizeof fetch.url, "%s", url);
	why = http_url_read(fetch.url, &fetch.at);
	if (why)
		return why;
	if (!names_is_name(fetch.at.host))
		return "the host of the URL is neither an address nor a name";
	if (!fetch.at.tls && !sha256)
		return "over http:// anybody on the path may change the file: state its SHA-256, "
		       "`upgrade URL sha256 HASH`";
	if (!fetch.header)
		fetch.header = core_private_alloc(IMAGE_HEADER);
	if (!fetch.header)
		return "not enough memory";
	fetch.hashed = sha256;
	fetch.ever = true;
	fetch.got = fetch.bytes = 0;
	fetch.done = done;
	fetch.arg = arg;
	fetch.why[0] = 0;
	fetch.silent_ns = core_now_ns() + FETCH_SILENT_NS;
	fetch.end_ns = core_now_ns() + FETCH_NS;
	make_request();
	http_response_init(&fetch.answer, IMAGE_FILE_MAX);
	sha256_init(&fetch.hash);
	fetch.state = LOOKUP;
	names_lookup(fetch.at.host, NAMES_ANY, found, &fetch);
	return NULL;
}

bool image_fetch_cancel(void)
{
	if (fetch.state == IDLE || fetch.state == WRITE)
		return false;
	end("the download was cancelled");
	return true;
}

uint64_t image_fetch_timer(void)
{
	if (fetch.state == IDLE || fetch.state == WRITE)
		return UINT64_MAX;
	if (core_now_ns() >= fetch.end_ns)
		end("the download took longer than an hour");
	else if (core_now_ns() >= fetch.silent_ns)
		end("the server has sent nothing for 30 s");
	return fetch.state == IDLE ? UINT64_MAX : u64_min(fetch.end_ns, fetch.silent_ns);
}

bool image_fetch_text(char *to, size_t bytes)
{
	if (fetch.state == WRITE)
		fmt_format(to, bytes, "%s: %llu bytes have come, and are being written", fetch.url, (ull)fetch.bytes);
	else if (fetch.state == RECEIVE && fetch.bytes)
		fmt_format(to, bytes, "%s: %llu of %llu bytes", fetch.url, (ull)fetch.got, (ull)fetch.bytes);
	else if (fetch.state != IDLE)
		fmt_format(to, bytes, "%s: %s", fetch.url,
		           fetch.state == LOOKUP ? "the host's address is being looked up"
		           : fetch.state == CONNECT ? "connecting" : "waiting for the answer");
	else if (fetch.why[0])
		fmt_format(to, bytes, "%s: not written: %s", fetch.url, fetch.why);
	else
		fmt_format(to, bytes, "%s: written, %llu bytes", fetch.url, (ull)fetch.bytes);
	return fetch.ever;
}
