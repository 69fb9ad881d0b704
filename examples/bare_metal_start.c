/* What a board brings along, here for Linux, so that bare_metal.c runs on your machine: the place where it starts, and
 * the four functions that a compiler may call on its own. Nothing of an operating system's library is linked. */
#include <stddef.h>
#include <stdint.h>

int main(void);

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall begin\n");
static long system_call(long number, long a) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a) : "rcx", "r11", "memory");
    return result;
}
#define EXIT 60
#elif defined(__i386__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %esp\n\tcall begin\n");
static long system_call(long number, long a) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a) : "memory");
    return result;
}
#define EXIT 1
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, xzr\n\tbl begin\n");
static long system_call(long number, long a) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8) : "memory");
    return x0;
}
#define EXIT 93
#endif

/* What a compiler may call on its own, and on 32-bit processors its helpers for 64-bit numbers. */
void *memset(void *to, int value, size_t size);
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
int memcmp(const void *a, const void *b, size_t size);

void *memset(void *to, int value, size_t size) {
    for (size_t i = 0; i < size; i++) ((volatile unsigned char *)to)[i] = (unsigned char)value;
    return to;
}
void *memmove(void *to, const void *from, size_t size) {
    volatile unsigned char *t = to;
    const volatile unsigned char *f = from;
    if ((uintptr_t)to < (uintptr_t)from) {
        for (size_t i = 0; i < size; i++) t[i] = f[i];
    } else {
        for (size_t i = size; i-- > 0;) t[i] = f[i];
    }
    return to;
}
void *memcpy(void *restrict to, const void *restrict from, size_t size) { return memmove(to, from, size); }
int memcmp(const void *a, const void *b, size_t size) {
    const volatile unsigned char *x = a, *y = b;
    for (size_t i = 0; i < size; i++) {
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}

#if defined(__i386__)
uint64_t __udivmoddi4(uint64_t a, uint64_t b, uint64_t *rest);
uint64_t __udivdi3(uint64_t a, uint64_t b);
uint64_t __umoddi3(uint64_t a, uint64_t b);
int __ctzdi2(uint64_t a);

int __ctzdi2(uint64_t a) {
    int zeros = 0;
    while ((a >> zeros & 1) == 0) zeros++;
    return zeros;
}
uint64_t __udivmoddi4(uint64_t a, uint64_t b, uint64_t *rest) {
    uint64_t quotient = 0, remainder = 0;
    for (int bit = 63; bit >= 0; bit--) {
        remainder = remainder << 1 | (a >> bit & 1);
        if (remainder >= b) {
            remainder -= b;
            quotient |= (uint64_t)1 << bit;
        }
    }
    if (rest != NULL) *rest = remainder;
    return quotient;
}
uint64_t __udivdi3(uint64_t a, uint64_t b) { return __udivmoddi4(a, b, NULL); }
uint64_t __umoddi3(uint64_t a, uint64_t b) {
    uint64_t rest;
    (void)__udivmoddi4(a, b, &rest);
    return rest;
}
#endif

void begin(void);

void begin(void) {
    const int status = main();
    for (;;) (void)system_call(EXIT, status);
}
