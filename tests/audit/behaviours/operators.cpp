// operators NAME: a program that calls operator new and delete, counted as in one_behaviour.c.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int rounds = 50;
volatile std::size_t none_can_have = PTRDIFF_MAX;

void require(bool holds) {
    if (!holds) std::_Exit(1);
}

/// 24 calls a round: each of the 20 operators.
void all_operators() {
    constexpr std::align_val_t to{64};
    for (int i = 0; i < rounds; i++) {
        ::operator delete(::operator new(10));
        ::operator delete(::operator new(10), std::size_t{10});
        ::operator delete(::operator new(10, std::nothrow), std::nothrow);
        ::operator delete[](::operator new[](10));
        ::operator delete[](::operator new[](10), std::size_t{10});
        ::operator delete[](::operator new[](10, std::nothrow), std::nothrow);
        ::operator delete(::operator new(10, to), to);
        ::operator delete(::operator new(10, to), std::size_t{10}, to);
        ::operator delete(::operator new(10, to, std::nothrow), to, std::nothrow);
        ::operator delete[](::operator new[](10, to), to);
        ::operator delete[](::operator new[](10, to), std::size_t{10}, to);
        ::operator delete[](::operator new[](10, to, std::nothrow), to, std::nothrow);
    }
}

/// 4 calls a round: the operator that throws, and what frees the exception; one that does not, and its delete.
void refused() {
    for (int i = 0; i < rounds; i++) {
        bool thrown = false;
        try {
            ::operator delete(::operator new(none_can_have));
        } catch (const std::bad_alloc &) {
            thrown = true;
        }
        void *none = ::operator new(none_can_have, std::nothrow);
        require(thrown && none == nullptr);
        ::operator delete(none);
    }
}

int asked = 0;

/// 2 calls a round: the handler throws at its second call.
void handler_throws() {
    std::set_new_handler([] {
        std::free(std::malloc(10)); // within operator new, so a part of it
        if (++asked % 2 == 0) throw std::bad_alloc();
    });
    for (int i = 0; i < rounds; i++) {
        bool thrown = false;
        try {
            ::operator delete(::operator new(none_can_have));
        } catch (const std::bad_alloc &) {
            thrown = true;
        }
        require(thrown);
    }
    require(asked == 2 * rounds);
}

pid_t forked = -1;
void fork_and_stop_trying() {
    forked = fork();
    std::set_new_handler(nullptr);
}

/// The call is the parent's; the child makes 2 of its own. In all: 3 + 2 calls.
void forks_within_a_call() {
    std::set_new_handler(fork_and_stop_trying);
    const void *refused = ::operator new(none_can_have, std::nothrow);
    ::operator delete(::operator new(1));
    if (forked == 0) _exit(refused == nullptr ? 7 : 1);
    int status = 0;
    require(refused == nullptr && waitpid(forked, &status, 0) == forked && WEXITSTATUS(status) == 7);
}

} // namespace

int main(int count, char **words) {
    if (count != 2) return 2;
    if (std::strcmp(words[1], "all") == 0) all_operators();
    if (std::strcmp(words[1], "refused") == 0) refused();
    if (std::strcmp(words[1], "handler") == 0) handler_throws();
    if (std::strcmp(words[1], "forks") == 0) forks_within_a_call();
    return 0;
}
