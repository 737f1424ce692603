/*
 * Severities of messages, as in RFC 5424 6.2.1 (table 2): the smaller the number, the more urgent. A level names the
 * messages of its number and of all smaller ones.
 */
#ifndef LIB_LOG_LEVEL_H
#define LIB_LOG_LEVEL_H

/* The words are those that the console takes. */
#define LOG_LEVEL_WORDS(X) \
	X(LOG_EMERG, "emergencies") \
	X(LOG_ALERT, "alerts") \
	X(LOG_CRIT, "critical") \
	X(LOG_ERR, "errors") \
	X(LOG_WARNING, "warnings") \
	X(LOG_NOTICE, "notifications") \
	X(LOG_INFO, "informational") \
	X(LOG_DEBUG, "debugging")

#define LOG_LEVEL_NUMBER(name, word) name,
enum log_level { LOG_LEVEL_WORDS(LOG_LEVEL_NUMBER) LOG_LEVELS };
#undef LOG_LEVEL_NUMBER

/* The word of a level. */
const char *log_level_word(enum log_level level);

/* The level of a word, or of its number as one digit; LOG_LEVELS: it is neither. */
enum log_level log_level_of(const char *word);

#endif
