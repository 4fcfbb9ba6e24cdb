# cmake --install: the rooms' libraries and headers, the program, and a package, so that
# find_package(plait) gives plait::plait. Headers keep their folders under include/plait, which is
# the include directory a consumer gets: "tensor/shape.hpp" is written as inside this tree.
include(CMakePackageConfigHelpers)

function(plait_install)
  get_property(rooms GLOBAL PROPERTY PLAIT_ROOMS)
  list(TRANSFORM rooms PREPEND plait_)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/plait)

  install(TARGETS plait ${rooms} EXPORT plait-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT plait-targets NAMESPACE plait:: DESTINATION ${package_dir})
  install(TARGETS plait-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plait
          FILES_MATCHING PATTERN "*.hpp")
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

  # The package looks for the same things as the build does: one list, used twice.
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/plait-config.cmake.in
                                ${PROJECT_BINARY_DIR}/plait-config.cmake
                                INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/plait-config-version.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/plait-config.cmake
                ${PROJECT_BINARY_DIR}/plait-config-version.cmake
                ${PROJECT_SOURCE_DIR}/cmake/PlaitDependencies.cmake
                ${PROJECT_SOURCE_DIR}/cmake/Finddnnl.cmake
                ${PROJECT_SOURCE_DIR}/cmake/Findhttplib.cmake
                ${PROJECT_SOURCE_DIR}/cmake/Findzoltan.cmake
                ${PROJECT_SOURCE_DIR}/cmake/Findonnx_proto.cmake
          DESTINATION ${package_dir})
endfunction()
