/* See url.h. */
#include "net/http/url.h"

#include "lib/mem.h"
#include "net/http/text.h"

/* Cuts a scheme off the front, in either case. */
static bool cut(struct http_text *t, const char *scheme)
{
	const size_t n = strlen(scheme);
	if (t->n < n || !http_text_is((struct http_text){t->at, n}, scheme))
		return false;
	http_text_skip(t, n);
	return true;
}

static const char *read_port(struct http_text t, uint16_t *port)
{
	uint64_t n;
	if (t.n == 0)
		return NULL;
	http_text_skip(&t, 1); /* the colon */
	if (!http_text_number(&t, &n) || t.n || n == 0 || n > 65535)
		return "the port of the URL is a number from 1 to 65535";
	*port = (uint16_t)n;
	return NULL;
}

/* host [ ":" port ] */
static const char *read_authority(struct http_text t, struct http_url *to)
{
	size_t n = 0;
	to->brackets = t.n && t.at[0] == '[';
	if (to->brackets)
		http_text_skip(&t, 1);
	while (n < t.n && t.at[n] != (to->brackets ? ']' : ':'))
		if (t.at[n++] == '@')
			return "a URL with a user name is not supported";
	if (n == 0 || n >= sizeof to->host || (to->brackets && n == t.n))
		return "the URL has no host, or one that is too long";
	memcpy(to->host, t.at, n);
	to->host[n] = 0;
	http_text_skip(&t, n + to->brackets);
	if (t.n && t.at[0] != ':')
		return "the URL has no host, or one that is too long";
	return read_port(t, &to->port);
}

const char *http_url_read(const char *text, struct http_url *to)
{
	struct http_text t = http_text_of(text);
	size_t n = 0;
	to->tls = cut(&t, "https://");
	if (!to->tls && !cut(&t, "http://"))
		return "a URL begins with https:// or http://";
	to->port = to->tls ? 443 : 80;
	for (size_t i = 0; i < t.n; i++)
		if (t.at[i] <= ' ' || t.at[i] >= 0x7f || t.at[i] == '#')
			return "the URL has a character that none may have, or a fragment";
	while (n < t.n && t.at[n] != '/' && t.at[n] != '?')
		n++;
	to->target = t.at + n;
	if (n < t.n && t.at[n] == '?')
		return "the URL has no path before its query";
	return read_authority((struct http_text){t.at, n}, to);
}
