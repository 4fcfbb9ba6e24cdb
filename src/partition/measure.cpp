// Words, messages and imbalance of a partition, layer by layer.
#include "partition/measure.hpp"

#include <algorithm>

#include "partition/readers.hpp"

namespace plait::partition {
namespace {

double layer_imbalance(const tensor::SparsePattern& pattern, std::span<const std::int32_t> owners,
                       int parts) {
  if (pattern.size() == 0) return 0;
  std::vector<std::int64_t> weight(static_cast<std::size_t>(parts), 0);
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    weight[static_cast<std::size_t>(owners[static_cast<std::size_t>(row)])] +=
        static_cast<std::int64_t>(pattern.row(row).size());
  }
  const double mean = static_cast<double>(pattern.size()) / parts;
  return static_cast<double>(*std::ranges::max_element(weight)) / mean - 1;
}

/// Per sender and receiver, of one layer.
std::vector<std::int64_t> words_between(const tensor::SparsePattern& pattern,
                                        const Partition& partition, std::size_t layer) {
  const auto parts = static_cast<std::size_t>(partition.parts);
  std::vector<std::int64_t> words(parts * parts, 0);
  const auto sources = partition.sources(layer);
  if (sources.empty()) return words;
  const Readers readers(pattern, partition.owners[layer], partition.parts);
  for (std::size_t column = 0; column < sources.size(); ++column) {
    for (const std::int32_t reader : readers.of(column)) {
      if (reader == sources[column]) continue;
      ++words[static_cast<std::size_t>(sources[column]) * parts + static_cast<std::size_t>(reader)];
    }
  }
  return words;
}

}  // namespace

PartitionMeasure measure_partition(SparseLayers layers, const Partition& partition) {
  PartitionMeasure measure;
  const auto parts = static_cast<std::size_t>(partition.parts);
  std::vector<std::int64_t> receive(parts, 0);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const auto words = words_between(*layers[layer], partition, layer);
    std::int64_t sum = 0;
    for (std::size_t pair = 0; pair < words.size(); ++pair) {
      if (words[pair] == 0) continue;
      sum += words[pair];
      ++measure.messages;
      receive[pair % parts] += words[pair];  // forward
      receive[pair / parts] += words[pair];  // backward
    }
    measure.words_forward.push_back(sum);
    measure.volume_words += 2 * sum;
    measure.imbalance =
        std::max(measure.imbalance,
                 layer_imbalance(*layers[layer], partition.owners[layer], partition.parts));
  }
  measure.max_receive_words = *std::ranges::max_element(receive);
  return measure;
}

}  // namespace plait::partition
