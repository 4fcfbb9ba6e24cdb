// The owner of each row of every layer of a sparse network. The owner of row i of layer k holds the
// row's weights, computes output i and receives its gradient; what other rows of layer k + 1 read
// of it travels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/sparse_pattern.hpp"

namespace plait::partition {

/// Layer k's columns are the rows of layer k - 1.
using SparseLayers = std::span<const std::shared_ptr<const tensor::SparsePattern>>;

struct Partition {
  int parts = 1;
  std::vector<std::vector<std::int32_t>> owners;  ///< per layer, per row
  /// Per column of layer 0. Empty: every worker loads the whole input, so layer 0 costs no words.
  std::vector<std::int32_t> input_owners;
  bool operator==(const Partition&) const = default;

  /// Owners of what layer k reads; empty where no part owns it.
  std::span<const std::int32_t> sources(std::size_t layer) const {
    return layer == 0 ? std::span(input_owners) : std::span(owners[layer - 1]);
  }
};

enum class PartitionMethod {
  merged,  ///< equal rows merged, grown, annealed over all layers at once
  zoltan,  ///< Zoltan's hypergraph partitioner, layer after layer
  block,   ///< contiguous rows
  random   ///< a random permutation dealt out
};
std::string_view method_name(PartitionMethod method);
/// UserError with the nearest name where there is no such method.
PartitionMethod method_named(const std::string& name);

struct PartitionOptions {
  int parts = 1;
  PartitionMethod method = PartitionMethod::merged;
  /// Non-zeros of the fullest part of a layer may exceed the mean by this share; where single rows
  /// are too heavy for that, by as little as we find.
  double tolerance = 0.01;
  std::uint64_t seed = 1;
  bool own_input = false;
  /// Called now and then from the calling thread with the share of the work that is done.
  std::function<void(int done, int all)> progress = {};
};

/// Equal arguments, equal partition, in which every part owns a row of every layer. UserError where
/// the layers do not fit together or have fewer rows than parts.
Partition make_partition(SparseLayers layers, const PartitionOptions& options);

/// What a partition file has to say.
struct PartitionRecord {
  Partition partition;
  PartitionMethod method = PartitionMethod::merged;
  std::uint64_t seed = 1;
  std::string network;  ///< layers_hash of the layers that were partitioned
};
std::string layers_hash(SparseLayers layers);
/// UserError, beginning with `source`, where the record belongs to other layers or names parts that
/// are not there.
void check_record(const PartitionRecord& record, SparseLayers layers, const std::string& source);

}  // namespace plait::partition
