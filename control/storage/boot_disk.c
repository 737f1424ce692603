/*
 * See boot_disk.h.
 *
 *     step        what is under way
 *     WAIT        the disks start
 *     FIND_*      the partition with the environment block of one disk, that block; then both images
 *     IDLE        nothing
 *     ENV_*       the environment block is read, changed, written, and read again; then an image may follow
 *     WRITE       an image (disk/upgrade.h)
 *     INSTALL     a disk (disk/install.h)
 */
#include "control/storage/boot_disk.h"

#include "control/console/log.h"
#include "control/storage/disks.h"
#include "control/storage/storage.h"
#include "disk/gpt.h"
#include "disk/install.h"
#include "disk/layout.h"
#include "disk/upgrade.h"
#include "lib/mem.h"
#include "runtime/runtime.h"

#define TRIAL_S 600
#define ASKED_NS 50000ull
#define RETRY_NS 1000000ull /* while others ask the disk */

enum step {
	WAIT,
	FIND_ENV, FIND_BLOCK, FIND_IMAGE, FIND_HEADER,
	IDLE,
	ENV_READ, ENV_WRITE, ENV_FLUSH, ENV_CHECK,
	WRITE, INSTALL,
};

static const char not_started[] = "the machine was not started from a disk with images";

static struct {
	enum step step;
	bool asked;         /* a request is under way */
	const char *why;
	char id[BOOT_ENV_ID + 1];
	unsigned disk, running;
	unsigned looking;   /* FIND_IMAGE: the image */
	struct boot_env env;
	uint64_t env_at;    /* byte of the block on the disk */
	uint64_t at[IMAGES], bytes[IMAGES]; /* the partitions; 0: there is none */
	bool whole[IMAGES];
	struct image image[IMAGES];
	uint64_t trial_ends_ns;
	uint8_t *buffer;    /* GPT_BUFFER bytes, for all steps but WRITE and INSTALL */
	struct gpt gpt;
	/* the change */
	const char *doing;
	boot_disk_done done;
	void *arg;
	struct boot_env next;
	bool then_write;    /* ENV_CHECK leads to WRITE */
	unsigned target;    /* disk of INSTALL */
	uint8_t *memory;    /* of WRITE and INSTALL: INSTALL_MEMORY bytes, once they are needed */
	struct upgrade upgrade;
	struct install install;
} boot = {.why = not_started, .step = IDLE, .trial_ends_ns = UINT64_MAX};

static unsigned other(void) { return boot.running == 0; }

/* --- the end of a change --- */

static void end(const char *why)
{
	const boot_disk_done done = boot.done;
	boot.step = IDLE;
	boot.doing = NULL;
	boot.done = NULL;
	if (done)
		done(boot.arg, why);
}

/* --- finding the disk --- */

static void find_on(unsigned disk)
{
	const struct gpt_guid env = GPT_TYPE_BOOT_ENV;
	boot.step = FIND_ENV;
	for (boot.disk = disk; boot.disk < disks_count(); boot.disk++) {
		const struct blk *b = &disks_get(boot.disk)->blk;
		if (b->state == BLK_FAILED || b->sector != BOOT_ENV_ATOMIC)
			continue;
		gpt_begin(&boot.gpt, b->sector, b->sectors, &env, boot.buffer);
		return;
	}
	boot.why = "the disk from which the machine was started is not found";
	boot.step = IDLE;
	log_event(LOG_ERR, "IMAGE", "%s", boot.why);
}

static void find_image(unsigned image)
{
	const struct gpt_guid types[IMAGES] = {GPT_TYPE_IMAGE_A, GPT_TYPE_IMAGE_B};
	const struct blk *b = &disks_get(boot.disk)->blk;
	boot.looking = image;
	boot.step = FIND_IMAGE;
	gpt_begin(&boot.gpt, b->sector, b->sectors, &types[image], boot.buffer);
}

static void begin_trial(void)
{
	const uint64_t s = core_option_number("trial-seconds", TRIAL_S);
	if (boot.env.active == boot.running || boot.env.trying != boot.running || !boot.env.tried)
		return;
	if (s)
		boot.trial_ends_ns = core_now_ns() + s * SECOND_NS;
	log_event(LOG_WARNING, "IMAGE",
	          "image %c runs on trial: without `upgrade confirm` the next boot starts image %c",
	          image_letter(boot.running), image_letter(boot.env.active));
	if (s)
		log_event(LOG_WARNING, "IMAGE", "without it the machine restarts in %llu seconds",
		          (unsigned long long)s);
}

static void found_all(void)
{
	boot.why = boot.at[0] && boot.at[1] ? NULL : "the disk lacks a partition for an image";
	boot.step = IDLE;
	if (boot.why) {
		log_event(LOG_ERR, "IMAGE", "disk%u: %s", boot.disk, boot.why);
		return;
	}
	log_event(LOG_NOTICE, "IMAGE", "started from disk%u, image %c", boot.disk, image_letter(boot.running));
	if (boot.env.trying != IMAGE_NONE && boot.env.trying != boot.running && boot.env.tried)
		log_event(LOG_WARNING, "IMAGE",
		          "image %c was started on trial and has not been confirmed: image %c runs",
		          image_letter(boot.env.trying), image_letter(boot.running));
	begin_trial();
}

static void image_looked_at(void)
{
	if (boot.looking + 1 < IMAGES)
		find_image(boot.looking + 1);
	else
		found_all();
}

static void gpt_ended(void)
{
	if (boot.step == FIND_ENV && !boot.gpt.found) {
		find_on(boot.disk + 1);
	} else if (boot.step == FIND_ENV) {
		boot.env_at = boot.gpt.at + BOOT_ENV_AT;
		boot.step = FIND_BLOCK;
		if (boot.gpt.bytes < BOOT_ENV_AT + BOOT_ENV_BYTES)
			find_on(boot.disk + 1);
	} else if (boot.gpt.found && boot.gpt.bytes >= 2 * IMAGE_HEADER) {
		boot.at[boot.looking] = boot.gpt.at;
		boot.bytes[boot.looking] = boot.gpt.bytes;
		boot.step = FIND_HEADER;
	} else {
		image_looked_at();
	}
}

static void find_done(int error)
{
	if (boot.step == FIND_ENV || boot.step == FIND_IMAGE) {
		gpt_done(&boot.gpt, error);
	} else if (boot.step == FIND_BLOCK) {
		if (!error && boot_env_read(boot.buffer, &boot.env) && strcmp(boot.env.id, boot.id) == 0)
			find_image(0);
		else
			find_on(boot.disk + 1);
	} else {
		boot.whole[boot.looking] = !error && !image_read(boot.buffer, &boot.image[boot.looking]);
		image_looked_at();
	}
}

/* --- changes --- */

static void begin_write(void)
{
	boot.whole[other()] = false; /* its header is going to be erased */
	boot.step = WRITE;
}

static void env_done(int error)
{
	struct boot_env is;
	if (error) {
		end("the disk cannot be read or written");
		return;
	}
	switch (boot.step) {
	case ENV_READ:
		if (!boot_env_read(boot.buffer, &is) || strcmp(is.id, boot.id) != 0)
			end("the environment block is damaged");
		else if (boot_env_write(boot.buffer, &boot.next) != E_OK)
			end("the environment block is full");
		else
			boot.step = ENV_WRITE;
		break;
	case ENV_CHECK:
		if (!boot_env_read(boot.buffer, &is) || is.active != boot.next.active ||
		    is.trying != boot.next.trying || is.tried != boot.next.tried) {
			end("the disk has not kept what was written");
			break;
		}
		if (boot.env.active != boot.next.active)
			log_event(LOG_NOTICE, "IMAGE", "image %c is the active one", image_letter(boot.next.active));
		if (boot.env.trying != boot.next.trying && boot.next.trying != IMAGE_NONE)
			log_event(LOG_NOTICE, "IMAGE", "the next boot starts image %c, once",
			          image_letter(boot.next.trying));
		boot.env = boot.next;
		if (boot.env.active == boot.running)
			boot.trial_ends_ns = UINT64_MAX;
		if (boot.then_write)
			begin_write();
		else
			end(NULL);
		break;
	default:
		boot.step++;
		break;
	}
}

static void write_ended(void)
{
	if (!boot.upgrade.why) {
		boot.image[other()] = boot.upgrade.image;
		boot.whole[other()] = true;
	}
	end(boot.upgrade.why);
}

/* --- requests --- */

static void plain(struct disk_request *r, enum disk_op op, uint64_t at, uint32_t bytes)
{
	*r = (struct disk_request){.op = op, .at = at, .bytes = bytes, .data = boot.buffer};
}

/* The next request of the step, and its disk. False: the step has ended, and another one follows. */
static bool next_request(struct disk_request *r, unsigned *disk)
{
	*disk = boot.step == INSTALL ? boot.target : boot.disk;
	switch (boot.step) {
	case FIND_ENV:
	case FIND_IMAGE:
		if (gpt_request(&boot.gpt, r))
			return true;
		gpt_ended();
		return false;
	case FIND_BLOCK:
	case ENV_READ:
	case ENV_CHECK:
		plain(r, DISK_READ, boot.env_at, BOOT_ENV_BYTES);
		return true;
	case ENV_WRITE: /* one sector: boot_env.h */
		plain(r, DISK_WRITE, boot.env_at, BOOT_ENV_ATOMIC);
		return true;
	case ENV_FLUSH:
		plain(r, DISK_FLUSH, 0, 0);
		return true;
	case FIND_HEADER:
		plain(r, DISK_READ, boot.at[boot.looking] + boot.bytes[boot.looking] - IMAGE_HEADER, IMAGE_HEADER);
		return true;
	case WRITE:
		if (!upgrade_request(&boot.upgrade, r)) {
			write_ended();
			return false;
		}
		r->at += r->op == DISK_FLUSH ? 0 : boot.at[other()];
		return true;
	default:
		if (install_request(&boot.install, r))
			return true;
		end(boot.install.why);
		return false;
	}
}

static void step_done(void *arg, int error)
{
	(void)arg;
	boot.asked = false;
	if (boot.step < IDLE)
		find_done(error);
	else if (boot.step < WRITE)
		env_done(error);
	else if (boot.step == WRITE)
		upgrade_done(&boot.upgrade, error);
	else
		install_done(&boot.install, error);
}

static bool is_idle(void) { return boot.step == IDLE; }

uint64_t boot_disk_timer(void)
{
	struct disk_request r;
	unsigned disk;
	if (boot.step == WAIT) {
		if (disks_starting())
			return core_now_ns() + 10 * RETRY_NS;
		find_on(0);
	}
	while (!is_idle() && !boot.asked) {
		if (!next_request(&r, &disk))
			continue;
		if (r.op == DISK_NONE) { /* it hashes: a piece a turn */
			step_done(NULL, E_OK);
			return core_now_ns();
		}
		boot.asked = true;
		const int error = disks_ask(disk, &r, step_done, NULL);
		if (error == E_AGAIN) {
			boot.asked = false;
			return core_now_ns() + RETRY_NS;
		}
		if (error)
			step_done(NULL, E_DEVICE);
	}
	/* storage_timer() has looked at the disks before this request */
	return boot.asked ? core_now_ns() + ASKED_NS : UINT64_MAX;
}

/* --- for others --- */

void boot_disk_open(void)
{
	char image[2];
	boot.why = not_started;
	if (!core_option("boot-disk", boot.id, sizeof boot.id) || !core_option("boot-image", image, sizeof image) ||
	    (image[0] != 'A' && image[0] != 'B'))
		return;
	boot.running = image[0] == 'B';
	boot.buffer = core_private_alloc(GPT_BUFFER);
	boot.why = boot.buffer ? "the disk is being looked for" : "not enough memory";
	boot.step = boot.buffer ? WAIT : IDLE;
}

void boot_disk_status(struct boot_disk_status *s)
{
	*s = (struct boot_disk_status){.why = boot.why, .disk = boot.disk, .running = boot.running, .env = boot.env,
	                               .doing = boot.doing};
	memcpy(s->whole, boot.whole, sizeof s->whole);
	memcpy(s->image, boot.image, sizeof s->image);
	if (boot.step == INSTALL) {
		s->done = boot.install.done;
		s->all = boot.install.pieces;
	}
}

uint64_t boot_disk_trial_ends(void) { return boot.trial_ends_ns; }

static const char *may_change(void)
{
	if (boot.doing)
		return "another change of the disk is under way";
	return boot.why;
}

const char *boot_disk_may_write(void)
{
	const char *why = may_change();
	if (why)
		return why;
	if (boot.env.active != IMAGE_NONE ? boot.env.active != boot.running : boot.running != 0)
		return "the image that runs has not been confirmed: `upgrade confirm`, or `reload` to the one before";
	return NULL;
}

static void begin(const char *doing, boot_disk_done done, void *arg)
{
	boot.doing = doing;
	boot.done = done;
	boot.arg = arg;
	boot.then_write = false;
	boot.step = ENV_READ;
}

const char *boot_disk_change(enum boot_disk_change change, boot_disk_done done, void *arg)
{
	const char *why = may_change();
	if (why)
		return why;
	boot.next = boot.env;
	boot.next.trying = IMAGE_NONE;
	boot.next.tried = false;
	if (change == BOOT_DISK_ACTIVATE) {
		if ((why = boot_disk_may_write()) != NULL)
			return why;
		if (!boot.whole[other()])
			return "there is no other image";
		boot.next.trying = other();
		boot.next.active = boot.running;
	} else if (change == BOOT_DISK_CONFIRM) {
		boot.next.active = boot.running;
	}
	begin("the environment block is being written", done, arg);
	return NULL;
}

_Static_assert(INSTALL_MEMORY >= UPGRADE_PIECE, "serves both");

static bool have_memory(void)
{
	if (!boot.memory)
		boot.memory = core_private_alloc(INSTALL_MEMORY);
	return boot.memory;
}

const char *boot_disk_file_bytes(const uint8_t header[IMAGE_HEADER], uint64_t *bytes)
{
	struct image image;
	const char *why = image_read(header, &image);
	if (!why && image.bytes > IMAGE_FILE_MAX - IMAGE_HEADER)
		why = "the file is longer than 64 MiB";
	*bytes = why ? 0 : IMAGE_HEADER + image.bytes;
	return why;
}

const char *boot_disk_write(const uint8_t *file, uint64_t bytes, boot_disk_done done, void *arg)
{
	const char *why = boot_disk_may_write();
	if (why)
		return why;
	if (!have_memory())
		return "not enough memory";
	why = upgrade_begin(&boot.upgrade, file, bytes, boot.bytes[other()], boot.memory);
	begin("an image is being written", done, arg);
	if (why) {
		boot.done = NULL;
		end(NULL);
		return why;
	}
	/* A trial that has not been used must not meet half an image. The block is written even if boot.env has no
	 * trial: a change that failed, which boot.env lacks, may be on the disk. */
	boot.next = boot.env;
	boot.next.trying = IMAGE_NONE;
	boot.next.tried = false;
	boot.then_write = true;
	return NULL;
}

const char *boot_disk_install(unsigned n, const uint8_t *file, uint64_t bytes, bool force, boot_disk_done done,
                              void *arg)
{
	static uint8_t random[INSTALL_RANDOM];
	struct storage_status store;
	storage_status(&store);
	if (boot.doing || boot.step < IDLE)
		return "another change of a disk is under way";
	if (n >= disks_count() || disks_get(n)->blk.state == BLK_FAILED || disks_get(n)->blk.state == BLK_STARTING)
		return "there is no such disk";
	if (!boot.why && n == boot.disk)
		return "the machine was started from this disk";
	if (store.bytes && store.disk == n)
		return "the store is on this disk";
	if (!disks_get(n)->blk.writable)
		return "the disk cannot be written";
	if (!have_memory())
		return "not enough memory";
	core_random(random, sizeof random);
	const char *why = install_begin(&boot.install, file, bytes, disks_get(n)->blk.sector,
	                                disks_get(n)->blk.sectors, random, force, boot.memory);
	begin("a disk is being installed", done, arg);
	boot.target = n;
	boot.step = INSTALL;
	if (why) {
		boot.done = NULL;
		end(NULL);
	}
	return why;
}
