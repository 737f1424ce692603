/* Runs a fuzz entry over files, and over the files of directories, without libFuzzer: for
 * `make coverage`, whose compiler has none. */
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

static void run(const char *path)
{
	struct stat s;
	FILE *in = fopen(path, "rb");
	if (in == NULL || fstat(fileno(in), &s) != 0) {
		perror(path);
		exit(1);
	}
	size_t size = (size_t)s.st_size;
	uint8_t *data = malloc(size ? size : 1);
	if (fread(data, 1, size, in) != size) {
		perror(path);
		exit(1);
	}
	fclose(in);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

/* A directory that is not there has no files. */
static void run_all(const char *path)
{
	char name[PATH_MAX];
	DIR *all = opendir(path);
	struct dirent *e;
	while (all && (e = readdir(all)) != NULL) {
		struct stat s;
		snprintf(name, sizeof name, "%s/%s", path, e->d_name);
		if (stat(name, &s) == 0 && S_ISREG(s.st_mode))
			run(name);
	}
	if (all)
		closedir(all);
}

int main(int argc, char **argv)
{
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++)
		run_all(argv[i]);
	return 0;
}
