#include "findings.hpp"

#include "../preload/stacks.h"
#include "../symbols/site.hpp"
#include "../symbols/system_call_name.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

namespace flat::guarded {
namespace {

using symbols::SourceFrame;

constexpr unsigned kind_bits = 8;

[[noreturn]] void fail(const std::string &what) { throw std::runtime_error(what); }

std::vector<std::uint64_t> words_of(const guard_session &session, std::uint32_t entry) {
    std::size_t count = 0;
    const std::uint64_t *words = interned_get(&session.names, entry, &count);
    return words == nullptr ? std::vector<std::uint64_t>() : std::vector<std::uint64_t>(words, words + count);
}

bool is_in_header_of_guard(const SourceFrame &frame) {
    return frame.file.ends_with("/flatline/guard.h") || frame.file.ends_with("/flatline/guard.hpp");
}

bool is_the_guards(const SourceFrame &frame) {
    return std::filesystem::path(frame.module).filename() == "libflatline-guard.so" || is_in_header_of_guard(frame);
}

/// The frames of one word of a stack, which is a return address or counts as one.
std::vector<SourceFrame> frames_of(const guard_session &session, std::uint64_t word, symbols::SourceFrames &frames) {
    const std::string file = text_of(session, frame_file(word));
    if (file.empty()) return {{.function = fmt::format("{:#x}", frame_offset(word)), .file = "", .line = 0}};
    return frames.at(file, frame_offset(word), true);
}

std::vector<SourceFrame> stack_in_words(const guard_session &session, std::uint32_t entry,
                                        symbols::SourceFrames &frames) {
    std::vector<SourceFrame> stack;
    std::array<std::uint64_t, UNWIND_DEPTH> words{};
    const std::size_t count = stack_get(&session.names, entry, words.data());
    for (const std::uint64_t word : std::span(words).first(count))
        for (const SourceFrame &frame : frames_of(session, word, frames))
            if (!is_the_guards(frame)) stack.push_back(frame);
    return stack;
}

/// A C++ library that is a part of the program cannot be replaced; the memory of its exceptions tells of them.
bool is_of_exception(const Violation &violation) {
    return violation.kind == GUARD_MALLOC && !violation.stack.empty() &&
           violation.stack.front().function.starts_with("__cxa_allocate_exception");
}

Violation violation_of(const guard_session &session, const std::vector<std::uint64_t> &words, std::uint64_t count,
                       symbols::SourceFrames &frames) {
    const std::uint64_t kind = words[GUARD_WORD_KIND] & ((1u << kind_bits) - 1);
    const long number = static_cast<long>(words[GUARD_WORD_KIND] >> kind_bits);
    Violation found{.kind = static_cast<guard_kind>(std::min<std::uint64_t>(kind, GUARD_KINDS - 1)), .count = count};
    if (found.kind == GUARD_SYSTEM_CALL || found.kind == GUARD_LOCK_WAIT)
        found.system_call = symbols::system_call_name(number);
    found.process = static_cast<int>(words[GUARD_WORD_THREAD] >> 32);
    found.thread = static_cast<int>(words[GUARD_WORD_THREAD] & 0xffffffff);
    found.thread_name = text_of(session, static_cast<std::uint32_t>(words[GUARD_WORD_NAME]));
    found.section = section_name(session, words[GUARD_WORD_SECTION], frames);
    found.stack = stack_in_words(session, static_cast<std::uint32_t>(words[GUARD_WORD_STACK]), frames);
    found.site = symbols::site_of(found.stack);
    if (is_of_exception(found)) found.kind = GUARD_EXCEPTION;
    return found;
}

} // namespace

Session::Session(const SessionWishes &wishes) : memory_("flatline-guard") {
    if (wishes.named_sections.size() > GUARD_NAMED_SECTIONS)
        fail(fmt::format("--section: at most {} sections can be named at a time", GUARD_NAMED_SECTIONS));
    memory_->warm_up = wishes.warm_up;
    memory_->realtime = wishes.realtime ? 1 : 0;
    for (const std::string &name : wishes.named_sections) {
        if (name.empty() || name.size() >= GUARD_NAME_LENGTH) fail("--section: " + name + ": name a symbol");
        std::memcpy(memory_->named[memory_->named_count++], name.c_str(), name.size() + 1);
    }
}

std::string word_of(guard_kind kind) {
    switch (kind) {
    case GUARD_MALLOC: return "malloc";
    case GUARD_FREE: return "free";
    case GUARD_SYSTEM_CALL: return "system call";
    case GUARD_PAGE_FAULT: return "page fault";
    case GUARD_LOCK_WAIT: return "lock wait";
    case GUARD_THREAD: return "thread";
    case GUARD_DLOPEN: return "dlopen";
    case GUARD_EXCEPTION:
    case GUARD_KINDS: break;
    }
    return "exception";
}

std::string text_of(const guard_session &session, std::uint32_t entry) {
    std::size_t count = 0;
    const std::uint64_t *words = interned_get(&session.names, entry, &count);
    if (words == nullptr) return "";
    const char *text = reinterpret_cast<const char *>(words);
    return {text, strnlen(text, count * sizeof *words)};
}

std::string section_name(const guard_session &session, std::uint64_t word, symbols::SourceFrames &frames) {
    if ((word & GUARD_SECTION_NAMED) != 0) {
        const std::uint64_t index = word & ~GUARD_SECTION_NAMED;
        return index < GUARD_NAMED_SECTIONS ? session.named[index] : "";
    }
    if ((word & GUARD_SECTION_REALTIME) != 0) return "real-time thread";
    const std::vector<SourceFrame> at = frames_of(session, word, frames);
    const auto own = std::find_if(at.begin(), at.end(), [](const SourceFrame &f) { return !is_in_header_of_guard(f); });
    return own != at.end() ? own->function : at.back().function;
}

std::vector<Violation> violations_of(const guard_session &session, symbols::SourceFrames &frames) {
    std::map<std::uint32_t, std::uint64_t> counts; // by the violation's number, which grows
    for (const guard_slot &slot : session.slots)
        if (slot.violation != 0) counts[slot.violation] += slot.count;
    std::vector<Violation> found;
    for (const auto &[number, count] : counts) {
        const std::vector<std::uint64_t> words = words_of(session, number);
        if (words.size() != GUARD_WORDS) continue;
        found.push_back(violation_of(session, words, count, frames));
        found.back().met = number;
    }
    std::sort(found.begin(), found.end(), [](const Violation &a, const Violation &b) {
        return std::tie(a.kind, b.count, a.met) < std::tie(b.kind, a.count, b.met);
    });
    return found;
}

} // namespace flat::guarded
