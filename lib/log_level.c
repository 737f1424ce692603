/* See log_level.h. */
#include "lib/log_level.h"

#include "lib/mem.h"

static const char *const words[LOG_LEVELS] = {
#define WORD(name, word) word,
	LOG_LEVEL_WORDS(WORD)
#undef WORD
};

const char *log_level_word(enum log_level level) { return words[level]; }

enum log_level log_level_of(const char *word)
{
	for (enum log_level l = 0; l < LOG_LEVELS; l++)
		if (strcmp(word, words[l]) == 0 || (word[0] == (char)('0' + (int)l) && !word[1]))
			return l;
	return LOG_LEVELS;
}
