// BlockTraits: what the tasks of a block read, and what may be done in place. The planner takes
// what operations say of themselves; kernels/ and block_sizes say it of blocks with their layouts
// (block_call).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/layer_sizes.hpp"

namespace plait::graph {

struct BlockTraits {
  // What backward reads beside the gradient of dst, and weights.
  bool data_reads_src = true;
  bool data_reads_dst = false;
  bool weights_read_src = true;
  /// backward_weights reads what backward_data leaves, and so comes after it. Otherwise both depend
  /// on the same gradient, and not on each other.
  bool weights_read_pending = false;
  /// Backward reads only the first so many srcs; -1: all of them.
  int read_srcs = -1;

  // What memory can be saved, where no layout is converted.
  bool forward_in_place = false;  ///< dst may lie where src was
  bool adds_in_place = false;     ///< dst may lie where the last src was, which is added
  bool diff_in_place = false;     ///< the gradient of src may lie where that of dst was
  bool adds_gradient = false;     ///< backward_data adds to a gradient of src that is there
  /// The srcs from this number on have the gradient of dst as it is: those of a sum; -1: none.
  int passed_srcs = -1;
  int subtracted_src = -1;  ///< but this one has it with the other sign; -1: none

  bool operator==(const BlockTraits&) const = default;

  /// Whether a gradient is added to that of src `number` without memory of its own.
  bool adds_in_pass(int number) const {
    return adds_gradient || passes(number) || number == subtracted_src;
  }
  bool passes(int number) const {
    return passed_srcs >= 0 && number >= passed_srcs && number != subtracted_src;
  }
  bool reads_src(int number) const { return read_srcs < 0 || number < read_srcs; }
};

/// Of blocks with the same operations and different layouts: what any reads, what all can do.
BlockTraits common_traits(const BlockTraits& a, const BlockTraits& b);

/// As the operation of a finest block says, whatever the layouts.
BlockTraits traits_of(const BlockSpec& block, std::span<const tensor::Shape> srcs);

}  // namespace plait::graph
