# What every target of the project is compiled with, gathered in one interface target.

# For the code that is shipped: the language, the warnings, hidden symbols. No -march: the baseline of the architecture.
add_library(flatline-options INTERFACE)
target_compile_features(flatline-options INTERFACE c_std_11 cxx_std_20)
target_include_directories(flatline-options INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_compile_options(
  flatline-options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow $<$<BOOL:${FLATLINE_WERROR}>:-Werror>)

set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
