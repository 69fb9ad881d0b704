// Calls that leave the file: the function behind an entry of the procedure linkage table, and the functions of other
// files that never return.
#pragma once

#include "binary.hpp"
#include "decoder.hpp"

namespace flat::prove {

/// The import at `address`, if the code there is an entry of the procedure linkage table: it only jumps to the address
/// in a slot that another file or a resolver fills. nullptr otherwise.
const Import *import_behind(const Binary &binary, const Decoder &decoder, std::uint64_t address);

/// Whether a call of it never returns: it ends the program or throws, according to the standards of its library. Only
/// for functions outside the file; for the others, their code decides.
bool never_returns(const Binary &binary, const Import &import);

} // namespace flat::prove
