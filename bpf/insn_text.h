/*
 * Instructions as text, in the syntax that clang, llvm-objdump and bpftool use: r1 = *(u32 *)(r2 + 4).
 */
#ifndef BPF_INSN_TEXT_H
#define BPF_INSN_TEXT_H

#include "bpf/insn.h"

#define BPF_INSN_TEXT 64 /* bytes that are enough for any instruction, with its NUL */

/*
 * Writes the instruction and a NUL; returns out. A wide instruction takes its second half from i[1],
 * which must be there. Jumps are printed relative to the next instruction (goto +3), calls of helpers
 * by name if the helper is known. What is no instruction is printed in hexadecimal.
 */
char *bpf_insn_text(char out[BPF_INSN_TEXT], const struct bpf_insn *i);

#endif
