# dnnl::dnnl, oneDNN 2 on the CPU. Debian's own dnnl-config.cmake insists on OpenCL's headers, which
# only its GPU part needs.
find_path(dnnl_INCLUDE_DIR dnnl.hpp)
find_library(dnnl_LIBRARY dnnl)
find_file(dnnl_VERSION_HEADER oneapi/dnnl/dnnl_version.h PATHS ${dnnl_INCLUDE_DIR})
mark_as_advanced(dnnl_INCLUDE_DIR dnnl_LIBRARY dnnl_VERSION_HEADER)
if(dnnl_VERSION_HEADER)
  file(STRINGS ${dnnl_VERSION_HEADER} lines REGEX "define DNNL_VERSION_M(AJOR|INOR)")
  string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" dnnl_VERSION "${lines}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(dnnl REQUIRED_VARS dnnl_LIBRARY dnnl_INCLUDE_DIR
                                  VERSION_VAR dnnl_VERSION HANDLE_VERSION_RANGE)
if(dnnl_FOUND AND NOT TARGET dnnl::dnnl)
  add_library(dnnl::dnnl UNKNOWN IMPORTED)
  set_target_properties(dnnl::dnnl PROPERTIES IMPORTED_LOCATION ${dnnl_LIBRARY}
                                              INTERFACE_INCLUDE_DIRECTORIES ${dnnl_INCLUDE_DIR})
endif()
