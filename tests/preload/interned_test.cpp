// What two processes intern in one table: equal entries have one number, different ones have different numbers, and
// nobody waits, whether there is room or not.
#include "preload/interned.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Words = std::vector<std::uint64_t>;

/// An empty table that child processes share.
class Table {
  public:
    Table() {
        void *start = mmap(nullptr, sizeof(interned_table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (start == MAP_FAILED) throw std::bad_alloc();
        table_ = static_cast<interned_table *>(start);
    }
    ~Table() { (void)munmap(table_, sizeof(interned_table)); }
    Table(const Table &) = delete;
    Table &operator=(const Table &) = delete;
    interned_table *operator->() const { return table_; }
    interned_table &operator*() const { return *table_; }

    std::uint32_t put(const Words &words) const { return interned_put(table_, words.data(), words.size()); }
    std::uint32_t put_text(const std::string &text) const { return interned_put_text(table_, text.c_str()); }
    Words get(std::uint32_t entry) const {
        std::size_t count = 0;
        const std::uint64_t *words = interned_get(table_, entry, &count);
        return words == nullptr ? Words{~std::uint64_t{0}} : Words(words, words + count);
    }
    bool has(std::uint32_t entry) const {
        std::size_t count = 0;
        return interned_get(table_, entry, &count) != nullptr;
    }

  private:
    interned_table *table_;
};

std::vector<Words> all_short_entries() {
    std::vector<Words> all{{}};
    for (std::size_t first = 0, last = 1, length = 1; length <= 5; length++) {
        for (std::size_t i = first; i < last; i++)
            for (std::uint64_t word : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
                all.push_back(all[i]);
                all.back().push_back(word);
            }
        first = last;
        last = all.size();
    }
    return all;
}

TEST(interned, has_one_number_for_each_entry_and_gives_its_words_back) {
    const Table table;
    const std::vector<Words> all = all_short_entries();
    std::map<std::uint32_t, Words> known;
    for (const Words &words : all) known[table.put(words)] = words;
    EXPECT_EQ(known.size(), all.size());
    EXPECT_EQ(known.count(0), 0U);
    for (const auto &[entry, words] : known) {
        EXPECT_EQ(table.put(words), entry);
        EXPECT_EQ(table.get(entry), words);
    }
    EXPECT_EQ(table->refused, 0U);
}

TEST(interned, agrees_with_a_map_over_random_entries) {
    const Table table;
    std::mt19937_64 chance(1);
    std::map<Words, std::uint32_t> model;
    for (int i = 0; i < 20000; i++) {
        Words words(chance() % 6 == 0 ? chance() % 70 : chance() % 4);
        for (std::uint64_t &word : words) word = chance() % 5 << (chance() % 2 * 60);
        const std::uint32_t entry = table.put(words);
        const auto [known, is_new] = model.try_emplace(words, entry);
        ASSERT_EQ(known->second, entry);
        ASSERT_EQ(table.get(entry), words);
    }
    std::set<std::uint32_t> numbers;
    for (const auto &[words, entry] : model) numbers.insert(entry);
    EXPECT_EQ(numbers.size(), model.size());
}

TEST(interned, refuses_and_counts_what_has_no_room_among_the_words) {
    const Table table;
    Words words(INTERNED_LONGEST);
    std::vector<std::uint32_t> entries;
    for (;; words[0]++) {
        const std::uint32_t entry = table.put(words);
        if (entry == 0) break;
        entries.push_back(entry);
    }
    EXPECT_EQ(entries.size(), (INTERNED_WORDS - 1) / (INTERNED_LONGEST + 1));
    EXPECT_EQ(table->refused, 1U);
    for (std::size_t i = 0; i < entries.size(); i++) {
        words[0] = i;
        EXPECT_EQ(table.put(words), entries[i]) << "an old entry needs no room";
        EXPECT_EQ(table.get(entries[i]), words);
    }
    words.resize(INTERNED_LONGEST + 1, 5);
    words[0] = 0;
    EXPECT_EQ(table.put(words), table.put(Words(words.begin(), words.end() - 1))) << "it is cut off";
    while (table.put({std::uint64_t{1} << 40 | table->used}) != 0) {
    }
    EXPECT_LE(table->used, INTERNED_WORDS);
}

TEST(interned, refuses_and_counts_what_has_no_slot) {
    const Table table;
    const std::uint32_t entry = table.put({1});
    for (std::uint32_t &slot : table->slots)
        if (slot == 0) slot = entry;
    std::size_t refused = 0;
    for (std::uint64_t word = 2; word < 100; word++) refused += table.put({word}) == 0;
    EXPECT_EQ(refused, 98U);
    EXPECT_EQ(table->refused, 98U);
    EXPECT_EQ(table.put({1}), entry);
}

TEST(interned, spares_words_for_other_entries) {
    const Table table;
    constexpr std::uint32_t spare = INTERNED_WORDS / 8;
    const auto put = [&](std::uint64_t word) { return interned_put_sparing(&*table, &word, 1, spare); };
    std::uint64_t count = 0;
    while (put(count) != 0) count++;
    EXPECT_EQ(INTERNED_WORDS - table->used - 1, spare + 1) << "an entry of one word takes two";
    EXPECT_EQ(table->refused, 0U);
    for (std::uint64_t word = 0; word < count; word += 97) EXPECT_NE(put(word), 0U) << "an old entry needs no room";
    EXPECT_NE(table.put({count}), 0U);
    EXPECT_NE(put(count), 0U);
    while (table.put({++count}) != 0) {
    }
    EXPECT_GE(table->used, INTERNED_WORDS - 3);
}

TEST(interned, keeps_texts_with_zeros_behind_them) {
    const Table table;
    std::string text;
    std::set<std::uint32_t> entries;
    for (int length = 0; length < 40; length++, text += 'a') {
        const std::uint32_t entry = table.put_text(text);
        entries.insert(entry);
        const Words words = table.get(entry);
        ASSERT_EQ(words.size(), (text.size() + 7) / 8);
        std::string there(reinterpret_cast<const char *>(words.data()), words.size() * 8);
        EXPECT_EQ(there, text + std::string(there.size() - text.size(), '\0'));
        EXPECT_EQ(table.put(words), entry);
    }
    EXPECT_EQ(entries.size(), 40U);
    const std::string longest(INTERNED_LONGEST * 8, 'x');
    EXPECT_EQ(table.put_text(longest + "y"), table.put_text(longest));
}

TEST(interned, knows_what_is_no_number_of_an_entry) {
    const Table table;
    EXPECT_FALSE(table.has(0));
    EXPECT_FALSE(table.has(INTERNED_WORDS));
    EXPECT_FALSE(table.has(UINT32_MAX));
    table->words[7] = INTERNED_LONGEST + 1;
    table->words[INTERNED_WORDS - 3] = 3;
    EXPECT_FALSE(table.has(7));
    EXPECT_FALSE(table.has(INTERNED_WORDS - 3));
    table->words[INTERNED_WORDS - 3] = 2;
    EXPECT_TRUE(table.has(INTERNED_WORDS - 3));
}

constexpr std::uint64_t shared_entries = 5000;

/// Puts those that all put, each in an order of its own, and as many that nobody else does.
void put_many(const Table &table, std::uint64_t who, std::vector<std::uint32_t> &found) {
    std::vector<std::uint64_t> order(shared_entries);
    for (std::uint64_t i = 0; i < order.size(); i++) order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937_64(who));
    found.assign(2 * shared_entries, 0);
    for (const std::uint64_t i : order) {
        found[i] = table.put({i, i * i, 3});
        found[shared_entries + i] = table.put({i, who, 1});
    }
}

void expect_agreement(const Table &table, const std::vector<std::vector<std::uint32_t>> &found) {
    for (std::uint64_t i = 0; i < shared_entries; i++)
        for (std::size_t who = 0; who < found.size(); who++) {
            ASSERT_EQ(found[who][i], found[0][i]);
            ASSERT_EQ(table.get(found[who][i]), (Words{i, i * i, 3}));
            ASSERT_EQ(table.get(found[who][shared_entries + i]), (Words{i, who, 1}));
        }
}

TEST(interned, gives_threads_the_same_numbers) {
    const Table table;
    std::vector<std::vector<std::uint32_t>> found(3);
    std::vector<std::thread> threads;
    for (std::uint64_t who = 0; who < found.size(); who++)
        threads.emplace_back([&, who] { put_many(table, who, found[who]); });
    for (std::thread &thread : threads) thread.join();
    expect_agreement(table, found);
}

TEST(interned, gives_processes_the_same_numbers) {
    const Table table;
    std::vector<std::vector<std::uint32_t>> found(2);
    const pid_t child = fork();
    if (child == 0) {
        put_many(table, 1, found[1]);
        _exit(0);
    }
    put_many(table, 0, found[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    put_many(table, 1, found[1]); // the numbers that the child was given
    expect_agreement(table, found);
    EXPECT_EQ(table->refused, 0U);
}

} // namespace
