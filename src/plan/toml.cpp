#include "toml.hpp"

#include "number_text.hpp"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

#include <fmt/format.h>

// toml++ 3.3 asserts conditions that a damaged file breaks ("[ =", where it expects a key). In a release build it lets
// the compiler assume them, before it checks and reports the same conditions. Only the check is wanted.
#undef NDEBUG
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

namespace flat::plan {
namespace {

/// The parser, and the code that frees its tables, recurse once for each part of a dotted key, and would exhaust the
/// stack. A declaration has no use for dots except in comments.
constexpr std::ptrdiff_t most_dots = 4000;

/// The length in bytes of the first character of `text`, which must not be empty; 0 iff that is not UTF-8.
std::size_t character_length(std::string_view text) {
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; // by length: a smaller code has a shorter form
    const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(text[i])}; };
    const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    if (length == 1) return 1;
    if (byte(0) < 0xc0 || byte(0) >= 0xf8 || text.size() < length) return 0;
    std::uint32_t code = byte(0) & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
        code = code << 6 | (byte(i) & 0x3f);
    }
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    return code < least[length] || code > 0x10ffff || surrogate ? 0 : length;
}

class Reader {
  public:
    explicit Reader(const std::string &name) : name_(name) {}

    Declaration read(const toml::table &document) const {
        require_keys(document, {"pool", "arena", "heap", "demand"});
        Declaration declaration;
        if (const toml::table *pool = table_at(document, "pool")) read_pool(*pool, declaration);
        if (const toml::table *arena = table_at(document, "arena")) {
            require_keys(*arena, {"bytes", "alignment"});
            declaration.arena = Arena{bytes_at(*arena, "bytes"), number_or(*arena, "alignment", usual_arena_alignment)};
            located(*arena, [&] { require_legal(*declaration.arena); });
        }
        if (const toml::table *heap = table_at(document, "heap")) declaration.heap = read_heap(*heap);
        if (const toml::table *demand = table_at(document, "demand")) {
            require_keys(*demand, {"sizes"});
            declaration.demand = read_rows(*demand);
        }
        located(document, [&] { require_something(declaration); });
        return declaration;
    }

    /// The text with a '?' for each character that is not ASCII. At some of them (U+FEF7) toml++ 3.3 reaches code that
    /// it declares unreachable, and a declaration has no use for any except in comments.
    std::string in_ascii(std::string_view text) const {
        if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3); // a byte order mark
        std::string ascii;
        toml::source_position at{1, 1};
        while (!text.empty()) {
            const std::size_t length = character_length(text);
            if (length == 0) fail(at, "not UTF-8 from here on: save it as UTF-8");
            ascii += length == 1 ? text.front() : '?';
            at = text.front() == '\n' ? toml::source_position{at.line + 1, 1}
                                      : toml::source_position{at.line, at.column + 1};
            text.remove_prefix(length);
        }
        return ascii;
    }

    [[noreturn]] void fail(toml::source_position at, const std::string &what) const {
        throw std::runtime_error(fmt::format("{}:{}:{}: {}", name_, at.line, at.column, what));
    }

  private:
    [[noreturn]] void fail(const toml::node &at, const std::string &what) const { fail(at.source().begin, what); }

    /// Runs the check, and adds the place of what was checked to what it throws.
    template <typename Check> void located(const toml::node &at, const Check &check) const {
        try {
            check();
        } catch (const std::runtime_error &error) {
            fail(at, error.what());
        }
    }

    void require_keys(const toml::table &table, std::initializer_list<std::string_view> known) const {
        for (const auto &[key, node] : table) {
            if (std::ranges::find(known, key.str()) == known.end())
                fail(key.source().begin, fmt::format("`{}` is not known here: leave it out, or write one of {}",
                                                     shown(key.str()), fmt::join(known, ", ")));
        }
    }

    const toml::table *table_at(const toml::table &parent, std::string_view key) const {
        const toml::node *node = parent.get(key);
        if (node != nullptr && !node->is_table()) fail(*node, fmt::format("`{0}` is not a table: write [{0}]", key));
        return node == nullptr ? nullptr : node->as_table();
    }

    const toml::node &node_at(const toml::table &table, std::string_view key) const {
        const toml::node *node = table.get(key);
        if (node == nullptr) fail(table, fmt::format("`{}` is missing here: add it", key));
        return *node;
    }

    std::uint64_t number_at(const toml::table &table, std::string_view key) const {
        const toml::node &node = node_at(table, key);
        const auto *integer = node.as_integer();
        if (integer == nullptr || integer->get() < 0)
            fail(node, fmt::format("`{}` is not a whole number: write one, such as 1000", key));
        return static_cast<std::uint64_t>(integer->get());
    }

    std::uint64_t number_or(const toml::table &table, std::string_view key, std::uint64_t otherwise) const {
        return table.contains(key) ? number_at(table, key) : otherwise;
    }

    std::uint64_t bytes_at(const toml::table &table, std::string_view key) const {
        const toml::node &node = node_at(table, key);
        std::optional<std::uint64_t> bytes;
        if (const auto *integer = node.as_integer(); integer != nullptr && integer->get() >= 0)
            bytes = static_cast<std::uint64_t>(integer->get());
        if (const auto *text = node.as_string()) bytes = bytes_from(text->get());
        if (!bytes) fail(node, fmt::format("`{}` is not a number of bytes: write one, such as 4096 or \"4K\"", key));
        return *bytes;
    }

    bool flag_or(const toml::table &table, std::string_view key, bool otherwise) const {
        const toml::node *node = table.get(key);
        if (node != nullptr && !node->is_boolean())
            fail(*node, fmt::format("`{}` is neither true nor false: write one of them", key));
        return node == nullptr ? otherwise : node->as_boolean()->get();
    }

    /// Calls `read` with each table of the list at `key`.
    template <typename Read> void each_at(const toml::table &table, std::string_view key, const Read &read) const {
        const toml::node &node = node_at(table, key);
        const toml::array *list = node.as_array();
        if (list == nullptr) fail(node, fmt::format("`{0}` is not a list: write {0} = [...]", key));
        for (const toml::node &each : *list) {
            if (!each.is_table())
                fail(each, fmt::format("not a table: `{}` is a list of tables, such as {{ size = 64, ... }}", key));
            read(*each.as_table());
        }
    }

    void read_pool(const toml::table &pool, Declaration &declaration) const {
        require_keys(pool, {"classes", "bytes", "shares"});
        if (pool.contains("classes") == (pool.contains("bytes") || pool.contains("shares")))
            fail(pool, "a pool has either `classes`, or `bytes` and `shares`: write one of them");
        if (!pool.contains("classes")) {
            declaration.budget = bytes_at(pool, "bytes");
            declaration.shares = read_shares(pool);
            located(pool, [&] { (void)classes_from_shares(declaration.budget, declaration.shares); });
            return;
        }
        each_at(pool, "classes", [&](const toml::table &each) {
            require_keys(each, {"size", "count"});
            declaration.classes.push_back({bytes_at(each, "size"), number_at(each, "count")});
            located(each, [&] { (void)plan_pool({declaration.classes.back()}); });
        });
        located(node_at(pool, "classes"), [&] { (void)plan_pool(declaration.classes); });
    }

    flat_heap_demand read_heap(const toml::table &heap) const {
        require_keys(heap, {"live", "smallest", "largest", "alignment", "reallocates"});
        flat_heap_demand demand{};
        demand.live = bytes_at(heap, "live");
        demand.smallest = bytes_at(heap, "smallest");
        demand.largest = bytes_at(heap, "largest");
        demand.alignment = number_or(heap, "alignment", 0);
        demand.reallocates = flag_or(heap, "reallocates", false);
        located(heap, [&] { (void)plan_heap(demand); });
        return demand;
    }

    std::vector<flat_share> read_shares(const toml::table &pool) const {
        std::vector<flat_share> shares;
        each_at(pool, "shares", [&](const toml::table &each) {
            require_keys(each, {"size", "percent"});
            const std::uint64_t percent = number_at(each, "percent");
            if (percent < 1 || percent > 100)
                fail(node_at(each, "percent"), "`percent` is not between 1 and 100: change it");
            shares.push_back({bytes_at(each, "size"), static_cast<unsigned>(percent)});
        });
        return shares;
    }

    std::vector<DemandRow> read_rows(const toml::table &demand) const {
        std::vector<DemandRow> rows;
        each_at(demand, "sizes", [&](const toml::table &each) {
            require_keys(each, {"size", "count", "alignment"});
            rows.push_back({bytes_at(each, "size"), number_at(each, "count"), number_or(each, "alignment", 1)});
            located(each, [&] { (void)ordered({rows.back()}); });
        });
        located(node_at(demand, "sizes"), [&] {
            if (ordered(rows).empty()) throw std::runtime_error("no block is live: give at least one size and count");
        });
        return rows;
    }

    const std::string &name_;
};

std::string row_text(const DemandRow &row) {
    return row.alignment == 1
               ? fmt::format("    {{ size = {}, count = {} }},\n", row.size, row.count)
               : fmt::format("    {{ size = {}, count = {}, alignment = {} }},\n", row.size, row.count, row.alignment);
}

} // namespace

Declaration declaration_from_toml(std::string_view text, const std::string &name) {
    const Reader reader(name);
    if (std::ranges::count(text, '.') > most_dots)
        throw std::runtime_error(
            fmt::format("{}:1:1: over {} dots, which no declaration needs: write sizes and counts", name, most_dots));
    try {
        return reader.read(toml::parse(reader.in_ascii(text)));
    } catch (const toml::parse_error &error) {
        reader.fail(error.source().begin, fmt::format("{}: correct the TOML here", shown(error.description(), 120)));
    }
}

std::string toml_of(const Plan &plan, const std::vector<std::string> &remarks) {
    std::string text;
    for (const std::string &remark : remarks) text += "# " + remark + "\n";
    if (plan.pool) {
        text += "\n[pool]\nclasses = [\n";
        for (const PlannedClass &each : plan.pool->classes)
            text +=
                fmt::format("    {{ size = {}, count = {} }},\n", each.declared.block_size, each.declared.block_count);
        text += "]\n";
    }
    if (plan.arena)
        text += fmt::format("\n[arena]\nbytes = {}\nalignment = {}\n", plan.arena->bytes, plan.arena->alignment);
    if (plan.heap) {
        const flat_heap_demand &demand = plan.heap->demand;
        text += fmt::format("\n[heap]\nlive = {}\nsmallest = {}\nlargest = {}\n", demand.live, demand.smallest,
                            demand.largest);
        if (demand.alignment != 0) text += fmt::format("alignment = {}\n", demand.alignment);
        if (demand.reallocates) text += "reallocates = true\n";
    }
    if (!plan.demand.empty()) {
        text += "\n# Blocks live at once, by size.\n[demand]\nsizes = [\n";
        for (const DemandRow &row : plan.demand) text += row_text(row);
        text += "]\n";
    }
    return text;
}

} // namespace flat::plan
