// ONNX files. protobuf/ reads and writes the format with libonnx; where that is not installed,
// CMake compiles no_protobuf/, which refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>

#include "onnx/graph.hpp"

namespace plait::onnx::onnx_graph {

/// The most bytes that a protobuf message can have.
inline constexpr std::size_t kMostBytes = std::numeric_limits<std::int32_t>::max();

bool has_onnx();

/// UserError with `source` (a file's name) for bytes that are no ONNX model, and for one with
/// tensors of other kinds than floats and integers, with sizes that do not fit its bytes, or with
/// parts in other files.
Graph parse_onnx(std::span<const std::byte> bytes, const std::string& source);
Graph read_onnx(const std::filesystem::path& path);

/// The file's bytes; UserError where they are more than the 2 GiB that the format can hold.
std::string print_onnx(const Graph& graph);
/// Atomically: the file is there whole, or as it was before.
void write_onnx(const std::filesystem::path& path, const Graph& graph);

}  // namespace plait::onnx::onnx_graph
