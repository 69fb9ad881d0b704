// Asks for addresses in files that are no whole program or library: each answer is a number, at least, and nothing ends
// or hangs the process.
#include "symbols/source_frames.hpp"

#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "fixture_stacks.hpp"
#include "scratch_folder.hpp"

#include <cstring>
#include <fstream>
#include <iterator>

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace flat::symbols {
namespace {

std::string content_of(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void expect_numbered(const std::string &path, const std::string &name) {
    SourceFrames frames;
    const std::vector<SourceFrame> &found = frames.at(path, 0x12, false);
    ASSERT_EQ(found.size(), 1U) << path;
    EXPECT_EQ(found[0].function, name + "+0x12");
    EXPECT_EQ(found[0].file, "");
    EXPECT_EQ(found[0].line, 0);
    EXPECT_EQ(found[0].module, path);
}

TEST(damaged_files, give_numbers_where_there_is_no_program_or_library) {
    const test::scratch_folder folder;
    folder.put("text", "This is no program.\n");
    folder.put("empty", "");
    folder.put("locked", content_of(test::made("independent")));
    ASSERT_EQ(chmod((folder / "locked").c_str(), 0), 0);
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    for (const char *name : {"text", "empty", "pipe", "missing"}) expect_numbered((folder / name).string(), name);
    if (getuid() != 0) expect_numbered((folder / "locked").string(), "locked");
    expect_numbered(test::made("note.o"), "note.o"); // whose addresses are not yet known
    expect_numbered("/dev/zero", "zero");
    expect_numbered(folder.path().string(), folder.path().filename().string());
    expect_numbered("/tmp/gone (deleted)", "gone (deleted)");
    expect_numbered("[vdso]", "[vdso]");
    expect_numbered("", "");
}

TEST(damaged_files, give_numbers_where_a_part_is_missing) {
    const test::scratch_folder folder;
    const std::string whole = content_of(test::made("independent"));
    const test::return_address address = test::stacks_of("independent").at("inlined").at(0);
    for (const std::size_t eighths : {1U, 4U, 7U}) {
        folder.put("cut", whole.substr(0, whole.size() * eighths / 8));
        SourceFrames frames;
        const std::vector<SourceFrame> &found = frames.at((folder / "cut").string(), address.offset, true);
        ASSERT_EQ(found.size(), 1U);
        EXPECT_TRUE(found[0].function.starts_with("cut+0x")) << found[0].function;
    }
}

/// Asks of one file for every address that the program prints, and for one that it does not have.
void look_at(const std::string &path, const std::map<std::string, test::stack> &stacks) {
    SourceFrames frames;
    for (const auto &[name, stack] : stacks) {
        const std::vector<SourceFrame> &found = frames.at(path, stack.at(0).offset, true);
        ASSERT_FALSE(found.empty());
        for (const SourceFrame &frame : found) EXPECT_FALSE(frame.function.empty());
    }
    ASSERT_FALSE(frames.at(path, 1, false).empty());
}

TEST(damaged_files, survive_a_flipped_byte_in_the_headers) {
    const test::scratch_folder folder;
    const std::map<std::string, test::stack> stacks = test::stacks_of("independent");
    const std::string whole = content_of(test::made("independent"));
    Elf64_Ehdr header;
    std::memcpy(&header, whole.data(), sizeof header);
    std::vector<std::size_t> places;
    for (std::size_t at = 0; at < sizeof header; at++) places.push_back(at);
    for (std::size_t at = sizeof header; at < 4096; at += 31) places.push_back(at);
    for (std::size_t at = header.e_shoff; at < whole.size(); at += 11) places.push_back(at);
    for (const std::size_t at : places) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(~damaged[at]);
        folder.put("damaged", damaged);
        SCOPED_TRACE(at);
        look_at((folder / "damaged").string(), stacks);
    }
}

TEST(damaged_files, survive_damage_anywhere) {
    const test::scratch_folder folder;
    const std::map<std::string, test::stack> stacks = test::stacks_of("independent");
    const std::string whole[] = {content_of(test::made("independent")), content_of(test::made("dwarf4"))};
    test::random_source random(test::seed());
    for (std::size_t round = test::scaled(200); round > 0; round--) {
        std::string damaged = whole[round % 2];
        for (std::size_t i = random.magnitude(64); i > 0; i--)
            damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
        folder.put("damaged", damaged);
        SCOPED_TRACE(test::seed());
        look_at((folder / "damaged").string(), stacks);
    }
}

} // namespace
} // namespace flat::symbols
