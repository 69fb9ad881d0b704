// Tests src/prove on invalid input: damaged files, truncated files, random bytes as code. It may refuse the input or
// prove what happens to be provable, but it must terminate and access only its own memory.
#include "prove/certificate.hpp"
#include "prove/decoder.hpp"
#include "prove/limits.hpp"
#include "prove/source_lines.hpp"

#include "core/environment.hpp"
#include "core/random_source.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <gtest/gtest.h>

namespace flat::prove {
namespace {

std::vector<std::byte> content_of(const char *path) {
    std::ifstream in(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    std::vector<std::byte> bytes(content.size());
    std::memcpy(bytes.data(), content.data(), content.size());
    return bytes;
}

std::vector<std::byte> zoo() { return content_of(FLATLINE_ZOO); }

/// A file with exception tables and jump tables.
std::vector<std::byte> cases() { return content_of(FLATLINE_CASES); }

/// Does everything that the program does with a file. Returns false if the file is refused.
bool looks_at(std::vector<std::byte> bytes) {
    try {
        const Binary binary("zoo", std::move(bytes));
        const SourceLines lines(binary);
        std::vector<Request> requests;
        for (const char *name : {"diamond", "calls_helper", "vectors", "loop_verified", "jump_table", "split_off",
                                 "cleans_up", "catches_its_own", "throws_again", "compared", "written_table"})
            if (binary.functions_named(name).size() == 1) requests.push_back({name, {}});
        const Certificate certificate = certify(binary, requests, {});
        EXPECT_FALSE(certificate_json(certificate, binary, lines).empty());
        return true;
    } catch (const std::runtime_error &error) {
        EXPECT_STRNE(error.what(), "");
        return false;
    }
}

TEST(prove, proves_the_whole_file) {
    EXPECT_TRUE(looks_at(zoo()));
    EXPECT_TRUE(looks_at(cases()));
}

TEST(prove, says_what_is_wrong_with_a_file_that_is_cut_off) {
    const std::vector<std::byte> whole = zoo();
    test::random_source random(test::seed());
    for (std::size_t round = test::scaled(300); round > 0; round--) {
        std::vector<std::byte> cut = whole;
        cut.resize(random.below(cut.size()));
        EXPECT_FALSE(looks_at(std::move(cut))) << "seed " << test::seed();
    }
}

TEST(prove, survives_damaged_files) {
    const std::vector<std::byte> whole[] = {zoo(), cases()};
    test::random_source random(test::seed());
    for (std::size_t round = test::scaled(1500); round > 0; round--) {
        std::vector<std::byte> damaged = whole[round % 2];
        for (std::size_t i = random.magnitude(16); i > 0; i--) {
            const std::size_t where = random.one_in(2) ? random.below(1024) : random.below(damaged.size());
            damaged[std::min(where, damaged.size() - 1)] = static_cast<std::byte>(random.below(256));
        }
        looks_at(std::move(damaged));
    }
}

TEST(prove, decodes_any_bytes) {
    test::random_source random(test::seed());
    for (const Architecture machine : {Architecture::x86_64, Architecture::aarch64}) {
        const Decoder decoder(machine);
        for (std::size_t round = test::scaled(50'000); round > 0; round--) {
            std::vector<std::byte> code(1 + random.below(20));
            for (std::byte &each : code) each = static_cast<std::byte>(random.below(256));
            const Instruction instruction = decoder.decode(0x1000, code);
            ASSERT_LE(instruction.size, code.size()) << "seed " << test::seed();
            ASSERT_TRUE(instruction.size > 0 || !instruction.refusal.empty());
            ASSERT_LE(instruction.loads + instruction.stores, 8U);
        }
    }
}

TEST(prove, survives_any_limits) {
    const std::string document =
        R"({"schema": "flatline.prove/1", "functions": [{"name": "diamond", "loads": 3, "stack_bytes": 0}]})";
    EXPECT_EQ(limits_from(document, "limits").at("diamond").at("loads"), 3U);
    test::random_source random(test::seed());
    for (std::size_t round = test::scaled(5'000); round > 0; round--) {
        std::string damaged = document;
        for (std::size_t i = random.magnitude(4); i > 0; i--)
            damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
        try {
            (void)limits_from(damaged, "limits");
        } catch (const std::runtime_error &error) {
            EXPECT_STRNE(error.what(), "");
        }
    }
}

} // namespace
} // namespace flat::prove
