// The document that says what was proved about a file, and whether it still keeps the limits of an earlier one.
#pragma once

#include "bound.hpp"
#include "estimate.hpp"
#include "source_lines.hpp"

#include <optional>
#include <string>
#include <vector>

namespace flat::prove {

enum class ProofStatus {
    proved,  // there is a bound
    refused, // no bound was found; the refusals say why
    absent,  // marked as bounded, but not in the file under its name: inlined at every use, or left out
};
std::string_view name_of(ProofStatus verdict);

/// A function to prove.
struct Request {
    std::string function; // its name, or name@version
    Rules rules;
};

struct ProvedFunction {
    std::string name;
    ProofStatus verdict = ProofStatus::absent;
    Proof proof; // empty if the function is absent
};

struct Certificate {
    std::vector<ProvedFunction> functions;

    bool holds() const; // no function is refused
};

/// Proves the requested functions or, without requests, every function that the file marks as bounded. A request's
/// rules add to those of the mark. Throws std::runtime_error iff a requested function is not there or is not the only
/// one of its name, or nothing is marked, or none of the marked functions is there.
Certificate certify(const Binary &binary, const std::vector<Request> &requests, const Rules &rules);

/// The document of a certificate, in the format flatline.prove/1. With an `estimate`, it includes the time that the
/// paths may take on this machine.
std::string certificate_json(const Certificate &certificate, const Binary &binary, const SourceLines &lines,
                             const MachineEstimate *estimate = nullptr);

/// The compilers of the functions and their options, as recorded in the file.
std::vector<std::string> compilers_of(const Certificate &certificate, const Binary &binary, const SourceLines &lines);

} // namespace flat::prove
