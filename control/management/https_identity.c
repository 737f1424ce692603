/* See https_identity.h. */
#include "control/management/https_identity.h"

#include "control/config/running.h"
#include "control/console/log.h"
#include "control/crypto/library.h"
#include "control/crypto/tls.h"
#include "control/storage/storage.h"
#include "dataplane/state.h"
#include "lib/bytes.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/rfc3339.h"
#include "net/ip6.h"
#include "runtime/sealed.h"
#include "runtime/walltime.h"

#define STORED "keys/https"
#define STORED_CERTIFICATE "keys/https-certificate"

struct kept {
	uint8_t secret[TLS_SECRET]; /* the machine's own key */
	uint32_t bytes;             /* of pem; 0: nothing was imported */
	uint8_t pem[HTTPS_PEM_MAX];
};
static struct sealed kept = SEALED(CORE_PERSIST_HTTPS, 1, struct kept);

static enum https_source source;

static struct {
	uint8_t *at; /* HTTPS_PEM_MAX bytes */
	bool taken;
} buffer;

/* The change that is being written to the disk. */
static struct {
	bool under_way;
	void (*done)(void *arg, const char *why);
	void *arg;
} change;

static void tell(const char *what)
{
	struct tls_identity i;
	if (tls_identity(&i))
		log_event(LOG_NOTICE, "HTTPS-KEY", "https: %s, SHA-256 fingerprint of the certificate %s", what,
		          i.fingerprint);
}

enum https_source https_source(void)
{
	return source;
}

/* --- what is kept --- */

/* Keeps the machine's own key and what was imported: n bytes, which may lie in what is kept, as may the key. */
static void keep(const uint8_t secret[TLS_SECRET], const uint8_t *pem, size_t n)
{
	struct kept *next = sealed_begin(&kept);
	memmove(next->secret, secret, TLS_SECRET);
	if (n)
		memmove(next->pem, pem, n);
	memset(next->pem + n, 0, sizeof next->pem - n);
	next->bytes = (uint32_t)n;
	sealed_end(&kept);
}

static void store_key(const uint8_t secret[TLS_SECRET])
{
	if (storage_present() && storage_put(STORED, secret, TLS_SECRET, NULL, NULL) != E_OK)
		log_event(LOG_ERR, "HTTPS-KEY", "https: the key could not be written to the disk");
}

/* What is kept since before a restart of the program, or on the disk; without that, a new key. *what: for tell(), if
 * it is not of this boot. NULL: not possible. */
static const struct kept *own(const char **what)
{
	const uint8_t *stored, *pem;
	uint8_t secret[TLS_SECRET];
	size_t n, bytes;
	const struct kept *old = sealed_newest(&kept);
	*what = NULL;
	if (old || !sealed_take(&kept))
		return old;
	if (storage_get(STORED, &stored, &n) == E_OK && n == TLS_SECRET) {
		if (storage_get(STORED_CERTIFICATE, &pem, &bytes) != E_OK || bytes > HTTPS_PEM_MAX)
			bytes = 0;
		keep(stored, pem, bytes);
		*what = "the key on the disk";
	} else if (tls_secret_make(secret)) {
		keep(secret, NULL, 0);
		store_key(secret);
		crypto_wipe(secret, sizeof secret);
		*what = "a new key";
	}
	return sealed_newest(&kept);
}

static const char *why_none(void)
{
	return *crypto_why() ? crypto_why() : "there is no memory";
}

const char *https_new_key(void)
{
	uint8_t secret[TLS_SECRET];
	const char *what;
	const struct kept *old = own(&what);
	if (running.config.http.certificate[0])
		return "the configuration names the certificate";
	if (change.under_way || (old && old->bytes))
		return "an imported certificate is in use: `crypto certificate reset` first";
	const bool good = old && tls_secret_make(secret) && tls_use_secret(secret);
	if (good) {
		keep(secret, NULL, 0);
		store_key(secret);
		source = HTTPS_OWN;
		tell("a new key");
	}
	crypto_wipe(secret, sizeof secret);
	return good ? NULL : why_none();
}

/* --- what is in use --- */

static bool choose_own(void)
{
	struct tls_identity i;
	const char *what;
	if (tls_identity(&i) && source != HTTPS_CONFIGURED)
		return true;
	const struct kept *k = own(&what);
	const char *why = k && k->bytes ? tls_use_pem(k->pem, k->bytes, k->secret) : NULL;
	if (why)
		log_event(LOG_ERR, "HTTPS-KEY", "https: the imported certificate is not in use: %s", why);
	source = k && k->bytes && !why ? HTTPS_IMPORTED : HTTPS_OWN;
	if (source == HTTPS_OWN && (!k || !tls_use_secret(k->secret)))
		return false;
	if (what)
		tell(source == HTTPS_IMPORTED ? "the imported certificate" : what);
	return true;
}

bool https_choose(struct text pem)
{
	const char *why = pem.len ? tls_use_pem((const uint8_t *)pem.at, pem.len, NULL)
	                  : choose_own() ? NULL : "no key could be made";
	if (why) {
		log_event(LOG_ERR, "HTTPS-KEY", "https: %s", why);
		return false;
	}
	if (pem.len) {
		source = HTTPS_CONFIGURED;
		tell("the certificate of the configuration");
	}
	return true;
}

/* --- import --- */

uint8_t *https_take(void)
{
	if (buffer.taken)
		return NULL;
	if (!buffer.at)
		buffer.at = core_private_alloc(HTTPS_PEM_MAX);
	buffer.taken = buffer.at != NULL;
	return buffer.at;
}

void https_leave(void)
{
	if (buffer.taken)
		crypto_wipe(buffer.at, HTTPS_PEM_MAX);
	buffer.taken = false;
}

static void written(void *arg, int error)
{
	(void)arg;
	change.under_way = false;
	if (error != E_OK)
		log_event(LOG_ERR, "HTTPS-KEY", "https: the certificate could not be written to the disk");
	change.done(change.arg, error == E_OK ? NULL : "the disk could not be written");
}

/* May the identity be changed by a command? *k: what is kept. NULL, or why not. */
static const char *may_change(const struct kept **k)
{
	const char *what;
	if (running.config.http.certificate[0])
		return "the configuration names the certificate: `no https certificate` first";
	if (change.under_way)
		return "another certificate is being written";
	*k = own(&what);
	return *k ? NULL : why_none();
}

const char *https_import(const uint8_t *pem, size_t n, void (*done)(void *arg, const char *why), void *arg)
{
	const struct kept *k;
	struct identity *identity;
	char now[RFC3339_MAX];
	const char *why = may_change(&k);
	if (!why && n > HTTPS_PEM_MAX)
		why = "the text is too long";
	if (!why)
		why = tls_read_import(pem, n, k->secret, walltime_known() ? rfc3339_put(now, walltime_ns(), 0) : NULL,
		                      &identity);
	if (why)
		return why;
	if (storage_present()) {
		const int error = storage_put(STORED_CERTIFICATE, pem, n, written, NULL);
		if (error != E_OK) {
			tls_drop(identity);
			return error == E_NOMEM ? "the store has no room for it" : "the disk cannot be written";
		}
		change.under_way = true;
		change.done = done;
		change.arg = arg;
	}
	tls_use(identity);
	keep(k->secret, pem, n);
	source = HTTPS_IMPORTED;
	tell("an imported certificate");
	if (!change.under_way)
		done(arg, "there is no store");
	return NULL;
}

const char *https_reset(void (*done)(void *arg, const char *why), void *arg)
{
	const struct kept *k;
	const char *why = may_change(&k);
	if (!why && !k->bytes)
		why = "no certificate was imported";
	if (!why && !tls_use_secret(k->secret))
		why = "there is no memory";
	if (why)
		return why;
	source = HTTPS_OWN;
	keep(k->secret, NULL, 0);
	tell("the machine's own certificate");
	const int error = storage_remove(STORED_CERTIFICATE, written, NULL);
	change.under_way = error == E_OK;
	change.done = done;
	change.arg = arg;
	if (error != E_OK)
		done(arg, error == E_NOENT && storage_present() ? NULL
		          : error == E_NOENT                    ? "there is no store"
		                                                : "the disk cannot be written");
	return NULL;
}

/* --- request --- */

struct names {
	struct tls_name name[TLS_NAMES_MAX];
	unsigned count, more;
};

/* Adds a name, unless it is there. */
static void add_name(struct names *to, const struct tls_name *name)
{
	for (unsigned i = 0; i < to->count; i++)
		if (!name->dns == !to->name[i].dns &&
		    (name->dns ? strcmp(name->dns, to->name[i].dns) == 0
		               : name->bytes == to->name[i].bytes &&
		                         memcmp(name->address, to->name[i].address, name->bytes) == 0))
			return;
	if (to->count == TLS_NAMES_MAX)
		to->more++;
	else
		to->name[to->count++] = *name;
}

static void add_ip4(struct names *to, uint32_t addr)
{
	struct tls_name name = {.bytes = 4};
	be32_store(name.address, addr);
	add_name(to, &name);
}

static void add_address(struct names *to, const struct net_addr *addr)
{
	struct tls_name name = {.bytes = sizeof name.address};
	if (net_addr_is_ip4(addr)) {
		add_ip4(to, net_addr_to_ip4(addr));
		return;
	}
	net_addr_store(name.address, addr);
	if (!ip6_is_link_local(addr))
		add_name(to, &name);
}

const char *https_request(char *pem, unsigned *more)
{
	static struct names names;
	static char host[CONFIG_HOSTNAME_SIZE + CONFIG_HTTP_HOST_SIZE];
	const struct config *c = &running.config;
	const struct dp_state *v = dp_get();
	const char *what;
	const struct kept *k = own(&what);
	if (!k)
		return why_none();
	names = (struct names){.count = 0};
	fmt_format(host, sizeof host, "%s%s%s", c->hostname, c->time.domain[0] ? "." : "", c->time.domain);
	add_name(&names, &(struct tls_name){.dns = strlen(host) <= TLS_COMMON_NAME ? host : c->hostname});
	add_name(&names, &(struct tls_name){.dns = host});
	for (unsigned i = 0; i < c->http.hosts; i++) {
		if (c->http.host[i].name[0])
			add_name(&names, &(struct tls_name){.dns = c->http.host[i].name});
		else
			add_address(&names, &c->http.host[i].addr);
	}
	for (unsigned i = 0; i < DP_INTERFACES_MAX; i++) {
		for (unsigned n = 0; n < v->interface[i].addresses; n++)
			add_ip4(&names, v->interface[i].addr[n]);
		for (unsigned n = 0; n < v->interface6[i].count; n++)
			add_address(&names, &v->interface6[i].addr[n]);
	}
	*more = names.more;
	return tls_request(pem, HTTPS_PEM_MAX, k->secret, names.name, names.count) ? NULL : why_none();
}
