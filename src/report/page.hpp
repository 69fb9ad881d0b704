// The page of `flatline bench --html`: a template made at build time, filled with the JSON of one run.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace flat::report {

/// Returns the template with its token `__FLATLINE_DATA__` replaced by `json`, a `flatline.bench/1` object.
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
