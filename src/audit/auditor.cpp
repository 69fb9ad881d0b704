#include "auditor.hpp"

#include "os/clock.h"
#include "preload/stacks.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flat::audit {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds shortest_pause = 500us, longest_pause = 10ms;
constexpr std::uint64_t much = std::uint64_t{AUDIT_SEGMENTS} * AUDIT_SEGMENT_RECORDS / 16; // records in a round
constexpr std::uint64_t rounds_between_looks = 16; // for processes that have ended without a word

[[noreturn]] void fail(const char *what) { throw std::system_error(errno, std::generic_category(), what); }

ClockPair clocks_now() {
    ClockPair best;
    std::uint64_t nearest = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        const std::uint64_t before = flat_clock_begin(), ns = flat_clock_ns(), apart = flat_clock_end() - before;
        if (apart >= nearest) continue;
        nearest = apart;
        best = {before + apart / 2, ns};
    }
    return best;
}

/// Of a first touch of a fresh page of this process.
double median_fault_ns() {
    constexpr std::size_t pages = 65;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void *start = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) fail("no memory can be mapped");
    (void)madvise(start, pages * page, MADV_NOHUGEPAGE); // a kernel without huge pages refuses it
    std::vector<std::uint64_t> durations;
    for (std::size_t i = 0; i < pages; i++) {
        auto *place = static_cast<volatile char *>(start) + i * page;
        const std::uint64_t before = flat_clock_ns();
        *place = 1;
        durations.push_back(flat_clock_ns() - before);
    }
    (void)munmap(start, pages * page);
    std::nth_element(durations.begin(), durations.begin() + pages / 2, durations.end());
    return static_cast<double>(durations[pages / 2]);
}

std::uint64_t image_of(const audit_slot &slot) { return __atomic_load_n(&slot.image, __ATOMIC_RELAXED); }
std::uint32_t state_of(const audit_slot &slot) { return __atomic_load_n(&slot.state, __ATOMIC_ACQUIRE); }
bool has_thread(const audit_slot &slot) {
    return state_of(slot) == AUDIT_SLOT_LIVE || state_of(slot) == AUDIT_SLOT_ENDING;
}
bool can_be_looked_for(const audit_slot &slot) { return has_thread(slot) && slot.process > 0; }

/// Whether the process waits for nothing but that its parent asks how it ended. The first thread alone may have ended.
bool is_zombie(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string line;
    if (!std::getline(file, line)) return false;
    std::istringstream behind_name(line.substr(line.rfind(')') + 1)); // the name may have any letters
    std::string state, word, threads;
    behind_name >> state;
    for (int i = 0; i < 16 && behind_name >> word; i++) {
    }
    behind_name >> threads; // the ended ones are not among them, save the first
    return (state == "Z" || state == "X") && (threads == "0" || threads == "1");
}

bool has_ended(pid_t process) { return (kill(process, 0) != 0 && errno == ESRCH) || is_zombie(process); }

bool has_ended(const audit_slot &slot) { return tgkill(slot.process, slot.thread, 0) != 0 && errno == ESRCH; }

} // namespace

Auditor::Auditor(const AuditorOptions &options)
    : memory_("flatline-audit"), writer_(options.out), taken_(AUDIT_SEGMENTS), written_serial_(AUDIT_THREADS),
      known_(INTERNED_WORDS) {
    const flat_clock clock = flat_clock_calibrate();
    ticks_per_ns_ = clock.ticks_per_ns;
    memory_->over = static_cast<std::uint64_t>(options.over_ns * clock.ticks_per_ns);
    memory_->tells_system_calls = options.tells_system_calls ? 1 : 0;
    memory_->attributes = options.attributes ? 1 : 0;
    const ClockPair begin = clocks_now();
    memory_->begin = begin.ticks;
    struct stat proc{};
    if (stat("/proc", &proc) == 0) memory_->proc = proc.st_dev;
    write_start(options, begin.ns);
}

void Auditor::write_start(const AuditorOptions &options, std::uint64_t begin_ns) {
    std::string command;
    for (const std::string &word : options.words) command += (command.empty() ? "" : " ") + word;
    const nlohmann::json start{{"command", command},
                               {"under", options.under},
                               {"machine", options.machine},
                               {"begin_ticks", memory_->begin},
                               {"begin_ns", begin_ns},
                               {"ticks_per_ns", ticks_per_ns_},
                               {"over_ns", options.over_ns},
                               {"tells_system_calls", options.tells_system_calls},
                               {"attributes", options.attributes},
                               {"fault_ns", median_fault_ns()}};
    writer_.write_text(FrameKind::start, start.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

Auditor::~Auditor() { stop(); }

void Auditor::begin(pid_t process) {
    try {
        events_ = std::make_unique<KernelEvents>(process, memory_->attributes != 0);
    } catch (const EventsRefused &refusal) {
        refused_ = refusal.why;
        memory_->counts = 1;
    }
    nlohmann::json sources{{"events_refused", refused_}};
    writer_.write_text(FrameKind::start, sources.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    memory_->mark = AUDIT_SESSION_MARK; // from here on a program attaches
    thread_ = std::thread([this] { run(); });
}

void Auditor::run() {
    try {
        std::chrono::microseconds pause = shortest_pause;
        while (!ends_.load(std::memory_order_acquire)) {
            take_round();
            pause = busiest_ > much || memory_->attributes != 0 ? shortest_pause : std::min(pause * 2, longest_pause);
            if (busiest_ < 8 * much) std::this_thread::sleep_for(pause);
        }
    } catch (...) {
        trouble_ = std::current_exception();
    }
}

void Auditor::stop() {
    ends_.store(true, std::memory_order_release);
    if (thread_.joinable()) thread_.join();
}

std::uint64_t Auditor::finish(int status) {
    stop();
    if (trouble_) std::rethrow_exception(trouble_);
    for (int i = 0; i < 2; i++) take_round(); // the second has what is made of the first
    for (const audit_slot &slot : memory_->slots)
        if (state_of(slot) >= AUDIT_SLOT_LIVE) put_thread(slot);
    write_end(status);
    return memory_->processes;
}

bool Auditor::may_have_ended_program() const {
    return memory_->tells_system_calls != 0 && (memory_->trouble & (AUDIT_NO_DISPATCH | AUDIT_ENDS_BY_SIGSYS)) == 0;
}

/// The clocks are read first: what happened before is in the rings and segments by now.
void Auditor::take_round() {
    busiest_ = 0;
    const ClockPair clocks = clocks_now();
    take_events();
    close_ended();
    take_records();
    if (!has_costs_ && measured_) write_costs(); // one round later: by now the events of that time are here
    measured_ = __atomic_load_n(&memory_->measured, __ATOMIC_ACQUIRE) != 0;
    writer_.write_items<ClockPair>(FrameKind::clock, std::span(&clocks, 1));
    writer_.write(FrameKind::round, {});
}

void Auditor::take_events() {
    if (!events_) return;
    found_.clear();
    events_->read(found_);
    if (!has_costs_) keep_touches();
    put_places(found_);
    if (!found_.empty()) writer_.write_items<KernelEvent>(FrameKind::events, found_);
}

void Auditor::put_places(std::span<const KernelEvent> events) {
    for (const KernelEvent &event : events) put_stack(event.within & ((1U << AUDIT_STACK_BITS) - 1));
    write_new_entries();
}

/// Events of the pages that the first process has touched to measure that, and of no others: while it does so, nothing
/// else faults in its only thread.
void Auditor::keep_touches() {
    std::copy_if(found_.begin(), found_.end(), std::back_inserter(first_faults_), [](const KernelEvent &event) {
        return event.kind == KernelEventKind::fault_begins || event.kind == KernelEventKind::minor_fault_ends;
    });
}

/// The part of a fault that lies outside of the two moments at which the kernel tells of it, in ticks.
std::uint64_t Auditor::fault_outside() const {
    std::vector<std::uint64_t> inside;
    for (std::size_t i = 1; i < first_faults_.size(); i++) {
        const KernelEvent &begins = first_faults_[i - 1], &ends = first_faults_[i];
        const bool is_touched = begins.address >= memory_->touched_from && begins.address < memory_->touched_to;
        if (is_touched && begins.kind == KernelEventKind::fault_begins && ends.kind != begins.kind)
            inside.push_back(ends.time - begins.time);
    }
    if (inside.empty()) return 0;
    const auto middle = inside.begin() + static_cast<std::ptrdiff_t>(inside.size() / 2);
    std::nth_element(inside.begin(), middle, inside.end());
    const auto ticks = static_cast<std::uint64_t>(static_cast<double>(*middle) * ticks_per_ns_);
    return memory_->touch > ticks ? memory_->touch - ticks : 0;
}

/// Those that have an owner now, by thread and in the order in which it took them: a thread takes a segment only when
/// it is done with those before.
void Auditor::take_records() {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> owned; // the owner with its sequence behind the slot
    for (std::uint32_t i = 0; i < AUDIT_SEGMENTS; i++) {
        const std::uint64_t owner = __atomic_load_n(&memory_->segments[i].owner, __ATOMIC_ACQUIRE);
        if (owner != 0) owned.emplace_back(owner << 32 | owner >> 32, i);
    }
    std::sort(owned.begin(), owned.end());
    for (const auto &[owner, number] : owned) take_from(memory_->segments[number], number);
    free_ended();
}

void Auditor::take_from(audit_segment &segment, std::uint32_t number) {
    const bool closed = __atomic_load_n(&segment.closed, __ATOMIC_ACQUIRE) != 0; // before the count: then it is final
    const std::uint32_t count =
        std::min(__atomic_load_n(&segment.count, __ATOMIC_ACQUIRE), std::uint32_t{AUDIT_SEGMENT_RECORDS});
    const auto slot_number = static_cast<std::uint32_t>(segment.owner) - 1;
    if (slot_number >= AUDIT_THREADS) return; // a program has overwritten it
    if (count > taken_[number])
        put_records(memory_->slots[slot_number], {segment.records + taken_[number], count - taken_[number]});
    taken_[number] = std::max(count, taken_[number]);
    if (!closed) return;
    taken_[number] = 0;
    segment.count = 0;
    segment.closed = 0;
    __atomic_store_n(&segment.owner, 0, __ATOMIC_RELEASE);
}

void Auditor::put_records(audit_slot &slot, std::span<const audit_record> records) {
    busiest_ += records.size();
    if (written_serial_[static_cast<std::size_t>(&slot - memory_->slots)] != slot.serial) put_thread(slot);
    put_entries(records);
    writer_.write_records(slot.serial, records);
}

void Auditor::put_entries(std::span<const audit_record> records) {
    for (const audit_record &record : records) {
        const std::uint32_t operation = audit_operation_of(&record);
        const std::uint32_t stack = audit_stack_of(&record);
        if (operation < AUDIT_CALLS_END && !known_[stack]) put_stack(stack);
        if (operation == AUDIT_PHASE) (void)put_entry(static_cast<std::uint32_t>(record.words[1]));
    }
    write_new_entries();
}

void Auditor::write_new_entries() {
    if (new_entries_.empty()) return;
    writer_.write_items<std::uint64_t>(FrameKind::entries, new_entries_);
    new_entries_.clear();
}

/// The words of an entry that the recording does not have yet, which are put; else none.
std::span<const std::uint64_t> Auditor::put_entry(std::uint32_t entry) {
    if (entry == 0 || entry >= INTERNED_WORDS || known_[entry]) return {};
    std::size_t count = 0;
    const std::uint64_t *words = interned_get(&memory_->names, entry, &count);
    if (words == nullptr) return {};
    known_[entry] = true;
    new_entries_.push_back(entry);
    new_entries_.push_back(count);
    new_entries_.insert(new_entries_.end(), words, words + count);
    return {words, count};
}

/// With the frames and files that it refers to. Where the recording has a stack, it has that of its callers too.
void Auditor::put_stack(std::uint32_t stack) {
    for (std::span<const std::uint64_t> words; (words = put_entry(stack)).size() == 1;) {
        const std::uint64_t word = words[0];
        if (const auto frame = put_entry(stack_frame(word)); frame.size() == 1) (void)put_entry(frame_file(frame[0]));
        stack = stack_callers(word);
    }
}

void Auditor::put_thread(const audit_slot &slot) {
    ThreadEntry entry;
    entry.serial = slot.serial;
    entry.program = slot.program;
    entry.process = slot.process;
    entry.thread = slot.thread;
    entry.calls = __atomic_load_n(&slot.calls, __ATOMIC_RELAXED);
    entry.dropped = __atomic_load_n(&slot.dropped, __ATOMIC_RELAXED);
    std::copy_n(slot.name, sizeof entry.name, entry.name);
    if (std::ifstream name(fmt::format("/proc/{}/task/{}/comm", slot.process, slot.thread)); name) {
        std::string now; // threads are often named after they have begun
        if (std::getline(name, now) && state_of(slot) == AUDIT_SLOT_LIVE) {
            std::fill(std::begin(entry.name), std::end(entry.name), 0);
            now.copy(entry.name, sizeof entry.name - 1);
        }
    }
    (void)put_entry(slot.program);
    write_new_entries();
    writer_.write_items<ThreadEntry>(FrameKind::thread, std::span(&entry, 1));
    written_serial_[static_cast<std::size_t>(&slot - memory_->slots)] = slot.serial;
}

/// By slot: threads that were about to end, and that the kernel does not know any more.
std::vector<bool> Auditor::slots_of_ended_threads() {
    while (used_slots_ < AUDIT_THREADS && state_of(memory_->slots[used_slots_]) != AUDIT_SLOT_FREE) used_slots_++;
    std::vector<bool> gone(AUDIT_THREADS);
    for (std::uint32_t i = 0; i < used_slots_; i++) {
        const audit_slot &slot = memory_->slots[i];
        gone[i] = state_of(slot) == AUDIT_SLOT_ENDING && slot.process > 0 && has_ended(slot);
    }
    return gone;
}

/// A process that ends, is killed, or executes another program does not say so, and its threads close nothing. Nor does
/// a thread that ends without the C library.
void Auditor::add_slots_of_the_silent(std::vector<bool> &gone) const {
    std::map<std::int32_t, std::uint64_t> newest; // image of each process
    for (const audit_slot &slot : memory_->slots)
        if (can_be_looked_for(slot)) newest[slot.process] = std::max(newest[slot.process], image_of(slot));
    for (auto &[process, image] : newest)
        if (has_ended(process)) image = UINT64_MAX;
    for (std::uint32_t i = 0; i < used_slots_; i++) {
        const audit_slot &slot = memory_->slots[i];
        if (can_be_looked_for(slot) && (image_of(slot) < newest[slot.process] || has_ended(slot))) gone[i] = true;
    }
}

void Auditor::close_ended() {
    std::vector<bool> gone = slots_of_ended_threads();
    if (rounds_++ % rounds_between_looks == 0) add_slots_of_the_silent(gone);
    for (std::uint32_t i = 0; i < used_slots_; i++)
        if (gone[i]) __atomic_store_n(&memory_->slots[i].state, AUDIT_SLOT_ENDED, __ATOMIC_RELEASE);
    for (audit_segment &segment : memory_->segments) {
        const auto slot = static_cast<std::uint32_t>(__atomic_load_n(&segment.owner, __ATOMIC_ACQUIRE)) - 1;
        if (slot < AUDIT_THREADS && gone[slot]) __atomic_store_n(&segment.closed, 1, __ATOMIC_RELEASE);
    }
}

/// Threads that had ended and own no segment any more.
void Auditor::free_ended() {
    std::vector<bool> owns(AUDIT_THREADS);
    std::vector<std::uint32_t> ended;
    for (std::uint32_t i = 0; i < used_slots_; i++)
        if (state_of(memory_->slots[i]) == AUDIT_SLOT_ENDED) ended.push_back(i);
    if (ended.empty()) return;
    for (const audit_segment &segment : memory_->segments) {
        const auto slot = static_cast<std::uint32_t>(__atomic_load_n(&segment.owner, __ATOMIC_ACQUIRE)) - 1;
        if (slot < AUDIT_THREADS) owns[slot] = true;
    }
    for (const std::uint32_t i : ended) {
        if (owns[i]) continue;
        put_thread(memory_->slots[i]);
        __atomic_store_n(&memory_->slots[i].state, AUDIT_SLOT_FREE, __ATOMIC_RELEASE);
    }
}

/// What the first process has measured, as soon as it has: a recording that is cut has it too.
void Auditor::write_costs() {
    has_costs_ = true;
    const std::vector<std::uint32_t> empty(std::begin(memory_->empty_calls), std::end(memory_->empty_calls));
    const nlohmann::json costs{{"told_cost_ticks", memory_->told_cost},
                               {"fault_outside_ticks", fault_outside()},
                               {"empty_calls_ticks", empty}};
    writer_.write_text(FrameKind::start, costs.dump());
}

void Auditor::write_end(int status) {
    const nlohmann::json end{{"status", status},
                             {"end_ticks", clocks_now().ticks},
                             {"trouble", memory_->trouble},
                             {"events_lost", events_ ? events_->lost() : 0},
                             {"processes", memory_->processes},
                             {"unattached", memory_->unattached},
                             {"stacks_shortened", memory_->names.shortened}};
    writer_.write_text(FrameKind::end, end.dump());
}

} // namespace flat::audit
