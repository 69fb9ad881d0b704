// region_file.c: memory that two processes map, each where it likes, and files that the caller has open.
#include "os/child.hpp"
#include "os/system_memory.hpp"
#include "os/test_region.hpp"
#include "os/trap.hpp"

#include <flatline/pool.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <vector>

namespace {

using test::test_region;

const flat_region_options shared = test::options_with([](flat_region_options &o) { o.shared = true; });
const flat_region_options lazily = test::options_with([](flat_region_options &o) { o.lazy = true; });

// A name that no other test has, given back at the end.
class unique_name {
  public:
    unique_name() : text_("/flatline-test-" + std::to_string(getpid()) + "-" + std::to_string(count_++)) {}
    unique_name(const unique_name &) = delete;
    unique_name &operator=(const unique_name &) = delete;
    ~unique_name() { (void)shm_unlink(text_.c_str()); }
    operator const char *() const { return text_.c_str(); }
    flat_region_options options() const {
        return test::options_with([&](flat_region_options &o) { o.name = text_.c_str(); });
    }

  private:
    static int count_;
    std::string text_;
};
int unique_name::count_ = 0;

class open_file {
  public:
    explicit open_file(int descriptor) : descriptor_(descriptor) {}
    open_file(const open_file &) = delete;
    open_file &operator=(const open_file &) = delete;
    ~open_file() {
        if (descriptor_ >= 0) (void)close(descriptor_);
    }
    operator int() const { return descriptor_; }

  private:
    int descriptor_;
};

// A file on disk, without a name, of `size` bytes, byte i being i / 256.
int file_of(std::size_t size) {
    char path[] = "/tmp/flatline-test-XXXXXX";
    const int file = mkstemp(path);
    (void)unlink(path);
    std::vector<char> content(size);
    for (std::size_t i = 0; i < size; i++) content[i] = static_cast<char>(i / 256);
    return file >= 0 && write(file, content.data(), size) == static_cast<ssize_t>(size) ? file : -1;
}

test_region mapped(int descriptor, std::uint64_t offset, std::size_t size, flat_region_options options = {}) {
    return test_region(options, [=](flat_region *region, const flat_region_options *with) {
        return flat_region_map(region, descriptor, offset, size, with);
    });
}

test_region opened(const char *name, flat_region_options options = {}) {
    return test_region(options, [=](flat_region *region, const flat_region_options *with) {
        return flat_region_open(region, name, with);
    });
}

// What the other process does with the shared region: the block at `offset` is there, and it answers in it.
int answer(const test_region &there, const test_region &here, std::size_t offset) {
    DEMAND(here.status() == FLAT_OK);
    DEMAND(here.region().shared);
    DEMAND(here.start() != there.start());
    DEMAND(here.size() == there.size());
    char *const block = static_cast<char *>(flat_region_address(&here.region(), offset));
    DEMAND(block != nullptr);
    DEMAND(std::strcmp(block, "question") == 0);
    DEMAND(flat_region_offset(&here.region(), block) == offset);
    DEMAND(flat_region_address(&here.region(), here.size()) == nullptr);
    std::strcpy(block, "answer");
    return 0;
}

// A pool over the blocks of `of`, a question in a block of it, another process that answers by `open_there`.
template <typename Open> void ask_another_process(const test_region &of, Open open_there) {
    ASSERT_EQ(of.status(), FLAT_OK) << of.message();
    alignas(64) static char metadata[4096];
    const flat_class classes[] = {{64, 16}};
    flat_pool_options options{};
    options.classes = classes;
    options.class_count = 1;
    flat_pool *pool = nullptr;
    ASSERT_EQ(flat_pool_init(&pool, &options, {metadata, sizeof metadata}, {of.start(), of.size()}), FLAT_OK);
    ASSERT_NE(flat_pool_alloc(pool, 64), nullptr);
    char *const block = static_cast<char *>(flat_pool_alloc(pool, 64));
    ASSERT_NE(block, nullptr);
    std::strcpy(block, "question");
    const std::size_t offset = flat_region_offset(&of.region(), block);
    EXPECT_EQ(test::in_child([&] { return answer(of, open_there(), offset); }), 0);
    EXPECT_STREQ(block, "answer");
    EXPECT_EQ(flat_pool_free(pool, block), FLAT_OK);
    flat_pool_destroy(pool);
}

} // namespace

TEST(region_shared, by_descriptor_is_the_same_memory_at_another_address) {
    const test_region of(10000, 64, shared);
    ASSERT_GE(of.region().descriptor, 0);
    ask_another_process(of, [&] { return mapped(of.region().descriptor, 0, 0); });
}

TEST(region_shared, by_name_is_the_same_memory_at_another_address) {
    const unique_name name;
    const test_region of(10000, 64, name.options());
    EXPECT_EQ(of.region().descriptor, -1);
    ask_another_process(of, [&] { return opened(name); });
}

TEST(region_shared, begins_where_its_file_does_and_ends_at_a_guard) {
    for (std::size_t size : {std::size_t{1}, std::size_t{4096}, std::size_t{100000}, (std::size_t{4} << 20) + 1}) {
        for (std::size_t alignment : {std::size_t{1}, std::size_t{4096}, std::size_t{2} << 20}) {
            const test_region of(size, alignment, shared);
            ASSERT_EQ(of.status(), FLAT_OK) << of.message();
            ASSERT_EQ(of.size(), size);
            ASSERT_EQ(test::address_of(of.start()) % alignment, 0u);
            ASSERT_EQ(test::address_of(of.start()) % test::page_size(), 0u);
            ASSERT_TRUE(std::all_of(of.start(), of.start() + size, [](char c) { return c == 0; }));
            of.start()[0] = 'a';
            of.start()[size - 1] = 'z';
            char first = 0, last = 0;
            ASSERT_EQ(pread(of.region().descriptor, &first, 1, 0), 1);
            ASSERT_EQ(pread(of.region().descriptor, &last, 1, static_cast<off_t>(size) - 1), 1);
            ASSERT_TRUE(size == 1 || first == 'a');
            ASSERT_EQ(last, 'z');
        }
    }
    const test_region of(8192, 64, shared);
    test::write(of.start() + 8191);
    EXPECT_TRAP(test::write(of.start() + 8192));
    EXPECT_TRAP(test::write(of.start() - 1));
}

TEST(region_shared, is_resident_before_the_first_access_unless_lazy) {
    const test_region at_once(100000, 64, shared);
    EXPECT_EQ(at_once.facts().resident, at_once.facts().bytes);
    flat_region_options options = shared;
    options.lazy = true;
    const test_region later(100000, 64, options);
    EXPECT_EQ(later.facts().resident, 0u);
    later.start()[50000] = 1;
    EXPECT_EQ(later.facts().resident, test::page_size());
}

TEST(region_shared, by_descriptor_cannot_be_cut_by_anyone) {
    const test_region of(10000, 64, shared);
    EXPECT_NE(ftruncate(of.region().descriptor, 0), 0);
    EXPECT_NE(ftruncate(of.region().descriptor, 20000), 0);
    EXPECT_NE(fcntl(of.region().descriptor, F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(region_shared, destroy_closes_the_descriptor_it_made) {
    flat_region region{};
    ASSERT_EQ(flat_region_create(&region, 10000, 64, &shared), FLAT_OK);
    const int descriptor = region.descriptor;
    EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
    flat_region_destroy(&region);
    EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
}

TEST(region_shared, refused_leaves_no_descriptor_open) {
    EXPECT_EQ(test::in_child([] {
                  DEMAND(test::drop_capability(CAP_IPC_LOCK));
                  DEMAND(test::limit(RLIMIT_MEMLOCK, 0));
                  DEMAND(test::limit(RLIMIT_NOFILE, 32));
                  flat_region_options options = shared;
                  options.locked = true;
                  for (int i = 0; i < 100; i++) DEMAND(test_region(10000, 64, options).status() == FLAT_NOT_PERMITTED);
                  const unique_name name;
                  options.shared = false;
                  options.name = name;
                  for (int i = 0; i < 100; i++) DEMAND(test_region(10000, 64, options).status() == FLAT_NOT_PERMITTED);
                  DEMAND(flat_region_unlink(name) == FLAT_UNAVAILABLE); // no name stays taken
                  return 0;
              }),
              0);
}

TEST(region_shared, without_a_descriptor_left_is_out_of_memory) {
    EXPECT_EQ(test::in_child([] {
                  const unique_name name;
                  DEMAND(test::limit(RLIMIT_NOFILE, 0));
                  DEMAND(test_region(10000, 64, shared).status() == FLAT_OUT_OF_MEMORY);
                  DEMAND(test_region(10000, 64, name.options()).status() == FLAT_OUT_OF_MEMORY);
                  DEMAND(opened(name).status() == FLAT_OUT_OF_MEMORY);
                  return 0;
              }),
              0);
}

TEST(region_shared, that_the_system_refuses_keeps_the_reason_and_nothing_else) {
    EXPECT_DONE_OR_SKIP(test::in_child([] {
        const unique_name name;
        DEMAND(test::limit(RLIMIT_NOFILE, 32));
        if (!test::fail_call(SYS_ftruncate, ENOSPC)) return test::cannot_try;
        for (int i = 0; i < 100; i++) {
            DEMAND(test_region(10000, 64, shared).status() == FLAT_OUT_OF_MEMORY);
            DEMAND(test_region(10000, 64, name.options()).status() == FLAT_OUT_OF_MEMORY);
        }
        DEMAND(flat_region_unlink(name) == FLAT_UNAVAILABLE);
        DEMAND(test::fail_call(SYS_memfd_create, ENOSYS));
        const test_region unknown(10000, 64, shared);
        DEMAND(unknown.status() == FLAT_UNAVAILABLE && unknown.says("memfd_create"));
        return 0;
    }));
    EXPECT_DONE_OR_SKIP(test::in_child([] { // a child of its own: without open() coverage cannot be kept
        const unique_name name;
        if (!test::fail_call(SYS_openat, EACCES)) return test::cannot_try;
        const test_region forbidden(10000, 64, name.options());
        DEMAND(forbidden.status() == FLAT_NOT_PERMITTED && forbidden.says("shm_open"));
        return 0;
    }));
}

// With a /dev/shm of its own that has `bytes` bytes; false iff this process may not have one.
static bool small_shared_memory(std::size_t bytes) {
    const std::string size = "size=" + std::to_string(bytes);
    return unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("none", "/dev/shm", "tmpfs", 0, size.c_str()) == 0;
}

TEST(region_shared, that_its_file_system_has_no_room_for_is_refused_by_that_name) {
    const int done = test::in_child([] {
        if (!small_shared_memory(1 << 20)) return test::cannot_try;
        const unique_name name;
        for (int i = 0; i < 2; i++) { // what was refused takes no room
            const test_region full(2 << 20, 64, name.options());
            DEMAND(full.status() == FLAT_OUT_OF_MEMORY);
            DEMAND(full.says("no room in the file system") && full.says("/dev/shm") && !full.says("address"));
            DEMAND(flat_region_unlink(name) == FLAT_UNAVAILABLE);
        }
        DEMAND(test_region(1 << 19, 64, name.options()).status() == FLAT_OK);
        // A file whose bytes are promised and not there.
        const open_file sparse(open("/dev/shm/sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        DEMAND(ftruncate(sparse, 2 << 20) == 0);
        const test_region of_a_file = mapped(sparse, 0, 0);
        DEMAND(of_a_file.status() == FLAT_OUT_OF_MEMORY && of_a_file.says("no room in the file system"));
        return 0;
    });
    if (done == test::cannot_try) GTEST_SKIP() << "only root can mount a small /dev/shm";
    EXPECT_EQ(done, 0);
}

TEST(region_shared, that_exceeds_the_limit_of_a_file_is_refused_and_no_signal) {
    for (const bool by_name : {false, true}) {
        EXPECT_EQ(test::in_child([&] {
                      DEMAND(test::limit(RLIMIT_FSIZE, 8192));
                      const unique_name name;
                      const flat_region_options options = by_name ? name.options() : shared;
                      const test_region above(10000, 64, options);
                      DEMAND(above.status() == FLAT_NOT_PERMITTED);
                      DEMAND(above.says("RLIMIT_FSIZE (8192 bytes") && above.says("ulimit -f"));
                      sigset_t pending;
                      DEMAND(sigpending(&pending) == 0 && sigisemptyset(&pending) == 1);
                      DEMAND(test_region(8192, 64, options).status() == FLAT_OK);
                      DEMAND(test::limit(RLIMIT_FSIZE, RLIM_INFINITY)); // coverage is kept in files
                      return 0;
                  }),
                  0);
    }
}

TEST(region_shared, that_a_quota_forbids_or_that_was_cut_is_called_that) {
    EXPECT_DONE_OR_SKIP(test::in_child([] {
        if (!test::fail_call(SYS_madvise, EFAULT, MADV_POPULATE_WRITE)) return test::cannot_try;
        const test_region cut(65536, 64, shared);
        DEMAND(cut.status() == FLAT_OUT_OF_MEMORY && cut.says("was cut"));
        DEMAND(test::fail_call(SYS_fallocate, EDQUOT));
        const test_region above(65536, 64, shared);
        DEMAND(above.status() == FLAT_NOT_PERMITTED && above.says("quota"));
        return 0;
    }));
}

// As on Linux before 5.14, where the room is reserved first, and begun anew at each signal.
TEST(region_shared, is_made_while_a_timer_fires) {
    EXPECT_DONE_OR_SKIP(test::in_child([] {
        if (!test::fail_call(SYS_madvise, EINVAL, MADV_POPULATE_WRITE)) return test::cannot_try;
        struct sigaction ignoring{};
        ignoring.sa_handler = [](int) {};
        DEMAND(sigaction(SIGALRM, &ignoring, nullptr) == 0);
        const itimerval often{{0, 200}, {0, 200}}, never{};
        DEMAND(setitimer(ITIMER_REAL, &often, nullptr) == 0);
        const flat_status status = test_region(std::size_t{80} << 20, 64, shared).status();
        DEMAND(setitimer(ITIMER_REAL, &never, nullptr) == 0);
        DEMAND(status == FLAT_OK);
        return 0;
    }));
}

TEST(region_name, that_is_taken_is_refused_and_stays) {
    const unique_name name;
    const test_region first(4096, 64, name.options());
    ASSERT_EQ(first.status(), FLAT_OK) << first.message();
    const test_region second(4096, 64, name.options());
    EXPECT_EQ(second.status(), FLAT_UNAVAILABLE);
    EXPECT_TRUE(second.says(static_cast<const char *>(name)) && second.says("flat_region_unlink")) << second.message();
    EXPECT_EQ(opened(name).status(), FLAT_OK);
}

TEST(region_name, lives_until_it_is_unlinked_and_the_memory_until_it_is_destroyed) {
    const unique_name name;
    {
        const test_region of(4096, 64, name.options());
        of.start()[0] = 'x';
    }
    const test_region found = opened(name, lazily);
    ASSERT_EQ(found.status(), FLAT_OK) << found.message();
    EXPECT_EQ(found.start()[0], 'x');
    EXPECT_EQ(found.size(), 4096u);
    EXPECT_FALSE(found.region().can_trim) << "what others made is not given back";
    EXPECT_EQ(flat_region_unlink(name), FLAT_OK);
    EXPECT_EQ(opened(name).status(), FLAT_UNAVAILABLE);
    EXPECT_EQ(found.start()[0], 'x');
}

TEST(region_name, can_be_read_by_its_user_only) {
    const unique_name name;
    const test_region of(4096, 64, name.options());
    ASSERT_EQ(of.status(), FLAT_OK) << of.message();
    const open_file file(shm_open(name, O_RDWR, 0));
    struct stat facts{};
    ASSERT_EQ(fstat(file, &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u);
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    EXPECT_EQ(test::in_child([&] {
                  DEMAND(setuid(65534) == 0);
                  DEMAND(opened(name).status() == FLAT_NOT_PERMITTED);
                  DEMAND(flat_region_unlink(name) == FLAT_NOT_PERMITTED);
                  return 0;
              }),
              0);
}

TEST(region_name, that_nobody_has_or_that_is_not_ready_is_unavailable) {
    const unique_name name;
    const test_region missing = opened(name);
    EXPECT_EQ(missing.status(), FLAT_UNAVAILABLE);
    EXPECT_TRUE(missing.says(static_cast<const char *>(name))) << missing.message();
    const open_file made(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
    ASSERT_GE(static_cast<int>(made), 0);
    const test_region empty = opened(name);
    EXPECT_EQ(empty.status(), FLAT_UNAVAILABLE);
    EXPECT_TRUE(empty.says("try again")) << empty.message();
    EXPECT_EQ(flat_region_unlink(name), FLAT_OK);
    EXPECT_EQ(flat_region_unlink(name), FLAT_UNAVAILABLE);
}

TEST(region_name, that_is_none_is_an_invalid_argument) {
    for (const char *name : {static_cast<const char *>(nullptr), "", "/", "name", "/a/b"}) {
        EXPECT_EQ(opened(name).status(), FLAT_INVALID_ARGUMENT);
        EXPECT_EQ(flat_region_unlink(name), FLAT_INVALID_ARGUMENT);
    }
    EXPECT_EQ(flat_region_open(nullptr, "/flatline-test", nullptr), FLAT_INVALID_ARGUMENT);
}

TEST(region_of_a_file, is_its_content_from_an_offset_on) {
    const std::size_t page = test::page_size();
    const open_file file(file_of(4 * page));
    ASSERT_GE(static_cast<int>(file), 0);
    for (const flat_region_options &options : {flat_region_options{}, lazily}) {
        const test_region of = mapped(file, page, 2 * page, options);
        ASSERT_EQ(of.status(), FLAT_OK) << of.message();
        EXPECT_EQ(of.size(), 2 * page);
        EXPECT_EQ(of.region().descriptor, -1);
        EXPECT_TRUE(of.region().shared);
        EXPECT_FALSE(of.region().can_trim);
        EXPECT_EQ(of.facts().resident, options.lazy ? 0 : 2 * page);
        for (std::size_t i = 0; i < 2 * page; i++) {
            ASSERT_EQ(of.start()[i], static_cast<char>((page + i) / 256)) << "byte " << i << " was changed";
        }
        EXPECT_TRAP(test::write(of.start() + 2 * page));
        EXPECT_TRAP(test::write(of.start() - 1));
    }
    EXPECT_NE(fcntl(file, F_GETFD), -1) << "the descriptor stays the caller's";
}

TEST(region_of_a_file, up_to_its_end_is_the_default) {
    const std::size_t page = test::page_size();
    const open_file file(file_of(3 * page + 100));
    const test_region of = mapped(file, 2 * page, 0);
    ASSERT_EQ(of.status(), FLAT_OK) << of.message();
    EXPECT_EQ(of.size(), page + 100);
    of.start()[page + 99] = '!';
    char last = 0;
    ASSERT_EQ(pread(file, &last, 1, static_cast<off_t>(3 * page + 99)), 1);
    EXPECT_EQ(last, '!');
}

TEST(region_of_a_file, that_does_not_have_the_bytes_is_refused) {
    const std::size_t page = test::page_size();
    const open_file file(file_of(2 * page)), empty(file_of(0));
    EXPECT_EQ(mapped(file, 0, 2 * page + 1).status(), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(mapped(file, page, page + 1).status(), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(mapped(file, 2 * page, 0).status(), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(mapped(file, 2 * page, 1).status(), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(mapped(file, UINT64_MAX / page * page, 1).status(), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(mapped(file, 0, SIZE_MAX).status(), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(mapped(empty, 0, 0).status(), FLAT_INVALID_ARGUMENT);
    EXPECT_TRUE(mapped(file, page, page + 1).says("the file has " + std::to_string(page) + " bytes from offset"));
}

TEST(region_of_a_file, refuses_what_is_no_offset_no_descriptor_and_options_for_new_memory) {
    const open_file file(file_of(10000));
    EXPECT_EQ(mapped(file, 1, 100).status(), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(mapped(file, 512, 100).status(), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(mapped(-1, 0, 100).status(), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(mapped(file, 0, 100, shared).status(), FLAT_INVALID_ARGUMENT);
    const unique_name name;
    EXPECT_EQ(mapped(file, 0, 100, name.options()).status(), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_region_map(nullptr, file, 0, 100, nullptr), FLAT_INVALID_ARGUMENT);
    flat_region_options options{};
    options.allowed_pages = FLAT_PAGES_SMALL;
    options.required_pages = FLAT_PAGES_EXPLICIT;
    EXPECT_EQ(mapped(file, 0, 100, options).status(), FLAT_INVALID_ARGUMENT);
}

TEST(region_of_a_file, open_for_reading_only_is_not_permitted) {
    const open_file file(open("/proc/self/exe", O_RDONLY));
    const test_region of = mapped(file, 0, 0);
    EXPECT_EQ(of.status(), FLAT_NOT_PERMITTED);
    EXPECT_TRUE(of.says("reading and writing")) << of.message();
}

TEST(region_of_a_file, can_be_locked_as_far_as_the_limit_goes) {
    const open_file file(file_of(65536));
    EXPECT_EQ(test::in_child([&] {
                  DEMAND(test::drop_capability(CAP_IPC_LOCK));
                  DEMAND(test::limit(RLIMIT_MEMLOCK, 32768));
                  flat_region_options options{};
                  options.locked = true;
                  const test_region within = mapped(file, 0, 16384, options);
                  DEMAND(within.status() == FLAT_OK);
                  DEMAND(within.facts().locked == 16384);
                  const test_region above = mapped(file, 0, 65536, options);
                  DEMAND(above.status() == FLAT_NOT_PERMITTED);
                  DEMAND(above.says("RLIMIT_MEMLOCK"));
                  DEMAND(above.region().start == nullptr);
                  return 0;
              }),
              0);
}

TEST(region_of_a_file, that_cannot_be_mapped_is_unavailable) {
    const open_file event(eventfd(0, EFD_CLOEXEC));
    EXPECT_EQ(mapped(event, 0, 4096).status(), FLAT_UNAVAILABLE);
}

TEST(region_of_a_file, with_other_pages_than_required_is_unavailable) {
    const open_file file(file_of(10000));
    flat_region_options options{};
    options.required_pages = FLAT_PAGES_EXPLICIT;
    const test_region of = mapped(file, 0, 0, options);
    EXPECT_EQ(of.status(), FLAT_UNAVAILABLE);
    EXPECT_TRUE(of.says("explicit huge pages")) << of.message();
    options = {};
    options.allowed_pages = FLAT_PAGES_EXPLICIT;
    EXPECT_EQ(mapped(file, 0, 0, options).status(), FLAT_OK);
}

TEST(region_of_a_device, needs_a_size_and_lies_between_guards) {
    const open_file device(open("/dev/zero", O_RDWR | O_CLOEXEC));
    ASSERT_GE(static_cast<int>(device), 0);
    EXPECT_EQ(mapped(device, 0, 0).status(), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(mapped(device, 0, SIZE_MAX).status(), FLAT_INVALID_ARGUMENT);
    const test_region of = mapped(device, 0, 8192);
    ASSERT_EQ(of.status(), FLAT_OK) << of.message();
    std::fill(of.start(), of.start() + 8192, 'x');
    EXPECT_TRAP(test::write(of.start() + 8192));
    EXPECT_TRAP(test::write(of.start() - 1));
}
