/* The report as a page: report.html, which the image contains, with the JSON in place of @JSON@. */
#include "lib/mem.h"
#include "tools/pktgen/report/report_out.h"

__asm__(".section .rodata\n"
        ".global report_page, report_page_end\n"
        "report_page: .incbin \"tools/pktgen/report/report.html\"\n"
        "report_page_end: .byte 0\n"
        ".text\n");
extern const char report_page[], report_page_end[];

static const char mark[] = "@JSON@\n";

static const char *find_mark(void)
{
	const char *p = report_page;
	while (p + sizeof mark <= report_page_end && memcmp(p, mark, sizeof mark - 1) != 0)
		p++;
	return p;
}

void report_html(const struct report *r, report_write *write, void *ctx)
{
	struct report_out o = {.write = write, .ctx = ctx};
	const char *at = find_mark(), *behind = at + sizeof mark - 1;
	report_bytes(&o, report_page, (size_t)(at - report_page));
	report_json_to(&o, r);
	report_bytes(&o, behind, (size_t)(report_page_end - behind));
	report_flush(&o);
}
