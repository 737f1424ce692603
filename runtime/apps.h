/*
 * The list of the applications in the image. It generates the word on the command line, in the
 * configuration and on the console, the number in configuration and published memory, and the table
 * in apps/apps.c. The first one is the default.
 */
#ifndef RUNTIME_APPS_H
#define RUNTIME_APPS_H

/* X(word) for each; AND separates them: nothing, or the text between words in a list. */
#define CORE_APPS(X, AND) \
	X(router) AND \
	X(echo) AND \
	X(discard) AND \
	X(switch) AND \
	X(web) AND \
	X(pktgen)

#define CORE_APP_NUMBER(word) CORE_APP_##word,
enum core_app_number { CORE_APPS(CORE_APP_NUMBER, ) CORE_APP_COUNT };

#define CORE_APP_WORD(word) #word

static inline const char *core_app_word(enum core_app_number number)
{
#define CORE_APP_ROW(word) [CORE_APP_##word] = #word,
	static const char *const words[] = {CORE_APPS(CORE_APP_ROW, )};
#undef CORE_APP_ROW
	return words[number];
}

#endif
