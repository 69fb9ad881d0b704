// A whole terminal, for a view that is drawn again and again.
#pragma once

#include "terminal.hpp"
#include "top_text.hpp"

#include <cstddef>
#include <vector>

namespace flat::cli {

/// From its construction to its end the terminal shows what is drawn here; then it is as before.
class Screen {
  public:
    explicit Screen(bool colours);
    ~Screen();
    Screen(const Screen &) = delete;
    Screen &operator=(const Screen &) = delete;

    /// False: the terminal is of no kind that can be drawn on, and nothing was changed.
    bool is_open() const { return open_; }

    std::size_t width() const;

    /// The lines from `first` on, as far as they fit.
    void draw(const std::vector<StyledLine> &lines, std::size_t first);

    enum class Key { none, quit, up, down, page_up, page_down, home, resized };

    /// The next key, if one is pressed within this time.
    Key wait(int milliseconds);

    std::size_t height() const;

  private:
    bool open_ = false;
    bool colours_ = false;
};

} // namespace flat::cli
