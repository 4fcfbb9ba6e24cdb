// What can be said of blocks with the same operation and different layouts.
#include "graph/block_traits.hpp"

#include <algorithm>

namespace plait::graph {

BlockTraits common_traits(const BlockTraits& a, const BlockTraits& b) {
  return {.data_reads_src = a.data_reads_src || b.data_reads_src,
          .data_reads_dst = a.data_reads_dst || b.data_reads_dst,
          .weights_read_src = a.weights_read_src || b.weights_read_src,
          .weights_read_pending = a.weights_read_pending || b.weights_read_pending,
          .read_srcs = a.read_srcs < 0 || b.read_srcs < 0 ? -1 : std::max(a.read_srcs, b.read_srcs),
          .forward_in_place = a.forward_in_place && b.forward_in_place,
          .adds_in_place = a.adds_in_place && b.adds_in_place,
          .diff_in_place = a.diff_in_place && b.diff_in_place,
          .adds_gradient = a.adds_gradient && b.adds_gradient,
          .passed_srcs = a.passed_srcs == b.passed_srcs ? a.passed_srcs : -1,
          .subtracted_src = a.subtracted_src == b.subtracted_src ? a.subtracted_src : -1};
}

}  // namespace plait::graph
