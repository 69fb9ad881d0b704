// Calls that leave the file: what stands behind an entry of the procedure linkage table, and which of the functions of
// other files never come back.
#pragma once

#include "binary.hpp"
#include "decoder.hpp"

namespace flat::prove {

/// What `address` holds, if all it does is go on where a slot says that another file or a resolver fills: an entry of
/// the procedure linkage table. nullptr otherwise.
const Import *import_behind(const Binary &binary, const Decoder &decoder, std::uint64_t address);

/// Whether a call of it never comes back: it ends the program or throws, by the standards of the library that it comes
/// from. Only of functions that are not in the file: there, their code says it.
bool never_returns(const Binary &binary, const Import &import);

} // namespace flat::prove
