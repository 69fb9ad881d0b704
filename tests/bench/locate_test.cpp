#include "bench/locate.hpp"

#include "scratch_folder.hpp"

#include <gtest/gtest.h>

using namespace flat::bench;
namespace fs = std::filesystem;

namespace {

constexpr const char *record = R"({"version": "3.3.2", "source": "crate m 1", "compiler": "cc 12", "flags": "-O3"})";

class locate_backends : public ::testing::Test {
  protected:
    locate_backends() { put("bench-containers-malloc"); }

    void put(const std::string &file, const std::string &text = "x") const { root_.put(file, text); }

    Places locate(const std::vector<const char *> &names) const {
        std::vector<const Backend *> wanted;
        for (const char *name : names) wanted.push_back(find_backend(name));
        return flat::bench::locate(wanted, root_, {root_ / "first", root_ / "second", root_ / "absent"});
    }

    const test::scratch_folder root_;
};

} // namespace

TEST_F(locate_backends, finds_what_is_there_and_names_what_is_missing) {
    for (const char *file :
         {"bench-malloc", "second/libjemalloc.so.2", "first/libmimalloc.so.2", "second/libmimalloc.so.2"})
        put(file);
    const Places places = locate({"glibc", "jemalloc", "tcmalloc", "mimalloc", "boost-pool"});
    ASSERT_EQ(places.found.size(), 3U);
    EXPECT_EQ(places.found[0].backend->name, "glibc");
    EXPECT_TRUE(places.found[0].preload.empty());
    EXPECT_EQ(places.found[1].preload, root_ / "second/libjemalloc.so.2");
    EXPECT_EQ(places.found[2].preload, root_ / "first/libmimalloc.so.2");
    ASSERT_EQ(places.missing.size(), 2U);
    EXPECT_EQ(places.missing[0].backend->name, "tcmalloc");
    EXPECT_EQ(places.missing[0].how, "apt-get install libtcmalloc-minimal4");
    EXPECT_EQ(places.missing[1].backend->name, "boost-pool");
}

TEST_F(locate_backends, takes_the_library_that_was_built_before_the_systems) {
    for (const char *file : {"bench-malloc", "peers/libmimalloc.so", "first/libmimalloc.so.2"}) put(file);
    put("peers/mimalloc.json", record);
    const Places places = locate({"mimalloc"});
    ASSERT_EQ(places.found.size(), 1U);
    EXPECT_EQ(places.found[0].preload, root_ / "peers/libmimalloc.so");
    ASSERT_TRUE(places.found[0].build.has_value());
    EXPECT_EQ(places.found[0].build->source, "crate m 1");
    EXPECT_EQ(places.found[0].instead, "");
}

TEST_F(locate_backends, takes_flatlines_own_malloc_from_beside_the_drivers_and_from_nowhere_else) {
    const fs::path drivers = root_ / "libexec/flatline";
    for (const char *file : {"libexec/flatline/bench-malloc", "libexec/flatline/bench-containers-malloc",
                             "first/libflatline-malloc.so", "libexec/flatline/peers/libflatline-malloc.so"})
        put(file);
    const std::vector<const Backend *> wanted{find_backend("flatline-malloc"), find_backend("flatline-malloc-memory")};
    const auto located = [&] { return flat::bench::locate(wanted, drivers, {root_ / "first"}); };
    ASSERT_EQ(located().missing.size(), 2U);
    EXPECT_NE(located().missing[0].how, "");
    put("lib/libflatline-malloc.so");
    ASSERT_EQ(located().found.size(), 2U);
    for (const Place &place : located().found) EXPECT_EQ(place.preload, root_ / "lib/libflatline-malloc.so");
}

TEST_F(locate_backends, says_why_the_systems_library_serves) {
    for (const char *file : {"bench-malloc", "first/libmimalloc.so.2", "first/libjemalloc.so.2"}) put(file);
    put("peers/mimalloc.json", R"({"missing": "cargo is not installed"})");
    const Places places = locate({"mimalloc", "jemalloc", "glibc"});
    ASSERT_EQ(places.found.size(), 3U);
    EXPECT_EQ(places.found[0].preload, root_ / "first/libmimalloc.so.2");
    EXPECT_FALSE(places.found[0].build.has_value());
    EXPECT_EQ(places.found[0].instead, "cargo is not installed");
    EXPECT_NE(places.found[1].instead, "");
    EXPECT_EQ(places.found[2].instead, "");
}

TEST_F(locate_backends, says_why_a_peer_was_not_built) {
    put("bench-malloc");
    put("peers/snmalloc.json", R"({"missing": "cargo is not installed"})");
    const Places places = locate({"snmalloc", "rpmalloc"});
    ASSERT_EQ(places.missing.size(), 2U);
    EXPECT_EQ(places.missing[0].how, "cargo is not installed");
    EXPECT_EQ(places.missing[1].how, find_backend("rpmalloc")->how);
}

TEST_F(locate_backends, refuses_a_damaged_record) {
    for (const char *file : {"bench-malloc", "peers/libmimalloc.so"}) put(file);
    for (const char *damaged : {"", "{", R"({"version": 3})"}) {
        put("peers/mimalloc.json", damaged);
        EXPECT_THROW(locate({"mimalloc"}), std::runtime_error) << damaged;
    }
}

TEST_F(locate_backends, takes_part_in_containers_by_a_driver_of_its_own) {
    for (const char *file : {"bench-malloc", "bench-pool", "bench-floor", "bench-containers-std-pool"}) put(file);
    const Places places = locate({"glibc", "flatline-pool", "std-pool", "floor"});
    const Cell hot{"hot", 64, 32, "", 1}, list{"containers", 0, 1, "list", 1};
    ASSERT_EQ(places.found.size(), 3U);
    EXPECT_EQ(driver_for(places.found[0], hot), root_ / "bench-malloc");
    EXPECT_EQ(driver_for(places.found[0], list), root_ / "bench-containers-malloc");
    EXPECT_EQ(driver_for(places.found[1], hot), root_ / "bench-pool");
    EXPECT_EQ(driver_for(places.found[1], list), "");
    EXPECT_EQ(driver_for(places.found[2], list), root_ / "bench-containers-std-pool");
    ASSERT_EQ(places.missing.size(), 1U); // one of its two drivers is missing
    EXPECT_EQ(places.missing[0].backend->name, "floor");
}
