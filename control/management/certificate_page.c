/*
 * /api/v1/certificate: the certificate of HTTPS (https_identity.h). PUT imports one in PEM, DELETE returns to the
 * machine's own.
 * /api/v1/certificate/request: POST makes a request for one.
 */
#include "control/console/log.h"
#include "control/crypto/tls.h"
#include "control/management/https_identity.h"
#include "control/management/page.h"
#include "control/management/users.h"

static struct {
	enum { FREE, WRITING, ENDED } state;
	bool left; /* the client has gone */
	const char *why; /* it is not on the disk */
} work;
static bool taken; /* https_take() */

static void written(void *arg, const char *why)
{
	(void)arg;
	work.state = work.left ? FREE : ENDED;
	work.why = why;
}

#define NOT_NOW "a certificate is being imported already, or there is no memory"

uint8_t *page_certificate_take(struct page_write *w, unsigned *status)
{
	*status = w->bytes > HTTPS_PEM_MAX ? 413 : 503;
	uint8_t *at = w->bytes > HTTPS_PEM_MAX ? NULL : https_take();
	taken = at != NULL;
	if (!at)
		page_refuse(w, *status, w->bytes > HTTPS_PEM_MAX ? "the text is too long" : NOT_NOW);
	return at;
}

static unsigned begin(struct page_write *w)
{
	char who[USERS_WHO_SIZE];
	if (!w->user[0])
		return page_refuse(w, 403, "the configuration states no users: state one with the role configure");
	if (work.state != FREE)
		return page_refuse(w, 409, "another certificate is being written");
	if (!w->remove && !w->content)
		return page_refuse(w, 422, "the text is empty");
	work.state = WRITING;
	work.left = false;
	const char *why = w->remove ? https_reset(written, NULL) : https_import(w->content, w->bytes, written, NULL);
	if (why) {
		work.state = FREE;
		return page_refuse(w, 422, why);
	}
	log_event(LOG_NOTICE, "HTTPS-KEY", "https: the certificate was %s by %s", w->remove ? "reset" : "imported",
	          users_who(who, w->user, w->from));
	return 0;
}

unsigned page_certificate_write(struct page_write *w)
{
	struct tls_identity i;
	const unsigned status = w->again ? 0 : begin(w);
	if (status || work.state == WRITING)
		return status;
	work.state = FREE;
	page_print(&w->reply, "{\"fingerprint\":\"%s\",\"stored\":%s,\"problem\":",
	           tls_identity(&i) ? i.fingerprint : "", work.why ? "false" : "true");
	if (work.why)
		page_json(&w->reply, work.why);
	else
		page_print(&w->reply, "null");
	page_print(&w->reply, "}\n");
	return 200;
}

void page_certificate_stop(void)
{
	if (taken)
		https_leave();
	taken = false;
	work.left = work.state == WRITING;
	if (work.state == ENDED)
		work.state = FREE;
}

unsigned page_request_write(struct page_write *w)
{
	unsigned more;
	char *pem = (char *)https_take();
	const char *why = pem ? https_request(pem, &more) : NOT_NOW;
	if (!why) {
		page_print(&w->reply, "{\"request\":\"");
		for (const char *c = pem; *c; c++)
			page_print(&w->reply, *c == '\n' ? "\\n" : "%c", *c);
		page_print(&w->reply, "\",\"left_out\":%u}\n", more);
	}
	if (pem)
		https_leave();
	return why ? page_refuse(w, 503, why) : 200;
}

static bool part_certificate(struct page_walk *w, struct page_text *t)
{
	static const char *const sources[] = {[HTTPS_OWN] = "own", [HTTPS_IMPORTED] = "imported",
	                                      [HTTPS_CONFIGURED] = "configuration"};
	struct tls_identity i;
	(void)w;
	if (!tls_identity(&i)) {
		page_print(t, "{\"source\":null}\n");
		return false;
	}
	page_print(t, "{\"source\":\"%s\",\"key\":\"%s\",\"fingerprint\":\"%s\",\"subject\":",
	           sources[https_source()], i.kind, i.fingerprint);
	page_json(t, i.subject);
	page_print(t, ",\"issuer\":");
	page_json(t, i.issuer);
	page_print(t, ",\"not_before\":\"%s\",\"not_after\":\"%s\"}\n", i.from, i.until);
	return false;
}

const page_part page_certificate[] = {part_certificate, NULL};
