/* Aligned stack frames, switches with jump tables, loops with a constant number of iterations. */
#define FUNCTION __attribute__((noinline))

struct line {
    _Alignas(64) int v[16];
};
volatile int shared;
FUNCTION void use(struct line *l) { l->v[3]++; }
FUNCTION int aligned(int x) {
    struct line l = {{0}};
    l.v[x & 15] = x;
    use(&l);
    return l.v[3] + l.v[0];
}
FUNCTION int aligned_with_arguments(int a, int b, int c, int d, int e, int f, int g, int h) {
    struct line l = {{a, b, c, d, e, f, g, h}};
    use(&l);
    return l.v[a & 15] + g * h;
}
FUNCTION int grows(int n) {
    volatile char b[n & 63];
    b[0] = 1;
    return b[0];
}
FUNCTION int jumps(int x, int *p) {
    switch (x) {
    case 0: p[0]++; break;
    case 1: p[1] += p[0]; break;
    case 2: use((struct line *)p); break;
    case 3: p[7] = 5; break;
    case 4: p[2] *= 3; break;
    case 5: p[9]--; break;
    }
    return p[0];
}
FUNCTION int jumps_by_byte(unsigned char x, int *p) {
    switch (x) {
    case 10: return p[3];
    case 11: p[1] = p[0]; return 4;
    case 12: p[2] = 1; return p[7];
    case 13: return p[5] * 3;
    case 14: p[3] = 5; break;
    case 15: return p[2] - p[1];
    case 17: p[0]--; break;
    default: return p[9];
    }
    return p[0];
}
FUNCTION int jumps_in_a_loop(int x, int *p) {
    for (int i = 0; i < 5; i++) switch (x + i) {
        case 0: p[0]++; break;
        case 1: p[1] += p[0]; break;
        case 2: p[3] ^= p[1]; break;
        case 3: p[7] = 5; continue;
        case 4: p[2] *= 3; break;
        case 5: return p[9];
        }
    return p[0];
}
FUNCTION int ten(const int *p) {
    int s = 0;
    for (int i = 0; i < 10; i++) s += p[i] ^ s >> 3;
    return s;
}
FUNCTION int helps(int x) { return x * shared; }
FUNCTION int calls_in_a_loop(int x) {
    for (int i = 0; i < 10; i++) x += helps(i);
    return x;
}
/* Violates the ABI: it changes rbx, which holds the loop counter of its caller. */
void changes_rbx(void);
__asm__(".text; .type changes_rbx, @function; changes_rbx: push %rax; xor %ebx, %ebx; pop %rax; ret; .size "
        "changes_rbx, . - changes_rbx");
FUNCTION int calls_what_changes_the_counter(void) {
    __asm__ volatile("xor %%ebx, %%ebx\n1: call changes_rbx\n add $1, %%ebx\n cmp $10, %%ebx\n jne 1b"
                     :
                     :
                     : "rbx", "rax", "memory");
    return shared;
}
FUNCTION int nested(const int *p) {
    int s = 0;
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 7; k++) {
            s += p[i] ^ s >> 3;
            shared = k;
        }
    return s;
}
FUNCTION int ends_early(const int *p) {
    for (int i = 12; i > 0; i--) {
        if (p[i] == shared) return i;
        shared = i;
    }
    return 0;
}
FUNCTION int walks(const int *p, const int *end) {
    int s = 0;
    for (; p != end; p++) s += *p ^ s >> 3;
    return s;
}
FUNCTION int waits(void) {
    for (int i = 0; i < 3;)
        if (shared == i) i++;
    return 1;
}
