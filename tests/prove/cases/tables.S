/* Jump tables for x86-64 that no compiler writes: one that can be followed, and each of the ways in which one cannot. */
    .macro function name
    .globl \name
    .type \name, @function
\name:
    .endm
    .macro ends name
    .size \name, . - \name
    .endm
    .macro goes_by table
    lea \table(%rip), %rdx
    movslq (%rdx,%rax,4), %rax
    add %rdx, %rax
    jmp *%rax
    .endm
    .macro targets name
.L\name\()_0: lea 1(%rdi), %eax
    ret
.L\name\()_1: lea 2(%rdi), %eax
    ret
.L\name\()_2: lea 3(%rdi), %eax
    ret
    .endm
    .macro table name
    .balign 4
.L\name\()_table: .long .L\name\()_0 - .L\name\()_table, .L\name\()_1 - .L\name\()_table, .L\name\()_2 - .L\name\()_table
    .endm

    .text
function compared
    mov %edi, %eax
    cmp $2, %eax
    ja .Lcompared_0
    goes_by .Lcompared_table
    targets compared
ends compared

function compared_above            /* one too many */
    mov %edi, %eax
    cmp $3, %eax
    ja .Lcompared_above_0
    goes_by .Lcompared_above_table
    targets compared_above
ends compared_above

function compared_another
    mov %edi, %eax
    cmp $2, %esi
    ja .Lcompared_another_0
    goes_by .Lcompared_another_table
    targets compared_another
ends compared_another

function compared_signed           /* a negative index passes */
    movslq %edi, %rax
    cmp $2, %eax
    jg .Lcompared_signed_0
    goes_by .Lcompared_signed_table
    targets compared_signed
ends compared_signed

function compared_half             /* what is above 32 bits is not looked at */
    mov %rdi, %rax
    cmp $2, %eax
    ja .Lcompared_half_0
    goes_by .Lcompared_half_table
    targets compared_half
ends compared_half

function changed_behind
    mov %edi, %eax
    cmp $2, %eax
    ja .Lchanged_behind_0
    add %esi, %eax
    goes_by .Lchanged_behind_table
    targets changed_behind
ends changed_behind

function entered_beside            /* another way leads around the comparison */
    mov %edi, %eax
    test %esi, %esi
    je 1f
    cmp $2, %eax
    ja .Lentered_beside_0
1:  goes_by .Lentered_beside_table
    targets entered_beside
ends entered_beside

function written_table
    mov %edi, %eax
    cmp $2, %eax
    ja .Lwritten_table_0
    goes_by .Lwritten_table_table
    targets written_table
ends written_table

function from_before               /* the comparison is of what the loop before read */
    mov (%rsi), %eax
1:  cmp $2, %eax
    mov (%rsi), %eax
    ja 2f
    goes_by .Lfrom_before_table
    targets from_before
2:  xor %eax, %eax
    ret
ends from_before

    .section .rodata
    table compared
    table compared_above
    .long 0x7ffffff
    table compared_another
    table compared_signed
    table compared_half
    table changed_behind
    table entered_beside
    table from_before
    .data
    table written_table
    .section .note.GNU-stack, "", @progbits
