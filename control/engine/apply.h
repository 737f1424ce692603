/* The messages of a frame, as one change of the routes (engine.h). */
#ifndef CONTROL_ENGINE_APPLY_H
#define CONTROL_ENGINE_APPLY_H

#include "control/engine/engine.h"

/* Takes the memory, once. False: there is not enough. */
bool engine_apply_prepare(void);

/* A new connection: forgets the next-hop objects of the one before. */
void engine_apply_begin(void);

/* Applies a frame that fpm_check has accepted. Appends acknowledgements, if they are configured, to
 * the *n of `room` octets at out. Returns the number of messages. */
unsigned engine_apply(const uint8_t *frame, uint32_t length, uint8_t *out, size_t room, size_t *n);

#endif
