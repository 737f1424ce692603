; Runs between firmware and kernel, and takes back what firmware has assigned on PCI: all BARs and bridge windows
; are 0, and nothing is decoded, as after a reset. Bus numbers stay. unassigned.py puts it into an image.
; Defined by the assembler's caller: BASE, the address of this code, and ENTRY, the kernel's; KEEP_WINDOWS, 1 if the
; windows of bridges stay.
;
; PVH boot ABI: 32-bit protected mode, flat segments, paging off, EBX = start information, which is passed on.
; PCI 3.0: 3.2.2.3.2 (configuration mechanism 1), 6.1; PCI-to-PCI Bridge Architecture Specification 1.2.

CF8_ADDRESS	equ 0xCF8
CF8_DATA	equ 0xCFC
CFG_COMMAND	equ 0x04
CFG_CLASS	equ 0x08		; class in 31:24, subclass in 23:16
CFG_HEADER	equ 0x0C		; header type in 22:16
CFG_BAR0	equ 0x10
CFG_IO_WINDOW	equ 0x1C		; 15:0; above lies the secondary status
CFG_WINDOW	equ 0x20		; memory, prefetchable and their upper halves: to 0x30
HOST_BRIDGE	equ 0x0600
ISA_BRIDGE	equ 0x0601

bits 32
org BASE
	mov esp, stack_top
	push ebx
	xor esi, esi		; bus << 8 | device << 3 | function
.next:	xor edi, edi
	call read
	cmp ax, 0xFFFF
	je .done
	mov edi, CFG_CLASS
	call read
	shr eax, 16
	cmp eax, HOST_BRIDGE	; it decodes memory
	je .done
	cmp eax, ISA_BRIDGE	; the serial port and the exit port are behind it
	je .done
	mov edi, CFG_COMMAND
	call write_low
	mov edi, CFG_HEADER
	call read
	mov ecx, 6		; BARs
	test eax, 0x7F0000
	jz .bars
	mov ecx, 2
%if KEEP_WINDOWS == 0
	mov edi, CFG_IO_WINDOW
	call write_low
	mov edi, CFG_WINDOW
.window:
	call write
	add edi, 4
	cmp edi, CFG_WINDOW + 0x14
	jb .window
%endif
.bars:	mov edi, CFG_BAR0
.bar:	call write
	add edi, 4
	loop .bar
.done:	inc esi
	cmp esi, 0x10000
	jb .next
	pop ebx
	mov eax, ENTRY
	jmp eax

select:				; register edi of function esi
	mov eax, esi
	shl eax, 8
	or eax, edi
	or eax, 0x80000000
	mov dx, CF8_ADDRESS
	out dx, eax
	mov dx, CF8_DATA
	ret
read:	call select
	in eax, dx
	ret
write:	call select
	xor eax, eax
	out dx, eax
	ret
write_low:			; 15:0 only
	call select
	xor eax, eax
	out dx, ax
	ret

align 16
	times 256 db 0
stack_top:
