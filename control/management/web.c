/*
 * The list of pages. The page at / is control/management/index.html, embedded in the image. Its
 * Content-Security-Policy (CSP 3) lets a browser load only the page and what the page requests from
 * this machine.
 */
#include "control/management/plugin.h"
#include "control/management/page.h"
#include "control/programs/programs.h"

#include "lib/mem.h"

__asm__(".section .rodata\n"
        ".global web_index, web_index_end\n"
        "web_index: .incbin \"control/management/index.html\"\n"
        "web_index_end: .byte 0\n"
        ".text\n");
extern const char web_index[], web_index_end[];

#define NO_STORE "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
#define INDEX_FIELDS \
	"Cache-Control: no-cache\r\nX-Content-Type-Options: nosniff\r\n" \
	"Referrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'; " \
	"script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; " \
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
#define JSON "application/json"
#define MADE(where, what, of) {.path = where, .type = what, .fields = NO_STORE, .parts = of}

static const struct page pages[] = {
	{.path = "/", .type = "text/html; charset=utf-8", .fields = INDEX_FIELDS, .fixed = web_index,
	 .fixed_end = web_index_end},
	{.path = "/healthz", .type = "text/plain; charset=utf-8", .fields = NO_STORE,
	 .parts = page_health, .status = page_health_status, .open = true},
	MADE("/config", "text/plain; charset=utf-8", page_config),
	MADE("/crash", "text/plain; charset=utf-8", page_crash),
	{.path = "/metrics", .type = "text/plain; version=0.0.4; charset=utf-8", .fields = NO_STORE,
	 .parts = page_metrics, .keeps = true},
	MADE("/api/v1/status.json", JSON, page_status),
	MADE("/api/v1/ports.json", JSON, page_ports),
	MADE("/api/v1/interfaces.json", JSON, page_interfaces),
	MADE("/api/v1/engine.json", JSON, page_engine),
	MADE("/api/v1/counters.json", JSON, page_counters),
	MADE("/api/v1/drops.json", JSON, page_drops),
	MADE("/api/v1/cores.json", JSON, page_cores),
	MADE("/api/v1/hardware.json", JSON, page_hardware),
	MADE("/api/v1/routes.json", JSON, page_routes),
	MADE("/api/v1/neighbours.json", JSON, page_neighbours),
	MADE("/api/v1/lldp.json", JSON, page_lldp),
	MADE("/api/v1/dhcp.json", JSON, page_dhcp),
	MADE("/api/v1/ntp.json", JSON, page_ntp),
	MADE("/api/v1/tcp.json", JSON, page_tcp),
	{.path = "/api/v1/image", .type = JSON, .fields = NO_STORE, .parts = page_image, .write = page_image_write,
	 .take = page_image_take, .stop = page_image_stop, .bulk = true},
	{.path = "/api/v1/certificate", .type = JSON, .fields = NO_STORE, .parts = page_certificate,
	 .write = page_certificate_write, .take = page_certificate_take, .stop = page_certificate_stop},
	{.path = "/api/v1/certificate/request", .type = JSON, .fields = NO_STORE, .methods = 1u << HTTP_POST,
	 .write = page_request_write},
	MADE("/api/v1/programs", JSON, page_programs),
	{.path = "/api/v1/programs/", .type = JSON, .fields = NO_STORE, .parts = page_program,
	 .exists = page_program_exists, .write = page_program_write, .take = page_program_take,
	 .stop = programs_put_stop},
	MADE("/api/v1/maps", JSON, page_maps),
	{.path = "/api/v1/maps/", .type = JSON, .fields = NO_STORE, .parts = page_map,
	 .exists = page_map_exists, .write = page_map_write, .take = page_program_take, .stop = programs_put_stop},
};

/* True if the page is that of the path, or of all paths that begin so. */
static bool is_of(const struct page *page, const char *path)
{
	const size_t n = strlen(page->path);
	return strcmp(path, page->path) == 0 ||
	       (n > 1 && page->path[n - 1] == '/' && memcmp(path, page->path, n) == 0);
}

static const struct page *added;
static unsigned added_count;

void page_add(const struct page *rows, unsigned count)
{
	added = rows;
	added_count = count;
}

const struct page *page_find(const char *path)
{
	for (unsigned i = 0; i < ARRAY_LEN(pages); i++)
		if (strlen(path) >= strlen(pages[i].path) && is_of(&pages[i], path))
			return &pages[i];
	for (unsigned i = 0; i < added_count; i++)
		if (strcmp(path, added[i].path) == 0)
			return &added[i];
	const struct app_plugin *e = plugin_get();
	for (unsigned i = 0; e && i < e->page_count; i++)
		if (strcmp(path, e->pages[i].path) == 0)
			return &e->pages[i];
	return NULL;
}
