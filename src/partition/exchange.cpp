// Lists of rows that each part sends to each other part before a layer.
#include "partition/exchange.hpp"

#include "partition/readers.hpp"

namespace plait::partition {

ExchangeLists exchange_lists(SparseLayers layers, const Partition& partition, std::size_t layer) {
  const auto parts = static_cast<std::size_t>(partition.parts);
  const auto sources = partition.sources(layer);
  std::vector<std::int64_t> begin(parts * parts + 1, 0);
  if (sources.empty()) return {partition.parts, std::move(begin), {}};
  const Readers readers(*layers[layer], partition.owners[layer], partition.parts);
  const auto pair = [&](std::size_t column, std::int32_t reader) {
    return static_cast<std::size_t>(sources[column]) * parts + static_cast<std::size_t>(reader);
  };
  for (std::size_t column = 0; column < sources.size(); ++column) {
    for (const std::int32_t reader : readers.of(column)) ++begin[pair(column, reader) + 1];
  }
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<std::int32_t> rows(static_cast<std::size_t>(begin.back()));
  std::vector<std::int64_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t column = 0; column < sources.size(); ++column) {
    for (const std::int32_t reader : readers.of(column)) {
      rows[static_cast<std::size_t>(next[pair(column, reader)]++)] =
          static_cast<std::int32_t>(column);
    }
  }
  return {partition.parts, std::move(begin), std::move(rows)};
}

}  // namespace plait::partition
