// smaps.c: texts as the kernel writes them, and others.
#include "../../src/os/smaps.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

std::vector<smaps_mapping> read(const std::string &text) {
    const int file = memfd_create("smaps", MFD_CLOEXEC);
    EXPECT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    lseek(file, 0, SEEK_SET);
    smaps_reader reader;
    flat_smaps_begin(&reader, file);
    std::vector<smaps_mapping> mappings;
    for (smaps_mapping mapping{}; flat_smaps_next(&reader, &mapping);) mappings.push_back(mapping);
    close(file);
    return mappings;
}

std::string mapping(const std::string &range, const std::string &lines, const std::string &flags) {
    return range + " rw-p 00000000 00:00 0 \nSize:               2048 kB\nKernelPageSize:        4 kB\n" +
           "MMUPageSize:           4 kB\nRss:                2048 kB\n" + lines + "VmFlags: rd wr mr mw me ac " +
           flags + "\n";
}

} // namespace

TEST(smaps, ranges_are_read_to_the_last_bit) {
    const auto found = read(mapping("00400000-00452000", "", "") +
                            mapping("ffffffffff600000-ffffffffff601000", "", "") + mapping("0-1000", "", ""));
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].start, 0x400000u);
    EXPECT_EQ(found[0].end, 0x452000u);
    EXPECT_EQ(found[1].start, 0xffffffffff600000u);
    EXPECT_EQ(found[1].end, 0xffffffffff601000u);
    EXPECT_EQ(found[2].end, 0x1000u);
    EXPECT_EQ(found[0].page_size, 4096u);
}

TEST(smaps, every_line_about_huge_pages_counts) {
    for (const char *line :
         {"AnonHugePages:      2048 kB\n", "ShmemPmdMapped:     2048 kB\n", "FilePmdMapped:      2048 kB\n",
          "Shared_Hugetlb:     2048 kB\n", "Private_Hugetlb:    2048 kB\n"}) {
        const auto found = read(mapping("200000-400000", line, ""));
        ASSERT_EQ(found.size(), 1u);
        EXPECT_EQ(found[0].huge, 2048u * 1024) << line;
    }
    EXPECT_EQ(read(mapping("200000-400000", "AnonHugePages: 2048 kB\nPrivate_Hugetlb: 4096 kB\n", "")).at(0).huge,
              6144u * 1024);
    EXPECT_EQ(read(mapping("200000-400000", "Anonymous:  2048 kB\nLazyFree: 2048 kB\n", "")).at(0).huge, 0u);
}

TEST(smaps, what_one_mapping_has_the_next_does_not_inherit) {
    const auto found =
        read(mapping("200000-400000", "AnonHugePages: 2048 kB\n", "lo") + mapping("400000-600000", "", ""));
    ASSERT_EQ(found.size(), 2u);
    EXPECT_TRUE(found[0].locked);
    EXPECT_EQ(found[1].huge, 0u);
    EXPECT_FALSE(found[1].locked);
}

TEST(smaps, locked_is_a_flag_and_explicit_huge_pages_count_as_locked) {
    EXPECT_TRUE(read(mapping("1000-2000", "", "lo")).at(0).locked);
    EXPECT_TRUE(read(mapping("1000-2000", "", "de ht lo sd ")).at(0).locked);
    EXPECT_TRUE(read(mapping("1000-2000", "", "de ht sd ")).at(0).locked);
    EXPECT_FALSE(read(mapping("1000-2000", "", "lf ")).at(0).locked);
    EXPECT_FALSE(read(mapping("1000-2000", "", "xlo lox ")).at(0).locked);
}

TEST(smaps, a_long_file_name_does_not_hide_what_follows) {
    const std::string name(5000, 'n');
    const auto found = read("7f0000000000-7f0000001000 r--p 00000000 fe:00 1 /" + name +
                            "\nKernelPageSize: 2048 kB\nVmFlags: rd lo \n" + mapping("1000-2000", "", ""));
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].start, 0x7f0000000000u);
    EXPECT_EQ(found[0].page_size, 2048u * 1024);
    EXPECT_TRUE(found[0].locked);
}

TEST(smaps, text_that_ends_early_gives_what_was_complete) {
    const std::string whole = mapping("1000-2000", "", "lo ") + mapping("3000-4000", "AnonHugePages: 2048 kB\n", "");
    for (std::size_t length = 0; length < whole.size(); length++) {
        const auto found = read(whole.substr(0, length));
        ASSERT_LE(found.size(), 2u);
        if (!found.empty()) {
            ASSERT_EQ(found[0].end, 0x2000u) << length;
        }
    }
    EXPECT_TRUE(read("").empty());
    EXPECT_TRUE(read("\n\n\n").empty());
}

TEST(smaps, of_this_process_holds_its_own_stack) {
    const int on_stack = 0;
    const auto address = reinterpret_cast<std::uintptr_t>(&on_stack);
    const int file = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(file, 0);
    smaps_reader reader;
    flat_smaps_begin(&reader, file);
    int holding = 0;
    std::uint64_t last = 0;
    for (smaps_mapping mapping{}; flat_smaps_next(&reader, &mapping);) {
        EXPECT_LT(mapping.start, mapping.end);
        EXPECT_GE(mapping.start, last);
        EXPECT_GE(mapping.page_size, 4096u);
        last = mapping.end;
        holding += mapping.start <= address && address < mapping.end;
    }
    close(file);
    EXPECT_EQ(holding, 1);
}

TEST(smaps, text_that_the_system_would_not_hand_out_is_no_end_of_the_text) {
    const int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), empty = memfd_create("smaps", MFD_CLOEXEC);
    smaps_reader reader;
    smaps_mapping mapping{};
    flat_smaps_begin(&reader, folder);
    EXPECT_FALSE(flat_smaps_next(&reader, &mapping));
    EXPECT_TRUE(reader.failed);
    flat_smaps_begin(&reader, empty);
    EXPECT_FALSE(flat_smaps_next(&reader, &mapping));
    EXPECT_FALSE(reader.failed);
    close(folder);
    close(empty);
}
