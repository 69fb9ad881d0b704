/* The first process of the machine that scripts/guest boots. It mounts the host's file system, runs the given commands
 * one after the other, and switches the machine off.
 *
 * Files in the folder /guest of the initial file system say what to do:
 *
 *     modules      kernel modules below /guest, one a line, in loading order
 *     settings     "FILE VALUE" each, a file of /proc or /sys to write before the first command
 *     environment  "NAME=VALUE" each, the commands' whole environment
 *     folder       the commands' working directory
 *     seconds      time limit of each command
 *     commands     one a line, for sh -c
 *
 * The commands' output goes to the first serial port. The protocol has the second one, so that it cannot be confused
 * with output: "kernel RELEASE", then for each command "begin N" and "status N STATUS SECONDS", and finally "end".
 * Statuses are those of a shell: 128 plus the signal's number for a command that died of a signal. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_TIMED_OUT = 124, LINE = 65536 };

static FILE *protocol;

__attribute__((noreturn)) static void switch_off(void) {
    sync();
    (void)reboot(RB_AUTOBOOT); /* the emulator exits instead of rebooting */
    for (;;) pause();
}

/* Reports what is wrong and switches the machine off. */
__attribute__((noreturn, format(printf, 1, 2))) static void give_up(const char *format, ...) {
    int error = errno;
    va_list values;
    va_start(values, format);
    FILE *to = protocol != NULL ? protocol : stderr;
    fputs("error ", to);
    vfprintf(to, format, values);
    fprintf(to, ": %s\n", strerror(error));
    fflush(to);
    va_end(values);
    switch_off();
}

static void mount_at(const char *what, const char *where, const char *type, unsigned long flags, const char *options) {
    if (mkdir(where, 0755) != 0 && errno != EEXIST && errno != EROFS) give_up("mkdir %s", where);
    if (mount(what, where, type, flags, options) != 0) give_up("mount of %s at %s", type, where);
}

/* Calls `each` for every line of a file of /guest, without the newline. A missing file has no lines. */
static void for_lines(const char *name, void (*each)(char *line)) {
    static char line[LINE];
    char path[256];
    snprintf(path, sizeof path, "/guest/%s", name);
    FILE *file = fopen(path, "re");
    if (file == NULL && errno == ENOENT) return;
    if (file == NULL) give_up("open %s", path);
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        each(line);
    }
    fclose(file);
}

static void load_module(char *name) {
    char path[512];
    snprintf(path, sizeof path, "/guest/%s", name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) give_up("open %s", path);
    if (syscall(SYS_finit_module, file, "", 0) != 0 && errno != EEXIST) give_up("loading the module %s", name);
    close(file);
}

static void apply_setting(char *line) {
    char *value = strchr(line, ' ');
    if (value == NULL) give_up("a setting is FILE VALUE, not %s", line);
    *value++ = '\0';
    int file = open(line, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, value, strlen(value)) < 0) give_up("writing %s to %s", value, line);
    close(file);
}

/* Mounts the host's files read-only, with an overlay in memory for writes. */
static void take_the_hosts_files(void) {
    mount_at("host", "/host", "9p", MS_RDONLY, "trans=virtio,version=9p2000.L,cache=loose,msize=524288");
    mount_at("tmpfs", "/above", "tmpfs", 0, "mode=0755");
    if (mkdir("/above/files", 0755) != 0 || mkdir("/above/work", 0755) != 0) give_up("mkdir below /above");
    mount_at("overlay", "/root", "overlay", 0, "lowerdir=/host,upperdir=/above/files,workdir=/above/work");
    mount_at("proc", "/root/proc", "proc", 0, NULL);
    mount_at("sys", "/root/sys", "sysfs", 0, NULL);
    mount_at("dev", "/root/dev", "devtmpfs", 0, NULL);
    mount_at("shm", "/root/dev/shm", "tmpfs", 0, "mode=1777");
    mount_at("pts", "/root/dev/pts", "devpts", 0, NULL);
}

static void use_folder(char *line) {
    if (chdir(line) != 0) give_up("chdir %s", line);
}

static void add_to_environment(char *line) {
    if (putenv(strdup(line)) != 0) give_up("environment");
}

static unsigned seconds_each = 300, command_number;

static void set_seconds(char *line) { seconds_each = (unsigned)strtoul(line, NULL, 10); }

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void on_child(int number) { (void)number; }

/* Waits for a process and reaps all others that end meanwhile. Returns -1 if it has not ended in time. */
static int status_of(pid_t command, double until) {
    for (;;) {
        int status;
        pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended == command) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (ended > 0) continue;
        if (now() > until) return -1;
        struct timespec tenth = {0, 100000000};
        nanosleep(&tenth, NULL); /* SIGCHLD interrupts it */
    }
}

static void end_all_others(void) {
    (void)kill(-1, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0) continue;
}

static void run_command(char *line) {
    fprintf(protocol, "begin %u\n", command_number);
    fflush(protocol);
    double start = now();
    pid_t command = fork();
    if (command < 0) give_up("fork");
    if (command == 0) {
        (void)setsid();
        (void)execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    int status = status_of(command, start + seconds_each);
    if (status == -1) status = STATUS_TIMED_OUT;
    end_all_others();
    fprintf(protocol, "status %u %d %.1f\n", command_number++, status, now() - start);
    fflush(protocol);
}

static void begin_protocol(void) {
    int port = open("/dev/ttyS1", O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (port < 0) give_up("open /dev/ttyS1");
    protocol = fdopen(port, "w");
    if (protocol == NULL) give_up("fdopen");
    struct utsname system;
    if (uname(&system) != 0) give_up("uname");
    fprintf(protocol, "kernel %s\n", system.release);
    fflush(protocol);
}

int main(void) {
    mount_at("dev", "/dev", "devtmpfs", 0, NULL);
    begin_protocol();
    for_lines("modules", load_module);
    mount_at("proc", "/proc", "proc", 0, NULL);
    mount_at("sys", "/sys", "sysfs", 0, NULL);
    for_lines("settings", apply_setting);
    take_the_hosts_files();
    struct sigaction action = {.sa_handler = on_child};
    if (sigaction(SIGCHLD, &action, NULL) != 0) give_up("sigaction");
    clearenv();
    for_lines("environment", add_to_environment);
    for_lines("seconds", set_seconds);
    FILE *commands = fopen("/guest/commands", "re");
    FILE *folder = fopen("/guest/folder", "re");
    static char line[LINE];
    if (commands == NULL || folder == NULL || fgets(line, sizeof line, folder) == NULL) give_up("open /guest/commands");
    line[strcspn(line, "\n")] = '\0';
    if (chroot("/root") != 0) give_up("chroot");
    use_folder(line);
    while (fgets(line, sizeof line, commands) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        run_command(line);
    }
    fputs("end\n", protocol);
    fflush(protocol);
    switch_off();
}
