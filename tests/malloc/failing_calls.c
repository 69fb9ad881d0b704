/* Preloaded before the malloc, this library makes the malloc's system calls fail at random. Of the calls that can, half
 * fail after they have acted on a part of their range, as kernels do that detect an error late: see failing_calls.h.
 * Calls from elsewhere, such as the C library's for thread stacks, work as always. */
#define _GNU_SOURCE
#include "failing_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define API __attribute__((visibility("default")))
#define STAYING_MAX ((size_t)1 << 30)
#define CALLER ((uintptr_t)__builtin_return_address(0))

enum { TEXT_MAX = 1 << 20, STRANGERS = 512, NO_CALL = CALL_COUNT };

static const char *const names[CALL_COUNT] = CALL_NAMES;
static failing_record own_record, *record = &own_record;
static __thread uint64_t denials __attribute__((tls_model("initial-exec")));

static struct {
    bool read;
    uint64_t seed;
    uint64_t one_in[CALL_COUNT];
    uint64_t strangers; /* one in this many */
    bool old_mremap;
    unsigned hidden, uncounted; /* a call, or NO_CALL */
    char of[64];
    uintptr_t start, end; /* of the library whose calls fail, once it is loaded */
} told = {.strangers = 4, .hidden = NO_CALL, .uncounted = NO_CALL, .of = "libflatline-malloc"};

/* Pages mapped where the malloc had lost its own. */
static struct {
    uint32_t count;
    uint64_t *pages[STRANGERS];
} strangers;

static int get_lock, text_lock;

static void lock(int *which) {
    while (__atomic_exchange_n(which, 1, __ATOMIC_ACQUIRE) != 0) (void)syscall(SYS_sched_yield);
}

static void unlock(int *which) { __atomic_store_n(which, 0, __ATOMIC_RELEASE); }

static void *plain_mmap(void *at, size_t size, int access, int flags, int file, off_t offset) {
    return (void *)syscall(SYS_mmap, at, size, access, flags, file, offset);
}

/* Settings are read from /proc: the first calls come from the loader, before the C library has an environment. */
static size_t read_file(const char *path, char *text, size_t most) {
    size_t length = 0;
    long got;
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && (got = syscall(SYS_read, file, text + length, most - 1 - length)) > 0) length += (size_t)got;
    if (file >= 0) (void)syscall(SYS_close, file);
    text[length] = '\0';
    return length;
}

static char text[TEXT_MAX]; /* guarded by text_lock */

/* The value of an environment variable in `text`, or NULL. */
static const char *variable(const char *name, size_t length) {
    size_t name_length = strlen(name);
    for (const char *at = text; at < text + length; at += strlen(at) + 1) {
        if (strncmp(at, name, name_length) == 0 && at[name_length] == '=') return at + name_length + 1;
    }
    return NULL;
}

static unsigned call_named(const char *name, size_t length) {
    unsigned call = 0;
    while (call < CALL_COUNT && (strlen(names[call]) != length || strncmp(names[call], name, length) != 0)) call++;
    return call;
}

static bool is_word(const char *word, size_t length, const char *name) {
    return strlen(name) == length && strncmp(word, name, length) == 0;
}

static void take_word(const char *word, size_t name_length, const char *value) {
    size_t length = strcspn(value, " ");
    uint64_t number = strtoull(value, NULL, 0);
    unsigned call = call_named(word, name_length);
    if (call != NO_CALL) told.one_in[call] = number;
    if (is_word(word, name_length, "seed")) told.seed = number;
    if (is_word(word, name_length, "strangers")) told.strangers = number;
    if (is_word(word, name_length, "old_mremap")) told.old_mremap = number != 0;
    if (is_word(word, name_length, "hidden")) told.hidden = call_named(value, length);
    if (is_word(word, name_length, "uncounted")) told.uncounted = call_named(value, length);
    if (is_word(word, name_length, "of") && length < sizeof told.of) {
        memcpy(told.of, value, length);
        told.of[length] = '\0';
    }
}

static void take_words(const char *words) {
    while (words != NULL && *words != '\0') {
        size_t name_length = strcspn(words, "= ");
        if (words[name_length] == '=') take_word(words, name_length, words + name_length + 1);
        words += strcspn(words, " ");
        words += strspn(words, " ");
    }
}

static int find_library(struct dl_phdr_info *object, size_t size, void *unused) {
    (void)size, (void)unused;
    const char *name = strrchr(object->dlpi_name, '/');
    if (strstr(name != NULL ? name : object->dlpi_name, told.of) == NULL) return 0;
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
        told.start = object->dlpi_addr + part->p_vaddr;
        __atomic_store_n(&told.end, told.start + part->p_memsz, __ATOMIC_RELEASE);
    }
    return 1;
}

static void read_what_is_told(void) {
    lock(&text_lock);
    if (!told.read) {
        size_t length = read_file("/proc/self/environ", text, TEXT_MAX);
        take_words(variable("FAILING_CALLS", length));
        const char *file = variable("FAILING_CALLS_RECORD", length);
        if (file != NULL) {
            void *at = plain_mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(file), 0);
            if (at != MAP_FAILED) record = at;
        }
        (void)dl_iterate_phdr(find_library, NULL);
        __atomic_store_n(&told.read, true, __ATOMIC_RELEASE);
    }
    unlock(&text_lock);
}

static bool is_the_mallocs(uintptr_t caller) {
    if (!__atomic_load_n(&told.read, __ATOMIC_ACQUIRE)) read_what_is_told();
    return caller >= told.start && caller < told.end;
}

static uint64_t dice(void) {
    static uint64_t thrown;
    uint64_t z = told.seed + 0x9e3779b97f4a7c15u * (1 + __atomic_fetch_add(&thrown, 1, __ATOMIC_RELAXED));
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void add(uint64_t *count) { (void)__atomic_fetch_add(count, 1, __ATOMIC_RELAXED); }

/* Whether this call by the malloc is to fail. */
static bool falls(unsigned call, uintptr_t caller) {
    if (!is_the_mallocs(caller)) return false;
    add(&record->of[call].calls);
    if (told.one_in[call] == 0 || __atomic_load_n(&record->disabled, __ATOMIC_RELAXED) != 0) return false;
    return dice() % told.one_in[call] == 0;
}

/* Whether a call that fails is to act on a part of its range first, if it can. */
static bool acts_partly(unsigned call, bool can) {
    add(&record->of[call].failed);
    if (call != told.uncounted && (call == CALL_MMAP || call == CALL_MPROTECT)) denials++;
    if (!can) return false;
    add(&record->of[call].divisible);
    if (dice() % 2 == 0) return false;
    add(&record->of[call].partly);
    return true;
}

/* The result of a failed call. */
static long failure(unsigned call, int error, long success) {
    if (call == told.hidden && call != NO_CALL) return success;
    errno = error;
    return -1;
}

static int one_of(int first, int second, int third) {
    const int errors[] = {first, second, third};
    return errors[dice() % 3];
}

static size_t whole_pages(size_t bytes) { return (bytes + PAGE - 1) & ~(PAGE - 1); }

/* Half of the bytes, in whole pages. */
static size_t half(size_t bytes) { return whole_pages(bytes) / 2 & ~(PAGE - 1); }

/* Another thread may at once map something where a range was unmapped: now and then this function does. */
static void let_a_stranger_in(void *at) {
    if (told.strangers == 0 || dice() % told.strangers != 0) return;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    uint64_t *page = plain_mmap(at, PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
    if ((void *)page == MAP_FAILED) return;
    lock(&get_lock);
    if (strangers.count < STRANGERS) {
        for (size_t i = 0; i < PAGE / sizeof *page; i++) page[i] = (uintptr_t)(page + i);
        strangers.pages[strangers.count++] = page;
    }
    unlock(&get_lock);
}

static void lose(void *at, size_t bytes) {
    if (syscall(SYS_munmap, at, bytes) == 0) let_a_stranger_in(at);
}

API failing_record *failing_calls_record(void) {
    if (!__atomic_load_n(&told.read, __ATOMIC_ACQUIRE)) read_what_is_told();
    return record;
}

API uint64_t failing_calls_denials(void) { return denials; }

static bool is_whole(const uint64_t *page) {
    unsigned char resident;
    if (syscall(SYS_mincore, page, PAGE, &resident) != 0) return false;
    int pipes[2];
    if (syscall(SYS_pipe2, pipes, O_CLOEXEC) != 0) return true;
    bool readable = syscall(SYS_write, pipes[1], page, PAGE) == (long)PAGE; /* write() fails instead of faulting */
    (void)syscall(SYS_close, pipes[0]);
    (void)syscall(SYS_close, pipes[1]);
    for (size_t i = 0; readable && i < PAGE / sizeof *page; i++) readable = page[i] == (uintptr_t)(page + i);
    return readable;
}

API uint64_t failing_calls_trespasses(void) {
    uint64_t count = 0;
    lock(&get_lock);
    for (uint32_t i = 0; i < strangers.count; i++) count += !is_whole(strangers.pages[i]);
    unlock(&get_lock);
    return count;
}

static void *mmap_as_told(void *at, size_t size, int access, int flags, int file, off_t offset, uintptr_t caller) {
    if (!falls(CALL_MMAP, caller)) return plain_mmap(at, size, access, flags, file, offset);
    bool replaces = (flags & MAP_FIXED) != 0 && (flags & MAP_FIXED_NOREPLACE) != MAP_FIXED_NOREPLACE;
    if (acts_partly(CALL_MMAP, replaces)) lose(at, size);
    int error = one_of(ENOMEM, ENOMEM, EAGAIN);
    bool at_that_place = (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
    return (void *)failure(at_that_place ? CALL_MMAP : NO_CALL, error, (long)at);
}

API void *mmap(void *at, size_t size, int access, int flags, int file, off_t offset) {
    return mmap_as_told(at, size, access, flags, file, offset, CALLER);
}

API void *mmap64(void *at, size_t size, int access, int flags, int file, off_t offset) {
    return mmap_as_told(at, size, access, flags, file, offset, CALLER);
}

/* Memory that is not unmapped stays for ever and may be resident, so its amount is limited. A mere reservation is not
 * resident. */
static bool may_stay(size_t bytes) {
    static size_t staying;
    if (bytes > STAYING_MAX / 16) bytes = STAYING_MAX / 16;
    return __atomic_fetch_add(&staying, bytes, __ATOMIC_RELAXED) < STAYING_MAX;
}

API int munmap(void *at, size_t size) {
    if (!falls(CALL_MUNMAP, CALLER) || !may_stay(size)) return (int)syscall(SYS_munmap, at, size);
    if (acts_partly(CALL_MUNMAP, half(size) != 0)) lose(at, half(size));
    return (int)failure(CALL_MUNMAP, ENOMEM, 0);
}

API int mprotect(void *at, size_t size, int access) {
    if (!falls(CALL_MPROTECT, CALLER)) return (int)syscall(SYS_mprotect, at, size, access);
    if (acts_partly(CALL_MPROTECT, half(size) != 0)) (void)syscall(SYS_mprotect, at, half(size), access);
    return (int)failure(CALL_MPROTECT, one_of(ENOMEM, EACCES, EPERM), 0);
}

API int madvise(void *at, size_t size, int advice) {
    if (!falls(CALL_MADVISE, CALLER)) return (int)syscall(SYS_madvise, at, size, advice);
    if (acts_partly(CALL_MADVISE, half(size) != 0)) (void)syscall(SYS_madvise, at, half(size), advice);
    return (int)failure(CALL_MADVISE, one_of(EINVAL, ENOMEM, EPERM), 0);
}

/* The end of the mapping that contains `at`. */
static uintptr_t end_of_mapping(uintptr_t at) {
    uintptr_t found = 0;
    lock(&text_lock);
    (void)read_file("/proc/self/maps", text, TEXT_MAX);
    for (char *line = text; line != NULL && *line != '\0' && found == 0;) {
        char *rest;
        uintptr_t first = strtoull(line, &rest, 16), end = strtoull(rest + 1, &rest, 16);
        if (first <= at && at < end) found = end;
        line = strchr(line, '\n');
        if (line != NULL) line++;
    }
    unlock(&text_lock);
    return found;
}

static bool an_old_kernel_refuses(const void *old, size_t old_size, int flags) {
    if (!told.old_mremap || (flags & MREMAP_FIXED) == 0) return false;
    return old_size > end_of_mapping((uintptr_t)old) - (uintptr_t)old;
}

/* Before mremap checks the old range it unmaps the destination, and the part of the old range beyond the new size. */
static void fail_after_unmapping(char *old, size_t old_size, size_t new_size, int flags, void *to) {
    if ((flags & MREMAP_FIXED) != 0) lose(to, new_size);
    bool shrinks = whole_pages(old_size) > whole_pages(new_size);
    if (shrinks) lose(old + whole_pages(new_size), whole_pages(old_size) - whole_pages(new_size));
}

API void *mremap(void *old, size_t old_size, size_t new_size, int flags, ...) {
    va_list values;
    va_start(values, flags);
    void *to = (flags & MREMAP_FIXED) != 0 ? va_arg(values, void *) : NULL;
    va_end(values);
    bool fixed = (flags & MREMAP_FIXED) != 0;
    if (falls(CALL_MREMAP, CALLER)) {
        bool shrinks = whole_pages(old_size) > whole_pages(new_size);
        if (acts_partly(CALL_MREMAP, fixed || shrinks)) fail_after_unmapping(old, old_size, new_size, flags, to);
        return (void *)failure(CALL_MREMAP, one_of(EFAULT, ENOMEM, EINVAL), (long)(fixed ? to : old));
    }
    if (is_the_mallocs(CALLER) && an_old_kernel_refuses(old, old_size, flags)) {
        fail_after_unmapping(old, old_size, new_size, flags, to);
        errno = EFAULT;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mremap, old, old_size, new_size, flags, to);
}
