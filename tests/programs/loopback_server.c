/* loopback_server PORT [WORD]: writes its process id to the file "server" and accepts connections on 127.0.0.1 until
 * SIGTERM. WORD: deaf (SIGTERM does not end it), or die (it exits with status 3 after the first connection). */
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile sig_atomic_t asked;
static void ask(int signal) {
    (void)signal;
    asked = 1;
}

int main(int argc, char **argv) {
    const char *word = argc > 2 ? argv[2] : "";
    struct sigaction action = {.sa_handler = ask};
    sigaction(SIGTERM, &action, NULL);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 0))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 8) != 0) return 4;
    FILE *out = fopen("server", "w");
    if (out == NULL || fprintf(out, "%d\n", (int)getpid()) < 0 || fclose(out) != 0) return 5;
    free(malloc(1000));
    while (!asked || strcmp(word, "deaf") == 0) {
        int connection = accept(listener, NULL, NULL);
        if (connection >= 0) close(connection);
        if (connection >= 0 && strcmp(word, "die") == 0 && usleep(300000) == 0) return 3;
    }
    return 0;
}
