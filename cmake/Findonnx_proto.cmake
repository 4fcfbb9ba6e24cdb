# onnx::proto, the messages of the ONNX format (Debian's libonnx-dev and libprotobuf-dev). The package's own
# ONNXConfig.cmake does not look for the protobuf it stands on.
find_package(Protobuf QUIET)
find_path(onnx_proto_INCLUDE_DIR onnx/onnx_pb.h)
find_library(onnx_proto_LIBRARY onnx_proto)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(onnx_proto REQUIRED_VARS onnx_proto_LIBRARY onnx_proto_INCLUDE_DIR Protobuf_FOUND)
if(onnx_proto_FOUND AND NOT TARGET onnx::proto)
  add_library(onnx::proto UNKNOWN IMPORTED)
  set_target_properties(onnx::proto PROPERTIES
    IMPORTED_LOCATION ${onnx_proto_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${onnx_proto_INCLUDE_DIR}
    INTERFACE_COMPILE_DEFINITIONS "ONNX_NAMESPACE=onnx;ONNX_ML=1"
    INTERFACE_LINK_LIBRARIES protobuf::libprotobuf)
endif()
mark_as_advanced(onnx_proto_INCLUDE_DIR onnx_proto_LIBRARY)
