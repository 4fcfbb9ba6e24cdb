// The .safetensors format: 8 bytes little-endian header length, a JSON header padded with spaces to
// a multiple of 8, then the bytes of the tensors without gaps. Holds f32, bf16, u8, i32 and i64 in
// plain layout; any other file is refused with a UserError that names the file, the tensor and the
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/atomic_file.hpp"
#include "tensor/tensor.hpp"

namespace plait::checkpoint {

struct NamedTensor {
  std::string name;
  tensor::Tensor tensor;
};

using Metadata = std::map<std::string, std::string>;

struct SafetensorsFile {
  Metadata metadata = {};
  std::vector<NamedTensor> tensors = {};  // in the order of the header
  std::string source = {};                // for messages

  /// UserError when the file has no such tensor.
  const tensor::Tensor& at(const std::string& name) const;
};

/// Lays the file out, then streams it from the tensors' own memory. The tensors are only viewed:
/// they must outlive the writer. Wider types come first in the file, so that every tensor is
/// aligned.
class SafetensorsWriter {
 public:
  explicit SafetensorsWriter(std::span<const NamedTensor> tensors, const Metadata& metadata = {});

  std::uint64_t bytes() const { return bytes_; }
  void write(FileSink& sink) const;

 private:
  std::span<const NamedTensor> tensors_;
  std::vector<std::size_t> file_order_;
  std::string header_;  // with its 8 bytes of length
  std::uint64_t bytes_ = 0;
};

/// Atomically: the file is there whole, or as it was before.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata = {});

/// With `hash`, adds every byte of the file to it on the way.
SafetensorsFile read_safetensors(const std::filesystem::path& path, Hash* hash = nullptr);

SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const std::string& source);

}  // namespace plait::checkpoint
