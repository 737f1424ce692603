/*
 * `crypto certificate`: requests, imports and forgets the certificate of HTTPS. An import takes the lines behind the
 * command as a PEM text, up to a line "quit", as IOS's `crypto pki import ... pem terminal` does. One console at a
 * time.
 */
#include "control/cli/show.h"
#include "control/console/shell.h"
#include "control/crypto/tls.h"
#include "control/management/https_identity.h"
#include "lib/mem.h"
#include "runtime/walltime.h"

static struct {
	uint8_t *at; /* the text, in memory of https_take() */
	size_t bytes;
	bool too_long;
} text;

/* The console that waits for the disk; NULL: none. */
static struct {
	struct shell *sh;
	bool busy; /* it has been told so */
	const char *what;
} waits;

static void written(void *arg, const char *why)
{
	struct shell *sh = waits.sh;
	struct tls_identity i;
	(void)arg;
	waits.sh = NULL;
	if (!sh)
		return;
	if (tls_identity(&i))
		shell_print(sh, "%s, for connections from now on\n  SHA-256 %s\n", waits.what, i.fingerprint);
	if (why)
		shell_print(sh, "%s: the next boot does not know of it\n", why);
	if (waits.busy)
		shell_done(sh);
}

static void stop_waiting(struct shell *sh)
{
	waits.sh = NULL;
	shell_done(sh);
}

/* False: another console waits, which has been printed. */
static bool expect(struct shell *sh, const char *what)
{
	if (waits.sh) {
		shell_print(sh, "%% the certificate is being changed already\n");
		return false;
	}
	waits.sh = sh;
	waits.busy = false;
	waits.what = what;
	return true;
}

/* A change has begun and may have ended, or *why says why not. */
static void wait_for(struct shell *sh, const char *why)
{
	if (why) {
		waits.sh = NULL;
		shell_print(sh, "%% %s\n", why);
	} else if (waits.sh) {
		waits.busy = true;
		shell_set_busy(sh, stop_waiting);
	}
}

static void cancel(struct shell *sh)
{
	(void)sh;
	https_leave();
}

static void import(struct shell *sh)
{
	if (text.too_long) {
		shell_print(sh, "%% the text is too long: at most %u bytes, in lines of %u characters\n", HTTPS_PEM_MAX,
		            SHELL_LINE_MAX);
		return;
	}
	if (!walltime_known())
		shell_print(sh, "the clock is not set: the dates of the certificate are not checked\n");
	if (expect(sh, "the certificate is in use"))
		wait_for(sh, https_import(text.at, text.bytes, written, NULL));
}

static bool take(struct shell *sh, const char *line, size_t n)
{
	if (line && n == 4 && memcmp(line, "quit", 4) == 0) {
		import(sh);
		https_leave();
		return false;
	}
	text.too_long |= !line || n >= HTTPS_PEM_MAX - text.bytes;
	if (!text.too_long) {
		memcpy(text.at + text.bytes, line, n);
		text.at[text.bytes + n] = '\n';
		text.bytes += n + 1;
	}
	return true;
}

/* Memory for a text; NULL: it has been said that there is none. */
static uint8_t *memory(struct shell *sh)
{
	uint8_t *at = waits.sh ? NULL : https_take();
	if (!at)
		shell_print(sh, "%% a certificate is being imported already, or there is no memory\n");
	return at;
}

void crypto_certificate_import(struct shell *sh)
{
	text.at = memory(sh);
	text.bytes = 0;
	text.too_long = false;
	if (!text.at)
		return;
	shell_print(sh,
	            "paste certificates in PEM, the machine's first, and the private key if it is not the machine's;\n"
	                "what is typed is not shown. End with a line: quit\n");
	shell_take_lines(sh, take, cancel);
}

void crypto_certificate_request(struct shell *sh)
{
	uint8_t *pem = memory(sh);
	unsigned more;
	if (!pem)
		return;
	const char *why = https_request((char *)pem, &more);
	if (why)
		shell_print(sh, "%% %s\n", why);
	else
		shell_write(sh, (const char *)pem, strlen((const char *)pem));
	if (!why && more)
		shell_print(sh, "%u names or addresses more than the request has room for are not in it\n", more);
	https_leave();
}

void crypto_certificate_reset(struct shell *sh)
{
	if (expect(sh, "the certificate that is signed by itself is in use"))
		wait_for(sh, https_reset(written, NULL));
}
