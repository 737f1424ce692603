/* What interfaces ask of packets beyond access lists. */
#ifndef CONTROL_FORWARDING_POLICY_H
#define CONTROL_FORWARDING_POLICY_H

/* Tells the data cores what the configuration's interfaces ask of packets. At any time. */
void policy_set(void);

#endif
