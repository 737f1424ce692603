/*
 * XDP programs in Linux, for xdp.py: loads objects by libbpf, attaches one of them in driver mode to one end of a
 * veth pair, and sends frames by the other end.
 *
 * Frames come from BPF_PROG_TEST_RUN with BPF_F_TEST_XDP_LIVE_FRAMES (Linux' Documentation/bpf/bpf_prog_run.rst):
 * the kernel makes them from its page pool and runs source.c on each, whose XDP_TX sends it by the source device. veth
 * passes it to the sink's ring of XDP frames. The sink's NAPI takes it from there and runs the program, in driver
 * mode, as for a frame of a card. If that ring is full, the frame is lost; the program that sends is not held up.
 *
 *   xdp_linux SOURCE-DEVICE SINK-DEVICE SOURCE-OBJECT RETURN-OBJECT
 *
 * RETURN-OBJECT's program is attached to the source device, in driver mode too, as veth requires for XDP_TX of the
 * sink. Commands on standard input, answers as one line on standard output (first `up TSC-HZ`):
 *
 *   load NAME OBJECT      load NAME       an object, by the first of its programs
 *   fill NAME MAP FILE    fill ENTRIES    a map's entries: keys and values, one after the other
 *   use NAME              use NAME        attaches its program to the sink
 *   run SECONDS THREAD    run RECEIVED RETURNED NANOSECONDS BUSY
 *                         RECEIVED: frames on which the sink's program ran; RETURNED: those that came back to the
 *                         source; BUSY: nanoseconds of CPU time that the kernel's thread has used, which is the
 *                         sink's NAPI. A thread sends from WARM_UP_NS before until after this time
 *   live SECONDS          live FRAMES NANOSECONDS: the program itself on live frames, without a device
 *   bare SECONDS          bare RUNS NANOSECONDS: the program itself on one packet again and again, which includes
 *                         the loop of BPF_PROG_TEST_RUN. NANOSECONDS as the kernel measures them
 *   quit
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#define PROGRAMS 16
#define FRAME_BYTES 60
#define REPEAT 16384 /* frames or runs for one system call */
#define MANY (1 << 30) /* frames of the thread that sends, which a signal ends */
#define WARM_UP_NS 50000000
#define BATCH 64     /* live frames at a time: NAPI's budget */
#define ENTRY_MAX 64

#ifndef BPF_F_TEST_XDP_LIVE_FRAMES
#define BPF_F_TEST_XDP_LIVE_FRAMES (1u << 1)
#endif

static struct program {
	char name[32];
	struct bpf_object *object;
	int fd;
} programs[PROGRAMS], *in_use;
static unsigned count;
static const char *source_device, *sink_device;
static int source_index;

/* As null.c makes them. */
static uint8_t frame[FRAME_BYTES] = {
	0x02, 'n', 'u', 'l', 'l', 0, 0x02, 'p', 'e', 'e', 'r', 0, 0x08, 0x00,
	0x45, 0, 0, FRAME_BYTES - 14, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 19, 0, 0,
	0xc0, 0x20, 0, 9, 0, FRAME_BYTES - 34, 0, 0,
};

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "xdp_linux: %s: %s\n", what, why);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double tsc_hz(void)
{
	const uint64_t start = now_ns(), from = __rdtsc();
	uint64_t end;
	while ((end = now_ns()) - start < 100000000u)
		;
	return (double)(__rdtsc() - from) * 1e9 / (double)(end - start);
}

/* --- programs --- */

static struct program *load(const char *name, const char *path)
{
	struct program *p = &programs[count];
	if (count++ == PROGRAMS || strlen(name) >= sizeof p->name)
		die(name, "too many programs, or too long a name");
	strcpy(p->name, name);
	p->object = bpf_object__open_file(path, NULL);
	if (libbpf_get_error(p->object))
		die(path, "cannot be opened");
	if (bpf_object__load(p->object) != 0)
		die(path, "cannot be loaded");
	struct bpf_program *first = bpf_object__next_program(p->object, NULL);
	p->fd = first ? bpf_program__fd(first) : -1;
	if (p->fd < 0)
		die(path, "has no program");
	return p;
}

static struct program *find(const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(programs[i].name, name) == 0)
			return &programs[i];
	die(name, "is not loaded");
}

/* The device's NAPI becomes a thread of the kernel, napi/DEVICE-ID, that can be put on a CPU. A veth device has a NAPI
 * only with a program. */
static void make_thread(const char *device)
{
	char path[128];
	snprintf(path, sizeof path, "/sys/class/net/%s/threaded", device);
	FILE *f = fopen(path, "w");
	if (!f || fputs("1", f) < 0 || fclose(f) != 0)
		die(path, "NAPI cannot be made a thread");
}

static void attach(const char *device, const struct program *p)
{
	if (bpf_xdp_attach((int)if_nametoindex(device), p->fd, XDP_FLAGS_DRV_MODE, NULL) != 0)
		die(p->name, "cannot be attached in driver mode");
	make_thread(device);
}

static unsigned fill(const char *name, const char *map_name, const char *path)
{
	struct bpf_map *map = bpf_object__find_map_by_name(find(name)->object, map_name);
	uint8_t entry[ENTRY_MAX];
	unsigned entries = 0;
	FILE *f = fopen(path, "rb");
	if (!map || !f)
		die(map_name, "there is no such map or file");
	const size_t key = bpf_map__key_size(map), value = bpf_map__value_size(map);
	if (key + value > sizeof entry)
		die(map_name, "entries are too large");
	for (; fread(entry, key + value, 1, f) == 1; entries++)
		if (bpf_map_update_elem(bpf_map__fd(map), entry, entry + key, BPF_ANY) != 0)
			die(map_name, "an entry is refused");
	fclose(f);
	return entries;
}

/* --- running --- */

/* False: a signal has ended it. *duration, if not NULL, gets the mean in nanoseconds. */
static bool test_run(const struct program *p, uint32_t flags, int repeat, uint32_t *duration)
{
	struct xdp_md context = {.data_end = sizeof frame, .ingress_ifindex = (uint32_t)source_index};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = frame, .data_size_in = sizeof frame, .repeat = repeat,
	            .flags = flags);
	if (flags) {
		o.ctx_in = &context;
		o.ctx_size_in = sizeof context;
		o.batch_size = BATCH;
	}
	const int error = bpf_prog_test_run_opts(p->fd, &o);
	if (error != 0 && error != -EINTR)
		die(p->name, "BPF_PROG_TEST_RUN fails");
	if (duration)
		*duration = o.duration;
	return error == 0;
}

static uint64_t number_in(const char *format, const char *name)
{
	char path[128], text[64];
	snprintf(path, sizeof path, format, name);
	FILE *f = fopen(path, "r");
	if (!f || !fgets(text, sizeof text, f))
		die(path, "cannot be read");
	fclose(f);
	return strtoull(text, NULL, 10);
}

struct sample {
	uint64_t ns, at_sink, at_source, busy_ns;
};

/* What the devices of this namespace have received, and the first number of proc_pid_schedstat(5). */
static struct sample look(const char *thread)
{
	struct sample s = {.busy_ns = number_in("/proc/%s/schedstat", thread)};
	s.at_source = number_in("/sys/class/net/%s/statistics/rx_packets", source_device);
	s.at_sink = number_in("/sys/class/net/%s/statistics/rx_packets", sink_device);
	s.ns = now_ns();
	return s;
}

/* --- the thread that sends --- */

static struct {
	const struct program *program;
	pthread_t thread;
	sem_t begin, ended;
	volatile bool over;
} sender;

/* Between two calls the kernel waits until all frames have returned, some 30 ms; so a run is one call. */
static void *send_frames(void *nothing)
{
	for (;;) {
		while (sem_wait(&sender.begin) != 0)
			;
		while (!sender.over && test_run(sender.program, BPF_F_TEST_XDP_LIVE_FRAMES, MANY, NULL))
			;
		sem_post(&sender.ended);
	}
	return nothing;
}

static void on_signal(int number)
{
	(void)number;
}

static void stop_sender(void)
{
	struct timespec soon;
	sender.over = true;
	do { /* a signal that comes just before the call does not end it */
		pthread_kill(sender.thread, SIGUSR1);
		clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_nsec += 10000000;
		soon.tv_sec += soon.tv_nsec / 1000000000;
		soon.tv_nsec %= 1000000000;
	} while (sem_timedwait(&sender.ended, &soon) != 0);
}

static void make_sender(const struct program *program)
{
	const struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGUSR1, &action, NULL);
	sender.program = program;
	sem_init(&sender.begin, 0, 0);
	sem_init(&sender.ended, 0, 0);
	if (pthread_create(&sender.thread, NULL, send_frames, NULL) != 0)
		die("thread", "cannot be made");
}

static void sleep_ns(uint64_t ns)
{
	const struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	nanosleep(&t, NULL);
}

static void run(double seconds, const char *thread)
{
	sender.over = false;
	sem_post(&sender.begin);
	sleep_ns(WARM_UP_NS);
	const struct sample from = look(thread);
	sleep_ns((uint64_t)(seconds * 1e9));
	const struct sample to = look(thread);
	stop_sender();
	printf("run %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", to.at_sink - from.at_sink,
	       to.at_source - from.at_source, to.ns - from.ns, to.busy_ns - from.busy_ns);
}

static void live(double seconds)
{
	uint64_t frames = 0;
	const uint64_t start = now_ns(), end = start + (uint64_t)(seconds * 1e9);
	uint64_t now = start;
	for (; now < end; now = now_ns(), frames += REPEAT)
		test_run(in_use, BPF_F_TEST_XDP_LIVE_FRAMES, REPEAT, NULL);
	printf("live %" PRIu64 " %" PRIu64 "\n", frames, now - start);
}

static void bare(double seconds)
{
	uint64_t runs = 0, took = 0;
	uint32_t mean;
	for (const uint64_t end = now_ns() + (uint64_t)(seconds * 1e9); now_ns() < end; runs += REPEAT) {
		test_run(in_use, 0, REPEAT, &mean);
		took += (uint64_t)mean * REPEAT;
	}
	printf("bare %" PRIu64 " %" PRIu64 "\n", runs, took);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		die("usage", "xdp_linux SOURCE-DEVICE SINK-DEVICE SOURCE-OBJECT RETURN-OBJECT");
	source_device = argv[1];
	sink_device = argv[2];
	source_index = (int)if_nametoindex(source_device);
	if (!source_index || !if_nametoindex(sink_device))
		die("devices", "there are no such ones");
	make_sender(load("-source", argv[3]));
	attach(source_device, load("-return", argv[4]));
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("up %.0f\n", tsc_hz());

	char line[512], a[128], b[128], c[256];
	double seconds;
	while (fgets(line, sizeof line, stdin) && strncmp(line, "quit", 4) != 0) {
		if (sscanf(line, "load %127s %255s", a, c) == 2) {
			load(a, c);
			printf("load %s\n", a);
		} else if (sscanf(line, "fill %127s %127s %255s", a, b, c) == 3) {
			printf("fill %u\n", fill(a, b, c));
		} else if (sscanf(line, "use %127s", a) == 1) {
			in_use = find(a);
			attach(sink_device, in_use);
			printf("use %s\n", a);
		} else if (sscanf(line, "run %lf %15s", &seconds, a) == 2) {
			run(seconds, a);
		} else if (in_use && sscanf(line, "live %lf", &seconds) == 1) {
			live(seconds);
		} else if (in_use && sscanf(line, "bare %lf", &seconds) == 1) {
			bare(seconds);
		} else {
			die("command", line);
		}
	}
	return 0;
}
