// What the server asks of the system's sockets. Every function throws std::system_error iff its comment does not say
// otherwise and the system refuses it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace flat::server {

/// A file descriptor, which is closed at its end.
class FileDescriptor {
  public:
    explicit FileDescriptor(int number = -1) : number_(number) {}
    FileDescriptor(FileDescriptor &&from) noexcept : number_(std::exchange(from.number_, -1)) {}
    FileDescriptor &operator=(FileDescriptor &&from) noexcept {
        std::swap(number_, from.number_);
        return *this;
    }
    ~FileDescriptor();

    int number() const { return number_; }

  private:
    int number_;
};

/// Listens at a numeric address or a name of this machine, and at a port or, with 0, at one that the system chooses.
FileDescriptor listen_at(const std::string &address, std::uint16_t port);

/// Another descriptor of the same socket.
FileDescriptor duplicate(const FileDescriptor &of);

/// The port at which it listens.
std::uint16_t port_of(const FileDescriptor &listening);

struct Accepted {
    std::optional<FileDescriptor> connection; // nullopt: there is none now, or it has gone again
    bool is_refused = false;                  // the process or the system has no descriptor or memory left for it
};

/// The next connection, which does not block. Never throws.
Accepted accept_from(const FileDescriptor &listening);

/// How much of one read or write was done.
struct Moved {
    std::size_t bytes = 0;
    bool is_over = false; // the other side has closed the connection, or it broke
};

/// What there is now, up to the size of `to`, which is not empty. Never throws.
Moved receive(const FileDescriptor &from, std::span<char> to);

/// As much of both parts, in order, as the system takes now. Never throws.
Moved send(const FileDescriptor &to, const std::array<std::span<const char>, 2> &parts);

} // namespace flat::server
