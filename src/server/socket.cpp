#include "socket.hpp"

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace flat::server {
namespace {

[[noreturn]] void fail(const std::string &what) { throw std::system_error(errno, std::generic_category(), what); }

void set_option(const FileDescriptor &of, int level, int option) {
    const int on = 1;
    if (setsockopt(of.number(), level, option, &on, sizeof on) != 0) fail("setsockopt");
}

// Whether a refusal of accept is of this connection alone.
bool is_of_the_connection(int error) {
    switch (error) {
    case EAGAIN:
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case EPERM:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH: return true;
    default: return false;
    }
}

} // namespace

FileDescriptor::~FileDescriptor() {
    if (number_ >= 0) (void)close(number_);
}

FileDescriptor listen_at(const std::string &address, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_flags = AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo *first = nullptr;
    const int failed = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &first);
    if (failed != 0) throw std::runtime_error(address + ": " + gai_strerror(failed));
    const std::unique_ptr<addrinfo, void (*)(addrinfo *)> found(first, freeaddrinfo);
    FileDescriptor made(
        socket(first->ai_family, first->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, first->ai_protocol));
    if (made.number() < 0) fail("socket");
    set_option(made, SOL_SOCKET, SO_REUSEADDR);
    if (bind(made.number(), first->ai_addr, first->ai_addrlen) != 0 || listen(made.number(), SOMAXCONN) != 0) {
        fail(address + " port " + std::to_string(port));
    }
    return made;
}

FileDescriptor duplicate(const FileDescriptor &of) {
    FileDescriptor made(fcntl(of.number(), F_DUPFD_CLOEXEC, 0));
    if (made.number() < 0) fail("fcntl");
    return made;
}

std::uint16_t port_of(const FileDescriptor &listening) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (getsockname(listening.number(), reinterpret_cast<sockaddr *>(&address), &size) != 0) fail("getsockname");
    return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(address).sin6_port
                                               : reinterpret_cast<sockaddr_in &>(address).sin_port);
}

Accepted accept_from(const FileDescriptor &listening) {
    FileDescriptor made(accept4(listening.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (made.number() < 0) return {std::nullopt, !is_of_the_connection(errno)};
    const int on = 1; // where it is no TCP there is nothing to set
    (void)setsockopt(made.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return {std::move(made)};
}

Moved receive(const FileDescriptor &from, std::span<char> to) {
    for (;;) {
        const ssize_t got = recv(from.number(), to.data(), to.size(), 0);
        if (got > 0) return {static_cast<std::size_t>(got), false};
        if (got == 0) return {0, true};
        if (errno == EINTR) continue;
        return {0, errno != EAGAIN};
    }
}

Moved send(const FileDescriptor &to, const std::array<std::span<const char>, 2> &parts) {
    std::array<iovec, 2> vectors;
    for (std::size_t i = 0; i < parts.size(); i++) {
        vectors[i] = {const_cast<char *>(parts[i].data()), parts[i].size()}; // sendmsg does not write to it
    }
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = vectors.size();
    for (;;) {
        const ssize_t gone = sendmsg(to.number(), &message, MSG_NOSIGNAL);
        if (gone >= 0) return {static_cast<std::size_t>(gone), false};
        if (errno == EINTR) continue;
        return {0, errno != EAGAIN};
    }
}

} // namespace flat::server
