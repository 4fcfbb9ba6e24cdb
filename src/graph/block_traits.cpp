// Traits of a block from those of its layers.
#include "graph/block_traits.hpp"

#include <algorithm>

#include "graph/fused_steps.hpp"
#include "graph/shapes.hpp"

namespace plait::graph {

namespace {

/// Those whose gradients backward_data of the layer makes.
std::span<const int> data_srcs(const StepTraits& step) {
  return std::span(step.srcs).first(step.srcs.size() - (step.residual ? 1 : 0));
}

void note_read(const StepTraits& step, int inputs, bool& reads, int& most) {
  for (const int src : data_srcs(step)) {
    if (src >= inputs) continue;
    reads = true;
    most = std::max(most, src + 1);
  }
}

/// Of a block that is one layer call.
void allow_in_place(const StepTraits& step, int inputs, BlockTraits& traits) {
  const bool alone = step.srcs.size() == 1;
  traits.forward_in_place = alone && step.layer.forward_in_place && step.same_layout;
  traits.diff_in_place = alone && step.layer.diff_in_place && step.same_bytes;
  traits.adds_gradient = alone && step.layer.adds_addend;
  const bool each_once = static_cast<int>(step.srcs.size()) == inputs;
  if (!each_once) return;
  traits.adds_in_place = step.residual && step.layer.adds_in_place;
  if (step.residual) traits.passed_srcs = inputs - 1;
  if (!step.sum) return;
  traits.passed_srcs = 0;
  traits.subtracted_src = step.sum->subtracted;
}

}  // namespace

BlockTraits block_traits(std::span<const StepTraits> steps, int inputs) {
  BlockTraits traits{.data_reads_src = false,
                     .data_reads_dst = false,
                     .weights_read_src = false,
                     .weights_read_pending = false,
                     .read_srcs = 0};
  for (const StepTraits& step : steps) {
    const bool data = step.runs_data && step.layer.data_reads_src;
    if (data) note_read(step, inputs, traits.data_reads_src, traits.read_srcs);
    const bool weights = step.layer.weights_reads_src;
    if (weights) note_read(step, inputs, traits.weights_read_src, traits.read_srcs);
    if (step.runs_data && step.layer.data_reads_dst && step.dst == steps.back().dst) {
      traits.data_reads_dst = true;
    }
    const bool early = step.trains && !weights && step.runs_data;
    if (early || (weights && step.reads_pending)) traits.weights_read_pending = true;
  }
  if (steps.size() == 1) allow_in_place(steps.front(), inputs, traits);
  return traits;
}

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

BlockTraits traits_of(const BlockSpec& block, std::span<const tensor::Shape> srcs) {
  const int inputs = static_cast<int>(srcs.size());
  const std::vector<FusedStep> fused = fused_steps(block, inputs);
  const std::vector<tensor::Shape> shapes = node_shapes(block, srcs);
  const auto desc_of = [&](int tensor) {
    const tensor::Shape& shape = tensor < inputs
                                     ? srcs[static_cast<std::size_t>(tensor)]
                                     : shapes[static_cast<std::size_t>(tensor - inputs)];
    return tensor::TensorDesc{.shape = shape.with_front(1)};
  };
  std::vector<StepTraits> steps;
  for (std::size_t i = 0; i < fused.size(); ++i) {
    const FusedStep& step = fused[i];
    const ops::Operation& layer = block.nodes[static_cast<std::size_t>(step.node)].layer;
    std::vector<tensor::TensorDesc> read;
    for (const int src : step.srcs) read.push_back(desc_of(src));
    if (step.residual) read.pop_back();
    const LayerSizes sizes = layer_sizes(layer, read, {});
    steps.push_back(
        {.layer = sizes,
         .srcs = step.srcs,
         .dst = step.dst,
         .residual = step.residual,
         .sum = ops::sum_of(layer),
         .trains = sizes.weights > 0,
         .runs_data = !std::holds_alternative<ops::Add>(layer),
         .reads_pending = i + 1 < fused.size(),
         .same_bytes = desc_of(step.srcs.front()).bytes() == desc_of(step.dst).bytes()});
  }
  return block_traits(steps, inputs);
}

}  // namespace plait::graph
