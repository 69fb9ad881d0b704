// glibc's functions that report a malloc's state describe this malloc's blocks.
#include "os/child.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <regex>
#include <string>
#include <vector>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // mallinfo

namespace {

class blocks {
  public:
    blocks(std::size_t count, std::size_t size) : all_(count) {
        for (void *&block : all_) block = malloc(size);
    }
    ~blocks() {
        for (void *block : all_) free(block);
    }
    blocks(const blocks &) = delete;
    blocks &operator=(const blocks &) = delete;

  private:
    std::vector<void *> all_;
};

TEST(malloc_statistics, mallinfo_counts_blocks_and_huge_ones) {
    const struct mallinfo2 before = mallinfo2();
    const blocks small(1000, 10000), huge(3, 5 << 20);
    const struct mallinfo2 now = mallinfo2();
    const struct mallinfo old = mallinfo();
    EXPECT_GE(now.uordblks, before.uordblks + 1000 * 10000);
    EXPECT_LE(now.uordblks, before.uordblks + 1000 * 11000);
    EXPECT_EQ(now.hblks, before.hblks + 3);
    EXPECT_GE(now.hblkhd, before.hblkhd + 3 * (5 << 20));
    EXPECT_EQ(now.arena, now.uordblks + now.fordblks);
    EXPECT_EQ(static_cast<std::size_t>(old.uordblks), now.uordblks);
    EXPECT_EQ(static_cast<std::size_t>(old.hblks), now.hblks);
    EXPECT_EQ(static_cast<std::size_t>(old.arena), now.arena);
}

TEST(malloc_statistics, mallinfo_says_the_most_it_can_where_there_is_more) {
    const blocks huge(3, std::size_t{1} << 30);
    EXPECT_GE(mallinfo2().hblkhd, std::size_t{3} << 30);
    EXPECT_EQ(mallinfo().hblkhd, INT_MAX);
}

std::string info() {
    char *text = nullptr;
    std::size_t length = 0;
    std::FILE *stream = open_memstream(&text, &length);
    EXPECT_EQ(malloc_info(0, stream), 0);
    (void)std::fclose(stream);
    std::string made(text, length);
    free(text);
    return made;
}

std::size_t number(const std::string &text, const std::string &before) {
    const std::size_t at = text.rfind(before);
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + before.size()));
}

// As in glibc's report, the bytes in use are the total less the free ones.
TEST(malloc_statistics, malloc_info_is_xml_about_these_blocks) {
    const blocks small(1000, 10000), huge(3, 5 << 20);
    const std::string text = info();
    EXPECT_TRUE(std::regex_search(text, std::regex("^<malloc version=\"1\">\n<heap nr=\"0\">"))) << text;
    EXPECT_EQ(text.rfind("</malloc>\n"), text.size() - 10) << text;
    const std::size_t whole = number(text, "<system type=\"current\" size=\"");
    const std::size_t rest = number(text.substr(0, text.rfind("<total type=\"mmap\"")), "size=\"");
    EXPECT_GE(whole - rest, 1000 * 10000U + 3 * (5U << 20));
    EXPECT_EQ(number(text, "<total type=\"mmap\" count=\""), mallinfo2().hblks) << text;
    std::size_t open = 0, closed = 0, whole_tags = 0;
    for (std::size_t i = 0; i + 1 < text.size(); i++) {
        open += text[i] == '<' && text[i + 1] != '/';
        closed += text[i] == '<' && text[i + 1] == '/';
        whole_tags += text[i] == '/' && text[i + 1] == '>';
    }
    EXPECT_EQ(open, closed + whole_tags) << "every element ends";
    EXPECT_EQ(malloc_info(1, stdout), EINVAL);
}

TEST(malloc_statistics, malloc_info_says_that_it_could_not_be_written) {
    std::FILE *full = std::fopen("/dev/full", "w");
    ASSERT_NE(full, nullptr);
    (void)std::setvbuf(full, nullptr, _IONBF, 0);
    EXPECT_EQ(malloc_info(0, full), -1);
    (void)std::fclose(full);
}

TEST(malloc_statistics, malloc_stats_says_it_on_standard_error) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    EXPECT_EQ(test::in_child([&] {
                  const blocks small(1000, 10000);
                  DEMAND(dup2(ends[1], STDERR_FILENO) >= 0);
                  errno = 4711;
                  malloc_stats();
                  return errno == 4711 ? 0 : 2;
              }),
              0);
    (void)close(ends[1]);
    std::array<char, 4096> text{};
    const ssize_t length = read(ends[0], text.data(), text.size());
    (void)close(ends[0]);
    const std::string said(text.data(), static_cast<std::size_t>(length > 0 ? length : 0));
    EXPECT_EQ(said.rfind("Arena 0:\nsystem bytes     = ", 0), 0U) << said;
    EXPECT_GE(number(said, "in use bytes     ="), 1000 * 10000U) << said;
}

TEST(malloc_statistics, mallopt_takes_wishes_and_refuses_what_is_not_done) {
    for (const int wish : {M_MXFAST, M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX, M_CHECK_ACTION,
                           M_ARENA_TEST, M_ARENA_MAX})
        EXPECT_EQ(mallopt(wish, 1), 1) << wish;
    for (const int refused : {M_PERTURB, -100, 1000}) EXPECT_EQ(mallopt(refused, 1), 0) << refused;
}

} // namespace
