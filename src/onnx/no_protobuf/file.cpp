// For a plait that was built without libonnx.
#include "onnx/file.hpp"

#include "base/error.hpp"

namespace plait::onnx::onnx_graph {

namespace {

[[noreturn]] void refuse(const std::string& source) {
  user_error(
      "{}: this plait was built without ONNX; install libonnx-dev and libprotobuf-dev, and "
      "rebuild it",
      source);
}

}  // namespace

bool has_onnx() { return false; }

Graph parse_onnx(std::span<const std::byte>, const std::string& source) { refuse(source); }

Graph read_onnx(const std::filesystem::path& path) { refuse(path.string()); }

std::string print_onnx(const Graph&) { refuse("an ONNX graph"); }

void write_onnx(const std::filesystem::path& path, const Graph&) { refuse(path.string()); }

}  // namespace plait::onnx::onnx_graph
