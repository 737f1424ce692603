/* The head of a response; see http.h. */
#include "net/http/http.h"

#include "lib/fmt.h"

const char *http_reason(unsigned status)
{
	switch (status) {
#define HTTP_REASON(code, text) case code: return text;
	HTTP_STATUSES(HTTP_REASON)
#undef HTTP_REASON
	default:
		return "Error";
	}
}

size_t http_answer_put(char *buf, size_t size, const struct http_answer *a)
{
	char length[48] = "";
	if (http_is_chunked(a))
		fmt_format(length, sizeof length, "Transfer-Encoding: chunked\r\n");
	else if (a->length < HTTP_LENGTH_NONE)
		fmt_format(length, sizeof length, "Content-Length: %llu\r\n",
		           (unsigned long long)a->length);
	/* RFC 9112 9.3: an HTTP/1.0 client that asked for keep-alive must be told that it was
	 * granted */
	size_t n = fmt_format(buf, size, "HTTP/1.1 %u %s\r\nServer: Hayate\r\n%s%s%s%s%s%s\r\n", a->status,
	                      http_reason(a->status), a->type ? "Content-Type: " : "",
	                      a->type ? a->type : "", a->type ? "\r\n" : "", length,
	                      a->close          ? "Connection: close\r\n"
	                      : a->minor == 0   ? "Connection: keep-alive\r\n"
	                                        : "",
	                      a->fields ? a->fields : "");
	return n < size ? n : 0;
}

void http_chunk_head_put(char to[HTTP_CHUNK_HEAD], uint32_t n)
{
	static const char digits[] = "0123456789abcdef";
	for (unsigned i = 0; i < 4; i++)
		to[i] = digits[n >> (12 - 4 * i) & 15];
	to[4] = '\r';
	to[5] = '\n';
}
