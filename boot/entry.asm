; Entry point of the image: from GRUB (Multiboot2) or QEMU -kernel (PVH) to 64-bit kmain().
;
; Both loaders enter in 32-bit protected mode, paging off, at a physical address:
;   Multiboot2 specification 2.0, 3.3 "I386 machine state": EAX = magic, EBX = information.
;   PVH boot ABI (Xen docs, misc/pvh.pandoc): EBX = struct hvm_start_info.
; This file enables paging with static tables and jumps to the upper half. The tables map the first
; 4 GiB in 2 MiB pages at 0 and at the physical map, and the first GiB at the kernel's base.
; kernel/vm.c builds the final tables. The static ones remain for the application processors (ap.asm).
;
; Hand-off: kmain(uint64_t loader, uint64_t info) as in kernel/boot.h.

%include "boot/long_mode.inc"

LOADER_PVH	equ 1
LOADER_MULTIBOOT2 equ 2
MULTIBOOT2_MAGIC equ 0xE85250D6
MULTIBOOT2_LOADED equ 0x36D76289
XEN_ELFNOTE_PHYS32_ENTRY equ 18

PAGE_WRITE	equ 3		; present, writable; kernel/vm.c defines all the bits
PAGE_LARGE	equ 1 << 7

BOOT_STACK_BYTES equ 16384	; kmain switches to core 0's own stack

extern kmain
global boot_pml4
global boot_pdpt
global multiboot2_start

section .boot.header progbits alloc noexec nowrite align=8
header:
	dd MULTIBOOT2_MAGIC, 0, header_end - header
	dd 0x100000000 - (MULTIBOOT2_MAGIC + (header_end - header))
	align 8, db 0		; framebuffer, optional: any size, 32 bits a pixel
	dw 5, 1
	dd 20, 0, 0, 32
	align 8, db 0		; modules on page boundaries
	dw 6, 0
	dd 8
	align 8, db 0		; end
	dw 0, 0
	dd 8
header_end:

section .note.Xen note alloc noexec nowrite align=4
	dd 4, 8, XEN_ELFNOTE_PHYS32_ENTRY
	db "Xen", 0
	dq pvh_start

section .boot.text progbits alloc exec nowrite align=16
bits 32
pvh_start:
	mov esi, LOADER_PVH
	jmp start32

multiboot2_start:
	mov esi, LOADER_MULTIBOOT2
	cmp eax, MULTIBOOT2_LOADED
	jne hang
start32:
	cli
	cld
	mov ebp, ebx		; cpuid overwrites ebx
	mov eax, 0x80000000
	cpuid
	cmp eax, 0x80000001
	jb no_long_mode
	mov eax, 0x80000001
	cpuid
	bt edx, 29		; long mode
	jnc no_long_mode
	bt edx, 20		; no-execute
	jnc no_long_mode

	ENTER_LONG_MODE
	lgdt [boot_gdtr]
	jmp 8:start64

no_long_mode:			; print a message on the first serial port, then stop
	mov ebx, no_long_mode_text
.next:	mov al, [ebx]
	test al, al
	jz hang
	mov dx, 0x3F8
	out dx, al
	inc ebx
	jmp .next
hang:	hlt
	jmp hang
no_long_mode_text:
	db "hayate: this processor has no 64-bit mode with no-execute", 13, 10, 0

bits 64
start64:
	CLEAR_SEGMENTS
	mov rsp, boot_stack_top
	mov edi, esi
	mov esi, ebp
	xor ebp, ebp
	mov rax, kmain
	call rax
	ud2			; kmain does not return

section .boot.data progbits alloc noexec write align=4096
boot_pml4:
	dq boot_pdpt + PAGE_WRITE
	times 255 dq 0
	dq boot_pdpt + PAGE_WRITE	; 256: the physical map
	times 254 dq 0
	dq boot_pdpt_high + PAGE_WRITE	; 511: the kernel
boot_pdpt:
%assign i 0
%rep 4
	dq boot_pd + i * 4096 + PAGE_WRITE
%assign i i + 1
%endrep
	times 508 dq 0
boot_pdpt_high:
	times 510 dq 0
	dq boot_pd + PAGE_WRITE
	dq 0
boot_pd:
%assign i 0
%rep 2048
	dq i * 0x200000 + PAGE_WRITE + PAGE_LARGE
%assign i i + 1
%endrep

boot_gdt:
	dq 0
	dq 0x00AF9A000000FFFF	; 64-bit code
boot_gdtr:
	dw boot_gdtr - boot_gdt - 1
	dq boot_gdt

section .bss
align 16
	resb BOOT_STACK_BYTES
boot_stack_top:
