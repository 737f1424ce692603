/* Writes the report of report_sample.h: report_page text|json|html [run|rfc2544]. */
#include "tests/unit/rig/host.h"

#include "tests/unit/rig/report_sample.h"

static void to_stdout(void *ctx, const char *text, size_t len)
{
	fwrite(text, 1, len, ctx);
}

int main(int argc, char **argv)
{
	const char *form = argc > 1 ? argv[1] : "", *what = argc > 2 ? argv[2] : "rfc2544";
	bool run = strcmp(what, "run") == 0;
	const struct report *r = sample_report(run ? SAMPLE_RUN : SAMPLE_RFC2544);
	if (strcmp(form, "text") == 0)
		report_text(r, to_stdout, stdout);
	else if (strcmp(form, "json") == 0)
		report_json(r, to_stdout, stdout);
	else if (strcmp(form, "html") == 0)
		report_html(r, to_stdout, stdout);
	else
		return fprintf(stderr, "report_page text|json|html [run|rfc2544]\n"), 2;
	return 0;
}
