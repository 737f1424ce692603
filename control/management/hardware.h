/* Words for what the kernel found (abi/hardware.h), for `show hardware` and /api/v1/hardware.json. */
#ifndef CONTROL_MANAGEMENT_HARDWARE_H
#define CONTROL_MANAGEMENT_HARDWARE_H

#include "runtime/runtime.h"

/* "UEFI", "BIOS" or "unknown". */
const char *hardware_firmware_word(const struct hardware *hw);

/* A bit of cpu_features, below HARDWARE_FEATURE_COUNT. */
const char *hardware_feature_word(unsigned feature);

/* Of a class code: "Ethernet controller", "host bridge"; "device" if it is not known. */
const char *hardware_class_word(uint32_t class);

/* Why core programs do not see a BAR, or that they do; enum hardware_bar_state. */
const char *hardware_bar_word(unsigned state);

/* enum hardware_window_kind, below HARDWARE_WINDOWS. */
const char *hardware_window_word(unsigned kind);

/* Tenths of GT/s of a link speed as in the link registers; 0: unknown. */
unsigned hardware_link_tenths(unsigned speed);

/* CPUID's numbers of a processor (Intel SDM vol. 2A, CPUID, "Version Information"). */
struct hardware_cpu {
	unsigned family, model, stepping;
};
struct hardware_cpu hardware_cpu_of(uint32_t signature);

#endif
