/* The model of Intel's I226-V 2.5 GbE controller. See i226.c. */
#ifndef NICSIM_I226_H
#define NICSIM_I226_H

#include "tools/nicsim/model.h"

extern const struct model_ops intel_i226_ops;

/* For tests: the speed that the other end offers, 2500, 1000, 100 or 10 Mb/s; a register of the PHY, of clause 22 or,
 * with a device, of clause 45; the EEPROM's words. */
void i226_set_partner(struct model *m, unsigned mbps);
uint16_t *i226_phy(struct model *m, unsigned device, unsigned reg);
uint16_t *i226_eeprom(struct model *m);

#endif
