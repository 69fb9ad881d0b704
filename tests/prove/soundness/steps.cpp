// Single-steps functions with the processor's trap flag and counts their instructions, for the soundness campaign.
//
//     steps FILE|self SEED < "NAME BOUND" lines
//
// Each function has the type long NAME(unsigned long, unsigned long, unsigned long *). The output has for each:
//     NAME<tab>CALLS<tab>MOST<tab>VERDICT
// MOST is the largest count of the calls that returned. VERDICT is "ok" or names a violation of the bound.
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/time.h>
#include <ucontext.h>

namespace {

using Called = long (*)(unsigned long, unsigned long, unsigned long *);

constexpr std::uint64_t trap_flag = 0x100;
constexpr std::uint64_t most_beyond = 50'000; // steps beyond the bound; a call with more never ends
constexpr unsigned calls_of_each = 10;

/// The call that is stepped through.
struct Call {
    enum class Where { before, inside, left, back } where = Where::before;
    std::uintptr_t entry = 0, return_to = 0, stack_after = 0, code_start = 0, code_end = 0;
    std::uint64_t count = 0, bound = 0;
};

Call call;
sigjmp_buf ended;
enum Ending { returned, aborted, runs_for_ever, no_time_left };

void stop_stepping(ucontext_t *context) { context->uc_mcontext.gregs[REG_EFL] &= ~static_cast<greg_t>(trap_flag); }

void on_trap(int, siginfo_t *, void *given) {
    auto *context = static_cast<ucontext_t *>(given);
    const auto at = static_cast<std::uintptr_t>(context->uc_mcontext.gregs[REG_RIP]);
    const auto stack = static_cast<std::uintptr_t>(context->uc_mcontext.gregs[REG_RSP]);
    if (call.where == Call::Where::before) {
        if (at != call.entry) return;
        call.where = Call::Where::inside;
        std::memcpy(&call.return_to, reinterpret_cast<const void *>(stack), sizeof call.return_to);
        call.stack_after = stack + sizeof call.return_to;
    }
    if (call.where != Call::Where::inside) return;
    if (at == call.return_to && stack == call.stack_after) {
        call.where = Call::Where::back;
        return stop_stepping(context);
    }
    if (at < call.code_start || at >= call.code_end) { // it ends the program or throws
        call.where = Call::Where::left;
        return stop_stepping(context);
    }
    if (++call.count > call.bound + most_beyond) siglongjmp(ended, runs_for_ever);
}

void on_abort(int) { siglongjmp(ended, aborted); }
void on_time(int) { siglongjmp(ended, no_time_left); }

void handle(int signal, void (*simple)(int), void (*full)(int, siginfo_t *, void *)) {
    struct sigaction action{};
    sigemptyset(&action.sa_mask);
    action.sa_flags = full != nullptr ? SA_SIGINFO : 0;
    if (full != nullptr)
        action.sa_sigaction = full;
    else
        action.sa_handler = simple;
    if (sigaction(signal, &action, nullptr) != 0) {
        std::perror("sigaction");
        std::exit(2);
    }
}

void allow_time(long seconds) {
    const itimerval timer{{0, 0}, {seconds, 0}};
    if (setitimer(ITIMER_VIRTUAL, &timer, nullptr) != 0) std::perror("setitimer");
}

__attribute__((noinline)) void call_stepped(Called function, unsigned long a, unsigned long b, unsigned long *p) {
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    (void)function(a, b, p);
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

/// Returns what is wrong with the call, or nullptr.
const char *judged_call(Called function, std::mt19937_64 &random, std::uint64_t &most) {
    unsigned long memory[64];
    for (unsigned long &each : memory) each = random() % 3 == 0 ? random() : random() % 20;
    const auto argument = [&random] { return random() % 4 == 0 ? random() : random() % 24; };
    const unsigned long a = argument(), b = argument();
    const int ending = sigsetjmp(ended, 1);
    if (ending == runs_for_ever) return "runs for ever";
    if (ending == no_time_left) return "goes on without an end outside of its code";
    if (ending == aborted) return nullptr;
    allow_time(2);
    try {
        call_stepped(function, a, b, memory);
    } catch (...) {
        return nullptr;
    }
    if (call.where == Call::Where::left) return "returned, though what it called outside was to end it";
    if (call.where != Call::Where::back) return "was not stepped through";
    most = std::max(most, call.count);
    return call.count > call.bound ? "executed more than was proved" : nullptr;
}

/// Finds the code to count. It excludes the procedure linkage table, which only calls to other files use.
bool find_code(const char *file, std::uintptr_t base) {
    std::ifstream in(file, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    Elf64_Ehdr header;
    if (bytes.size() < sizeof header) return false;
    std::memcpy(&header, bytes.data(), sizeof header);
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    std::memcpy(sections.data(), &bytes[header.e_shoff], sections.size() * sizeof sections[0]);
    for (const Elf64_Shdr &section : sections)
        if (std::strcmp(&bytes[sections[header.e_shstrndx].sh_offset + section.sh_name], ".text") == 0) {
            call.code_start = base + section.sh_addr;
            call.code_end = call.code_start + section.sh_size;
            return true;
        }
    return false;
}

} // namespace

int main(int count, char **arguments) {
    if (count != 3) return std::fputs("steps FILE|self SEED\n", stderr), 2;
    const bool is_self = std::strcmp(arguments[1], "self") == 0;
    void *library = dlopen(is_self ? nullptr : arguments[1], RTLD_NOW);
    link_map *map = nullptr;
    if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return std::fputs(dlerror(), stderr), 2;
    if (!find_code(is_self ? "/proc/self/exe" : arguments[1], map->l_addr)) return std::fputs("no .text\n", stderr), 2;
    handle(SIGTRAP, nullptr, on_trap);
    handle(SIGABRT, on_abort, nullptr);
    handle(SIGILL, on_abort, nullptr); // __builtin_trap
    handle(SIGVTALRM, on_time, nullptr);
    std::mt19937_64 random(std::strtoull(arguments[2], nullptr, 10));
    std::string name;
    std::uint64_t bound = 0;
    while (std::cin >> name >> bound) {
        void *function = dlsym(library, name.c_str());
        if (function == nullptr) return std::fprintf(stderr, "no %s\n", name.c_str()), 2;
        std::uint64_t most = 0;
        const char *wrong = nullptr;
        for (unsigned i = 0; i < calls_of_each && wrong == nullptr; i++) {
            call.where = Call::Where::before;
            call.entry = reinterpret_cast<std::uintptr_t>(function);
            call.count = 0;
            call.bound = bound;
            wrong = judged_call(reinterpret_cast<Called>(function), random, most);
        }
        allow_time(0);
        std::printf("%s\t%u\t%llu\t%s\n", name.c_str(), calls_of_each, static_cast<unsigned long long>(most),
                    wrong == nullptr ? "ok" : wrong);
    }
    return std::fflush(stdout) == 0 ? 0 : 2;
}
