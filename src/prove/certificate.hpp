// What was proved of a file, as a document; and whether it is still within the limits of an earlier one.
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
    refused, // none was found, and the refusals say why
    absent,  // marked as bounded, and not in the file under its name: inlined wherever it is used, or left out
};
std::string_view name_of(ProofStatus verdict);

/// What is wanted of one function.
struct Request {
    std::string function; // its name, or name@version
    Rules rules;
};

struct ProvedFunction {
    std::string name;
    ProofStatus verdict = ProofStatus::absent;
    Proof proof; // of a function that is there
};

struct Certificate {
    std::vector<ProvedFunction> functions;

    bool holds() const; // no function is refused
};

/// Of the requests; of every function that the file marks as bounded where there are none. A request's rules add to
/// what the mark says. Throws std::runtime_error iff a requested function is not there, or not the only one of its
/// name, or nothing is marked or none of the marked is there.
Certificate certify(const Binary &binary, const std::vector<Request> &requests, const Rules &rules);

/// The document, flatline.prove/1, of a certificate; with what the paths may take on this machine where that is given.
std::string certificate_json(const Certificate &certificate, const Binary &binary, const SourceLines &lines,
                             const MachineEstimate *estimate = nullptr);

/// What compiled the functions, and with which options: as the file says it.
std::vector<std::string> compilers_of(const Certificate &certificate, const Binary &binary, const SourceLines &lines);

} // namespace flat::prove
