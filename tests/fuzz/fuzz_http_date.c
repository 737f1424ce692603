/*
 * HTTP dates (net/http/date.h): the input is the time, 8 bytes, and the text. A date that is read is written as one
 * that is read as the same time; so is any time.
 */
#include "tests/fuzz/input.h"

#include "net/http/date.h"

static void check_again(int64_t time)
{
	char buf[HTTP_DATE_MAX];
	int64_t again;
	const int64_t want = time < HTTP_TIME_MIN ? HTTP_TIME_MIN : time > HTTP_TIME_MAX ? HTTP_TIME_MAX : time;
	assert(http_date_put(buf, time) == buf && strlen(buf) == HTTP_DATE_MAX - 1);
	assert(http_date_read(buf, HTTP_TIME_UNKNOWN, &again) && again == want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	const uint32_t low = take32(&in);
	const int64_t now = (int64_t)((uint64_t)take32(&in) << 32 | low);
	int64_t time = 7;
	char *text = exact_text(in.p, in.n);
	if (http_date_read(text, now, &time))
		check_again(time);
	else
		assert(time == 7);
	check_again(now);
	check_again(now % (HTTP_TIME_MAX / 2)); /* mostly between the limits */
	free(text);
	return 0;
}
