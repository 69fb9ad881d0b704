// Violations of each kind. Each function below enters a section, and a line of it that commits a violation has a mark:
// `guard: KIND`, or several. It is called twice, since the first entry is its warm-up (--warm-up 1). Nothing else that
// happens in a section is a violation.
//
//   violations LIBRARY [CASE]     (the library that is to be loaded late: late.cpp; one function alone)
#include "section.hpp"

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t page = 4096, huge = 1 << 20;
void *volatile kept; // what the compiler may not remove
const char *volatile a_text = "a text that is too long for a string's own room";
const char *library;
int run; // 0: the warm-up, then 1

NOINLINE void *fresh_pages() {
    return mmap(nullptr, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/// Lets another thread wait until the thread `id` sleeps.
NOINLINE void until_asleep(int id) {
    const std::string path = "/proc/self/task/" + std::to_string(id) + "/stat";
    for (char state = 0; state != 'S';) {
        FILE *file = std::fopen(path.c_str(), "r");
        if (file == nullptr || std::fscanf(file, "%*d (%*[^)]) %c", &state) != 1) std::abort();
        std::fclose(file);
        usleep(100);
    }
}

NOINLINE void by_malloc() {
    ENTER();
    kept = malloc(100); // guard: malloc
    LEAVE();
    free(kept);
}

NOINLINE void by_calloc() {
    ENTER();
    kept = calloc(10, 10); // guard: malloc
    LEAVE();
    free(kept);
}

NOINLINE void by_realloc() {
    kept = malloc(100);
    ENTER();
    kept = realloc(kept, 5000); // guard: malloc
    LEAVE();
    free(kept);
}

NOINLINE void by_aligned_alloc() {
    ENTER();
    kept = aligned_alloc(64, 128); // guard: malloc
    LEAVE();
    free(kept);
}

NOINLINE void by_posix_memalign() {
    void *block = nullptr;
    ENTER();
    if (posix_memalign(&block, 64, 128) != 0) std::abort(); // guard: malloc
    LEAVE();
    free(block);
}

NOINLINE void inside_of_the_c_library() {
    ENTER();
    kept = strdup(a_text); // guard: malloc
    LEAVE();
    free(kept);
}

NOINLINE void by_operator_new() {
    ENTER();
    int *number = new int(3); // guard: malloc
    kept = number;
    LEAVE();
    delete number;
}

NOINLINE void by_a_vector_that_grows() {
    std::vector<int> numbers(4);
    ENTER();
    numbers.push_back(5); // guard: malloc, free
    LEAVE();
    kept = numbers.data();
}

NOINLINE void by_a_string_of_the_cpp_library() {
    std::string text;
    ENTER();
    text = a_text; // guard: malloc
    LEAVE();
    kept = text.data();
}

NOINLINE void by_free() {
    kept = malloc(100);
    ENTER();
    free(kept); // guard: free
    free(nullptr);
    LEAVE();
}

NOINLINE void by_operator_delete() {
    int *numbers = new int[10];
    kept = numbers;
    ENTER();
    delete[] numbers; // guard: free
    LEAVE();
}

/// What malloc and free do inside belongs to them: here mmap and munmap.
NOINLINE void by_a_huge_block() {
    ENTER();
    void *block = malloc(huge); // guard: malloc
    kept = block;
    free(block); // guard: free
    LEAVE();
}

NOINLINE void by_getpid() {
    ENTER();
    (void)getpid(); // guard: system call
    LEAVE();
}

NOINLINE void by_a_failing_write() {
    errno = 0;
    ENTER();
    const ssize_t written = write(-1, "x", 1); // guard: system call
    const int error = errno;
    LEAVE();
    if (written != -1 || error != EBADF) std::abort();
}

/// The kernel touches the page, not the program: no page fault is told besides.
NOINLINE void by_a_read_into_a_fresh_page() {
    char *pages = static_cast<char *>(fresh_pages());
    const int zeros = open("/dev/zero", O_RDONLY);
    ENTER();
    const ssize_t count = read(zeros, pages + page, 100); // guard: system call
    LEAVE();
    close(zeros);
    if (count != 100) std::abort();
}

NOINLINE void by_madvise() {
    void *pages = fresh_pages();
    ENTER();
    (void)madvise(pages, page, MADV_DONTNEED); // guard: system call
    LEAVE();
}

#if defined(__x86_64__)
NOINLINE void by_an_instruction_of_its_own() {
    long number = SYS_getppid;
    ENTER();
    __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory"); // guard: system call
    LEAVE();
    if (number != getppid()) std::abort();
}
#endif

NOINLINE void by_the_first_touch_of_a_page() {
    volatile char *pages = static_cast<char *>(fresh_pages());
    ENTER();
    pages[3 * page] = 1; // guard: page fault
    LEAVE();
}

/// It was allocated before the section, and is touched in it.
NOINLINE void by_memory_of_the_start() {
    volatile char *block = static_cast<char *>(malloc(huge));
    ENTER();
    block[huge / 2 + 10 * page * static_cast<std::size_t>(run)] = 1; // guard: page fault
    LEAVE();
    free(const_cast<char *>(block));
}

NOINLINE void by_a_deep_stack() {
    const std::size_t size = 100 * page * static_cast<std::size_t>(run + 1);
    volatile char *room = static_cast<char *>(__builtin_alloca(size));
    ENTER();
    room[10 * page] = 1; // guard: page fault
    LEAVE();
}

NOINLINE void by_a_contended_mutex() {
    static std::mutex lock;
    static sem_t is_held;
    sem_init(&is_held, 0, 0);
    std::thread other([id = gettid()] {
        lock.lock();
        sem_post(&is_held);
        until_asleep(id);
        lock.unlock();
    });
    while (sem_wait(&is_held) != 0) {
    }
    ENTER();
    lock.lock();   // guard: lock wait
    lock.unlock(); // guard: system call
    lock.lock();
    lock.unlock();
    LEAVE();
    other.join();
}

/// The C library takes the lock behind the wait as a contended one, and so wakes others when it is given back.
NOINLINE void by_a_condition() {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    static bool is_met;
    is_met = false;
    std::thread other([id = gettid()] {
        until_asleep(id);
        pthread_mutex_lock(&lock);
        is_met = true;
        pthread_mutex_unlock(&lock);
        pthread_cond_signal(&condition);
    });
    ENTER();
    pthread_mutex_lock(&lock);
    while (!is_met) pthread_cond_wait(&condition, &lock); // guard: lock wait
    pthread_mutex_unlock(&lock);                          // guard: system call
    LEAVE();
    other.join();
}

NOINLINE void by_a_semaphore() {
    static sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    std::thread other([id = gettid()] {
        until_asleep(id);
        sem_post(&semaphore);
    });
    ENTER();
    while (sem_wait(&semaphore) != 0) { // guard: lock wait
    }
    LEAVE();
    other.join();
}

void *nothing(void *) { return nullptr; }

NOINLINE void by_pthread_create() {
    pthread_t thread;
    ENTER();
    if (pthread_create(&thread, nullptr, nothing, nullptr) != 0) std::abort(); // guard: thread
    LEAVE();
    pthread_join(thread, nullptr);
}

NOINLINE void by_dlopen() {
    ENTER();
    void *opened = dlopen(library, RTLD_NOW); // guard: dlopen
    LEAVE();
    if (opened == nullptr) std::abort();
}

NOINLINE void by_an_exception() {
    ENTER();
    try {
        throw 3; // guard: exception
    } catch (int) {
    }
    LEAVE();
}

NOINLINE void by_an_exception_of_the_cpp_library() {
    static const std::vector<int> numbers(10);
    int caught = 0;
    ENTER();
    try {
        caught = numbers.at(1000); // guard: malloc, exception
    } catch (const std::out_of_range &) {
        caught = 1;
    } // guard: free
    kept = malloc(10); // guard: malloc
    LEAVE();
    free(kept);
    if (caught != 1) std::abort();
}

NOINLINE void *third() {
    void *block = malloc(30); // guard: malloc
    kept = block;
    return block;
}
NOINLINE void *second() { return third() == kept ? kept : nullptr; }

NOINLINE void in_a_nested_call() {
    ENTER();
    kept = second();
    LEAVE();
    free(kept);
}

__attribute__((always_inline)) inline void reserve(std::size_t size) {
    kept = malloc(size); // guard: malloc
}

NOINLINE void in_an_inlined_function() {
    ENTER();
    reserve(40);
    LEAVE();
    free(kept);
}

NOINLINE void allocate_in_a_section() {
    ENTER();
    kept = malloc(50); // guard: malloc
    LEAVE();
    free(kept);
}

/// Its warm-up is its own.
NOINLINE void in_a_thread_of_its_own() {
    if (run == 0) return;
    std::thread([] {
        allocate_in_a_section();
        allocate_in_a_section();
    }).join();
}

NOINLINE void in_nested_sections() {
    ENTER();
    ENTER();
    LEAVE();
    kept = malloc(60); // guard: malloc
    LEAVE();
    free(kept);
}

NOINLINE void in_a_library_that_was_loaded_late() {
    void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void (*call)() = nullptr;
    void *symbol = opened != nullptr ? dlsym(opened, "late_call") : nullptr;
    if (symbol == nullptr) std::abort();
    std::memcpy(&call, &symbol, sizeof call);
    ENTER();
    call();
    LEAVE();
}

/// None of this is a violation.
NOINLINE void blamelessly() {
    static std::mutex lock;
    static int numbers[1000];
    static volatile bool is_whole;
    ENTER();
    lock.lock();
    for (int i = 0; i < 1000; i++) numbers[i] = i * run;
    lock.unlock();
    free(nullptr);
    is_whole = numbers[999] == 999 * run;
    LEAVE();
    if (!is_whole) std::abort();
    free(malloc(10));
}

#define CASE(name) {#name, name}
const struct {
    const char *name;
    void (*commit)();
} cases[] = {
    CASE(by_malloc),
    CASE(by_calloc),
    CASE(by_realloc),
    CASE(by_aligned_alloc),
    CASE(by_posix_memalign),
    CASE(inside_of_the_c_library),
    CASE(by_operator_new),
    CASE(by_a_vector_that_grows),
    CASE(by_a_string_of_the_cpp_library),
    CASE(by_free),
    CASE(by_operator_delete),
    CASE(by_a_huge_block),
    CASE(by_getpid),
    CASE(by_a_failing_write),
    CASE(by_a_read_into_a_fresh_page),
    CASE(by_madvise),
    CASE(by_the_first_touch_of_a_page),
    CASE(by_memory_of_the_start),
    CASE(by_a_deep_stack),
    CASE(by_a_contended_mutex),
    CASE(by_a_condition),
    CASE(by_a_semaphore),
    CASE(by_pthread_create),
    CASE(by_dlopen),
    CASE(by_an_exception),
    CASE(by_an_exception_of_the_cpp_library),
    CASE(in_a_nested_call),
    CASE(in_an_inlined_function),
    CASE(in_nested_sections),
    CASE(in_a_library_that_was_loaded_late),
    CASE(blamelessly),
    CASE(in_a_thread_of_its_own),
#if defined(__x86_64__)
    CASE(by_an_instruction_of_its_own),
#endif
};

} // namespace

int main(int count, char **words) {
    library = words[1];
    for (const auto &each : cases) {
        if (count > 2 && std::strcmp(words[2], each.name) != 0) continue;
        for (run = 0; run < 2; run++) each.commit();
    }
    std::puts("done");
}
