#define _GNU_SOURCE
#include "entry_patch.h"

#if defined(__x86_64__)

#include "next_definition.h"

#include <Zydis/Zydis.h>
#include <sys/mman.h>
#include <unistd.h>

#define JUMP_LENGTH 5u            /* jmp with a displacement of 32 bits */
#define MOVED_MOST 32u            /* bytes of the instructions that make room for it */
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

/* Copies whole instructions of at least JUMP_LENGTH bytes to `to`, as they have to be there. */
static const char *move_entry(const unsigned char *from, size_t size, unsigned char *to, size_t *moved) {
    for (*moved = 0; *moved < JUMP_LENGTH;) {
        ZydisDecodedInstruction at;
        if (size != 0 && *moved >= size) return "is too short to be changed: name its caller";
        if (!ZYAN_SUCCESS(decode(&decoder, NULL, from + *moved, ZYDIS_MAX_INSTRUCTION_LENGTH, &at)))
            return "begins with code that is not understood: name its caller";
        if (is_branch(&at) || ends_function(&at))
            return "has a branch or its end in its first 5 bytes, which cannot be moved: name its caller";
        memcpy(to + *moved, from + *moved, at.length);
        if ((at.attributes & ZYDIS_ATTRIB_IS_RELATIVE) != 0) { /* an operand beside the instruction pointer */
            const int64_t there = at.raw.disp.value + (from - to);
            const int32_t displacement = (int32_t)there;
            if (displacement != there || at.raw.disp.size != 32)
                return "uses data that is too far from any free memory";
            memcpy(to + *moved + at.raw.disp.offset, &displacement, sizeof displacement);
        }
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

static unsigned char *put(unsigned char *at, const void *bytes, size_t count) {
    memcpy(at, bytes, count);
    return at + count;
}

static unsigned char *put_far_jump(unsigned char *at, const void *target) {
    static const unsigned char by_next_word[] = {0xff, 0x25, 0, 0, 0, 0};
    return put(put(at, by_next_word, sizeof by_next_word), &target, sizeof target);
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
    const char *why = move_entry(function, size, resume, &moved);
    if (why == NULL && returns_to_entry(function, size, moved))
        why = "jumps back into its first bytes: name its caller";
    if (why == NULL) {
        patch->resume = resume;
        patch->code = code;
        (void)put_far_jump(resume + moved, function + moved);
        if (mprotect(code, page, PROT_READ | PROT_EXEC) != 0 || !write_jump(function, code, page))
            why = "cannot be changed: the system forbids it";
    }
    if (why != NULL) (void)munmap(code, page);
    return why;
}

#endif
