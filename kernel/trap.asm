; Entry from exceptions and interrupts (Intel SDM vol. 3A, 6.14). Every stub builds the same frame,
; struct trap_frame in kernel/trap.h, and calls trap_handler(frame). Vector registers are not saved:
; the kernel is compiled without them.

extern trap_handler
global trap_stubs
global trap_return

; Exceptions for which the CPU pushes an error code, one bit each (table 6-1).
%define HAS_ERROR_CODE (1 << 8 | 1 << 10 | 1 << 11 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 17 | \
	1 << 21 | 1 << 29 | 1 << 30)

section .text
; 16 bytes per stub: stub n is at trap_stubs + 16 * n.
align 16
trap_stubs:
%assign vector 0
%rep 256
	align 16
%if vector < 32 && (HAS_ERROR_CODE >> vector) & 1
	push dword vector	; the CPU has pushed the error code
%else
	push byte 0
	push dword vector
%endif
	jmp near trap_common
%assign vector vector + 1
%endrep

align 16
trap_common:
	push rax
	push rbx
	push rcx
	push rdx
	push rsi
	push rdi
	push rbp
	push r8
	push r9
	push r10
	push r11
	push r12
	push r13
	push r14
	push r15
	cld
	mov rdi, rsp
	xor ebp, ebp
	call trap_handler
	mov rdi, rsp

; trap_return(struct trap_frame *): leaves the kernel with this frame.
trap_return:
	mov rsp, rdi
	pop r15
	pop r14
	pop r13
	pop r12
	pop r11
	pop r10
	pop r9
	pop r8
	pop rbp
	pop rdi
	pop rsi
	pop rdx
	pop rcx
	pop rbx
	pop rax
	add rsp, 16		; vector, error code
	iretq
