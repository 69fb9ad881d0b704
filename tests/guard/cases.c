/* Programs that a guard treats in ways of its own, by the first argument. */
#define _GNU_SOURCE
#include <flatline/guard.h>

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;
static jmp_buf behind;
static volatile sig_atomic_t struck;

static void allocate(void) {
    kept = malloc(100);
    free(kept);
}

static void section(void) {
    flat_guard_enter();
    allocate();
    flat_guard_leave();
}

static void strike(int number) {
    (void)number;
    struck = 1;
}

/* The section's own rest is watched behind a handler. */
static void be_struck_in_section(void) {
    (void)signal(SIGUSR1, strike);
    flat_guard_enter();
    (void)raise(SIGUSR1);
    (void)getpid();
    flat_guard_leave();
    if (struck != 1) abort();
}

static void fork_in_section(void) {
    int status = 1;
    flat_guard_enter();
    const pid_t child = fork();
    allocate();
    if (child == 0) _exit(7);
    flat_guard_leave();
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) abort();
}

static void jump_in_section(void) {
    flat_guard_enter();
    longjmp(behind, 1);
}

static void leave_by_jump(void) {
    if (setjmp(behind) == 0) jump_in_section();
}

static void handle(int number) {
    (void)signal(number, strike);
    section();
    puts("unreachable");
}

/* What the real-time priority of a thread needs may be refused: then a test is skipped. */
static int run(const char *how, char **words) {
    if (strcmp(how, "nothing") == 0) return 3;
    if (strcmp(how, "section") == 0) return section(), 4;
    if (strcmp(how, "sigsys") == 0) handle(SIGSYS);
    if (strcmp(how, "sigtrap") == 0) handle(SIGTRAP);
    if (strcmp(how, "sigsys-late") == 0) return section(), (void)signal(SIGSYS, strike), 0;
    if (strcmp(how, "signal") == 0) be_struck_in_section();
    if (strcmp(how, "fork") == 0) fork_in_section();
    if (strcmp(how, "kill") == 0) return section(), kill(getpid(), SIGKILL);
    if (strcmp(how, "crash") == 0) return section(), raise(SIGSEGV);
    if (strcmp(how, "trap") == 0) return section(), raise(SIGTRAP);
    if (strcmp(how, "jump") == 0) return leave_by_jump(), leave_by_jump(), leave_by_jump(), 0;
    if (strcmp(how, "deep") == 0) return dlopen(words[2], RTLD_NOW | RTLD_DEEPBIND) == NULL;
    if (strcmp(how, "exec") == 0) {
        flat_guard_enter();
        return execl(words[0], words[0], "section", (char *)NULL);
    }
    return 0;
}

int main(int count, char **words) {
    const int status = count > 1 ? run(words[1], words) : 9;
    puts("ended");
    return status;
}
