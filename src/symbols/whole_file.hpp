// Whether a file is what an ELF library may be given.
#pragma once

namespace flat::symbols {

/// Whether the open file `fd` is a program or a library, of which no part is missing: the tables of its sections and
/// segments, and what they describe, lie inside of the file. Leaves the position in the file anywhere.
bool is_whole_program_or_library(int fd);

} // namespace flat::symbols
