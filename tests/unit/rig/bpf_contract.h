/* What bpf_object_load promises, for tests and fuzz entry; asserts. */
#ifndef TESTS_UNIT_RIG_BPF_CONTRACT_H
#define TESTS_UNIT_RIG_BPF_CONTRACT_H

#include "bpf/layout.h"
#include "bpf/program.h"

/* A refusal has a printable reason. Of a loaded object every byte of every program and of all initial values
 * can be read, names are printable and different, maps, places in data and called functions exist. By a map's
 * layout, keys and values of any bytes can be printed, as JSON. */
void bpf_object_contract(bool loaded, const struct bpf_object *o, const struct bpf_reason *why);

/* Prints `bytes` bytes by a layout in `room` bytes of memory, which may be damaged. The text is JSON in printable
 * ASCII, or nothing has been printed. Returns whether it was, and leaves the text in `text`. */
bool bpf_layout_contract(const struct bpf_layout *layout, size_t room, unsigned root, const uint8_t *data,
                         uint32_t bytes, char *text, size_t size);

#endif
