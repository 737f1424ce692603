/* Media types; see media.h. */
#include "net/http/media.h"

#include "lib/types.h"
#include "net/http/text.h"

#define UTF_8 "; charset=utf-8"

/* In the order of the extensions, which are in lower case. */
static const struct {
	const char *extension, *type;
} types[] = {
	{"7z", "application/x-7z-compressed"},
	{"aac", "audio/aac"},
	{"apng", "image/apng"},
	{"asc", "text/plain" UTF_8},
	{"atom", "application/atom+xml"},
	{"avif", "image/avif"},
	{"bin", "application/octet-stream"},
	{"bmp", "image/bmp"},
	{"bz2", "application/x-bzip2"},
	{"cjs", "text/javascript" UTF_8},
	{"conf", "text/plain" UTF_8},
	{"css", "text/css" UTF_8},
	{"csv", "text/csv" UTF_8},
	{"doc", "application/msword"},
	{"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
	{"eot", "application/vnd.ms-fontobject"},
	{"epub", "application/epub+zip"},
	{"flac", "audio/flac"},
	{"gif", "image/gif"},
	{"gz", "application/gzip"},
	{"htm", "text/html" UTF_8},
	{"html", "text/html" UTF_8},
	{"ico", "image/vnd.microsoft.icon"},
	{"ics", "text/calendar" UTF_8},
	{"iso", "application/octet-stream"},
	{"jpeg", "image/jpeg"},
	{"jpg", "image/jpeg"},
	{"js", "text/javascript" UTF_8},
	{"json", "application/json"},
	{"jsonld", "application/ld+json"},
	{"jxl", "image/jxl"},
	{"log", "text/plain" UTF_8},
	{"m4a", "audio/mp4"},
	{"m4v", "video/mp4"},
	{"map", "application/json"},
	{"md", "text/markdown" UTF_8},
	{"mjs", "text/javascript" UTF_8},
	{"mp3", "audio/mpeg"},
	{"mp4", "video/mp4"},
	{"mpeg", "video/mpeg"},
	{"odp", "application/vnd.oasis.opendocument.presentation"},
	{"ods", "application/vnd.oasis.opendocument.spreadsheet"},
	{"odt", "application/vnd.oasis.opendocument.text"},
	{"oga", "audio/ogg"},
	{"ogg", "audio/ogg"},
	{"ogv", "video/ogg"},
	{"opus", "audio/ogg"},
	{"otf", "font/otf"},
	{"pcap", "application/vnd.tcpdump.pcap"},
	{"pdf", "application/pdf"},
	{"png", "image/png"},
	{"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
	{"rss", "application/rss+xml"},
	{"rtf", "application/rtf"},
	{"svg", "image/svg+xml"},
	{"tar", "application/x-tar"},
	{"tgz", "application/gzip"},
	{"tif", "image/tiff"},
	{"tiff", "image/tiff"},
	{"ttf", "font/ttf"},
	{"txt", "text/plain" UTF_8},
	{"vtt", "text/vtt" UTF_8},
	{"wasm", "application/wasm"},
	{"wav", "audio/wav"},
	{"weba", "audio/webm"},
	{"webm", "video/webm"},
	{"webmanifest", "application/manifest+json"},
	{"webp", "image/webp"},
	{"woff", "font/woff"},
	{"woff2", "font/woff2"},
	{"xhtml", "application/xhtml+xml"},
	{"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
	{"xml", "application/xml"},
	{"yaml", "application/yaml"},
	{"yml", "application/yaml"},
	{"zip", "application/zip"},
	{"zst", "application/zstd"},
};

/* What follows the last '.' of the last part; empty if there is none. */
static struct http_text extension_of(const char *path)
{
	const char *part = path, *dot = NULL, *at = path;
	for (; *at; at++) {
		if (*at == '/') {
			part = at + 1;
			dot = NULL;
		} else if (*at == '.') {
			dot = at;
		}
	}
	return dot && dot > part ? (struct http_text){dot + 1, (size_t)(at - dot - 1)}
	                         : (struct http_text){at, 0};
}

/* Order of t and the word in lower case: below, at or above 0. */
static int compare(struct http_text t, const char *word)
{
	size_t i = 0;
	while (i < t.n && http_lower(t.at[i]) == word[i])
		i++; /* at the end of the word they differ: t has no NUL */
	return (i < t.n ? (uint8_t)http_lower(t.at[i]) : 0) - (uint8_t)word[i];
}

const char *http_media_type(const char *path)
{
	const struct http_text extension = extension_of(path);
	size_t low = 0, high = ARRAY_LEN(types);
	while (low < high) {
		const size_t middle = (low + high) / 2;
		const int order = compare(extension, types[middle].extension);
		if (order == 0)
			return types[middle].type;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return "application/octet-stream";
}
