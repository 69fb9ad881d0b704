# What `cmake --install` puts where. The bench drivers and the peers they need are installed by src/bench.
#
# Everything finds everything else relative to itself, so an installed tree may be moved as a whole.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/flatline)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(
  TARGETS flatline flatline-static flatline-core
  EXPORT flatlineTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET flatline-malloc)
  install(
    TARGETS flatline-malloc flatline-malloc-static
    EXPORT flatlineTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/flatline DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# The CMake package: flatline::flatline is the shared library, flatline::static the archive, flatline::core the archive
# for programs without an operating system.
install(EXPORT flatlineTargets NAMESPACE flatline:: DESTINATION ${package_dir})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/flatlineConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/flatlineConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0.0 a minor version may change the interface.
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/cmake/flatlineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/flatlineConfig.cmake ${PROJECT_BINARY_DIR}/cmake/flatlineConfigVersion.cmake
        DESTINATION ${package_dir})

# The pkg-config files name their prefix relative to themselves. "/p" stands for any prefix.
file(RELATIVE_PATH FLATLINE_PC_TO_PREFIX /p/${pkgconfig_dir} /p)
foreach(FLATLINE_PC_LIBRARY flatline flatline-core)
  set(pc ${PROJECT_BINARY_DIR}/cmake/${FLATLINE_PC_LIBRARY}.pc)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/flatline.pc.in ${pc} @ONLY)
  install(FILES ${pc} DESTINATION ${pkgconfig_dir})
endforeach()

if(FLATLINE_PROGRAM)
  install(FILES ${PROJECT_BINARY_DIR}/share/flatline/report.html DESTINATION share/flatline)
endif()
