// The names of functions in a running process, from the files that it has mapped.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

struct Dwfl;

namespace flat::cli {

class FunctionNames {
  public:
    /// Of a process that may have ended, or may be another user's: then addresses have no names.
    explicit FunctionNames(std::uint64_t process);

    /// The function that holds the address, without its parameters; the address if no symbol does. Printable ASCII.
    std::string name_of(std::uint64_t address);

  private:
    void read_again();
    std::string found(std::uint64_t address) const;

    std::uint64_t process_;
    std::unique_ptr<Dwfl, void (*)(Dwfl *)> session_;
    std::map<std::uint64_t, std::string> known_;
};

} // namespace flat::cli
