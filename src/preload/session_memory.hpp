// The observer's side of the memory that it shares with a program: see session_map.h.
#pragma once

#include <cstddef>
#include <string>

namespace flat::preload {

/// Memory of zeros, and the file in memory that programs map it from.
class SharedFile {
  public:
    /// `name`: for whoever looks into /proc. Throws std::system_error, which says what to do, iff the system refuses.
    SharedFile(const char *name, std::size_t size);
    ~SharedFile();
    SharedFile(const SharedFile &) = delete;
    SharedFile &operator=(const SharedFile &) = delete;

    void *start() const { return start_; }

    /// What the program's environment must name. Valid as long as this object and this process live.
    std::string path() const;

  private:
    int file_;
    std::size_t size_;
    void *start_;
};

/// The memory as the struct in C that both sides know, whose members may all be 0.
template <typename Session> class SessionMemory {
  public:
    explicit SessionMemory(const char *name) : file_(name, sizeof(Session)) {}

    Session &operator*() const { return *static_cast<Session *>(file_.start()); }
    Session *operator->() const { return static_cast<Session *>(file_.start()); }
    std::string path() const { return file_.path(); }

  private:
    SharedFile file_;
};

} // namespace flat::preload
