# What every target of the project is compiled with, gathered in one interface target.

# For the code that is shipped: the language, the warnings, hidden symbols. No -march: the baseline of the architecture.
add_library(flatline-options INTERFACE)
target_compile_features(flatline-options INTERFACE c_std_11)
if(CMAKE_CXX_COMPILER_LOADED)
  target_compile_features(flatline-options INTERFACE cxx_std_20)
endif()
target_include_directories(flatline-options INTERFACE ${PROJECT_SOURCE_DIR}/include)
# Another project's warnings, and what it does about them, are for its own code.
if(PROJECT_IS_TOP_LEVEL OR FLATLINE_WERROR)
  # A member of options that is left out has its default: to leave it out is how they are meant.
  target_compile_options(
    flatline-options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-missing-designated-field-initializers>
    $<$<BOOL:${FLATLINE_WERROR}>:-Werror>)
else()
  target_compile_options(flatline-options INTERFACE -w)
endif()
# ThreadSanitizer does not know fences. The engine's stand between atomic operations, which it knows.
if("${CMAKE_C_FLAGS}" MATCHES "-fsanitize=[a-z,]*thread")
  target_compile_options(flatline-options INTERFACE $<$<C_COMPILER_ID:GNU>:-Wno-tsan>)
endif()

set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_UNITY_BUILD OFF) # each file has names of its own
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

# Whether everything is compiled for a sanitizer, by this project's flags or by those of one around it.
get_directory_property(flatline_inherited COMPILE_OPTIONS)
set(FLATLINE_SANITIZED OFF)
if("${CMAKE_C_FLAGS} ${flatline_inherited}" MATCHES "-fsanitize")
  set(FLATLINE_SANITIZED ON)
endif()

# install(), where anything is to be.
macro(flatline_install)
  if(FLATLINE_INSTALL)
    install(${ARGN})
  endif()
endmacro()
