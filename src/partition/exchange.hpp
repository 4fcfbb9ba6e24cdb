// Which values travel before a layer can run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partition/partition.hpp"

namespace plait::partition {

/// The lists of one layer, for all pairs of workers.
class ExchangeLists {
 public:
  ExchangeLists(int parts, std::vector<std::int64_t> begin, std::vector<std::int32_t> rows)
      : parts_(parts), begin_(std::move(begin)), rows_(std::move(rows)) {}

  /// Rows of the layer before that `owner` owns and `reader` reads, ascending. owner == reader:
  /// what need not travel.
  std::span<const std::int32_t> needed(int owner, int reader) const {
    const auto pair = static_cast<std::size_t>(owner) * static_cast<std::size_t>(parts_) +
                      static_cast<std::size_t>(reader);
    return std::span(rows_).subspan(static_cast<std::size_t>(begin_[pair]),
                                    static_cast<std::size_t>(begin_[pair + 1] - begin_[pair]));
  }
  int parts() const { return parts_; }

 private:
  int parts_;
  std::vector<std::int64_t> begin_;  // per (owner, reader)
  std::vector<std::int32_t> rows_;
};

/// In time linear in the non-zeros and parts^2. All lists are empty where no part owns what the
/// layer reads.
ExchangeLists exchange_lists(SparseLayers layers, const Partition& partition, std::size_t layer);

}  // namespace plait::partition
