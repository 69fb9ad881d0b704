#include "top.hpp"

#include "engine_source.hpp"
#include "function_names.hpp"
#include "output.hpp"
#include "screen.hpp"
#include "top_text.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

namespace flat::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t narrowest = 80;
constexpr auto interval = std::chrono::seconds(1); // shorter ones are hard to read

/// Engines that are looked at again and again, each beside how it was before.
class Watched {
  public:
    Watched(EngineSource &source) : source_(source), names_(source.process()) {}

    void look() {
        const Clock::time_point now = Clock::now();
        const double seconds = std::chrono::duration<double>(now - at_).count();
        std::map<std::uint64_t, EnginePage> before = std::move(last_);
        last_.clear();
        looks_.clear();
        for (FoundEngine &found : source_.look()) {
            std::optional<EnginePage> was;
            if (auto at = before.find(found.key); at != before.end()) was = std::move(at->second);
            last_.emplace(found.key, found.page);
            looks_.push_back({std::move(found.page), std::move(was), seconds});
        }
        at_ = now;
    }

    const std::vector<EngineLook> &engines() const { return looks_; }

    NameOfFunction name_of() {
        return [this](std::uint64_t address) { return names_.name_of(address); };
    }

    std::vector<StyledLine> lines(std::size_t width, std::string_view keys) {
        const std::string program = source_.program();
        const std::string title =
            fmt::format("flatline top: process {}{}", source_.process(), program.empty() ? "" : " (" + program + ")");
        std::vector<StyledLine> all{{{title, Style::strong}}};
        if (title.size() + keys.size() < width)
            all.front().emplace_back(fmt::format("{:>{}}", keys, width - title.size()), Style::faint);
        if (looks_.empty()) all.push_back({{"no engine at the moment", Style::faint}});
        for (std::size_t i = 0; i < looks_.size(); ++i) {
            if (looks_.size() > 1)
                all.push_back({{fmt::format("-- {} of {} --", i + 1, looks_.size()), Style::strong}});
            std::ranges::move(top_lines(looks_[i], name_of(), width), std::back_inserter(all));
            if (i + 1 < looks_.size()) all.emplace_back();
        }
        return all;
    }

  private:
    EngineSource &source_;
    FunctionNames names_;
    std::map<std::uint64_t, EnginePage> last_;
    std::vector<EngineLook> looks_;
    Clock::time_point at_ = Clock::now();
};

std::size_t width_of(std::size_t columns) { return std::clamp(columns, narrowest, widest); }

void print(Watched &watched, const EngineSource &source) {
    const Look look = Look::of(STDOUT_FILENO);
    for (const StyledLine &line : watched.lines(width_of(look.width), "")) {
        std::string text;
        for (const auto &[part, style] : line) text += look.dress(part, style);
        text.erase(text.find_last_not_of(' ') + 1);
        fmt::print("{}\n", text);
    }
    if (source.has_ended()) fmt::print("process {} has ended\n", source.process());
}

/// How far the lines can be moved up.
std::size_t last_first(const std::vector<StyledLine> &lines, const Screen &screen) {
    return lines.size() > screen.height() ? lines.size() - screen.height() : 0;
}

std::size_t moved(Screen::Key key, std::size_t first, std::size_t page) {
    switch (key) {
    case Screen::Key::up: return first - std::min<std::size_t>(first, 1);
    case Screen::Key::down: return first + 1;
    case Screen::Key::page_up: return first - std::min(first, page);
    case Screen::Key::page_down: return first + page;
    case Screen::Key::home: return 0;
    default: return first;
    }
}

/// Draws once for each key and each second, until the process ends or q is pressed. Returns whether it has ended.
bool watch(Watched &watched, const EngineSource &source, Screen &screen) {
    std::size_t first = 0;
    Clock::time_point next = Clock::now() + interval;
    for (;;) {
        const auto lines = watched.lines(width_of(screen.width()), "q ends, arrows scroll");
        first = std::min(first, last_first(lines, screen));
        screen.draw(lines, first);
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
        const Screen::Key key = screen.wait(static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
        if (key == Screen::Key::quit) return false;
        first = moved(key, first, screen.height());
        if (Clock::now() < next) continue;
        if (source.has_ended()) return true;
        watched.look();
        next = Clock::now() + interval;
    }
}

} // namespace

CLI::App *add_top(CLI::App &program, TopOptions &options) {
    CLI::App *verb = program.add_subcommand("top", "Show what the engines of a running process do, each second");
    verb->footer("FILE is what an engine shows, such as /proc/PID/fd/N or a copy of it. The process must be yours.\n"
                 "Looking costs an engine nothing: it works while the engine is overloaded.\n"
                 "Keys: q ends, arrows and page keys scroll.\n"
                 "Exit status: 0 done, also if the process ends meanwhile; 2 could not be run.");
    verb->add_option("target", options.target, "A process with an engine, or a file")
        ->required()
        ->type_name("PID|FILE");
    verb->add_flag("--once", options.once, "Print it once and end, as where standard output is no terminal");
    verb->add_option("--json", options.json, "Write it once, flatline.top/1 (-: standard output)")->type_name("FILE");
    return verb;
}

int run_top(const TopOptions &options) {
    require_outputs({{"--json", options.json}}, {{"the file of the engine", options.target}});
    const std::unique_ptr<EngineSource> source = engine_source(options.target);
    Watched watched(*source);
    watched.look();
    if (!options.json.empty())
        write_output(options.json,
                     top_document(source->process(), source->program(), watched.engines(), watched.name_of()));
    if (options.json == "-") return 0;
    const Look look = Look::of(STDOUT_FILENO);
    if (!options.once && options.json.empty() && look.terminal && !source->has_ended()) {
        bool ended = false, shown = false;
        if (Screen screen(look.colours); screen.is_open()) {
            ended = watch(watched, *source, screen);
            shown = true;
        }
        if (ended) fmt::print("process {} has ended\n", source->process());
        if (shown) return 0;
    }
    print(watched, *source);
    return 0;
}

} // namespace flat::cli
