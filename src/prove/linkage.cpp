#include "linkage.hpp"

#include <algorithm>
#include <iterator>

namespace flat::prove {
namespace {

/// The libraries whose functions behave as the standards and their manuals say.
enum class Library { c, cxx, unwinding, other_standard, unknown };

Library library_called(std::string_view file) {
    struct Named {
        std::string_view beginning;
        Library library;
    };
    static constexpr Named named[] = {{"libc.so.", Library::c},
                                      {"libc.musl-", Library::c},
                                      {"libpthread.so.", Library::c},
                                      {"libstdc++.so.", Library::cxx},
                                      {"libc++.so.", Library::cxx},
                                      {"libc++abi.so.", Library::cxx},
                                      {"libgcc_s.so.", Library::unwinding},
                                      {"libunwind.so.", Library::unwinding},
                                      {"libm.so.", Library::other_standard},
                                      {"libdl.so.", Library::other_standard},
                                      {"librt.so.", Library::other_standard},
                                      {"libatomic.so.", Library::other_standard},
                                      {"ld-linux", Library::other_standard},
                                      {"ld-musl-", Library::other_standard}};
    const auto *found =
        std::ranges::find_if(named, [file](const Named &each) { return file.starts_with(each.beginning); });
    return found == std::end(named) ? Library::unknown : found->library;
}

struct NeverReturns {
    std::string_view name;
    Library library;
};

constexpr NeverReturns never_returning[] = {{"abort", Library::c},
                                            {"exit", Library::c},
                                            {"_exit", Library::c},
                                            {"_Exit", Library::c},
                                            {"quick_exit", Library::c},
                                            {"pthread_exit", Library::c},
                                            {"longjmp", Library::c},
                                            {"siglongjmp", Library::c},
                                            {"__longjmp_chk", Library::c},
                                            {"__assert_fail", Library::c},
                                            {"__assert", Library::c},
                                            {"__assert_perror_fail", Library::c},
                                            {"__stack_chk_fail", Library::c},
                                            {"__chk_fail", Library::c},
                                            {"__fortify_fail", Library::c},
                                            {"__cxa_throw", Library::cxx},
                                            {"__cxa_rethrow", Library::cxx},
                                            {"__cxa_bad_cast", Library::cxx},
                                            {"__cxa_bad_typeid", Library::cxx},
                                            {"__cxa_pure_virtual", Library::cxx},
                                            {"__cxa_throw_bad_array_new_length", Library::cxx},
                                            {"_ZSt9terminatev", Library::cxx},
                                            {"_ZSt10unexpectedv", Library::cxx},
                                            {"_Unwind_Resume", Library::unwinding}};

bool is_named(const NeverReturns &each, std::string_view name) {
    if (each.name == name) return true;
    // std::__throw_bad_alloc and the like, each of which is declared not to return.
    const bool is_throw = name.starts_with("_ZSt") && name.find("__throw_") != std::string_view::npos;
    return is_throw && each.library == Library::cxx;
}

/// For adrp x16, PAGE: the address of the page. For ldr x17, [x16, OFFSET]: the slot, in the page that x16 holds. An
/// entry of the table contains only these, bti and add x16.
std::optional<std::uint64_t> slot_of(std::span<const std::byte> code, std::uint64_t address, std::uint64_t page) {
    std::uint32_t word = 0;
    if (code.size() < 4) return std::nullopt;
    std::copy_n(code.begin(), 4, reinterpret_cast<std::byte *>(&word));
    if ((word & 0x9f00001f) == 0x90000010) { // adrp x16
        std::int64_t pages = static_cast<std::int64_t>((word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3));
        if ((pages & 0x100000) != 0) pages -= 0x200000;
        return (address & ~std::uint64_t{4095}) + static_cast<std::uint64_t>(pages * 4096);
    }
    if ((word & 0xffc003ff) == 0xf9400211) return page + (word >> 10 & 0xfff) * 8; // ldr x17, [x16, ...]
    return std::nullopt;
}

} // namespace

const Import *import_behind(const Binary &binary, const Decoder &decoder, std::uint64_t address) {
    std::uint64_t page = 0;
    for (unsigned i = 0; i < 5; i++) {
        const std::span<const std::byte> code = binary.code_at(address);
        if (code.empty()) return nullptr;
        const Instruction instruction = decoder.decode(address, code);
        if (instruction.size == 0) return nullptr;
        if (instruction.flow == Flow::indirect_jump) return binary.import_at(page != 0 ? page : instruction.slot);
        if (binary.machine() == Architecture::x86_64) {
            if (!instruction.text.starts_with("endbr64")) return nullptr;
        } else if (const std::optional<std::uint64_t> slot = slot_of(code, address, page)) {
            page = *slot;
        }
        address = instruction.end();
    }
    return nullptr;
}

bool never_returns(const Binary &binary, const Import &import) {
    if (import.is_defined_here || import.is_resolver) return false;
    const auto by_name = [&import](const NeverReturns &each) { return is_named(each, import.name); };
    const auto *found = std::ranges::find_if(never_returning, by_name);
    if (found == std::end(never_returning)) return false;
    if (!import.library.empty()) return library_called(import.library) == found->library;
    // Without a version it may come from any library that is loaded: each must be one that follows the standards.
    const auto is_standard = [](const std::string &file) { return library_called(file) != Library::unknown; };
    return !binary.needed().empty() && std::ranges::all_of(binary.needed(), is_standard);
}

} // namespace flat::prove
