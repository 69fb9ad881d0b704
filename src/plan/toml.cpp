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
        require_keys(document, {"pool", "arena", "heap", "engine", "demand"});
        Declaration declaration;
        if (const toml::table *pool = table_at(document, "pool")) read_pool(*pool, declaration);
        if (const toml::table *arena = table_at(document, "arena")) {
            require_keys(*arena, {"bytes", "alignment"});
            declaration.arena = Arena{bytes_at(*arena, "bytes"), number_or(*arena, "alignment", usual_arena_alignment)};
            located(*arena, [&] { require_legal(*declaration.arena); });
        }
        if (const toml::table *heap = table_at(document, "heap")) declaration.heap = read_heap(*heap);
        if (const toml::table *engine = table_at(document, "engine")) declaration.engine = read_engine(*engine);
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

    /// The value at the key, which must be there, in these bounds.
    std::uint64_t number_between(const toml::table &table, std::string_view key, std::uint64_t least,
                                 std::uint64_t most) const {
        const std::uint64_t number = number_at(table, key);
        if (number < least || number > most)
            fail(node_at(table, key), fmt::format("`{}` is {}: give {} to {}", key, number, least, most));
        return number;
    }

    /// Nanoseconds; 0 iff the key is not there.
    std::uint64_t duration_or_none(const toml::table &table, std::string_view key) const {
        const toml::node *node = table.get(key);
        if (node == nullptr) return 0;
        std::optional<std::uint64_t> ns;
        if (const auto *text = node->as_string()) ns = duration_from(text->get());
        if (!ns) fail(*node, fmt::format("`{}` is not a duration: write one, such as \"20us\" or \"5ms\"", key));
        if (*ns == 0 || *ns > FLAT_ENGINE_MAX_DELAY_NS)
            fail(*node, fmt::format("`{}` is 0 or over 2 years: give a duration between, or leave it out", key));
        return *ns;
    }

    /// As in flat_class_limits; 0 iff the key is not there.
    std::size_t grants_at(const toml::table &table, std::string_view key) const {
        if (!table.contains(key)) return 0;
        if (const auto *text = node_at(table, key).as_string(); text != nullptr && text->get() == "none")
            return FLAT_NO_GRANTS;
        if (!node_at(table, key).is_integer())
            fail(node_at(table, key), fmt::format("`{}` is not a number of grants: write one, or \"none\"", key));
        return number_between(table, key, 1, FLAT_ENGINE_MAX_GRANTS);
    }

    Urgencies urgencies_at(const toml::table &table, Urgencies otherwise) const {
        const toml::node *node = table.get("urgencies");
        if (node == nullptr) return otherwise;
        Urgencies urgencies = 0;
        if (const toml::array *list = node->as_array()) {
            for (const toml::node &each : *list) {
                const auto *urgency = each.as_integer();
                if (urgency == nullptr || urgency->get() < 0 || urgency->get() >= FLAT_ENGINE_URGENCIES)
                    fail(each, fmt::format("not an urgency: write 0, the lowest, to {}", FLAT_ENGINE_URGENCIES - 1));
                urgencies |= 1U << urgency->get();
            }
        }
        if (urgencies == 0)
            fail(*node, "`urgencies` is not a list of those that tasks have: write them, such as [0, 3]");
        return urgencies;
    }

    flat_class_limits limits_at(const toml::table &table) const {
        return {grants_at(table, "grants"), grants_at(table, "worker_grants"), duration_or_none(table, "service")};
    }

    /// A row of classes or of shares.
    template <typename Sized> struct ClassRow {
        Sized sized;
        flat_class_limits limits;
        Urgencies urgencies;
    };

    /// Reads rows by `read`, sorts them by size, and returns what `classes` makes of the sizes.
    template <typename Sized, typename Read, typename Classes>
    EngineClasses engine_classes(const toml::table &table, std::string_view key, std::string_view amount,
                                 Urgencies usual, const Read &read, const Classes &classes) const {
        std::vector<ClassRow<Sized>> rows;
        each_at(table, key, [&](const toml::table &each) {
            require_keys(each, {"size", amount, "grants", "worker_grants", "service", "urgencies"});
            rows.push_back({read(each), limits_at(each), urgencies_at(each, usual)});
        });
        std::ranges::sort(rows, {}, [](const ClassRow<Sized> &row) { return row.sized.block_size; });
        EngineClasses all;
        std::vector<Sized> sizes;
        for (const ClassRow<Sized> &row : rows) {
            sizes.push_back(row.sized);
            all.limits.push_back(row.limits);
            all.urgencies.push_back(row.urgencies);
        }
        located(node_at(table, key), [&] {
            all.classes = classes(sizes);
            (void)plan_pool(all.classes);
        });
        return all;
    }

    EngineClasses read_engine_classes(const toml::table &table, Urgencies usual) const {
        if (table.contains("classes") == (table.contains("bytes") || table.contains("shares")))
            fail(table, "a worker has either `classes`, or `bytes` and `shares`: write one of them");
        if (table.contains("classes"))
            return engine_classes<flat_class>(
                table, "classes", "count", usual, [&](const toml::table &each) { return read_class(each); },
                [](const std::vector<flat_class> &classes) { return classes; });
        const std::uint64_t bytes = bytes_at(table, "bytes");
        return engine_classes<flat_share>(
            table, "shares", "percent", usual, [&](const toml::table &each) { return read_share(each); },
            [&](const std::vector<flat_share> &shares) { return classes_from_shares(bytes, shares); });
    }

    DeclaredWorker read_worker(const toml::table &worker, Urgencies usual) const {
        require_keys(worker, {"processor", "classes", "bytes", "shares"});
        DeclaredWorker declared;
        if (worker.contains("processor"))
            declared.processor = static_cast<std::uint32_t>(number_between(worker, "processor", 0, INT32_MAX));
        if (worker.contains("classes") || worker.contains("bytes") || worker.contains("shares"))
            declared.own = read_engine_classes(worker, usual);
        return declared;
    }

    /// The workers: their number, and where they differ.
    void read_workers(const toml::table &engine, Urgencies usual, EngineDeclaration &declaration) const {
        if (const toml::node *tables = engine.get("worker")) {
            if (!tables->is_array_of_tables())
                fail(*tables, "`worker` is not a table for each worker: write [[engine.worker]]");
            each_at(engine, "worker",
                    [&](const toml::table &each) { declaration.workers.push_back(read_worker(each, usual)); });
        }
        const std::size_t tables = declaration.workers.size();
        if (tables > FLAT_ENGINE_MAX_WORKERS)
            fail(engine, fmt::format("{} workers: give 1 to {}", tables, FLAT_ENGINE_MAX_WORKERS));
        if (tables == 0 || engine.contains("workers"))
            declaration.worker_count = number_between(engine, "workers", 1, FLAT_ENGINE_MAX_WORKERS);
        else
            declaration.worker_count = tables;
        if (tables != 0 && tables != declaration.worker_count)
            fail(node_at(engine, "workers"),
                 fmt::format("{} workers and {} tables [[engine.worker]]: write one for each worker, or none",
                             declaration.worker_count, tables));
        const bool all_own = tables != 0 && std::ranges::all_of(declaration.workers, [](const DeclaredWorker &each) {
                                 return each.own.has_value();
                             });
        if (!all_own || engine.contains("classes") || engine.contains("bytes") || engine.contains("shares"))
            declaration.classes = read_engine_classes(engine, usual);
    }

    flat_waiting waiting_at(const toml::table &engine) const {
        const toml::node *node = engine.get("waiting");
        if (node == nullptr) return FLAT_WAITING_DEFAULT;
        const std::string text = node->value_or(std::string{});
        if (text == "busy") return FLAT_WAITING_BUSY;
        if (text == "sleep") return FLAT_WAITING_SLEEP;
        if (text != "spin") fail(*node, "`waiting` is no way to wait: write \"spin\", \"busy\" or \"sleep\"");
        return FLAT_WAITING_DEFAULT;
    }

    EngineDeclaration read_engine(const toml::table &engine) const {
        require_keys(engine, {"workers", "lanes", "waiting", "spin", "stack", "starvation_limit", "watchdog",
                              "caller_runs_workers", "urgencies", "overhead", "classes", "bytes", "shares", "inline",
                              "worker"});
        EngineDeclaration declaration;
        const Urgencies usual = urgencies_at(engine, every_urgency);
        read_workers(engine, usual, declaration);
        if (engine.contains("lanes"))
            declaration.lane_count = number_between(engine, "lanes", 1, FLAT_ENGINE_MAX_LANES);
        declaration.waiting = waiting_at(engine);
        declaration.spin_ns = duration_or_none(engine, "spin");
        if (engine.contains("stack")) declaration.stack_size = bytes_at(engine, "stack");
        if (engine.contains("starvation_limit"))
            declaration.starvation_limit = static_cast<unsigned>(number_between(engine, "starvation_limit", 1, 32767));
        declaration.watchdog_ns = duration_or_none(engine, "watchdog");
        declaration.caller_runs_workers = flag_or(engine, "caller_runs_workers", false);
        if (engine.contains("overhead")) declaration.overhead_ns = duration_or_none(engine, "overhead");
        declaration.inline_urgencies = usual;
        if (const toml::node *node = engine.get("inline")) {
            const toml::table *limits = node->as_table();
            if (limits == nullptr) fail(*node, "`inline` is not a table: write one, such as { service = \"5us\" }");
            require_keys(*limits, {"grants", "worker_grants", "service", "urgencies"});
            declaration.inline_limits = limits_at(*limits);
            declaration.inline_urgencies = urgencies_at(*limits, usual);
        }
        located(engine, [&] { (void)plan_engine(EngineOptions(declaration).get(), use_of(declaration)); });
        return declaration;
    }

    flat_class read_class(const toml::table &each) const {
        const flat_class made{bytes_at(each, "size"), number_at(each, "count")};
        located(each, [&] { (void)plan_pool({made}); });
        return made;
    }

    flat_share read_share(const toml::table &each) const {
        return {bytes_at(each, "size"), static_cast<unsigned>(number_between(each, "percent", 1, 100))};
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
            declaration.classes.push_back(read_class(each));
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
            shares.push_back(read_share(each));
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

} // namespace flat::plan
