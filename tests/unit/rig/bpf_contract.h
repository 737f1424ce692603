/* What bpf_object_load promises, for tests and fuzz entry; asserts. */
#ifndef TESTS_UNIT_RIG_BPF_CONTRACT_H
#define TESTS_UNIT_RIG_BPF_CONTRACT_H

#include "bpf/program.h"

/* A refusal has a printable reason. Of a loaded object every byte of every program and of all initial values
 * can be read, names are printable and different, maps, places in data and called functions exist. */
void bpf_object_contract(bool loaded, const struct bpf_object *o, const struct bpf_reason *why);

#endif
