#include "bench_rounds.hpp"

#include "bench_columns.hpp"
#include "bench_summary.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flat::cli {
namespace {

using bench::Backend;
using bench::Contest;
using bench::Figure;
using bench::Group;
using bench::Kind;
using bench::Outcome;
using bench::Row;
using bench::Verdict;

constexpr std::size_t figure_width = 8; // the last column is the mark of the best

std::vector<Group> of_rounds(const std::vector<Group> &groups) {
    std::vector<Group> some;
    std::ranges::copy_if(groups, std::back_inserter(some), [](const Group &group) { return group.has_rounds(); });
    return some;
}

const char *title_of(Figure figure) { return figure == Figure::p50 ? "P50" : "P99.9"; }

/// "P50 0.71 of je, faster by 26 to 30 %".
std::string contest_text(const Group &group, const Contest &contest, Figure figure) {
    const Verdict verdict = judge(group, *contest.subject, *contest.rival, figure);
    const std::string words =
        verdict.outcome == Outcome::no_difference ? std::string("no difference") : in_words(verdict);
    return fmt::format("{} {:.2f} of {}, {}", title_of(figure), verdict.ratio, contest.rival->backend->column, words);
}

std::string dressed(const Group &group, const Contest &contest, Figure figure, std::size_t width, const Look &look) {
    const bool lost = judge(group, *contest.subject, *contest.rival, figure).outcome == Outcome::slower;
    return look.dress(fmt::format("{:<{}}", contest_text(group, contest, figure), width),
                      lost ? Style::bad : Style::plain);
}

std::string short_name(const Group &group) {
    return group.is_single() ? std::string(group.cell.order) : fmt::format("{}, {}", group.cell.order, group.calls);
}

/// The best competing row; nullptr in a void cell.
const Row *best_in(const Group &group, Figure figure) {
    if (figure == Figure::jitter) return steadiest_of(group);
    return is_void(group) ? nullptr : best_of(group, {Kind::subject, Kind::general, Kind::standard}, figure);
}

Shown shown_of(const Group &group, const Backend &backend, Figure figure) {
    const Row *row = row_of(group, backend.name);
    if (row == nullptr) return {"- ", Style::faint};
    const bool best = row == best_in(group, figure);
    return {compact(figure_of(*row, figure)) + (best ? "*" : " "), style_of(backend, best)};
}

/// A table of one figure for all workloads.
std::string summary_of(const std::vector<Group> &groups, Figure figure, const Look &look) {
    constexpr std::string_view voided = "void";
    const std::vector<const Backend *> columns = summarised(groups);
    ColumnTable table{{}, {""}, figure_width, voided.size(), {}};
    for (const Backend *backend : columns) table.heads.emplace_back(backend->column);
    for (const Group &group : groups) {
        ColumnLine line{short_name(group) + " ", {}, {{is_void(group) ? std::string(voided) : "", Style::bad}}};
        for (const Backend *backend : columns) line.figures.push_back(shown_of(group, *backend, figure));
        table.lines.push_back(line);
    }
    return text_of(table, look);
}

/// The results of one subject against one rival over all cells.
struct Standing {
    struct Count {
        std::size_t faster = 0, undecided = 0, slower = 0;
    };
    std::string names;
    Count medians{}, tails{};
    std::size_t voided = 0; // of the cells
    std::vector<std::string> losses{};
};

std::string names_of(const Contest &contest) {
    const Backend &rival = *contest.rival->backend;
    return fmt::format("{} / {}", contest.subject->backend->title,
                       rival.kind == Kind::general ? std::string_view("best malloc") : rival.title);
}

void add_to(Standing &standing, const Group &group, const Contest &contest, Figure figure) {
    const Verdict verdict = judge(group, *contest.subject, *contest.rival, figure);
    Standing::Count &count = figure == Figure::p50 ? standing.medians : standing.tails;
    count.faster += verdict.outcome == Outcome::faster ? 1 : 0;
    count.undecided += verdict.outcome == Outcome::no_difference ? 1 : 0;
    count.slower += verdict.outcome == Outcome::slower ? 1 : 0;
    standing.voided += verdict.outcome == Outcome::voided && figure == Figure::p50 ? 1 : 0;
    if (verdict.outcome == Outcome::slower)
        standing.losses.push_back(fmt::format("{} {} ({:.2f})", short_name(group), title_of(figure), verdict.ratio));
}

std::vector<Standing> standings_of(const std::vector<Group> &groups) {
    std::vector<Standing> standings;
    for (const Group &group : groups) {
        for (const Figure figure : {Figure::p50, Figure::p999}) {
            if (figure == Figure::p999 && !group.is_single()) continue;
            for (const Contest &contest : contests_of(group, figure)) {
                auto place = std::ranges::find(standings, names_of(contest), &Standing::names);
                if (place == standings.end()) place = standings.insert(standings.end(), {names_of(contest)});
                add_to(*place, group, contest, figure);
            }
        }
    }
    return standings;
}

std::string line_of(const Standing &standing) {
    const auto &[median, tail] = std::pair(standing.medians, standing.tails);
    return fmt::format("{:<36}{:>7}{:>5}{:>7}{:>7}{:>5}{:>7}{:>5}\n", standing.names, median.faster, median.undecided,
                       median.slower, tail.faster, tail.undecided, tail.slower, standing.voided);
}

} // namespace

const Row *steadiest_of(const Group &group) {
    if (!group.is_single() || is_void(group)) return nullptr;
    return best_of(group, {Kind::subject, Kind::general, Kind::standard}, Figure::jitter);
}

std::string contest_lines(const Group &group, const Look &look) {
    constexpr std::size_t median_width = 43;
    const std::vector<Contest> medians = contests_of(group, Figure::p50), tails = contests_of(group, Figure::p999);
    std::string text;
    for (std::size_t i = 0; i < medians.size(); ++i) {
        const std::string start = fmt::format("  {:<7}", medians[i].subject->backend->column);
        const bool side_by_side = group.is_single() && look.width >= widest;
        text += start + dressed(group, medians[i], Figure::p50, side_by_side ? median_width : 0, look);
        if (group.is_single() && !side_by_side) text += "\n" + start;
        if (group.is_single()) text += dressed(group, tails[i], Figure::p999, 0, look);
        text += "\n";
    }
    return text;
}

std::string rounds_summary(const std::vector<Group> &groups, const Look &look) {
    const std::vector<Group> all = of_rounds(groups);
    if (all.empty()) return {};
    std::vector<Group> single;
    std::ranges::copy_if(all, std::back_inserter(single), [](const Group &group) { return group.is_single(); });
    const std::size_t width = std::min(look.width, widest);
    return wrapped("Medians: ns a round; after a comma, how many rounds were timed together. * the best competitor. " +
                       legend(summarised(all)),
                   width) +
           summary_of(all, Figure::p50, look) + "\nP99.9 - P50: ns, of single rounds.\n" +
           summary_of(single, Figure::jitter, look);
}

std::string rounds_verdict(const std::vector<Group> &groups, const Look &look) {
    const std::vector<Standing> standings = standings_of(of_rounds(groups));
    if (standings.empty()) return {};
    std::string text = look.dress(fmt::format("{:<36}{:>19}{:>19}{:>5}\n{:<36}{:>7}{:>5}{:>7}{:>7}{:>5}{:>7}{:>5}",
                                              "In how many cells:", "P50", "P99.9", "", "", "faster", "same", "slower",
                                              "faster", "same", "slower", "void"),
                                  Style::faint) +
                       "\n";
    for (const Standing &standing : standings) {
        text += line_of(standing);
        if (!standing.losses.empty())
            text += wrapped("  slower: " + fmt::format("{}", fmt::join(standing.losses, ", ")),
                            std::min(look.width, widest));
    }
    return text;
}

} // namespace flat::cli
