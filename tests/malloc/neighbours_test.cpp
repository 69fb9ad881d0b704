// The C library's allocation functions that programs reach in other ways: wherever the call comes from, they are this
// malloc's.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <regex>
#include <string>
#include <sys/wait.h>
#include <vector>

extern "C" {
void *__libc_malloc(std::size_t size);
void *__libc_calloc(std::size_t count, std::size_t size);
void *__libc_realloc(void *block, std::size_t size);
void *__libc_memalign(std::size_t alignment, std::size_t size);
void *__libc_valloc(std::size_t size);
void *__libc_pvalloc(std::size_t size);
void __libc_free(void *block);
}

namespace {

std::string library_of(void *function) {
    Dl_info info{};
    return function != nullptr && dladdr(function, &info) != 0 ? info.dli_fname : "none";
}

// Whether the function is in this malloc's library, or in the program itself if that is linked with the archive.
bool is_ours(void *function) {
    const std::string own = library_of(reinterpret_cast<void *>(&malloc));
    return library_of(function) == own && own.find("/libc.so") == std::string::npos;
}

TEST(malloc_neighbours, the_c_librarys_second_names_are_this_mallocs) {
    for (void *block : {__libc_malloc(100), __libc_calloc(10, 10), __libc_realloc(nullptr, 100),
                        __libc_memalign(64, 100), __libc_valloc(100), __libc_pvalloc(100)}) {
        ASSERT_NE(block, nullptr);
        EXPECT_GE(malloc_usable_size(block), 100U);
        free(block);
    }
    __libc_free(malloc(100));
}

// Python's ctypes does this.
TEST(malloc_neighbours, the_c_library_asked_by_its_handle_has_this_malloc) {
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    ASSERT_NE(libc, nullptr) << dlerror();
    for (const char *name : {"malloc",
                             "free",
                             "calloc",
                             "realloc",
                             "reallocarray",
                             "memalign",
                             "aligned_alloc",
                             "posix_memalign",
                             "valloc",
                             "pvalloc",
                             "malloc_usable_size",
                             "malloc_trim",
                             "malloc_info",
                             "malloc_stats",
                             "mallinfo",
                             "mallinfo2",
                             "mallopt",
                             "__libc_malloc",
                             "__libc_free",
                             "__libc_calloc",
                             "__libc_realloc",
                             "__libc_memalign",
                             "__libc_valloc",
                             "__libc_pvalloc"})
        EXPECT_TRUE(is_ours(dlsym(libc, name))) << name << ": " << library_of(dlsym(libc, name));
    EXPECT_TRUE(is_ours(dlvsym(libc, "cfree", "GLIBC_2.2.5")) || dlvsym(libc, "cfree", "GLIBC_2.2.5") == nullptr);
    for (const char *name : {"strdup", "memcpy", "abort", "printf"})
        EXPECT_NE(library_of(dlsym(libc, name)).find("libc.so"), std::string::npos) << name;
    auto *copy = reinterpret_cast<char *(*)(const char *)>(dlsym(libc, "strdup"));
    auto *give = reinterpret_cast<void (*)(void *)>(dlsym(libc, "free"));
    give(copy("a text"));
    (void)dlclose(libc);
}

struct guest {
    explicit guest(int flags) : handle(dlopen(FLATLINE_GUEST, RTLD_NOW | RTLD_LOCAL | flags)) {}
    ~guest() { (void)dlclose(handle); }
    guest(const guest &) = delete;
    guest &operator=(const guest &) = delete;
    template <typename Function> Function *get(const char *name) const {
        return reinterpret_cast<Function *>(dlsym(handle, name));
    }
    void *handle;
};

void exchange_blocks(const guest &with) {
    auto *copy = with.get<char *(const char *)>("guest_copy");
    auto *take = with.get<void *(std::size_t)>("guest_take");
    auto *take_aligned = with.get<void *(std::size_t, std::size_t)>("guest_take_aligned");
    auto *resize = with.get<void *(void *, std::size_t)>("guest_resize");
    auto *size_of = with.get<std::size_t(void *)>("guest_size_of");
    auto *give = with.get<void(void *)>("guest_give");
    ASSERT_NE(give, nullptr);
    for (const std::size_t size : {1UL, 100UL, 16384UL, 100000UL, 5000000UL}) {
        free(take(size));
        free(take_aligned(256, size));
        free(resize(malloc(size), size * 2));
        free(realloc(take(size), size * 2));
        give(malloc(size));
        give(aligned_alloc(64, size));
        void *block = malloc(size);
        EXPECT_EQ(size_of(block), malloc_usable_size(block));
        give(realloc(block, size * 3));
    }
    free(copy("a text"));
}

TEST(malloc_neighbours, a_plugin_shares_this_malloc) { exchange_blocks(guest(0)); }

// PHP opens its extensions in this way.
TEST(malloc_neighbours, a_plugin_that_looks_into_its_own_libraries_first_shares_it_too) {
    exchange_blocks(guest(RTLD_DEEPBIND));
}

struct said {
    int status;
    std::string text;
};

// Runs a program with this test's library preloaded. Returns its standard output and standard error.
said run(const std::string &program, const std::string &settings = "") {
    const std::string library = library_of(reinterpret_cast<void *>(&malloc));
    const std::string command =
        "exec env -u FLATLINE_POLICY LD_PRELOAD=" + library + ' ' + settings + ' ' + program + " 2>&1";
    std::FILE *pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return {-1, ""};
    std::array<char, 1000> text{};
    const std::size_t length = std::fread(text.data(), 1, text.size() - 1, pipe);
    const int status = pclose(pipe);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), std::string(text.data(), length)};
}

// A program in C opens a plugin in C++, which loads a C++ library for itself alone or has one linked in.
TEST(malloc_neighbours, a_cxx_plugin_of_a_c_program_gets_its_handler_called_and_bad_alloc) {
    for (const char *plugin : {FLATLINE_THROWERS}) {
        for (const char *way : {"", " deep"}) {
            const said done = run(std::string(FLATLINE_HOST " ") + plugin + way);
            EXPECT_EQ(done.status, 0) << plugin << way << ": " << done.text;
            EXPECT_EQ(done.text, "the handler was called 8 times\n") << plugin << way;
        }
    }
}

TEST(malloc_neighbours, a_program_with_some_operators_of_its_own_has_the_others_built_on_them) {
    for (const char *program : {FLATLINE_REPLACED, FLATLINE_REPLACED_ALIGNED}) {
        const said done = run(program);
        EXPECT_EQ(done.status, 0) << program << ": " << done.text;
    }
}

// The program's first allocation comes before the C library has its environment.
TEST(malloc_neighbours, settings_are_known_to_a_first_call_before_the_c_library_has_begun) {
    const std::string ends = "came to its end\n", misused = "flatline-malloc: free\\(.*double free.*\n";
    const auto statistics = [&](const std::string &policy) {
        const std::string begins = R"(flatline-malloc: [^ ]+\[\d+\]: )";
        return ends + begins + "policy: " + policy + ";.*\n(" + begins + "(not freed|free and|peak resident).*\n){3}";
    };
    const std::vector<std::array<std::string, 2>> expected{
        {"", ends},
        {"FLATLINE_STATS=1", statistics("balanced")},
        {"FLATLINE_STATS=1 FLATLINE_POLICY=memory", statistics("memory")},
        {"FLATLINE_STATS=1 FLATLINE_POLICY=latency", statistics("latency")},
        {"FLATLINE_POLICY=fast", "flatline-malloc: FLATLINE_POLICY=fast is none of .*: balanced serves\n" + ends},
        {"EARLY_TWICE=1", misused},
        {"EARLY_TWICE=1 FLATLINE_MISUSE=report", misused + ends},
    };
    for (const auto &[settings, text] : expected) {
        const said done = run(FLATLINE_EARLY, settings);
        EXPECT_TRUE(std::regex_match(done.text, std::regex(text))) << settings << ": " << done.text;
    }
}

} // namespace
