/* The BFD sessions of the routing engine (bfd.h). */
#ifndef CONTROL_ENGINE_BFD_SESSIONS_H
#define CONTROL_ENGINE_BFD_SESSIONS_H

#include "control/engine/bfd.h"

/* Takes the memory, once. False: there is not enough. */
bool bfd_sessions_prepare(void);

/* Takes packets to the BFD ports from now on, or leaves them to others. */
void bfd_sessions_take(bool packets);

/* Adds the session that bfdd states, or changes it. */
enum engine_bfd_refusal bfd_sessions_state(const struct bfd_dplane_session *m);

/* The session of that local discriminator; NULL: none. */
struct engine_bfd_session *bfd_sessions_find(uint32_t lid);

/* Tells the peer that the session is administratively down, and ends it. */
void bfd_sessions_end(struct engine_bfd_session *e);

/* Marks all sessions as stale; ends those that are stale; forgets all without telling anybody. */
void bfd_sessions_make_stale(void);
void bfd_sessions_end_stale(void);
void bfd_sessions_forget(void);

/* Sends and expires what is due; returns when to call again, UINT64_MAX: not before a packet. */
uint64_t bfd_sessions_work(uint64_t now_ns);

/* The next message for bfdd about a session, written to out (BFD_DPLANE_OUT_MAX octets). 0: none now;
 * then *due_ns is not later than the time of the next. */
unsigned bfd_sessions_tell(uint8_t *out, uint64_t now_ns, uint64_t *due_ns);

#endif
