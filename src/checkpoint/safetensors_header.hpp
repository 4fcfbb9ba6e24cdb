// The JSON header of a .safetensors file: text to checked entries. Inside the checkpoint room only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors.hpp"

namespace plait::checkpoint {

/// Bytes [begin, end) of the data section; already checked against shape and dtype.
struct SafetensorsEntry {
  std::string name;
  tensor::TensorDesc desc;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  Metadata metadata;
  std::vector<SafetensorsEntry> entries;  // in the order of the header
  std::vector<std::size_t> file_order;    // indices of the entries as their bytes follow each other
};

/// The longest header the format allows.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

/// The format's word for the type: "F32".
const char* safetensors_name_of(tensor::DType dtype);

/// The entries tile a data section of `data_bytes` exactly; anything else is a UserError.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes,
                                           const std::string& source);

}  // namespace plait::checkpoint
