// Prints the result of src/prove for every function of a file, one a line, for the soundness campaign.
//
//     prove_counts FILE [FUNCTION...]
//
// A line is NAME<tab>proved<tab>INSTRUCTIONS<tab>ADDRESS, or NAME<tab>refused<tab>REASON<tab>... Reasons have no
// address.
#include "prove/bound.hpp"

#include <cstdio>
#include <exception>
#include <set>
#include <string>

namespace {

void report(const std::string &name, const flat::prove::Proof &proof) {
    if (proof.holds()) {
        std::printf("%s\tproved\t%llu\t%llu\n", name.c_str(),
                    static_cast<unsigned long long>(proof.most[flat::prove::Count::instructions]),
                    static_cast<unsigned long long>(proof.address));
        return;
    }
    std::printf("%s\trefused", name.c_str());
    std::set<std::string> reasons;
    for (const flat::prove::Remark &refusal : proof.refusals) reasons.insert(refusal.text);
    for (const std::string &reason : reasons) std::printf("\t%s", reason.c_str());
    std::printf("\n");
}

} // namespace

int main(int count, char **arguments) try {
    if (count < 2) return std::fputs("prove_counts FILE [FUNCTION...]\n", stderr), 2;
    const flat::prove::Binary binary(arguments[1]);
    const flat::prove::Prover prover(binary);
    const std::set<std::string> wanted(arguments + 2, arguments + count);
    std::set<std::uint64_t> seen;
    for (const flat::prove::Symbol &symbol : binary.symbols()) {
        if (symbol.size == 0 || symbol.is_resolver || (!wanted.empty() && !wanted.contains(symbol.name))) continue;
        if (seen.insert(symbol.address).second) report(symbol.name, prover.bound(symbol.address, {}));
    }
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "prove_counts: %s\n", error.what());
    return 2;
}
