/* Small functions for aarch64, each with one property that decides its verdict. What each counts is in zoo_test.py. */
    .arch armv8.3-a
    .text

/* .Lname: for calls that no other file can take. */
.macro function name
    .globl \name
    .type \name, %function
\name:
.L\name:
.endm
.macro done name
    .size \name, . - \name
.endm

function straight_line
    bti c
    ldr x2, [x0]
    add x2, x2, x2, lsl #1
    str x2, [x1]
    nop
    ret
done straight_line

function vectors
    ldr q0, [x0]
    ldp q1, q2, [x0, #32]
    add v0.4s, v0.4s, v1.4s
    str q0, [x1], #16
    stp d0, d1, [x1]
    ld1 {v0.16b - v3.16b}, [x0]
    st1 {v0.16b}, [x1]
    ld2 {v0.s, v1.s}[1], [x0]
    ld1r {v5.4s}, [x0]
    prfm pldl1keep, [x0]
    ldr x3, 1f
    ret
    .balign 8
1:  .quad 5
done vectors

function pairs /* two registers are two accesses */
    ldp x2, x3, [x0]
    stp x2, x3, [x1, #16]
    ldpsw x2, x3, [x0]
    ldrb w2, [x0, x1]
    ldursb w2, [x0, #-1]
    strh w2, [x1, #2]!
    ldar x2, [x0]
    stlr x2, [x1]
    ret
done pairs

function diamond
    cbz x0, 1f
    add x0, x0, #1
    add x0, x0, #1
    add x0, x0, #1
    b 2f
1:  ldr x0, [x1]
    ldr x0, [x1, #8]
2:  ret
done diamond

function all_branches
    cbnz w0, 1f
    tbz x0, #3, 1f
    tbnz w0, #1, 1f
    cmp x0, #3
    b.hi 1f
1:  ret
done all_branches

function loop_unbounded
1:  subs x0, x0, #1
    b.ne 1b
    ret
done loop_unbounded

.macro at_most times
771: nop
    .pushsection .flatline.loops, "", %progbits
    .quad 771b, \times
    .popsection
.endm

function loop_verified
    mov w2, #0
1:  at_most 4
    ldr x3, [x0, x2, lsl #3]
    add w2, w2, #1
    cmp w2, #4
    b.ne 1b
    ret
done loop_verified

function loop_downwards
    mov w2, #3
1:  cbz w2, 2f
    at_most 3
    sub w2, w2, #1
    b 1b
2:  ret
done loop_downwards

function loop_assumed
1:  at_most 4
    ldr x0, [x0]
    cbnz x0, 1b
    ret
done loop_assumed

function loop_understated
    mov w2, #4
1:  at_most 3
    subs w2, w2, #1
    b.ne 1b
    ret
done loop_understated

function loop_half_marked
    mov w2, #4
1:  at_most 4
2:  subs x0, x0, #1
    b.ne 2b
    subs w2, w2, #1
    b.ne 1b
    ret
done loop_half_marked

function loop_with_two_ways_in
    cbz x0, 2f
1:  sub x1, x1, #1
2:  subs x0, x0, #1
    b.ne 1b
    ret
done loop_with_two_ways_in

function recursion
    cbz x0, 1f
    sub x0, x0, #1
    stp x29, x30, [sp, #-16]!
    bl .Lrecursion
    ldp x29, x30, [sp], #16
1:  ret
done recursion

function mutual_recursion
    stp x29, x30, [sp, #-16]!
    bl other_recursion
    ldp x29, x30, [sp], #16
    ret
done mutual_recursion

    .type other_recursion, %function
other_recursion:
    cbz x0, 1f
    sub x0, x0, #1
    stp x29, x30, [sp, #-16]!
    bl .Lmutual_recursion
    ldp x29, x30, [sp], #16
1:  ret
done other_recursion

function recursion_by_jump
    cbz x0, 1f
    sub x0, x0, #1
    b .Lrecursion_by_jump
1:  ret
done recursion_by_jump

    .type helper, %function
helper: /* 4 instructions, a load, a store more, 16 bytes of stack */
    str x0, [sp, #-16]!
    ldr x1, [x0]
    add sp, sp, #16
    ret
done helper

function calls_helper
    stp x29, x30, [sp, #-32]!
    mov x29, sp
    cbz x0, 1f
    bl helper
1:  bl helper
    ldp x29, x30, [sp], #32
    ret
done calls_helper

function tail_call
    ldr x1, [x0]
    b helper
done tail_call

function jump_table
    cmp w0, #3
    b.hi 1f
    adr x1, 4f
    ldrsw x2, [x1, w0, uxtw #2]
    add x1, x1, x2
    br x1
1:  mov w0, #0
    ret
2:  mov w0, #1
    ret
3:  mov w0, #2
    ret
    .balign 4
4:  .word 1b - 4b, 2b - 4b, 3b - 4b, 1b - 4b
done jump_table

function function_pointer
    stp x29, x30, [sp, #-16]!
    ldr x1, [x0]
    blr x1
    ldp x29, x30, [sp], #16
    ret
done function_pointer

function hands_over
    cbz x1, 1f
    ret
1:  ldr x2, [x0]
    br x2
done hands_over
    .pushsection .flatline.bounded, "", %progbits
    .asciz "hands_over hands-over=1"
    .asciz "copies apart=memcpy"
    .asciz "straight_line"
    .popsection

function plt_call
    stp x29, x30, [sp, #-16]!
    bl getpid
    ldp x29, x30, [sp], #16
    ret
done plt_call

function plt_tail_call
    b getpid
done plt_tail_call

function interposed /* another file may define what it calls */
    stp x29, x30, [sp, #-16]!
    bl straight_line
    ldp x29, x30, [sp], #16
    ret
done interposed

function copies
    stp x29, x30, [sp, #-16]!
    bl memcpy
    ldp x29, x30, [sp], #16
    ret
done copies

function system_call
    mov x8, #172
    svc #0
    ret
done system_call

function atomics /* of Armv8.1: Debian's capstone knows but a few of them */
    ldadd x1, x2, [x0]
    ldaddal w1, w2, [x0]
    stclr x1, [x0]
    swpal x1, x2, [x0]
    cas x1, x2, [x0]
    casal w1, w2, [x0]
    casp x2, x3, x4, x5, [x0]
    ldsetb w1, w2, [x0]
    ldsmaxh w1, w2, [x0]
    lduminl x1, x2, [x0]
    ldapr x3, [x0]
    ret
done atomics

function compare_and_swap_loop
    ldr x2, [x0]
1:  mov x3, x2
    add x4, x2, #1
    cas x3, x4, [x0]
    cmp x3, x2
    mov x2, x3
    b.ne 1b
    ret
done compare_and_swap_loop

function load_exclusive_loop
1:  ldaxr x2, [x0]
    add x2, x2, #1
    stlxr w3, x2, [x0]
    cbnz w3, 1b
    ret
done load_exclusive_loop

function store_exclusive_once
    ldxr x2, [x0]
    stxr w3, x1, [x0]
    mov w0, w3
    ret
done store_exclusive_once

function traps
    cbz x0, 1f
    ret
1:  ldr x0, [x1]
    brk #1000
done traps

function is_undefined
    cbz x0, 1f
    ret
1:  udf #1
done is_undefined

function aborts
    cbz x0, 1f
    ret
1:  stp x29, x30, [sp, #-16]!
    bl abort
done aborts

    .type dies, %function
dies:
    stp x29, x30, [sp, #-16]!
    ldr x0, [x0]
    bl abort
done dies

function calls_what_dies
    stp x29, x30, [sp, #-16]!
    cbnz x0, 1f
    bl dies
1:  ldp x29, x30, [sp], #16
    ret
done calls_what_dies

function never_returns
    stp x29, x30, [sp, #-16]!
    bl abort
done never_returns

function undecodable
    cbz x0, 1f
    ret
1:  .inst 0xffffffff
    ret
done undecodable

function returns_elsewhere
    ret x1
done returns_elsewhere

function loses_its_return
    stp x29, x30, [sp, #-16]!
    bl helper
    ldr x29, [sp], #16
    ret
done loses_its_return

function overwrites_its_return
    stp x29, x30, [sp, #-16]!
    str x0, [sp, #8]
    ldp x29, x30, [sp], #16
    ret
done overwrites_its_return

function grows_by_a_register
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    sub sp, sp, x0
    mov sp, x29
    ldp x29, x30, [sp], #16
    ret
done grows_by_a_register

function depth_by_path
    cbz x0, 1f
    sub sp, sp, #16
1:  ret
done depth_by_path

function has_a_frame
    stp x29, x30, [sp, #-64]!
    mov x29, sp
    sub sp, sp, #1, lsl #12
    str x0, [x29, #16]
    str x0, [sp]
    mov sp, x29
    ldp x29, x30, [sp], #64
    ret
done has_a_frame

function fenced
    dmb ish
    isb
    yield
    mrs x0, tpidr_el0
    ret
done fenced

function authenticates
    paciasp
    stp x29, x30, [sp, #-16]!
    bl helper
    ldp x29, x30, [sp], #16
    autiasp
    ret
done authenticates

function returns_authenticated
    paciasp
    retaa
done returns_authenticated

function waits
    wfe
    ret
done waits

    .type which, %function
which:
    adr x0, helper
    ret
    .globl picked
    .type picked, %gnu_indirect_function
    .set picked, which

function calls_the_picked
    stp x29, x30, [sp, #-16]!
    bl picked
    ldp x29, x30, [sp], #16
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

    .section .fini, "ax", %progbits /* behind all other code */
function falls_off
    nop
done falls_off
    .section .note.GNU-stack, "", %progbits
