// Partitions written to and read from .safetensors: owners per layer as tensors, the rest as
// metadata.
#include "partition/partition_file.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "checkpoint/shown.hpp"

namespace plait::partition {

namespace {

constexpr const char* kFormat = "plait partition 1";

std::string layer_name(std::size_t layer) { return fmt::format("owners.{:06}", layer); }

std::string word_of(const checkpoint::SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) {
    user_error("{}: '{}' is missing; it was not written by plait partition", file.source, key);
  }
  return found->second;
}

std::uint64_t number_of(const checkpoint::SafetensorsFile& file, const std::string& key,
                        std::uint64_t least, std::uint64_t most) {
  const std::string text = word_of(file, key);
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc{} || stop != end || number < least || number > most) {
    user_error("{}: {} is {}, but must be a number from {} to {}", file.source, key,
               checkpoint::shown(text), least, most);
  }
  return number;
}

checkpoint::NamedTensor to_tensor(const std::string& name,
                                  const std::vector<std::int32_t>& owners) {
  tensor::Tensor tensor(tensor::Shape{static_cast<std::int64_t>(owners.size())},
                        tensor::DType::i32);
  std::ranges::copy(owners, tensor.as<std::int32_t>().begin());
  return {name, std::move(tensor)};
}

std::vector<std::int32_t> to_owners(const checkpoint::SafetensorsFile& file,
                                    const std::string& name) {
  const tensor::Tensor& tensor = file.at(name);
  if (tensor.desc().dtype != tensor::DType::i32 || tensor.shape().rank() != 1) {
    user_error("{}: '{}' is not a list of int32 numbers", file.source, name);
  }
  const auto values = tensor.as<std::int32_t>();
  return {values.begin(), values.end()};
}

}  // namespace

void write_partition(const std::string& path, const PartitionRecord& record) {
  std::vector<checkpoint::NamedTensor> tensors;
  const Partition& partition = record.partition;
  for (std::size_t k = 0; k < partition.owners.size(); ++k) {
    tensors.push_back(to_tensor(layer_name(k), partition.owners[k]));
  }
  if (!partition.input_owners.empty()) {
    tensors.push_back(to_tensor("owners.input", partition.input_owners));
  }
  checkpoint::write_safetensors(path, tensors,
                                {{"format", kFormat},
                                 {"parts", std::to_string(partition.parts)},
                                 {"layers", std::to_string(partition.owners.size())},
                                 {"method", std::string(method_name(record.method))},
                                 {"seed", std::to_string(record.seed)},
                                 {"network", record.network}});
}

PartitionRecord read_partition(const std::string& path) {
  return to_partition(checkpoint::read_safetensors(path));
}

PartitionRecord to_partition(const checkpoint::SafetensorsFile& file) {
  const std::string& path = file.source;
  if (word_of(file, "format") != kFormat) {
    user_error("{}: its format is '{}' instead of '{}'", path, word_of(file, "format"), kFormat);
  }
  PartitionRecord record{.partition = {}, .network = word_of(file, "network")};
  record.partition.parts = static_cast<int>(number_of(file, "parts", 1, 1 << 20));
  const std::uint64_t layers = number_of(file, "layers", 0, 1 << 24);
  record.seed = number_of(file, "seed", 0, UINT64_MAX);
  try {
    record.method = method_named(word_of(file, "method"));
  } catch (const UserError& error) {
    user_error("{}: {}", path, error.what());
  }
  for (std::uint64_t k = 0; k < layers; ++k) {
    record.partition.owners.push_back(to_owners(file, layer_name(k)));
  }
  const auto has_input = [](const checkpoint::NamedTensor& one) {
    return one.name == "owners.input";
  };
  if (std::ranges::any_of(file.tensors, has_input)) {
    record.partition.input_owners = to_owners(file, "owners.input");
  }
  return record;
}

}  // namespace plait::partition
