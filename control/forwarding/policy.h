/* The policy of interfaces besides access lists: source verification, redirects, directed
 * broadcasts, protocols of the routing engine. */
#ifndef CONTROL_FORWARDING_POLICY_H
#define CONTROL_FORWARDING_POLICY_H

/* Publishes the policy of all interfaces of running.config. May be called at any time. */
void policy_set(void);

#endif
