#include "kernel_events.hpp"

#include "session.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace flat::audit {
namespace {

constexpr std::size_t data_pages =
    128; // with the head's page what one processor may lock for a user by default: 516 KiB
constexpr std::array counted{PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ};
constexpr std::array meant{KernelEventKind::fault_begins, KernelEventKind::minor_fault_ends,
                           KernelEventKind::major_fault_ends};

constexpr std::uint32_t searched_bytes = 2048; // of the stack below a call of an allocator: glibc's needs 300

perf_event_attr attributes_of(std::uint64_t event, bool tells_more, bool with_stack) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = event;
    attributes.sample_period = 1;
    attributes.sample_type =
        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
    if (with_stack) {
        attributes.sample_type |= PERF_SAMPLE_STACK_USER;
        attributes.sample_stack_user = searched_bytes;
    }
    attributes.disabled = 1;
    attributes.inherit = 1;
    attributes.exclude_kernel = 1; // all that perf_event_paranoid 2 allows
    attributes.exclude_hv = 1;
    attributes.enable_on_exec = 1;
    attributes.sample_id_all = 1;
    attributes.context_switch = tells_more ? 1 : 0;
    attributes.task = tells_more ? 1 : 0;
    attributes.comm = tells_more ? 1 : 0;
    attributes.comm_exec = tells_more ? 1 : 0;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_MONOTONIC_RAW;
    return attributes;
}

int open_event(const perf_event_attr &attributes, pid_t process, int processor) {
    return static_cast<int>(syscall(SYS_perf_event_open, &attributes, process, processor, -1, PERF_FLAG_FD_CLOEXEC));
}

std::string refusal(int error) {
    std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
    int level = 0;
    if ((error == EACCES || error == EPERM) && file >> level && level > 2)
        return fmt::format("the kernel refuses perf_event_open, since kernel.perf_event_paranoid is {}: set it to 2",
                           level);
    if (error == EMFILE) return "there are not enough file descriptors for perf: raise ulimit -n";
    return fmt::format("perf_event_open is refused here ({}), as a container's filter does", std::strerror(error));
}

/// The text of the kernel's list of processors, "0-3,8", as numbers; that of this moment.
std::vector<int> online_processors() {
    std::ifstream file("/sys/devices/system/cpu/online");
    std::vector<int> found;
    int first = 0;
    while (file >> first) {
        int last = first;
        if (file.peek() == '-') file.ignore() >> last;
        for (int i = first; i <= last; i++) found.push_back(i);
        file.ignore(); // the comma
    }
    for (int i = 0; found.empty() && i < static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); i++) found.push_back(i);
    return found;
}

} // namespace

/// The events of one processor, which share a ring.
struct KernelEvents::Ring {
    std::array<int, counted.size()> files{-1, -1, -1};
    std::array<std::uint64_t, counted.size()> identities{};
    perf_event_mmap_page *head = nullptr;
    std::size_t size = 0; // of the data
    std::vector<std::byte> record;

    Ring() = default;
    Ring(const Ring &) = delete;
    Ring &operator=(const Ring &) = delete;
    ~Ring() {
        if (head != nullptr) (void)munmap(head, size + page());
        for (const int file : files)
            if (file >= 0) (void)close(file);
    }

    static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

    /// Throws EventsRefused. False: there is no such processor any more.
    bool open(pid_t process, int processor, bool finds_calls) {
        for (std::size_t i = 0; i < counted.size(); i++) {
            files[i] = open_event(attributes_of(counted[i], i == 0, i == 0 && finds_calls), process, processor);
            if (files[i] < 0 && errno == ENODEV) return false;
            if (files[i] < 0) throw EventsRefused{refusal(errno)};
            if (i == 0) map();
            if (i > 0 && ioctl(files[i], PERF_EVENT_IOC_SET_OUTPUT, files[0]) != 0) throw EventsRefused{refusal(errno)};
            if (ioctl(files[i], PERF_EVENT_IOC_ID, &identities[i]) != 0) throw EventsRefused{refusal(errno)};
        }
        return true;
    }

    /// As large a ring as the user may lock.
    void map() {
        for (std::size_t pages = data_pages; pages > 0; pages /= 2) {
            size = pages * page();
            void *start = mmap(nullptr, size + page(), PROT_READ | PROT_WRITE, MAP_SHARED, files[0], 0);
            if (start != MAP_FAILED) {
                head = static_cast<perf_event_mmap_page *>(start);
                return;
            }
            if (errno != EPERM && errno != ENOMEM) break;
        }
        throw EventsRefused{
            fmt::format("no memory may be locked for perf's rings ({}): raise ulimit -l", std::strerror(errno))};
    }

    const std::byte *data() const { return reinterpret_cast<const std::byte *>(head) + head->data_offset; }

    /// The next `bytes` from `at` on, put together where the ring ends.
    const std::byte *take(std::uint64_t at, std::size_t bytes) {
        const std::size_t offset = at % size, first = std::min(bytes, size - offset);
        if (first == bytes) return data() + offset;
        record.resize(bytes);
        std::memcpy(record.data(), data() + offset, first);
        std::memcpy(record.data() + first, data(), bytes - first);
        return record.data();
    }
};

namespace {

template <typename Value> Value value_at(const std::byte *place) {
    Value value;
    std::memcpy(&value, place, sizeof value);
    return value;
}

/// Behind the head of a sample: identity, instruction, process, thread, time, address.
KernelEvent fault_of(const std::byte *body) {
    KernelEvent event;
    event.instruction = value_at<std::uint64_t>(body + 8);
    event.process = value_at<std::int32_t>(body + 16);
    event.thread = value_at<std::int32_t>(body + 20);
    event.time = value_at<std::uint64_t>(body + 24);
    event.address = value_at<std::uint64_t>(body + 32);
    return event;
}

/// The innermost mark on a piece of stack, which stands behind its size: see session.h.
std::uint32_t call_on(const std::byte *stack, std::size_t bytes) {
    const auto size = std::min<std::uint64_t>(value_at<std::uint64_t>(stack), bytes - sizeof(std::uint64_t));
    for (std::size_t i = 0; i + sizeof(std::uint64_t) <= size; i += sizeof(std::uint64_t)) {
        const auto word = value_at<std::uint64_t>(stack + sizeof(std::uint64_t) + i);
        if (word >> AUDIT_WITHIN_BITS == AUDIT_WITHIN_MARK)
            return static_cast<std::uint32_t>(word & ((std::uint64_t{1} << AUDIT_WITHIN_BITS) - 1));
    }
    return 0;
}

/// Behind the head of a switch: process, thread, time.
KernelEvent switch_of(const std::byte *body, std::uint16_t misc) {
    KernelEvent event;
    event.process = value_at<std::int32_t>(body);
    event.thread = value_at<std::int32_t>(body + 4);
    event.time = value_at<std::uint64_t>(body + 8);
    const bool out = (misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
    const bool preempted = (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
    event.kind = !out ? KernelEventKind::runs_on : preempted ? KernelEventKind::preempted : KernelEventKind::blocked;
    return event;
}

/// Behind the head: process, parent, thread, the parent's thread, time.
KernelEvent fork_of(const std::byte *body) {
    KernelEvent event;
    event.process = value_at<std::int32_t>(body);
    event.address = static_cast<std::uint64_t>(value_at<std::int32_t>(body + 4));
    event.thread = value_at<std::int32_t>(body + 8);
    event.time = value_at<std::uint64_t>(body + 16);
    event.kind = KernelEventKind::forked;
    return event;
}

/// Behind the head: process, thread, the program's name; at the end the time and the event's identity.
KernelEvent execution_of(const std::byte *body, std::size_t bytes) {
    KernelEvent event;
    event.process = value_at<std::int32_t>(body);
    event.thread = value_at<std::int32_t>(body + 4);
    event.time = value_at<std::uint64_t>(body + bytes - 16);
    event.kind = KernelEventKind::executed;
    return event;
}

constexpr std::size_t sample_bytes = 40, switch_bytes = 16, lost_bytes = 16, fork_bytes = 24, execution_bytes = 24;

} // namespace

KernelEvents::KernelEvents(pid_t process, bool finds_calls) {
    for (const int processor : online_processors()) {
        auto ring = std::make_unique<Ring>();
        if (ring->open(process, processor, finds_calls)) rings_.push_back(std::move(ring));
    }
    if (rings_.empty()) throw EventsRefused{"no processor has perf's software events"};
}

KernelEvents::~KernelEvents() = default;

void KernelEvents::read(std::vector<KernelEvent> &events) {
    for (const auto &ring : rings_) {
        const std::uint64_t end = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);
        std::uint64_t at = ring->head->data_tail;
        while (at < end) {
            const auto head = value_at<perf_event_header>(ring->take(at, sizeof(perf_event_header)));
            if (head.size < sizeof head || head.size > end - at) break; // the kernel writes none such
            const std::byte *body = ring->take(at, head.size) + sizeof head;
            const std::size_t rest = head.size - sizeof head;
            if (head.type == PERF_RECORD_SAMPLE && rest >= sample_bytes) {
                events.push_back(fault_of(body));
                for (std::size_t i = 0; i < counted.size(); i++)
                    if (ring->identities[i] == value_at<std::uint64_t>(body)) events.back().kind = meant[i];
                if (rest > sample_bytes + sizeof(std::uint64_t))
                    events.back().within = call_on(body + sample_bytes, rest - sample_bytes);
            } else if (head.type == PERF_RECORD_SWITCH && rest >= switch_bytes) {
                events.push_back(switch_of(body, head.misc));
            } else if (head.type == PERF_RECORD_FORK && rest >= fork_bytes) {
                const KernelEvent event = fork_of(body);
                if (static_cast<std::uint64_t>(event.process) != event.address) events.push_back(event); // no thread
            } else if (head.type == PERF_RECORD_COMM && rest >= execution_bytes) {
                if ((head.misc & PERF_RECORD_MISC_COMM_EXEC) != 0) events.push_back(execution_of(body, rest));
            } else if (head.type == PERF_RECORD_LOST && rest >= lost_bytes) {
                lost_ += value_at<std::uint64_t>(body + 8);
            }
            at += head.size;
        }
        __atomic_store_n(&ring->head->data_tail, at, __ATOMIC_RELEASE);
    }
}

} // namespace flat::audit
