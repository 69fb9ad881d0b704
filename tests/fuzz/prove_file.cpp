// Fuzz target: a program of arbitrary bytes. It is refused with one line, or each of its functions is proved or
// refused, and each proved function keeps its own limits.
#include "fuzz/target.hpp"

#include "prove/certificate.hpp"
#include "prove/limits.hpp"
#include "prove/source_lines.hpp"

#include <cstring>
#include <stdexcept>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace flat::prove;
    std::vector<std::byte> bytes(size);
    if (size > 0) std::memcpy(bytes.data(), data, size);
    try {
        const Binary binary("program", std::move(bytes));
        const SourceLines lines(binary);
        const Certificate certificate = certify(binary, {}, {});
        const Limits limits = limits_from(certificate_json(certificate, binary, lines), "certificate");
        DEMAND(exceeded(certificate, limits, true, binary, lines).empty());
        for (const ProvedFunction &function : certificate.functions)
            DEMAND((function.verdict == ProofStatus::refused) == !function.proof.holds());
    } catch (const std::runtime_error &refusal) {
        DEMAND(*refusal.what() != 0 && std::strchr(refusal.what(), '\n') == nullptr);
    }
    return 0;
}
