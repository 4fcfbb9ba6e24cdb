# httplib::httplib, an HTTP server as a shared library (Debian's libcpp-httplib-dev). Its pkg-config file also asks for
# the macros of HTTPS and of compression, hence for the headers of OpenSSL and Brotli; what plait uses needs neither.
find_path(httplib_INCLUDE_DIR httplib.h)
find_library(httplib_LIBRARY cpp-httplib)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(httplib REQUIRED_VARS httplib_LIBRARY httplib_INCLUDE_DIR)
if(httplib_FOUND AND NOT TARGET httplib::httplib)
  add_library(httplib::httplib UNKNOWN IMPORTED)
  set_target_properties(httplib::httplib PROPERTIES
    IMPORTED_LOCATION ${httplib_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${httplib_INCLUDE_DIR})
endif()
mark_as_advanced(httplib_INCLUDE_DIR httplib_LIBRARY)
