#include "cli/partition_file.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "checkpoint/safetensors.hpp"
#include "cli/numbers.hpp"

namespace plait {

namespace {

constexpr const char* kFormat = "plait partition 1";

std::string layer_name(std::size_t layer) { return fmt::format("owners.{:06}", layer); }

std::string word_of(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) {
    user_error("{}: '{}' is missing; it is no partition of plait partition", file.source, key);
  }
  return found->second;
}

NamedTensor to_tensor(const std::string& name, const std::vector<std::int32_t>& owners) {
  Tensor tensor(Shape{static_cast<std::int64_t>(owners.size())}, DType::i32);
  std::ranges::copy(owners, tensor.as<std::int32_t>().begin());
  return {name, std::move(tensor)};
}

std::vector<std::int32_t> to_owners(const SafetensorsFile& file, const std::string& name) {
  const Tensor& tensor = file.at(name);
  if (tensor.desc().dtype != DType::i32 || tensor.shape().rank() != 1) {
    user_error("{}: '{}' is not a list of int32 numbers", file.source, name);
  }
  const auto values = tensor.as<std::int32_t>();
  return {values.begin(), values.end()};
}

/// The first layer with its rows only.
std::vector<std::shared_ptr<const SparsePattern>> without_input(
    std::vector<std::shared_ptr<const SparsePattern>> layers) {
  if (layers.empty()) return layers;
  const std::int64_t rows = layers.front()->rows;
  layers.front() = std::make_shared<const SparsePattern>(
      SparsePattern{.rows = rows,
                    .columns = 0,
                    .row_begin = std::vector<std::int64_t>(static_cast<std::size_t>(rows) + 1, 0),
                    .column = {}});
  return layers;
}

bool is_method(const std::string& how) {
  return std::ranges::any_of(std::array{PartitionMethod::merged, PartitionMethod::zoltan,
                                        PartitionMethod::block, PartitionMethod::random},
                             [&](PartitionMethod method) { return method_name(method) == how; });
}

}  // namespace

std::string partitioned_hash(const std::vector<std::shared_ptr<const SparsePattern>>& layers) {
  return layers_hash(without_input(layers));
}

void write_partition(const std::string& path, const PartitionRecord& record) {
  std::vector<NamedTensor> tensors;
  const Partition& partition = record.partition;
  for (std::size_t k = 0; k < partition.owners.size(); ++k) {
    tensors.push_back(to_tensor(layer_name(k), partition.owners[k]));
  }
  if (!partition.input_owners.empty()) {
    tensors.push_back(to_tensor("owners.input", partition.input_owners));
  }
  write_safetensors(path, tensors,
                    {{"format", kFormat},
                     {"parts", std::to_string(partition.parts)},
                     {"layers", std::to_string(partition.owners.size())},
                     {"method", std::string(method_name(record.method))},
                     {"seed", std::to_string(record.seed)},
                     {"network", record.network}});
}

PartitionRecord read_partition(const std::string& path) {
  const SafetensorsFile file = read_safetensors(path);
  if (word_of(file, "format") != kFormat) {
    user_error("{}: its format is '{}' instead of '{}'", path, word_of(file, "format"), kFormat);
  }
  PartitionRecord record{.partition = {}, .network = word_of(file, "network")};
  record.partition.parts =
      static_cast<int>(parse_integer(word_of(file, "parts"), path + ": parts", {1, 1 << 20}));
  const std::int64_t layers =
      parse_integer(word_of(file, "layers"), path + ": layers", {0, 1 << 24});
  record.method = method_named(word_of(file, "method"));
  record.seed = parse_unsigned(word_of(file, "seed"), path + ": seed");
  for (std::int64_t k = 0; k < layers; ++k) {
    record.partition.owners.push_back(to_owners(file, layer_name(static_cast<std::size_t>(k))));
  }
  const auto has_input = [](const NamedTensor& one) { return one.name == "owners.input"; };
  if (std::ranges::any_of(file.tensors, has_input)) {
    record.partition.input_owners = to_owners(file, "owners.input");
  }
  return record;
}

RowPartitioner row_partitioner(const std::string& how, std::uint64_t seed) {
  return [how, seed](const std::vector<std::shared_ptr<const SparsePattern>>& layers,
                     int workers) -> RowOwners {
    const bool is_file = how.find('/') != std::string::npos || how.ends_with(".safetensors");
    if (is_method(how) || !is_file) {
      return make_partition(layers, {.parts = workers, .method = method_named(how), .seed = seed})
          .owners;
    }
    PartitionRecord record = read_partition(how);
    check_record(record, without_input(layers), how);
    if (record.partition.parts != workers) {
      user_error("{}: has {} parts but there are {} workers; use --workers {}", how,
                 record.partition.parts, workers, record.partition.parts);
    }
    return std::move(record.partition.owners);
  };
}

}  // namespace plait
