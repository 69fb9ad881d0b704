#include "bench/locate.hpp"

#include <gtest/gtest.h>

#include "scratch_folder.hpp"

using namespace flat::bench;
namespace fs = std::filesystem;

TEST(locate, finds_what_is_there_and_names_what_is_missing) {
    const test::scratch_folder root;
    for (const char *file :
         {"bench-malloc", "second/libjemalloc.so.2", "first/libmimalloc.so.2", "second/libmimalloc.so.2"})
        root.put(file, "x");
    const std::vector wanted{find_backend("glibc"), find_backend("jemalloc"), find_backend("tcmalloc"),
                             find_backend("mimalloc"), find_backend("boost-pool")};
    const Places places = locate(wanted, root, {root / "first", root / "second", root / "absent"});
    ASSERT_EQ(places.found.size(), 3U);
    EXPECT_EQ(places.found[0].backend->name, "glibc");
    EXPECT_TRUE(places.found[0].preload.empty());
    EXPECT_EQ(places.found[1].preload, root / "second/libjemalloc.so.2");
    EXPECT_EQ(places.found[2].preload, root / "first/libmimalloc.so.2");
    ASSERT_EQ(places.missing.size(), 2U);
    EXPECT_EQ(places.missing[0]->name, "tcmalloc");
    EXPECT_EQ(places.missing[1]->name, "boost-pool");
}
