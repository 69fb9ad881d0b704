#define _GNU_SOURCE
#include "entry_patch.h"

#if defined(__x86_64__)

#include "../preload/next_definition.h"

#include <Zydis/Zydis.h>
#include <sys/mman.h>
#include <unistd.h>

#define JUMP_LENGTH 5u            /* jmp with a displacement of 32 bits */
#define FAR_JUMP_LENGTH 14u       /* jmp by a word behind it */
#define REACH (UINT64_C(1) << 30) /* how far such a jump is sure to lead */
#define SEARCH_STEP (UINT64_C(1) << 16)
#define MAX_SCANNED (UINT64_C(1) << 20) /* of a function's body */

typedef ZyanStatus decode_instruction(const ZydisDecoder *, ZydisDecoderContext *, const void *, ZyanUSize,
                                      ZydisDecodedInstruction *);
typedef ZyanStatus init_decoder(ZydisDecoder *, ZydisMachineMode, ZydisStackWidth);

static decode_instruction *decode;
static ZydisDecoder decoder;

/* The disassembler is loaded for named sections alone: other programs are spared it. */
bool entry_patch_prepare(void) {
    if (decode != NULL) return true;
    void *(*open)(const char *, int);
    void *address = dlsym(RTLD_NEXT, "dlopen");
    memcpy(&open, &address, sizeof open);
    void *library = address != NULL ? open("libZydis.so.4.0", RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) return false;
    init_decoder *init;
    address = dlsym(library, "ZydisDecoderInit");
    memcpy(&init, &address, sizeof init);
    address = dlsym(library, "ZydisDecoderDecodeInstruction");
    if (init == NULL || address == NULL ||
        !ZYAN_SUCCESS(init(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return false;
    memcpy(&decode, &address, sizeof decode);
    return true;
}

static bool is_branch(const ZydisDecodedInstruction *at) { return at->raw.imm[0].is_relative; }

static bool ends_function(const ZydisDecodedInstruction *at) {
    return at->meta.category == ZYDIS_CATEGORY_RET || at->meta.category == ZYDIS_CATEGORY_INTERRUPT;
}

static unsigned char *put(unsigned char *at, const void *bytes, size_t count) {
    memcpy(at, bytes, count);
    return at + count;
}

static unsigned char *put_far_jump(unsigned char *at, const void *target) {
    static const unsigned char by_next_word[] = {0xff, 0x25, 0, 0, 0, 0};
    return put(put(at, by_next_word, sizeof by_next_word), &target, sizeof target);
}

/* The call returns to its own place: the stack is as it would be without the change. */
static unsigned char *put_far_call(unsigned char *at, const void *target, const void *back) {
    static const unsigned char push_word_behind_jump[] = {0xff, 0x35, FAR_JUMP_LENGTH, 0, 0, 0};
    at = put_far_jump(put(at, push_word_behind_jump, sizeof push_word_behind_jump), target);
    return put(at, &back, sizeof back);
}

/* A branch at `from` becomes one that reaches its target from anywhere. NULL: it is of another kind. */
static unsigned char *move_branch(unsigned char *to, const unsigned char *from, const ZydisDecodedInstruction *at) {
    const unsigned char *const behind = from + at->length, *const target = behind + at->raw.imm[0].value.s;
    const unsigned char over_next[] = {(unsigned char)(0x70 | (at->opcode & 15)), 2, 0xeb, FAR_JUMP_LENGTH};
    switch (at->meta.category) {
    case ZYDIS_CATEGORY_CALL: return put_far_call(to, target, behind);
    case ZYDIS_CATEGORY_UNCOND_BR: return put_far_jump(to, target);
    case ZYDIS_CATEGORY_COND_BR:
        if (at->opcode >> 4 != 7 && at->opcode >> 4 != 8) return NULL; /* loop and jrcxz */
        return put_far_jump(put(to, over_next, sizeof over_next), target);
    default: return NULL;
    }
}

/* An instruction with an operand beside the instruction pointer. NULL: the operand is too far away. */
static unsigned char *move_with_operand(unsigned char *to, const unsigned char *from,
                                        const ZydisDecodedInstruction *at) {
    const int64_t there = at->raw.disp.value + (from - to);
    const int32_t displacement = (int32_t)there;
    if (displacement != there || at->raw.disp.size != 32) return NULL;
    unsigned char *const end = put(to, from, at->length);
    memcpy(to + at->raw.disp.offset, &displacement, sizeof displacement);
    return end;
}

/* Writes to `*to` what does the same as the first instructions of the function, of at least JUMP_LENGTH bytes. Returns
 * why it cannot be done, or NULL. */
static const char *move_entry(const unsigned char *from, size_t size, unsigned char **to, size_t *moved) {
    for (*moved = 0; *moved < JUMP_LENGTH;) {
        ZydisDecodedInstruction at;
        if (size != 0 && *moved >= size) return "is too short to be changed: name its caller";
        if (!ZYAN_SUCCESS(decode(&decoder, NULL, from + *moved, ZYDIS_MAX_INSTRUCTION_LENGTH, &at)))
            return "begins with code that is not understood: name its caller";
        const bool is_last = *moved + at.length >= JUMP_LENGTH;
        if ((ends_function(&at) || at.meta.category == ZYDIS_CATEGORY_UNCOND_BR) && !is_last)
            return "ends within 5 bytes, and so cannot be changed: name its caller";
        if (is_branch(&at))
            *to = at.meta.category == ZYDIS_CATEGORY_CALL && !is_last ? NULL : move_branch(*to, from + *moved, &at);
        else if ((at.attributes & ZYDIS_ATTRIB_IS_RELATIVE) != 0)
            *to = move_with_operand(*to, from + *moved, &at);
        else
            *to = put(*to, from + *moved, at.length);
        if (*to == NULL) return "begins with an instruction that cannot be moved: name its caller";
        *moved += at.length;
    }
    return NULL;
}

/* Whether a branch of the function leads behind its begin into the instructions that are moved. */
static bool returns_to_entry(const unsigned char *function, size_t size, size_t moved) {
    if (size > MAX_SCANNED) size = MAX_SCANNED;
    for (size_t i = moved; i < size;) {
        ZydisDecodedInstruction at;
        if (!ZYAN_SUCCESS(decode(&decoder, NULL, function + i, size - i, &at))) return false;
        const int64_t target = (int64_t)(i + at.length) + at.raw.imm[0].value.s;
        if (is_branch(&at) && target > 0 && target < (int64_t)moved) return true;
        i += at.length;
    }
    return false;
}

/* A page within reach of `function`; NULL: there is none. */
static unsigned char *page_near(uintptr_t function, size_t page) {
    const uintptr_t base = function & ~(uintptr_t)(SEARCH_STEP - 1);
    for (uint64_t away = SEARCH_STEP; away < REACH; away += SEARCH_STEP) {
        for (int up = 0; up < 2; up++) {
            const uintptr_t hint = up != 0 ? base + away : base - away;
            if (up == 0 && away >= base) continue;
            void *got = mmap((void *)hint, page, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (got == (void *)hint) return got;
            if (got != MAP_FAILED) (void)munmap(got, page);
        }
    }
    return NULL;
}

static bool write_jump(unsigned char *function, const unsigned char *target, size_t page) {
    const uintptr_t begin = (uintptr_t)function & ~(uintptr_t)(page - 1);
    const size_t length = ((uintptr_t)function + JUMP_LENGTH - begin + page - 1) & ~(page - 1);
    const int32_t displacement = (int32_t)(target - (function + JUMP_LENGTH));
    if (mprotect((void *)begin, length, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
    function[0] = 0xe9;
    memcpy(function + 1, &displacement, sizeof displacement);
    return mprotect((void *)begin, length, PROT_READ | PROT_EXEC) == 0;
}

bool entry_patch_is_applied(const entry_patch *patch) {
    const unsigned char *const function = patch->function;
    int32_t displacement;
    if (patch->code == NULL || function[0] != 0xe9) return false;
    memcpy(&displacement, function + 1, sizeof displacement);
    return patch->code - (function + JUMP_LENGTH) == displacement;
}

const char *entry_patch_apply(entry_patch *patch, size_t size, void (*through)(void)) {
    static const unsigned char to_r11[] = {0x49, 0xbb};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *const function = patch->function;
    unsigned char *const code = page_near((uintptr_t)function, page);
    if (code == NULL) return "is too far from any free memory";
    const void *target;
    memcpy(&target, &through, sizeof target);
    unsigned char *at = put(put(code, to_r11, sizeof to_r11), &patch, sizeof patch);
    unsigned char *const resume = put_far_jump(at, target);
    size_t moved = 0;
    unsigned char *end = resume;
    const char *why = move_entry(function, size, &end, &moved);
    if (why == NULL && returns_to_entry(function, size, moved))
        why = "jumps back into its first bytes: name its caller";
    if (why == NULL) {
        patch->resume = resume;
        patch->code = code;
        (void)put_far_jump(end, function + moved);
        if (mprotect(code, page, PROT_READ | PROT_EXEC) != 0 || !write_jump(function, code, page))
            why = "cannot be changed: the system forbids it";
    }
    if (why != NULL) (void)munmap(code, page);
    return why;
}

#endif
