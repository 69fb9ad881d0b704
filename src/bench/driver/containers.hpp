// The workloads of the suite `containers`, as templates over the source of memory. Each backend compiles the same
// source, and exactly one thing differs between two rows of a table.
//
// A source is a class with
//
//     template <class T> using allocator = ...;
//     template <class T> allocator<T> get();     an allocator for a container of this round
//     void end_round();                          every container is destroyed: the cost of a reset is part of the round
//     std::size_t held();                        bytes of its memory that the round took, asked before end_round; left
//                                                out where those are the requested bytes
//
// It is constructed for each round, on the stack. Strings are constructed with their allocator and then moved into
// containers, which works for every kind of allocator. They are inserted into a map by try_emplace, which looks for the
// place first with every allocator. libstdc++'s emplace does so for std::allocator alone, and creates a node first for
// all others.
#pragma once

#include "containers.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flat::bench {

/// Makes the compiler assume that `object` is read and written here, so that its content is in memory before it is read
/// back. For a vector pass its elements. If the vector's own address escaped, its pointers would have to be in memory
/// as well, and every push_back would wait for the one before it.
template <class T> inline void keep(T &object) { asm volatile("" : : "r"(&object) : "memory"); }

inline const bench_texts &texts() { return *bench_work_texts; }

/// The sum of a text's words and its length.
inline std::uint64_t sum_of(const char *text, std::size_t length) {
    std::uint64_t sum = length, word = 0;
    std::size_t at = 0;
    for (; at + sizeof word <= length; at += sizeof word) {
        std::memcpy(&word, text + at, sizeof word);
        sum += word;
    }
    for (; at < length; at++) sum += static_cast<unsigned char>(text[at]);
    return sum;
}

template <class String> std::uint64_t sum_of(const String &text) { return sum_of(text.data(), text.size()); }

/// A sensor's record: 80 bytes.
struct record {
    std::int32_t id;
    double temperature, pressure, humidity;
    std::uint64_t timestamp;
    char label[40];
};
static_assert(sizeof(record) == 80);

/// The sensors' records, in the order in which they are read. They are prepared in memory. A record that is made on the
/// spot, a member at a time, and copied at once would stall the copy for longer than most allocators take.
inline constexpr std::array<record, RECORDS> delivered = [] {
    std::array<record, RECORDS> all{};
    for (std::size_t i = 0; i < all.size(); i++)
        all[i] = {
            static_cast<std::int32_t>(i), 20.0 + static_cast<double>(i % 8), 1013.0, 40.0, 1000 * i, "Boiler_Inlet"};
    return all;
}();

constexpr std::uint64_t value_of(const record &of) {
    return static_cast<std::uint64_t>(of.id) + of.timestamp + static_cast<std::uint64_t>(of.label[0]);
}

constexpr std::uint64_t sum_of_records() {
    std::uint64_t sum = 0;
    for (const record &each : delivered) sum += value_of(each);
    return sum;
}

/// The 1,000 records appended one by one to a vector, which grows, or is reserved from the start.
template <bool Reserve> struct vector_of_records {
    static constexpr const char *name = Reserve ? "vector-reserve" : "vector";
    static constexpr std::size_t stack_bytes = 256 * 1024; // includes the buffers that the vector outgrew

    template <class Source> static std::uint64_t run(Source &of) {
        std::vector<record, typename Source::template allocator<record>> all(of.template get<record>());
        if constexpr (Reserve) all.reserve(RECORDS);
        for (const record &each : delivered) all.push_back(each);
        keep(*all.data());
        std::uint64_t sum = 0;
        for (const record &each : all) sum += value_of(each);
        return sum;
    }
    static std::uint64_t run_in_arrays() {
        record all[RECORDS];
        for (std::size_t i = 0; i < RECORDS; i++) all[i] = delivered[i];
        keep(all);
        std::uint64_t sum = 0;
        for (const record &each : all) sum += value_of(each);
        return sum;
    }
    static std::uint64_t sum() { return sum_of_records(); }
};

/// A vector reserved for 100 strings, made of texts.
template <bool Long> struct strings {
    static constexpr const char *name = Long ? "strings-long" : "strings-short";
    static constexpr std::size_t stack_bytes = 16 * 1024;

    static const char *label(std::size_t i) { return Long ? texts().long_labels[i] : texts().short_labels[i]; }

    template <class Source> static std::uint64_t run(Source &of) {
        using string = std::basic_string<char, std::char_traits<char>, typename Source::template allocator<char>>;
        std::vector<string, typename Source::template allocator<string>> all(of.template get<string>());
        all.reserve(LABELS);
        for (std::size_t i = 0; i < LABELS; i++) all.push_back(string(label(i), of.template get<char>()));
        keep(*all.data());
        std::uint64_t sum = 0;
        for (const string &each : all) sum += sum_of(each);
        return sum;
    }
    static std::uint64_t run_in_arrays() {
        char all[LABELS][TEXT_BYTES];
        for (std::size_t i = 0; i < LABELS; i++) std::memcpy(all[i], label(i), std::strlen(label(i)) + 1);
        keep(all);
        std::uint64_t sum = 0;
        for (const char *each : all) sum += sum_of(each, std::strlen(each));
        return sum;
    }
    static std::uint64_t sum() {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < LABELS; i++) sum += sum_of(label(i), std::strlen(label(i)));
        return sum;
    }
};

/// One string out of 100, each followed by a comma.
struct concatenation {
    static constexpr const char *name = "concatenation";
    static constexpr std::size_t stack_bytes = 32 * 1024;

    template <class Source> static std::uint64_t run(Source &of) {
        using string = std::basic_string<char, std::char_traits<char>, typename Source::template allocator<char>>;
        string all(of.template get<char>());
        for (const char *each : texts().long_labels) {
            all += each;
            all += ',';
        }
        keep(*all.data());
        return sum_of(all);
    }
    static std::uint64_t run_in_arrays() {
        char all[LABELS * TEXT_BYTES];
        std::size_t length = 0;
        for (const char *each : texts().long_labels) {
            const std::size_t bytes = std::strlen(each);
            std::memcpy(all + length, each, bytes);
            length += bytes;
            all[length++] = ',';
        }
        keep(all);
        return sum_of(all, length);
    }
    static std::uint64_t sum() { return run_in_arrays(); }
};

/// The value of a device in a map.
struct device {
    std::uint32_t state, unit;
    double value;
};

inline device device_of(std::size_t i) {
    return {static_cast<std::uint32_t>(i % 4), static_cast<std::uint32_t>(i), static_cast<double>(3 * i)};
}

inline std::uint64_t value_of(const device &of) {
    return of.state + std::uint64_t{of.unit} + static_cast<std::uint64_t>(of.value);
}

inline std::uint64_t sum_of_devices() {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < ENTRIES; i++) sum += i % 4 + i + 3 * i;
    return sum;
}

/// 500 devices by number, ascending, in a map or an unordered_map.
template <bool Ordered> struct map_of_numbers {
    static constexpr const char *name = Ordered ? "map-int" : "unordered-map";
    static constexpr std::size_t stack_bytes = 64 * 1024;

    template <class Source> static auto make(Source &of) {
        using entry = std::pair<const std::uint32_t, device>;
        using allocator = typename Source::template allocator<entry>;
        if constexpr (Ordered)
            return std::map<std::uint32_t, device, std::less<>, allocator>(of.template get<entry>());
        else
            return std::unordered_map<std::uint32_t, device, std::hash<std::uint32_t>, std::equal_to<>, allocator>(
                of.template get<entry>());
    }

    template <class Source> static std::uint64_t run(Source &of) {
        auto all = make(of);
        for (std::size_t i = 0; i < ENTRIES; i++) all.try_emplace(static_cast<std::uint32_t>(i), device_of(i));
        keep(all);
        std::uint64_t sum = 0;
        for (const auto &[key, each] : all) sum += key + value_of(each);
        return sum;
    }
    static std::uint64_t sum() { return sum_of_devices() + ENTRIES * (ENTRIES - 1) / 2; }
};

/// 500 devices by name, ascending.
struct map_of_names {
    static constexpr const char *name = "map-string";
    static constexpr std::size_t stack_bytes = 128 * 1024;

    template <class Source> static std::uint64_t run(Source &of) {
        using string = std::basic_string<char, std::char_traits<char>, typename Source::template allocator<char>>;
        using entry = std::pair<const string, device>;
        std::map<string, device, std::less<>, typename Source::template allocator<entry>> all(of.template get<entry>());
        for (std::size_t i = 0; i < ENTRIES; i++)
            all.try_emplace(string(texts().keys[i], of.template get<char>()), device_of(i));
        keep(all);
        std::uint64_t sum = 0;
        for (const auto &[key, each] : all) sum += sum_of(key) + value_of(each);
        return sum;
    }
    static std::uint64_t sum() {
        std::uint64_t sum = sum_of_devices();
        for (const char *each : texts().keys) sum += sum_of(each, std::strlen(each));
        return sum;
    }
};

/// 500 devices, appended one by one, then removed one by one from the front.
struct list_of_devices {
    static constexpr const char *name = "list";
    static constexpr std::size_t stack_bytes = 64 * 1024;

    template <class Source> static std::uint64_t run(Source &of) {
        std::list<device, typename Source::template allocator<device>> all(of.template get<device>());
        for (std::size_t i = 0; i < ENTRIES; i++) all.push_back(device_of(i));
        keep(all);
        std::uint64_t sum = 0;
        for (; !all.empty(); all.pop_front()) sum += value_of(all.front());
        return sum;
    }
    static std::uint64_t run_in_arrays() {
        device all[ENTRIES];
        for (std::size_t i = 0; i < ENTRIES; i++) all[i] = device_of(i);
        keep(all);
        std::uint64_t sum = 0;
        for (const device &each : all) sum += value_of(each);
        return sum;
    }
    static std::uint64_t sum() { return sum_of_devices(); }
};

/// 1,000 records, appended one by one; whenever 50 are there, the older half is removed.
struct deque_of_records {
    static constexpr const char *name = "deque";
    static constexpr std::size_t stack_bytes = 128 * 1024;
    static constexpr std::size_t most = 50;

    template <class Source> static std::uint64_t run(Source &of) {
        std::deque<record, typename Source::template allocator<record>> all(of.template get<record>());
        std::uint64_t sum = 0;
        const auto take_off = [&](std::size_t left) {
            keep(all);
            for (; all.size() > left; all.pop_front()) sum += value_of(all.front());
        };
        for (const record &each : delivered) {
            all.push_back(each);
            if (all.size() == most) take_off(most / 2);
        }
        take_off(0);
        return sum;
    }
    static std::uint64_t run_in_arrays() {
        record all[most];
        std::uint64_t sum = 0;
        std::size_t first = 0, end = 0; // of the present ones, counted from the very first
        const auto take_off = [&](std::size_t left) {
            keep(all);
            for (; end - first > left; first++) sum += value_of(all[first % most]);
        };
        for (const record &each : delivered) {
            all[end++ % most] = each;
            if (end - first == most) take_off(most / 2);
        }
        take_off(0);
        return sum;
    }
    static std::uint64_t sum() { return sum_of_records(); }
};

/// 1,000 readings of 20 sensors, stored under the sensor's name as they arrive; then a report with a line for each
/// sensor.
struct sensor_collection {
    static constexpr const char *name = "sensors";
    static constexpr std::size_t stack_bytes = 128 * 1024;

    struct reading {
        std::uint64_t timestamp, value;
    };
    static reading reading_of(std::size_t i) { return {1000 * i, i % 97}; }

    template <class Source> static std::uint64_t run(Source &of) {
        using string = std::basic_string<char, std::char_traits<char>, typename Source::template allocator<char>>;
        using readings = std::vector<reading, typename Source::template allocator<reading>>;
        using entry = std::pair<const string, readings>;
        std::map<string, readings, std::less<>, typename Source::template allocator<entry>> all(
            of.template get<entry>());
        for (std::size_t i = 0; i < RECORDS; i++) {
            const char *sensor = texts().keys[i % SENSORS];
            auto place = all.find(sensor);
            if (place == all.end())
                place = all.try_emplace(string(sensor, of.template get<char>()), readings(of.template get<reading>()))
                            .first;
            place->second.push_back(reading_of(i));
        }
        string report(of.template get<char>());
        std::uint64_t sum = 0;
        for (const auto &[sensor, values] : all) {
            for (const reading &each : values) sum += each.timestamp + each.value;
            report += sensor;
            report += '\n';
        }
        keep(report);
        return sum + sum_of(report);
    }
    static std::uint64_t sum() {
        char report[SENSORS * TEXT_BYTES];
        std::size_t length = 0;
        for (std::size_t i = 0; i < SENSORS; i++) {
            const std::size_t bytes = std::strlen(texts().keys[i]);
            std::memcpy(report + length, texts().keys[i], bytes);
            length += bytes;
            report[length++] = '\n';
        }
        std::uint64_t sum = sum_of(report, length);
        for (std::size_t i = 0; i < RECORDS; i++) sum += reading_of(i).timestamp + reading_of(i).value;
        return sum;
    }
};

/// 500 messages of 8 to 191 bytes arrive in bursts; after each burst all but a few are taken from the queue.
struct message_queue {
    static constexpr const char *name = "messages";
    static constexpr std::size_t stack_bytes = 256 * 1024;
    static constexpr std::size_t left_behind = 5;

    static std::uint64_t sum_of_message(std::size_t i, std::uint64_t priority, const char *text, std::size_t length) {
        return i + priority + sum_of(text, length);
    }

    template <class Source> static std::uint64_t run(Source &of) {
        using string = std::basic_string<char, std::char_traits<char>, typename Source::template allocator<char>>;
        struct message {
            std::uint64_t number, priority;
            string payload;
        };
        std::deque<message, typename Source::template allocator<message>> queue(of.template get<message>());
        std::uint64_t sum = 0;
        const auto take_off = [&](std::size_t left) {
            keep(queue);
            for (; queue.size() > left; queue.pop_front()) {
                const message &front = queue.front();
                sum += sum_of_message(front.number, front.priority, front.payload.data(), front.payload.size());
            }
        };
        for (std::size_t i = 0; i < ENTRIES; i++) {
            queue.push_back({i, i % 3, string(texts().payload, texts().payload_bytes[i], of.template get<char>())});
            if ((i + 1) % BURST == 0) take_off(left_behind);
        }
        take_off(0);
        return sum;
    }
    static std::uint64_t run_in_arrays() {
        struct message {
            std::uint64_t number, priority;
            std::size_t length;
            char payload[MOST_PAYLOAD];
        };
        constexpr std::size_t most = BURST + left_behind;
        message queue[most];
        std::uint64_t sum = 0;
        std::size_t first = 0, end = 0;
        const auto take_off = [&](std::size_t left) {
            keep(queue);
            for (; end - first > left; first++) {
                const message &front = queue[first % most];
                sum += sum_of_message(front.number, front.priority, front.payload, front.length);
            }
        };
        for (std::size_t i = 0; i < ENTRIES; i++) {
            message &back = queue[end++ % most];
            back.number = i;
            back.priority = i % 3;
            back.length = texts().payload_bytes[i];
            std::memcpy(back.payload, texts().payload, back.length);
            if ((i + 1) % BURST == 0) take_off(left_behind);
        }
        take_off(0);
        return sum;
    }
    static std::uint64_t sum() {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < ENTRIES; i++)
            sum += sum_of_message(i, i % 3, texts().payload, texts().payload_bytes[i]);
        return sum;
    }
};

/// A batch of 100 trades in a reserved vector, and their notional value.
struct trades {
    static constexpr const char *name = "trades";
    static constexpr std::size_t stack_bytes = 4 * 1024;

    struct trade {
        std::int32_t id;
        double price, quantity;
    };
    static_assert(sizeof(trade) == 24);
    static trade trade_of(std::size_t i) { return {static_cast<std::int32_t>(i), 100.0, 50.0}; }

    template <class Source> static std::uint64_t run(Source &of) {
        std::vector<trade, typename Source::template allocator<trade>> all(of.template get<trade>());
        all.reserve(TRADES);
        for (std::size_t i = 0; i < TRADES; i++) all.push_back(trade_of(i));
        keep(*all.data());
        double notional = 0;
        std::uint64_t ids = 0;
        for (const trade &each : all) {
            notional += each.price * each.quantity;
            ids += static_cast<std::uint64_t>(each.id);
        }
        return ids + static_cast<std::uint64_t>(notional);
    }
    static std::uint64_t run_in_arrays() {
        trade all[TRADES];
        for (std::size_t i = 0; i < TRADES; i++) all[i] = trade_of(i);
        keep(all);
        double notional = 0;
        std::uint64_t ids = 0;
        for (const trade &each : all) {
            notional += each.price * each.quantity;
            ids += static_cast<std::uint64_t>(each.id);
        }
        return ids + static_cast<std::uint64_t>(notional);
    }
    static std::uint64_t sum() { return std::uint64_t{TRADES} * (TRADES - 1) / 2 + 5000 * TRADES; }
};

/// 1,000 times an int is allocated, written, read and freed.
struct new_and_delete {
    static constexpr const char *name = "new-delete";
    static constexpr std::size_t stack_bytes = 32 * 1024;

    template <class Source> static std::uint64_t run(Source &of) {
        auto from = of.template get<int>();
        using traits = std::allocator_traits<decltype(from)>;
        std::uint64_t sum = 0;
        for (int i = 0; i < RECORDS; i++) {
            int *each = traits::allocate(from, 1);
            *each = i;
            asm volatile("" : : "r"(each) : "memory"); // keeps the compiler from leaving the pair out
            sum += static_cast<std::uint64_t>(*each);
            traits::deallocate(from, each, 1);
        }
        return sum;
    }
    static std::uint64_t run_in_arrays() {
        int all[RECORDS];
        std::uint64_t sum = 0;
        for (int i = 0; i < RECORDS; i++) {
            int *each = &all[i];
            *each = i;
            asm volatile("" : : "r"(each) : "memory");
            sum += static_cast<std::uint64_t>(*each);
        }
        return sum;
    }
    static std::uint64_t sum() { return std::uint64_t{RECORDS} * (RECORDS - 1) / 2; }
};

/// Counts the requests of the workload. In a container it is as large as the allocator that it stands for: empty or
/// not.
template <class T, bool Empty> class counting_allocator {
  public:
    using value_type = T;
    template <class U> struct rebind {
        using other = counting_allocator<U, Empty>;
    };
    counting_allocator() = default;
    template <class U> counting_allocator(const counting_allocator<U, Empty> &) noexcept {}
    T *allocate(std::size_t count) { return static_cast<T *>(bench_count_alloc(count * sizeof(T))); }
    void deallocate(T *block, std::size_t count) { bench_count_free(block, count * sizeof(T)); }
    friend bool operator==(const counting_allocator &, const counting_allocator &) noexcept { return true; }

  private:
    struct nothing {};
    [[no_unique_address]] std::conditional_t<Empty, nothing, void *> weight_{};
};

template <bool Empty> struct counting_source {
    template <class T> using allocator = counting_allocator<T, Empty>;
    template <class T> allocator<T> get() { return {}; }
    void end_round() {}
};

template <class Work, class Source> std::uint64_t round_over() noexcept {
    try {
        Source of;
        const std::uint64_t sum = Work::run(of);
        of.end_round();
        return sum;
    } catch (const std::bad_alloc &) {
        bench_refused();
    }
}

template <class Work, class Source> std::size_t held_by() noexcept {
    Source of;
    (void)Work::run(of);
    const std::size_t bytes = of.held();
    of.end_round();
    return bytes;
}

/// `Source<Bytes>`: for a source on the stack, the bytes that it must have.
template <class Work, template <std::size_t> class Source> constexpr bench_workload workload_over() {
    using source = Source<Work::stack_bytes>;
    constexpr bool empty = std::is_empty_v<typename source::template allocator<char>>;
    bench_workload all{Work::name, round_over<Work, counting_source<empty>>, round_over<Work, source>, nullptr,
                       Work::sum};
    if constexpr (requires(source of) { of.held(); }) all.held = held_by<Work, source>;
    return all;
}

/// The same work in plain arrays, where arrays can do it.
template <class Work> constexpr bench_workload workload_in_arrays() {
    return {Work::name, nullptr, Work::run_in_arrays, nullptr, Work::sum};
}

/// Every workload over a source.
template <template <std::size_t> class Source>
constexpr std::array workloads_over{
    workload_over<vector_of_records<false>, Source>(),
    workload_over<vector_of_records<true>, Source>(),
    workload_over<strings<false>, Source>(),
    workload_over<strings<true>, Source>(),
    workload_over<concatenation, Source>(),
    workload_over<map_of_numbers<true>, Source>(),
    workload_over<map_of_names, Source>(),
    workload_over<map_of_numbers<false>, Source>(),
    workload_over<list_of_devices, Source>(),
    workload_over<deque_of_records, Source>(),
    workload_over<sensor_collection, Source>(),
    workload_over<message_queue, Source>(),
    workload_over<trades, Source>(),
    workload_over<new_and_delete, Source>(),
};

/// The traits of a backend that is not a malloc and has all its memory when it is prepared.
constexpr bench_traits traits_of(const char *driver) {
    return {driver, false, false, true, false, false, nullptr, nullptr, nullptr, nullptr};
}

template <std::size_t N>
const bench_workload *find_workload(const std::array<bench_workload, N> &all, std::string_view name) {
    for (const bench_workload &each : all) {
        if (each.name == name) return &each;
    }
    return nullptr;
}

} // namespace flat::bench
