/* Small functions for x86-64, each with one property that decides its verdict. What each counts is in zoo_test.py. */
    .intel_syntax noprefix
    .text

/* .Lname: for calls that no other file can take. */
.macro function name
    .globl \name
    .type \name, @function
\name:
.L\name:
.endm
.macro done name
    .size \name, . - \name
.endm

function straight_line /* one load, one store, a return */
    endbr64
    mov rax, [rdi]
    lea rax, [rax + rax * 2]
    mov [rsi], rax
    nop dword ptr [rax]
    ret
done straight_line

function read_modify_write /* counts as a load and a store each */
    add dword ptr [rdi], 1
    inc qword ptr [rdi]
    not byte ptr [rdi]
    cmp dword ptr [rdi], 3
    sete byte ptr [rsi]
    imul rax, [rdi], 5
    bts dword ptr [rdi], 4
    movzx eax, byte ptr [rdi]
    cmovne rax, [rdi]
    ret
done read_modify_write

function vectors
    movups xmm0, [rdi]
    movaps xmm1, xmm0
    paddd xmm0, [rsi]
    movdqu [rdi], xmm0
    movq [rdi], xmm0
    movsd xmm2, [rdi]
    movsd [rsi], xmm2
    addsd xmm2, [rdi]
    pextrq [rdi], xmm0, 1
    comisd xmm2, [rdi]
    prefetcht0 [rdi]
    ret
done vectors

function strings_once /* without a prefix they are bounded */
    movsb
    stosq
    lodsb
    cmpsb
    ret
done strings_once

function diamond /* the longer way has one instruction more, the shorter two loads */
    test rdi, rdi
    je 1f
    lea rax, [rdi + 1]
    lea rax, [rax + 1]
    lea rax, [rax + 1]
    jmp 2f
1:  mov rax, [rsi]
    mov rax, [rsi + 8]
2:  ret
done diamond

function loop_unbounded
1:  dec rdi
    jne 1b
    ret
done loop_unbounded

.macro at_most times
771: nop
    .pushsection .flatline.loops, "", @progbits
    .quad 771b, \times
    .popsection
.endm

function loop_verified /* the code itself says four */
    xor ecx, ecx
1:  at_most 4
    add rax, [rdi + rcx * 8]
    add ecx, 1
    cmp ecx, 4
    jne 1b
    ret
done loop_verified

function loop_downwards /* tested before the body */
    mov ecx, 3
1:  test ecx, ecx
    je 2f
    at_most 3
    dec ecx
    jmp 1b
2:  ret
done loop_downwards

function loop_assumed /* the bound is the source's word */
1:  at_most 4
    mov rdi, [rdi]
    test rdi, rdi
    jne 1b
    ret
done loop_assumed

function loop_understated /* goes round four times, and three are stated */
    xor ecx, ecx
1:  at_most 3
    add ecx, 1
    cmp ecx, 4
    jne 1b
    ret
done loop_understated

function loop_half_marked /* the inner one has no bound */
    mov ecx, 4
1:  at_most 4
2:  dec rdi
    jne 2b
    dec ecx
    jne 1b
    ret
done loop_half_marked

function loop_with_two_ways_in
    test rdi, rdi
    je 2f
1:  dec rsi
2:  dec rdi
    jne 1b
    ret
done loop_with_two_ways_in

function recursion
    test rdi, rdi
    je 1f
    dec rdi
    sub rsp, 8
    call .Lrecursion
    add rsp, 8
1:  ret
done recursion

function mutual_recursion
    sub rsp, 8
    call other_recursion
    add rsp, 8
    ret
done mutual_recursion

    .type other_recursion, @function
other_recursion:
    test rdi, rdi
    je 1f
    dec rdi
    sub rsp, 8
    call .Lmutual_recursion
    add rsp, 8
1:  ret
done other_recursion

function recursion_by_jump
    test rdi, rdi
    je 1f
    dec rdi
    jmp .Lrecursion_by_jump
1:  ret
done recursion_by_jump

    .type helper, @function
helper: /* 4 instructions, a load, a store, 8 bytes of stack */
    push rdi
    mov rax, [rdi]
    pop rdi
    ret
done helper

function calls_helper /* twice, on two ways */
    push rbx
    test rdi, rdi
    je 1f
    call helper
1:  call helper
    pop rbx
    ret
done calls_helper

function tail_call
    mov rax, [rdi]
    jmp helper
done tail_call

function jump_table
    cmp edi, 3
    ja 1f
    lea rax, table[rip]
    movsxd rcx, dword ptr [rax + rdi * 4]
    add rax, rcx
    jmp rax
1:  xor eax, eax
    ret
2:  mov eax, 1
    ret
3:  mov eax, 2
    ret
done jump_table
    .section .rodata
table:
    .long 1b - table, 2b - table, 3b - table, 1b - table
    .text

function function_pointer
    sub rsp, 8
    call [rdi]
    add rsp, 8
    ret
done function_pointer

function hands_over /* at one place, which its mark says */
    test rsi, rsi
    je 1f
    ret
1:  jmp [rdi]
done hands_over
    .pushsection .flatline.bounded, "", @progbits
    .asciz "hands_over hands-over=1"
    .asciz "copies apart=memcpy"
    .asciz "straight_line"
    .popsection

function plt_call
    sub rsp, 8
    call getpid@plt
    add rsp, 8
    ret
done plt_call

function plt_tail_call
    jmp getpid@plt
done plt_tail_call

function got_call
    sub rsp, 8
    call [rip + getpid@gotpcrel]
    add rsp, 8
    ret
done got_call

function interposed /* another file may define what it calls */
    sub rsp, 8
    call straight_line@plt
    add rsp, 8
    ret
done interposed

function copies
    sub rsp, 8
    call memcpy@plt
    add rsp, 8
    ret
done copies

function system_call
    mov eax, 39
    syscall
    ret
done system_call

function repeats
    mov ecx, 16
    rep movsb
    ret
done repeats

function locked_add
    lock add dword ptr [rdi], 1
    xchg [rsi], rax
    ret
done locked_add

function compare_and_swap_loop
    mov rax, [rdi]
1:  lea rcx, [rax + 1]
    lock cmpxchg [rdi], rcx
    jne 1b
    ret
done compare_and_swap_loop

function compare_and_swap_once
    mov rax, [rdi]
    lock cmpxchg [rdi], rsi
    sete al
    ret
done compare_and_swap_once

function traps
    test rdi, rdi
    je 1f
    ret
1:  mov rax, [rsi]
    ud2
done traps

function aborts
    test rdi, rdi
    je 1f
    ret
1:  sub rsp, 8
    call abort@plt
done aborts

    .type dies, @function
dies:
    sub rsp, 8
    mov rax, [rdi]
    call abort@plt
done dies

function calls_what_dies
    test rdi, rdi
    jne 1f
    call dies
1:  ret
done calls_what_dies

function never_returns
    sub rsp, 8
    call abort@plt
done never_returns

function overlaps /* the constant of the first instruction is the second */
    test rdi, rdi
    je 1f + 1
1:  mov eax, 0xc3c3c3c3
    ret
done overlaps

function skips_a_prefix /* jumps past the lock: two readings of the same bytes */
    test rdi, rdi
    je 1f
    .byte 0xf0
1:  add dword ptr [rsi], 1
    ret
done skips_a_prefix

function undecodable
    test rdi, rdi
    je 1f
    ret
1:  .byte 0x06
    ret
done undecodable

function returns_elsewhere /* a jump in disguise */
    push rdi
    ret
done returns_elsewhere

function overwrites_its_return
    mov [rsp], rdi
    ret
done overwrites_its_return

function grows_by_a_register
    push rbp
    mov rbp, rsp
    sub rsp, rdi
    leave
    ret
done grows_by_a_register

function depth_by_path
    test rdi, rdi
    je 1f
    push rax
1:  ret
done depth_by_path

function has_a_frame
    push rbp
    mov rbp, rsp
    sub rsp, 40
    mov [rbp - 8], rdi
    mov [rsp], rdi
    leave
    ret
done has_a_frame

function leaves_by_lea
    push rbp
    lea rbp, [rsp - 8]
    sub rsp, 128
    lea rsp, [rbp + 8]
    pop rbp
    ret
done leaves_by_lea

function uses_the_red_zone
    mov [rsp - 72], rdi
    mov rax, [rsp - 72]
    ret
done uses_the_red_zone

function fenced
    mfence
    pause
    rdtsc
    ret
done fenced

function interrupts
    int 0x80
    ret
done interrupts

function asks_the_processor
    cpuid
    ret
done asks_the_processor

    .type which, @function
which:
    lea rax, helper[rip]
    ret
done which
    .globl picked
    .type picked, @gnu_indirect_function
    .set picked, which

function calls_the_picked
    sub rsp, 8
    call picked@plt
    add rsp, 8
    ret
done calls_the_picked

function old_form
    ret
done old_form
function new_form
    nop
    ret
done new_form
    .symver old_form, versioned@ZOO_1
    .symver new_form, versioned@@ZOO_2

    .section .fini, "ax", @progbits /* behind all other code */
function falls_off
    nop
done falls_off
    .section .note.GNU-stack, "", @progbits
