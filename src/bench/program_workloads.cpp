#include "program_workloads.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace flat::bench {
namespace {

/// At least one, even with the smallest scale.
unsigned scaled(double count, double scale) { return static_cast<unsigned>(std::max(1.0, std::round(count * scale))); }

/// xorshift64: the same numbers on every machine and with every library.
class Numbers {
  public:
    unsigned below(unsigned limit) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<unsigned>((state_ >> 33) % limit);
    }

  private:
    std::uint64_t state_ = 20261122;
};

constexpr const char *lua_script = R"lua(
local rounds = tonumber(arg[1])
local random = 20261122
local function below(limit)
  random = (random * 1103515245 + 12345) % 2147483648
  return (random >> 8) % limit
end

local function tree(depth)
  if depth == 0 then return {} end
  return {tree(depth - 1), tree(depth - 1), name = "node " .. depth .. below(1000)}
end
local function size(node)
  if not node[1] then return 1 end
  return 1 + #node.name % 2 + size(node[1]) + size(node[2])
end

local kept, total = {}, 0
for round = 1, rounds do
  kept[round % 8 + 1] = tree(12)
  total = total + size(kept[round % 8 + 1])
  local words, counts = {}, {}
  for i = 1, 4000 do words[i] = ("%x-%s"):format(below(5000), ("ab"):rep(below(20))) end
  for _, word in ipairs(words) do counts[word] = (counts[word] or 0) + 1 end
  table.sort(words)
  for i = 2, #words, 7 do total = total + #(words[i] .. words[i - 1]) + counts[words[i]] end
  local actions = {}
  for i = 1, 2000 do actions[i] = function(x) return x + i + below(3) end end
  for i = 1, #actions do total = total + actions[i](round) end
end
print(total)
)lua";

constexpr const char *python_script = R"python(
import json
import sys

rounds = int(sys.argv[1])
state = 20261122


def below(limit):
    global state
    state = (state * 1103515245 + 12345) % 2147483648
    return (state >> 8) % limit


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def moved(self, by):
        return Point(self.x + by, self.y - by)


kept, total = [None] * 4, 0
for turn in range(rounds):
    records = [{"id": i, "name": f"name {below(100000)}", "tags": [f"t{below(50)}" for _ in range(4)],
                "score": below(1000000) / 7} for i in range(3000)]
    parsed = json.loads(json.dumps(records))
    kept[turn % 4] = parsed
    groups = {}
    for record in parsed:
        for tag in record["tags"]:
            groups.setdefault(tag, []).append(record["name"].upper())
    total += sum(len(",".join(sorted(names))) for names in groups.values())
    points = [Point(below(1000), i) for i in range(10000)]
    total += sum(point.x - point.y for point in [point.moved(turn) for point in points])
    total += len({str(below(1000000)).encode() for _ in range(8000)})
print(total)
)python";

constexpr const char *perl_script = R"perl(
use strict;
use warnings;

my $rounds = shift;
my $state = 20261122;
sub below { my $limit = shift; $state = ($state * 1103515245 + 12345) % 2147483648; return ($state >> 8) % $limit; }

my (@kept, $total);
for my $round (1 .. $rounds) {
    my $text = join ' ', map { 'w' . below(9000) . 'x' x below(24) } 1 .. 12000;
    my %count;
    $count{$_}++ for split / /, $text;
    my @order = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
    $total += length(join ',', map { "$_=$count{$_}" } @order);
    my @records = map { { id => $_, name => "name " . below(100000), tags => [map { 't' . below(50) } 1 .. 4] } } 1 .. 3000;
    $kept[$round % 4] = \@records;
    my %groups;
    for my $record (@records) {
        push @{$groups{$_}}, uc $record->{name} for @{$record->{tags}};
    }
    $total += length join '', map { join ',', @{$groups{$_}} } sort keys %groups;
    (my $changed = $text) =~ s/(\w)x+/$1-$1/g;
    $total += length $changed;
}
print "$total\n";
)perl";

/// A table of {rows}, and statements that build and take apart many short texts.
constexpr const char *sql_script = R"sql(
PRAGMA temp_store = MEMORY;
CREATE TABLE item(id INTEGER PRIMARY KEY, owner INTEGER, name TEXT, note TEXT);
WITH RECURSIVE n(i, r) AS (
  SELECT 1, 20261122 UNION ALL SELECT i + 1, (r * 1103515245 + 12345) % 2147483648 FROM n WHERE i < {rows})
INSERT INTO item SELECT i, (r >> 8) % 2000, printf('name %d', (r >> 5) % 100003),
  json_object('id', i, 'size', (r >> 9) % 977, 'tags', json_array('a' || ((r >> 7) % 31), 'b' || ((r >> 11) % 17)))
  FROM n;
CREATE INDEX item_name ON item(name);
SELECT count(*), sum(length(names)) FROM (
  SELECT group_concat(upper(name) || '-' || id, ';') AS names FROM item GROUP BY owner);
SELECT sum(length(json_set(json_remove(note, '$.tags[0]'), '$.size', owner, '$.name', name))) FROM item;
SELECT count(*), max(tag.value) FROM item, json_each(item.note, '$.tags') AS tag;
SELECT sum(length(printf('%s and %s and %s', name, hex(name), replace(note, 'a', 'some longer text')))) FROM item;
SELECT sum(length(json_set(note, '$.more', json_array(id, name)))) FROM item;
UPDATE item SET note = json_set(note, '$.size', owner, '$.name', name) WHERE id % 2 = 0;
SELECT sum(length(note)), count(DISTINCT json_extract(note, '$.tags[0]')) FROM item;
DELETE FROM item WHERE owner % 3 = 0;
SELECT count(*), sum(length(name)) FROM item;
)sql";

std::string replaced(std::string text, std::string_view what, const std::string &by) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
    return text;
}

/// Integers in a cycle of differences: unsatisfiable for every third problem.
std::string differences(Numbers &numbers, unsigned problem) {
    constexpr unsigned variables = 40;
    std::string text;
    for (unsigned i = 0; i < variables; ++i) text += fmt::format("(declare-const x{} Int)\n", i);
    for (unsigned i = 0; i + 1 < variables; ++i)
        text += fmt::format("(assert (or (< (+ x{} {}) x{}) (> (- x{} {}) (* 2 x{}))))\n", i, numbers.below(9), i + 1,
                            i, numbers.below(9), i + 1);
    for (unsigned i = 0; i < variables; ++i) text += fmt::format("(assert (and (>= x{0} 0) (<= x{0} 400)))\n", i);
    if (problem % 3 == 0) text += fmt::format("(assert (< (+ x{} x0) x0))\n", variables - 1);
    return text;
}

/// Writes to an array in two orders, which differ if two indices are equal.
std::string stores(Numbers &numbers) {
    constexpr unsigned writes = 12;
    std::string text = "(declare-const a (Array Int Int))\n(declare-const k Int)\n";
    std::string forth = "a", back = "a";
    for (unsigned i = 0; i < writes; ++i) {
        text += fmt::format("(declare-const i{} Int)\n", i);
        forth = fmt::format("(store {} i{} {})", forth, i, numbers.below(50));
    }
    for (unsigned i = writes; i-- > 0;) back = fmt::format("(store {} i{} {})", back, i, numbers.below(50));
    return text + fmt::format("(assert (not (= (select {} k) (select {} k))))\n(assert (distinct i0 i1 i2 i3))\n",
                              forth, back);
}

/// A product of given factors, which bit-blasting turns into some thousand clauses.
std::string product(Numbers &numbers) {
    const unsigned width = 12, p = numbers.below(60) + 3, q = numbers.below(60) + 3;
    return fmt::format("(declare-const p (_ BitVec {0}))\n(declare-const q (_ BitVec {0}))\n"
                       "(assert (= (bvmul p q) (_ bv{1} {0})))\n(assert (bvult p (_ bv64 {0})))\n"
                       "(assert (bvult q (_ bv64 {0})))\n(assert (bvugt p (_ bv1 {0})))\n",
                       width, p * q % 4096);
}

/// Recursive types, functions over them, and containers of them.
constexpr const char *source_head = R"cpp(
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>
template <int N> struct Number { static constexpr int value = Number<N - 1>::value + N; };
template <> struct Number<0> { static constexpr int value = 0; };
template <typename... Types> struct List {};
template <typename All, typename One> struct Append;
template <typename... All, typename One> struct Append<List<All...>, One> { using type = List<All..., One>; };
template <int N, int Family> struct Many {
    using type = typename Append<typename Many<N - 1, Family>::type, Number<N * 8 + Family % 8>>::type;
};
template <int Family> struct Many<0, Family> { using type = List<>; };
template <typename... All> constexpr int sum(List<All...>) { return (0 + ... + All::value); }
)cpp";

/// One family: each container has a class of its own, and is sorted, mapped and visited.
constexpr const char *source_family = R"cpp(
struct Kind@ { int key; std::string name; std::vector<int> parts; bool operator<(const Kind@ &o) const { return key < o.key; } };
using Either@ = std::variant<int, Kind@, std::unique_ptr<Kind@>, std::tuple<Kind@, double, Number<@>>>;
int family@(std::map<std::string, Kind@> &kinds, std::vector<Either@> &all, std::unordered_map<int, Kind@> &index) {
    std::vector<Kind@> sorted;
    for (auto &[name, kind] : kinds) { sorted.push_back(kind); index[kind.key] = kind; }
    std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
    std::function<int(const Kind@ &)> weigh = [&](const Kind@ &kind) { return kind.key + int(kind.parts.size()); };
    int total = sum(typename Many<@ % 24 + 8, @>::type{});
    for (auto &one : all)
        total += std::visit([&](auto &it) -> int {
            using T = std::decay_t<decltype(it)>;
            if constexpr (std::is_same_v<T, int>) return it;
            else if constexpr (std::is_same_v<T, Kind@>) return weigh(it);
            else if constexpr (std::is_same_v<T, std::unique_ptr<Kind@>>) return weigh(*it);
            else return weigh(std::get<0>(it));
        }, one);
    std::stable_sort(sorted.begin(), sorted.end());
    for (const auto &kind : sorted) total += weigh(kind);
    return total;
}
)cpp";

} // namespace

Work redis_work(double scale) {
    return {.arguments = {"--port", "{port}", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize",
                          "no", "--io-threads", "1", "--loglevel", "warning"},
            .client = {"-h", "127.0.0.1", "-p", "{port}", "-c", "16", "-P", "64", "-n",
                       std::to_string(scaled(250'000, scale)), "-r", "200000", "-d", "96", "-q", "-t",
                       "set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin"}};
}

Work sqlite_work(double scale) {
    return {.files = {{"work.sql", replaced(sql_script, "{rows}", std::to_string(scaled(400'000, scale)))}},
            .arguments = {"-batch", "-init", "/dev/null", ":memory:", ".read work.sql"}};
}

Work z3_work(double scale) {
    Numbers numbers;
    std::string text;
    const unsigned problems = scaled(380, scale);
    for (unsigned problem = 0; problem < problems; ++problem) {
        const unsigned kind = problem % 8; // arrays use the allocator most
        text += kind == 0 ? differences(numbers, problem / 8) : kind == 1 ? product(numbers) : stores(numbers);
        text += "(check-sat)\n(reset)\n";
    }
    return {.files = {{"work.smt2", text}}, .arguments = {"work.smt2"}};
}

Work lua_work(double scale) {
    return {.files = {{"work.lua", lua_script}}, .arguments = {"work.lua", std::to_string(scaled(350, scale))}};
}

Work jq_work(double scale) {
    Numbers numbers;
    std::string text = "[";
    const unsigned records = scaled(130'000, scale);
    for (unsigned i = 0; i < records; ++i)
        text += fmt::format("{}{{\"id\":{},\"name\":\"name {}\",\"owner\":{{\"key\":{},\"place\":\"street {}\"}},"
                            "\"tags\":[\"t{}\",\"t{}\",\"t{}\"],\"score\":{}.{}}}",
                            i == 0 ? "" : ",\n", i, numbers.below(100'000), numbers.below(500), numbers.below(9000),
                            numbers.below(40), numbers.below(40), numbers.below(40), numbers.below(1000),
                            numbers.below(90) + 10);
    constexpr const char *filter =
        "[.[] | tojson | fromjson | {key: .owner.key, size: ([.name, .owner.place, .tags[] | "
        "split(\"\") | length] | add)}] | "
        "group_by(.key) | map({key: .[0].key, n: length, size: (map(.size) | add)}) | "
        "[length, (map(.n) | add), (map(.size) | add)]";
    return {.files = {{"work.json", text + "]\n"}}, .arguments = {"-c", filter, "work.json"}};
}

Work python_work(double scale) {
    return {.files = {{"work.py", python_script}},
            .arguments = {"-B", "work.py", std::to_string(scaled(90, scale))},
            .environment = {"PYTHONMALLOC=malloc", "PYTHONHASHSEED=0"}};
}

Work perl_work(double scale) {
    return {.files = {{"work.pl", perl_script}},
            .arguments = {"work.pl", std::to_string(scaled(62, scale))},
            .environment = {"PERL_HASH_SEED=0"}};
}

Work compiler_work(double scale) {
    std::string text = source_head;
    const unsigned families = scaled(2, scale);
    for (unsigned family = 1; family <= families; ++family)
        text += replaced(source_family, "@", std::to_string(family));
    return {.files = {{"work.cpp", text}},
            .arguments = {"-std=c++17", "-O1", "-fanalyzer", "-S", "-o", "/dev/null", "work.cpp"}};
}

} // namespace flat::bench
