/* The models of Intel's 82599ES and X550 10 GbE controllers. See 82599.c and x550.c. */
#ifndef NICSIM_82599_H
#define NICSIM_82599_H

#include "tools/nicsim/model.h"

extern const struct model_ops intel_82599_ops, intel_x550_ops;

/* The type codes of a module (SFF-8472, table 5-3): bytes 3, 6 and 8 of its identity. Byte 12, the nominal rate in
 * units of 100 MBd, 0: 103; byte 14, kilometres on single-mode fibre. */
struct sfp_codes {
	uint8_t ten, one, cable, rate, km;
};

/* For tests: puts another module in the cage; makes the module hold the clock low for `ns` before
 * each byte (the I2C specification's clock stretching); returns the EEPROM's words. */
void intel_82599_set_module(struct model *m, struct sfp_codes codes);
void intel_82599_set_stretch(struct model *m, uint64_t ns);
/* The other end uses 1 Gb/s, or again 10; a PHY, in low power, is on the MDIO bus at this address. */
void intel_82599_set_partner(struct model *m, bool slow);
void intel_82599_set_phy(struct model *m, uint8_t address);
uint16_t *intel_82599_eeprom(struct model *m);
/* X550: the other end negotiates this speed: 100, 1000, 2500, 5000 or 10000. */
void intel_x550_set_partner(struct model *m, uint32_t mbps);

#endif
