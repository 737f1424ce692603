/* The event log on the console. */
#ifndef CONTROL_CLI_SHOW_LOGGING_H
#define CONTROL_CLI_SHOW_LOGGING_H

struct shell;

/* show logging [LEVEL] [last N] */
void show_logging(struct shell *sh);

/* clear logging */
void clear_logging(struct shell *sh);

#endif
