# zoltan::zoltan, the C library (Debian's libtrilinos-zoltan-dev, or one of its own). Needs
# MPI::MPI_CXX.
find_path(zoltan_INCLUDE_DIR zoltan.h PATH_SUFFIXES trilinos)
find_library(zoltan_LIBRARY NAMES trilinos_zoltan zoltan)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(zoltan REQUIRED_VARS zoltan_LIBRARY zoltan_INCLUDE_DIR)
if(zoltan_FOUND AND NOT TARGET zoltan::zoltan)
  add_library(zoltan::zoltan UNKNOWN IMPORTED)
  set_target_properties(zoltan::zoltan PROPERTIES
    IMPORTED_LOCATION ${zoltan_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${zoltan_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES MPI::MPI_CXX)
endif()
mark_as_advanced(zoltan_INCLUDE_DIR zoltan_LIBRARY)
