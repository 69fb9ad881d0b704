// The pages of `flatline audit`, `bench` and `simulate --html`: one template, made at build time, which is filled with
// the JSON of one run.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace flat::report {

/// Returns the template with its token `__FLATLINE_DATA__` replaced by `json`, an object whose `schema` says which page
/// it becomes: `flatline.audit/1`, `flatline.bench/1` or `flatline.simulate/1`.
///
/// The data is written without white space. Every `<` is written as \u003c, so that no text can end the script element.
/// Nothing is reordered or left out, and each number reads back as the same number.
///
/// Throws std::runtime_error iff the template does not contain exactly one token, or `json` is not one object.
std::string fill_page(std::string_view page_template, std::string_view json);

/// Returns the path of the template: share/flatline/report.html next to the bin/ that holds the running executable, in
/// a build tree as in an installed one. Throws std::runtime_error iff there is no such file.
std::filesystem::path find_template();

} // namespace flat::report
