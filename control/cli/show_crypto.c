/* `show crypto` and `crypto key generate`: the cryptographic libraries and the keys, never their secret parts. */
#include "control/cli/show.h"
#include "control/console/shell.h"
#include "control/crypto/library.h"
#include "control/management/https_identity.h"
#include "control/management/tls_stream.h"
#include "runtime/entropy.h"

static void show_sessions(struct shell *sh, const char *whose, const struct tls_stats *t)
{
	shell_print(sh, "%s: %u sessions, %u in a handshake; handshakes: %llu TLS 1.2, %llu TLS 1.3, %llu failed; "
	                "longest step %llu us\n",
	            whose, t->sessions, t->shaking, (unsigned long long)t->handshakes[0],
	            (unsigned long long)t->handshakes[1], (unsigned long long)tls_failed(t),
	            (unsigned long long)(t->longest_ns / 1000));
}

void show_crypto(struct shell *sh)
{
	static const char *const sources[] = {[HTTPS_OWN] = "signed by itself", [HTTPS_IMPORTED] = "imported",
	                                      [HTTPS_CONFIGURED] = "of the configuration"};
	const struct crypto_use use = crypto_use();
	struct tls_identity identity;
	shell_print(sh, "%s\n", crypto_libraries());
	if (*crypto_why())
		shell_print(sh, "not in use: %s\n", crypto_why());
	else if (!use.started)
		shell_print(sh, "not in use\n");
	else
		shell_print(sh, "heap %zu of %zu bytes, at most %zu so far\n", use.used, use.heap, use.peak);
	for (enum entropy_source i = 0; i < ENTROPY_SOURCES; i++) {
		const struct entropy_state *e = entropy_state(i);
		shell_print(sh, "entropy: %s: %s%s, %llu samples\n", e->name, e->failure ? "out of use: " : "",
		            e->failure ? e->failure : e->samples ? "in use" : "not in use",
		            (unsigned long long)e->samples);
	}
	if (tls_identity(&identity))
		shell_print(sh,
		            "https: %s, certificate %s\n  SHA-256 %s\n  subject %s, issuer %s\n  valid from %s to %s\n",
		            identity.kind, sources[https_source()], identity.fingerprint, identity.subject,
		            identity.issuer, identity.from, identity.until);
	else
		shell_print(sh, "https: no key\n");
	show_sessions(sh, "tls", &tls_stats);
	show_sessions(sh, "tls client", &tls_client_stats);
	shell_print(sh, "tls client: %u trusted certificates\n", tls_trusted());
}

void crypto_key_generate(struct shell *sh)
{
	const char *why = https_new_key();
	if (why)
		shell_print(sh, "%% no key is made: %s\n", why);
	else
		shell_print(sh, "a new key of HTTPS, for connections from now on\n");
}
