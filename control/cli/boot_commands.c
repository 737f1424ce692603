/* See boot_commands.h. */
#include "control/cli/boot_commands.h"

#include "control/commit/load.h"
#include "control/console/log.h"
#include "control/management/image_fetch.h"
#include "control/storage/boot_disk.h"
#include "control/storage/disks.h"
#include "lib/fmt.h"
#include "lib/mem.h"

#define INSTALL_FILE "install" /* of the boot module: tools/launcher/disk.py */

typedef unsigned long long ull;

/* The console that waits for the change that is under way; NULL: none does. */
static struct shell *waits;
static const char *well; /* what it is told if all is well */

static void stop_waiting(struct shell *sh)
{
	waits = NULL;
	shell_print(sh, "it goes on; `show boot` tells how\n");
	shell_done(sh);
}

static void ended(void *arg, const char *why)
{
	struct shell *sh = waits;
	(void)arg;
	waits = NULL;
	if (!sh) {
		log_event(why ? LOG_ERR : LOG_NOTICE, "IMAGE", "%s", why ? why : well);
		return;
	}
	shell_print(sh, "%s\n", why ? why : well);
	shell_done(sh);
}

/* A change has begun, or *why says why not. */
static void wait_for(struct shell *sh, const char *why, const char *success)
{
	if (why) {
		shell_print(sh, "%s\n", why);
		return;
	}
	waits = sh;
	well = success;
	shell_set_busy(sh, stop_waiting);
}

void upgrade_activate(struct shell *sh)
{
	wait_for(sh, boot_disk_change(BOOT_DISK_ACTIVATE, ended, NULL),
	         "the next boot starts the other image, once: `reload`");
}

void upgrade_confirm(struct shell *sh)
{
	wait_for(sh, boot_disk_change(BOOT_DISK_CONFIRM, ended, NULL), "the image that runs is the active one");
}

/* The console that waits for a download; NULL: none does. */
static struct shell *downloads;

static void downloaded(void *arg, const char *why)
{
	struct shell *sh = downloads;
	(void)arg;
	downloads = NULL;
	if (!sh)
		return;
	shell_print(sh, "%s%s\n", why ? "% " : "",
	            why ? why : "it is the other image: `upgrade activate` has the next boot start it");
	shell_done(sh);
}

static void stop_download(struct shell *sh)
{
	if (image_fetch_cancel())
		return;
	downloads = NULL;
	shell_print(sh, "it is being written, which goes on; `show boot` tells how\n");
	shell_done(sh);
}

void upgrade_url(struct shell *sh)
{
	if (sh->argc == 2 || (sh->argc == 3 && strcmp(sh->argv[1], "sha256") != 0)) {
		shell_print(sh, "%% behind the URL there is nothing, or sha256 HASH\n");
		return;
	}
	struct shell *other = downloads;
	downloads = sh; /* it may end at once */
	const char *why = image_fetch_begin(sh->argv[0], sh->argc == 3 ? sh->argv[2] : NULL, downloaded, NULL);
	if (why) {
		downloads = other;
		shell_print(sh, "%% %s\n", why);
	} else if (downloads) {
		shell_set_busy(sh, stop_download);
	}
}

void upgrade_cancel(struct shell *sh)
{
	if (image_fetch_cancel()) {
		shell_print(sh, "the download has been cancelled\n");
		return;
	}
	wait_for(sh, boot_disk_change(BOOT_DISK_CANCEL, ended, NULL), "the next boot starts the active image");
}

/* --- show boot --- */

/* What the environment block says about an image. */
static void put_state(struct shell *sh, const struct boot_disk_status *s, unsigned image)
{
	const bool runs = image == s->running, tries = image == s->env.trying && image != s->env.active;
	const char *comma = "";
	if (runs) {
		shell_print(sh, "runs");
		comma = ", ";
	}
	if (image == s->env.active) {
		shell_print(sh, "%sactive", comma);
		comma = ", ";
	}
	if (tries)
		shell_print(sh, "%s%s", comma,
		            !s->env.tried ? "the next boot starts it, once" : runs ? "on trial" : "not confirmed");
	else if (!runs && image != s->env.active)
		shell_print(sh, "-");
	shell_print(sh, "\n");
}

void show_boot(struct shell *sh)
{
	struct boot_disk_status s;
	char download[FETCH_TEXT];
	boot_disk_status(&s);
	if (image_fetch_text(download, sizeof download))
		shell_print(sh, "download: %s\n", download);
	if (s.doing)
		shell_print(sh, "%s", s.doing);
	if (s.doing && s.all)
		shell_print(sh, ": %u of %u pieces", s.done, s.all);
	if (s.doing)
		shell_print(sh, "\n");
	if (s.why) {
		shell_print(sh, "%s\n", s.why);
		return;
	}
	shell_print(sh, "started from disk%u, image %c\n", s.disk, image_letter(s.running));
	shell_print(sh, "%-5s  %-40s  %s\n", "image", "build", "state");
	for (unsigned i = 0; i < IMAGES; i++) {
		shell_print(sh, "%c      %-40s  ", image_letter(i), s.whole[i] ? s.image[i].build : "-");
		put_state(sh, &s, i);
	}
	const uint64_t now_ns = core_now_ns(), ends_ns = boot_disk_trial_ends();
	if (ends_ns != UINT64_MAX)
		shell_print(sh, "without `upgrade confirm` the machine restarts in %llu s\n",
		            (ull)(ends_ns > now_ns ? (ends_ns - now_ns) / SECOND_NS : 0));
}

const char *boot_words(char *to, size_t bytes)
{
	struct boot_disk_status s;
	boot_disk_status(&s);
	if (s.why)
		return NULL;
	fmt_format(to, bytes, "image %c of disk%u", image_letter(s.running), s.disk);
	return to;
}

/* --- install --- */

/* The number of "diskN"; disks_count(): there is none. */
static unsigned disk_named(const char *name)
{
	char is[8];
	for (unsigned n = 0; n < disks_count(); n++) {
		fmt_format(is, sizeof is, "disk%u", n);
		if (strcmp(name, is) == 0)
			return n;
	}
	return disks_count();
}

void install_command(struct shell *sh)
{
	const unsigned n = disk_named(sh->argv[0]);
	struct text file;
	bool confirmed = false, force = false;
	for (unsigned i = 1; i < sh->argc; i++) {
		const bool is_confirm = strcmp(sh->argv[i], "confirm") == 0;
		const bool is_force = strcmp(sh->argv[i], "force") == 0;
		if (!is_confirm && !is_force) {
			shell_print(sh, "%s is neither confirm nor force\n", sh->argv[i]);
			return;
		}
		confirmed |= is_confirm;
		force |= is_force;
	}
	if (n == disks_count()) {
		shell_print(sh, "there is no disk %s: `show storage`\n", sh->argv[0]);
		return;
	}
	if (!module_file(&boot_module, text_of(INSTALL_FILE), &file)) {
		shell_print(sh, "this machine has not been started from an image of `hayate image --installer`\n");
		return;
	}
	const struct blk *b = &disks_get(n)->blk;
	if (!confirmed) {
		shell_print(sh, "disk%u is %s, %llu MiB. `install disk%u %sconfirm` writes it\n", n, b->name,
		            (ull)(b->sectors * b->sector >> 20), n, force ? "force " : "");
		if (force)
			shell_print(sh, "all that is on it is lost\n");
		return;
	}
	wait_for(sh, boot_disk_install(n, (const uint8_t *)file.at, file.len, force, ended, NULL),
	         "the disk is ready: remove the medium from which the machine was started, and `reload`");
}
