#define _GNU_SOURCE
#include "named_sections.h"

#include "entry_patch.h"
#include "sections.h"
#include "violations.h"

#include "../malloc/objects.h"
#include "../preload/next_definition.h"

#include <setjmp.h>
#include <stdio.h>
#include <unwind.h>

#define EXPORT __attribute__((visibility("default")))

#if defined(__x86_64__)

#define HOOKS 1024 /* threads that are in such a function at a time; those beyond are not watched */
#define TEXT_OF(number) TEXT_OF_VALUE(number)
#define TEXT_OF_VALUE(number) #number

/* The return address of a function that is a section is replaced by that of a hook, one for each thread. Of each hook
 * the original address stands in `flat_hook_originals`, where unwinders find it by the rule below: behind the hook's
 * jump stands how far that is from there. */
__asm__(".bss\n"
        "\t.balign 8\n"
        "\t.local flat_hook_originals\n"
        "flat_hook_originals:\n"
        "\t.zero 8 * " TEXT_OF(
            HOOKS) "\n"
                   "\t.text\n"
                   "\t.balign 16\n"
                   "\t.local flat_hooks, flat_hook_enter, flat_hook_return\n"
                   "\t.cfi_startproc simple\n"
                   "\t.cfi_personality 0x1b, flat_hook_personality\n"
                   /* Unwinders tell frames apart by their CFA, so the hook has one that no other frame has. The stack
                    * pointer is its caller's all the same: DW_CFA_val_expression with breg7 0. */
                   "\t.cfi_def_cfa rsp, 4\n"
                   "\t.cfi_escape 0x16, 7, 2, 0x77, 0\n"
                   /* DW_CFA_expression of the return address: breg16 8, dup, deref_size 4, plus */
                   "\t.cfi_escape 0x10, 16, 6, 0x80, 8, 0x12, 0x94, 4, 0x22\n"
                   "\t.zero 16, 0x90\n"
                   "flat_hooks:\n"
                   "\t.set flat_hook_index, 0\n"
                   "\t.rept " TEXT_OF(HOOKS) "\n"
                                             "\t.byte 0xe9\n"
                                             "\t.long flat_hook_return - . - 4\n"
                                             "\t.zero 3, 0x90\n"
                                             "\t.long flat_hook_originals + 8 * flat_hook_index - .\n"
                                             "\t.zero 4, 0x90\n"
                                             "\t.set flat_hook_index, flat_hook_index + 1\n"
                                             "\t.endr\n"
                                             "\t.cfi_endproc\n"
                                             /* From a changed entry: the patch is in r11, and all other
                                                registers may carry arguments. */
                                             "flat_hook_enter:\n"
                                             "\t.cfi_startproc\n"
                                             "\tpushq %r11\n"
                                             "\tsubq $192, %rsp\n"
                                             "\t.cfi_adjust_cfa_offset 200\n"
                                             "\tmovq %rdi, (%rsp)\n"
                                             "\tmovq %rsi, 8(%rsp)\n"
                                             "\tmovq %rdx, 16(%rsp)\n"
                                             "\tmovq %rcx, 24(%rsp)\n"
                                             "\tmovq %r8, 32(%rsp)\n"
                                             "\tmovq %r9, 40(%rsp)\n"
                                             "\tmovq %rax, 48(%rsp)\n"
                                             "\tmovq %r10, 56(%rsp)\n"
                                             "\tmovups %xmm0, 64(%rsp)\n"
                                             "\tmovups %xmm1, 80(%rsp)\n"
                                             "\tmovups %xmm2, 96(%rsp)\n"
                                             "\tmovups %xmm3, 112(%rsp)\n"
                                             "\tmovups %xmm4, 128(%rsp)\n"
                                             "\tmovups %xmm5, 144(%rsp)\n"
                                             "\tmovups %xmm6, 160(%rsp)\n"
                                             "\tmovups %xmm7, 176(%rsp)\n"
                                             "\tmovq %r11, %rdi\n"
                                             "\tleaq 200(%rsp), %rsi\n"
                                             "\tcall flat_hook_entered\n"
                                             "\tmovq (%rsp), %rdi\n"
                                             "\tmovq 8(%rsp), %rsi\n"
                                             "\tmovq 16(%rsp), %rdx\n"
                                             "\tmovq 24(%rsp), %rcx\n"
                                             "\tmovq 32(%rsp), %r8\n"
                                             "\tmovq 40(%rsp), %r9\n"
                                             "\tmovq 48(%rsp), %rax\n"
                                             "\tmovq 56(%rsp), %r10\n"
                                             "\tmovups 64(%rsp), %xmm0\n"
                                             "\tmovups 80(%rsp), %xmm1\n"
                                             "\tmovups 96(%rsp), %xmm2\n"
                                             "\tmovups 112(%rsp), %xmm3\n"
                                             "\tmovups 128(%rsp), %xmm4\n"
                                             "\tmovups 144(%rsp), %xmm5\n"
                                             "\tmovups 160(%rsp), %xmm6\n"
                                             "\tmovups 176(%rsp), %xmm7\n"
                                             "\taddq $192, %rsp\n"
                                             "\tpopq %r11\n"
                                             "\t.cfi_adjust_cfa_offset -200\n"
                                             "\tjmp *(%r11)\n"
                                             "\t.cfi_endproc\n"
                                             /* The function has returned: its results are in rax, rdx,
                                                xmm0 and xmm1, or on the stack of the x87. */
                                             "flat_hook_return:\n"
                                             "\tsubq $8, %rsp\n"
                                             "\tpushq %rax\n"
                                             "\tpushq %rdx\n"
                                             "\tsubq $40, %rsp\n"
                                             "\tmovups %xmm0, (%rsp)\n"
                                             "\tmovups %xmm1, 16(%rsp)\n"
                                             "\tcall flat_hook_left\n"
                                             "\tmovq %rax, 56(%rsp)\n"
                                             "\tmovups (%rsp), %xmm0\n"
                                             "\tmovups 16(%rsp), %xmm1\n"
                                             "\taddq $40, %rsp\n"
                                             "\tpopq %rdx\n"
                                             "\tpopq %rax\n"
                                             "\tretq\n");
extern const char flat_hooks[];
extern uintptr_t flat_hook_originals[HOOKS];
extern void flat_hook_enter(void);

/* Called by the code above and by unwinders. */
void flat_hook_entered(const entry_patch *patch, uintptr_t *slot) __attribute__((used));
uintptr_t flat_hook_left(void) __attribute__((used));
_Unwind_Reason_Code flat_hook_personality(int version, _Unwind_Action actions, uint64_t class,
                                          struct _Unwind_Exception *exception, struct _Unwind_Context *context)
    __attribute__((used));

/* Of the calling thread. */
static LOCAL_TO_THREAD struct {
    uint32_t hook;   /* and one more; 0: it has none */
    uintptr_t *slot; /* where the return address is that was replaced; NULL: none is */
} hooked;

static unsigned char taken[HOOKS];
static entry_patch patches[4 * GUARD_NAMED_SECTIONS]; /* several libraries may have a function of one name */
static size_t patch_count;

static uintptr_t hook_address(void) { return (uintptr_t)flat_hooks + 16 * (uintptr_t)(hooked.hook - 1); }

static bool take_hook(void) {
    for (uint32_t i = 0; i < HOOKS && hooked.hook == 0; i++)
        if (__atomic_exchange_n(&taken[i], 1, __ATOMIC_ACQUIRE) == 0) hooked.hook = i + 1;
    return hooked.hook != 0;
}

void named_sections_end_thread(void) {
    if (hooked.hook != 0) __atomic_store_n(&taken[hooked.hook - 1], 0, __ATOMIC_RELEASE);
    hooked.hook = 0;
    hooked.slot = NULL;
}

/* The section's function has ended in some way. */
static void end_hooked(void) {
    guard_thread *mine = &guard_mine;
    hooked.slot = NULL;
    if (mine->depth != 0 && --mine->depth == 0) guard_end(mine, (const void *)flat_hook_originals[hooked.hook - 1]);
}

/* Only the outermost section needs to know its end. */
void flat_hook_entered(const entry_patch *patch, uintptr_t *slot) {
    guard_thread *mine = &guard_mine;
    if (hooked.slot != NULL && slot >= hooked.slot && *hooked.slot != hook_address()) end_hooked(); /* jumped past it */
    if (mine->depth != 0 || guard_shared == NULL) return;
    if (!take_hook()) {
        (void)__atomic_fetch_add(&guard_shared->unhooked, 1, __ATOMIC_RELAXED);
        return;
    }
    flat_hook_originals[hooked.hook - 1] = *slot;
    hooked.slot = slot;
    *slot = hook_address();
    mine->depth = 1;
    guard_begin(mine, patch->section, (uintptr_t)slot);
}

uintptr_t flat_hook_left(void) {
    end_hooked();
    return flat_hook_originals[hooked.hook - 1];
}

/* An exception, or the end of the thread, passes the function whose section it is. */
_Unwind_Reason_Code flat_hook_personality(int version, _Unwind_Action actions, uint64_t class,
                                          struct _Unwind_Exception *exception, struct _Unwind_Context *context) {
    (void)version, (void)class, (void)exception, (void)context;
    if ((actions & _UA_CLEANUP_PHASE) != 0 && hooked.slot != NULL) end_hooked();
    return _URC_CONTINUE_UNWIND;
}

/* The stack pointer that a jump will restore, which glibc keeps rotated and mixed with a secret of the process. */
static uintptr_t stack_pointer_in(const struct __jmp_buf_tag *buffer) {
    uintptr_t mixed;
    memcpy(&mixed, &buffer->__jmpbuf[6], sizeof mixed);
    __asm__("rorq $17, %0\n\txorq %%fs:0x30, %0" : "+r"(mixed) : : "cc");
    return mixed;
}

static void jump(const struct __jmp_buf_tag *buffer) {
    if (hooked.slot != NULL && (uintptr_t)hooked.slot < stack_pointer_in(buffer)) end_hooked();
}

#define JUMP(name)                                                                                                     \
    NEXT_DEFINITION(void, name, (struct __jmp_buf_tag *, int))                                                         \
    EXPORT _Noreturn void name(struct __jmp_buf_tag buffer[1], int value);                                             \
    EXPORT _Noreturn void name(struct __jmp_buf_tag buffer[1], int value) {                                            \
        jump(buffer);                                                                                                  \
        find_##name();                                                                                                 \
        next_##name(buffer, value);                                                                                    \
        __builtin_trap();                                                                                              \
    }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

static _Noreturn void refuse(const char *symbol, const char *why) {
    char text[GUARD_NAME_LENGTH + 128];
    (void)snprintf(text, sizeof text, "%s: %s", symbol, why);
    guard_refuse(GUARD_SECTION_UNMENDED, text);
}

static bool is_patched(const void *function) {
    for (size_t i = 0; i < patch_count; i++)
        if (patches[i].function == function && entry_patch_is_applied(&patches[i])) return true;
    return false;
}

static void look_in(const object *here, uint32_t index) {
    const char *name = guard_shared->named[index];
    const ElfW(Sym) *symbol = flat_object_symbol(here, name, NULL);
    if (symbol == NULL || is_patched((void *)flat_symbol_address(here, symbol))) return;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
        refuse(name, "is no function, or one that is chosen when it is loaded");
    if (patch_count == sizeof patches / sizeof *patches) refuse(name, "is in too many libraries");
    entry_patch *patch = &patches[patch_count++];
    patch->section = GUARD_SECTION_NAMED | index;
    patch->function = (void *)flat_symbol_address(here, symbol);
    const char *why = entry_patch_apply(patch, symbol->st_size, flat_hook_enter);
    if (why != NULL) refuse(name, why);
    (void)__atomic_fetch_or(&guard_shared->found_named, 1u << index, __ATOMIC_RELAXED);
}

static int look_in_next(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size, (void)context;
    object here;
    if (!flat_object_read(&here, info) || flat_object_holds(&here, (uintptr_t)look_in)) return 0;
    for (uint32_t i = 0; i < guard_shared->named_count; i++) look_in(&here, i);
    return 0;
}

void named_sections_look(void) {
    if (guard_shared == NULL || guard_shared->named_count == 0) return;
    if (!entry_patch_prepare()) refuse(guard_shared->named[0], "cannot be changed without libZydis.so.4.0: install it");
    (void)dl_iterate_phdr(look_in_next, NULL);
}

#else

void named_sections_look(void) {}
void named_sections_end_thread(void) {}

#endif
