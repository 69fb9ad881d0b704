// The line with which a program ends that misuses a resource, and a handler that returns and records the incident.
#ifndef FLATLINE_TESTS_RESOURCE_INCIDENTS_HPP
#define FLATLINE_TESTS_RESOURCE_INCIDENTS_HPP

#include <flatline/misuse.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace test {

// A pattern for exactly this line on standard error.
inline std::string line_of(const std::string &resource, const std::string &what, std::size_t bytes) {
    const std::string of = what == "double free" ? " of" : "";
    return "^flatline: " + resource + ": " + what + of + " 0x[0-9a-f]+ \\(" + std::to_string(bytes) + " bytes\\)\n$";
}

// Sets a handler that returns, and records the incidents.
class recorded_misuse {
  public:
    recorded_misuse() : before_(flat::set_misuse_handler(&record)) { incidents.clear(); }
    recorded_misuse(const recorded_misuse &) = delete;
    recorded_misuse &operator=(const recorded_misuse &) = delete;
    ~recorded_misuse() { flat::set_misuse_handler(before_); }

    static inline std::vector<flat::misuse> incidents;

  private:
    static void record(const flat::misuse &incident) { incidents.push_back(incident); }
    flat::misuse_handler before_;
};

} // namespace test

#endif
