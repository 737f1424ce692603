; Start of the application processors. kernel/smp.c copies ap_trampoline .. ap_trampoline_end to a
; page below 1 MiB and sends INIT and SIPI (Intel SDM vol. 3A, 8.4.4). A core then starts there in
; real mode with CS = page >> 4, IP = 0. The core derives from CS the addresses that the tables at the
; end of the page need. All cores write the same values.
;
; Each core takes a ticket by an atomic increment, so any number of cores may start at once. The
; ticket is the core's number and selects its stack.

%include "boot/long_mode.inc"

extern boot_pml4
extern ap_main
extern vm_kernel_space		; kernel/vm.c
extern ap_stacks		; uint64_t[]: top of the stack for each ticket, kernel/smp.c
global ap_trampoline
global ap_trampoline_end
global ap_ticket

section .rodata
align 16
ap_trampoline:
bits 16
	cli
	cld
	mov ax, cs
	mov ds, ax
	movzx ebx, ax
	shl ebx, 4		; physical address of this page
	lea eax, [ebx + gdt - ap_trampoline]
	mov [gdtr - ap_trampoline + 2], eax
	lea eax, [ebx + protected - ap_trampoline]
	mov [far32 - ap_trampoline], eax
	lea eax, [ebx + long64 - ap_trampoline]
	mov [far64 - ap_trampoline], eax
	o32 lgdt [gdtr - ap_trampoline]
	mov eax, CR0_PE | CR0_NE | CR0_MP
	mov cr0, eax
	o32 jmp far [far32 - ap_trampoline]

bits 32
protected:
	mov ax, 16
	mov ds, eax
	mov ss, eax
	ENTER_LONG_MODE
	jmp far [ebx + far64 - ap_trampoline]

bits 64
long64:
	CLEAR_SEGMENTS
	mov rax, ap_high
	jmp rax

align 8
gdt:
	dq 0
	dq 0x00CF9A000000FFFF	; 8: 32-bit code
	dq 0x00CF92000000FFFF	; 16: data
	dq 0x00AF9A000000FFFF	; 24: 64-bit code
gdtr:
	dw gdtr - gdt - 1
	dd 0
far32:
	dd 0
	dw 8
far64:
	dd 0
	dw 24
ap_trampoline_end:

section .text
ap_high:			; the kernel's page tables do not map the trampoline
	mov rax, [vm_kernel_space]
	mov cr3, rax
	mov edi, 1
	lock xadd [ap_ticket], edi
	mov rsp, [ap_stacks + rdi * 8]
	xor ebp, ebp
	call ap_main		; ap_main(uint32_t ticket)
	ud2

section .data
align 4
ap_ticket:
	dd 0
