// Fusion of layers, and placement of values, saved bytes and gradients in a block's buffers.
// graph/block_sizes counts the same for the planner.
#include "kernels/block_graph.hpp"

#include <algorithm>
#include <set>
#include <span>

#include "base/rounding.hpp"
#include "graph/fused_steps.hpp"

namespace plait::kernels {

namespace {

bool is_plain_add(const GraphStep& step) {
  return std::holds_alternative<ops::Add>(step.spec) && !step.convert_to;
}

/// Builds GraphMemory; one object per call, its members are the state of the walk.
class Placement {
 public:
  Placement(const std::vector<GraphStep>& steps, const std::vector<std::shared_ptr<Layer>>& layers,
            const std::vector<tensor::TensorDesc>& descs, const std::vector<bool>& wants_diff_srcs)
      : steps_(steps),
        layers_(layers),
        descs_(descs),
        inputs_(static_cast<int>(wants_diff_srcs.size())),
        wants_gradient_(wants_diff_srcs) {
    wants_gradient_.resize(descs.size(), false);
    memory_.tensors.resize(descs.size());
    memory_.layer_saved.resize(steps.size());
    memory_.steps.resize(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      bool wants = trainable(i);
      for (int src : steps[i].srcs) wants = wants || wants_gradient_[index(src)];
      wants_gradient_[index(steps[i].dst)] = wants;
    }
  }

  GraphMemory run() {
    decide_tasks();
    place_tensors();
    place_gradients();
    find_traits();
    return std::move(memory_);
  }

 private:
  static std::size_t index(int tensor) { return static_cast<std::size_t>(tensor); }
  bool is_input(int tensor) const { return tensor < inputs_; }
  /// Those whose gradients backward_data of the layer makes.
  static std::span<const int> data_srcs(const GraphStep& step) {
    return {step.srcs.data(), step.residual ? 1 : step.srcs.size()};
  }

  bool trainable(std::size_t step) const {
    return std::ranges::any_of(layers_[step]->parameter_slots(),
                               [](const ParameterSlot& slot) { return slot.spec.trainable; });
  }

  void decide_tasks() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const bool is_add = is_plain_add(steps_[i]);
      const bool by_weights = layers_[i]->traits().weights_reads_src;
      BackwardStep& step = memory_.steps[i];
      step.run_weights = by_weights;
      const bool wanted = std::ranges::any_of(data_srcs(steps_[i]),
                                              [&](int src) { return wants_gradient_[index(src)]; });
      step.run_data = !is_add && (wanted || (trainable(i) && !by_weights));
    }
  }

  /// Does anything in backward read tensor `t`?
  bool kept(int t) const {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const LayerTraits traits = layers_[i]->traits();
      const BackwardStep& step = memory_.steps[i];
      const bool read = (traits.data_reads_src && step.run_data) ||
                        (traits.weights_reads_src && step.run_weights);
      const std::span<const int> srcs = data_srcs(steps_[i]);
      if (read && std::ranges::find(srcs, t) != srcs.end()) return true;
      if (steps_[i].dst == t && traits.data_reads_dst && step.run_data) return true;
    }
    return false;
  }

  int readers(int t) const {
    int count = 0;
    for (const GraphStep& step : steps_) {
      count += static_cast<int>(std::ranges::count(step.srcs, t));
    }
    return count;
  }

  Place take(std::size_t& region, Where where, std::size_t bytes) {
    const Place place{where, region};
    region += cache_lines(bytes);
    return place;
  }

  // From the last step to the first, so that an in-place step hands its dst's place on to its src.
  void place_tensors() {
    for (int k = 0; k < inputs_; ++k) {
      memory_.tensors[index(k)] = {.where = Where::block_src, .input = k};
    }
    memory_.tensors[index(steps_.back().dst)] = {Where::block_dst, 0};
    for (std::size_t i = steps_.size(); i-- > 0;) {
      memory_.layer_saved[i] = take(memory_.saved_bytes, Where::saved, layers_[i]->saved_bytes());
      Place& dst = memory_.tensors[index(steps_[i].dst)];
      const std::size_t bytes = descs_[index(steps_[i].dst)].bytes();
      if (dst.where == Where::none) {
        dst = kept(steps_[i].dst) ? take(memory_.saved_bytes, Where::saved, bytes)
                                  : take(memory_.transient_bytes, Where::scratch, bytes);
      }
      const int src = steps_[i].srcs[0];
      const bool replaceable = !is_input(src) && readers(src) == 1 && !kept(src) &&
                               descs_[index(src)] == descs_[index(steps_[i].dst)];
      if (layers_[i]->traits().forward_in_place && replaceable) memory_.tensors[index(src)] = dst;
    }
  }

  int contributions_left(int t, std::size_t before) const {
    int count = 0;
    for (std::size_t i = 0; i < before; ++i) {
      count += static_cast<int>(std::ranges::count(steps_[i].srcs, t));
    }
    return count;
  }

  /// Where step `i` writes the gradient of its src: into the block's diff_src as soon as the
  /// remaining way there is in place, else into new pending memory.
  Place destination(int t, std::size_t i) {
    int walk = t;
    std::size_t at = i;
    while (!is_input(walk)) {
      const auto producer =
          std::ranges::find_if(steps_, [&](const GraphStep& s) { return s.dst == walk; });
      const auto p = static_cast<std::size_t>(producer - steps_.begin());
      const bool in_place =
          layers_[p]->traits().diff_in_place && memory_.steps[p].run_data &&
          !memory_.steps[p].run_weights && contributions_left(walk, at) == 0 &&
          descs_[index(walk)].bytes() == descs_[index(producer->srcs[0])].bytes() &&
          producer->srcs.size() == 1;
      if (!in_place) break;
      walk = producer->srcs[0];
      at = p;
    }
    if (is_input(walk) && wants_gradient_[index(walk)] && contributions_left(walk, at) == 0) {
      return {.where = Where::block_diff_src, .input = walk};
    }
    if (steps_.back().convert_to && steps_.back().srcs[0] == t) {
      memory_.converts_gradient = true;
      return take(memory_.transient_bytes, Where::scratch, descs_[index(t)].bytes());
    }
    return take(memory_.pending_bytes, Where::pending, descs_[index(t)].bytes());
  }

  void find_traits() {
    std::vector<graph::StepTraits> traits;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const tensor::TensorDesc& src = descs_[index(steps_[i].srcs[0])];
      const tensor::TensorDesc& dst = descs_[index(steps_[i].dst)];
      traits.push_back({.layer = layers_[i]->traits(),
                        .srcs = steps_[i].srcs,
                        .dst = steps_[i].dst,
                        .residual = steps_[i].residual,
                        .sum = steps_[i].convert_to ? std::nullopt : ops::sum_of(steps_[i].spec),
                        .trains = trainable(i),
                        .runs_data = memory_.steps[i].run_data,
                        .reads_pending = memory_.steps[i].diff_dst.where == Where::pending,
                        .same_layout = src == dst,
                        .same_bytes = src.bytes() == dst.bytes()});
    }
    memory_.traits = graph::block_traits(traits, inputs_);
  }

  /// Tensor `t` also gets the gradient at `place`, as it is.
  void contribute_alias(int t, const Place& place, std::size_t i) {
    if (!wants_gradient_[index(t)]) return;
    Place& gradient = gradients_[index(t)];
    if (gradient.where == Where::none) {
      if (place.where == Where::pending) shared_.insert(place.offset);
      gradient = place;
    } else {
      const Place sum = take(memory_.pending_bytes, Where::pending, descs_[index(t)].bytes());
      memory_.steps[i].sums.push_back({sum, gradient, place, t});
      gradient = sum;
    }
  }

  void contribute_data(std::size_t i) {
    const GraphStep& graph = steps_[i];
    BackwardStep& step = memory_.steps[i];
    if (!step.run_data) return;
    const LayerTraits traits = layers_[i]->traits();
    const std::span<const int> srcs = data_srcs(graph);
    step.diff_srcs.resize(srcs.size());
    for (std::size_t k = 0; k < srcs.size(); ++k) {
      const int src = srcs[k];
      if (!wants_gradient_[index(src)]) continue;
      const bool alone = srcs.size() == 1;
      const bool on_way_home = alone && step.diff_dst.where == Where::block_diff_src;
      const bool in_place = alone && traits.diff_in_place && !step.run_weights && !is_input(src) &&
                            step.diff_dst.where == Where::pending &&
                            !shared_.contains(step.diff_dst.offset) &&
                            descs_[index(src)].bytes() == descs_[index(graph.dst)].bytes();
      Place& diff_src = step.diff_srcs[k];
      if (std::ranges::find(srcs.subspan(k + 1), src) != srcs.end()) {  // read once more
        diff_src = take(memory_.pending_bytes, Where::pending, descs_[index(src)].bytes());
      } else {
        diff_src = on_way_home || in_place ? step.diff_dst : destination(src, i);
      }
      const Place earlier = gradients_[index(src)];
      if (earlier.where != Where::none && traits.adds_addend) {
        step.addend = earlier;
      } else if (earlier.where != Where::none) {
        step.sums.push_back({diff_src, diff_src, earlier, src});
      }
      gradients_[index(src)] = diff_src;
    }
  }

  void place_gradients() {
    gradients_.resize(descs_.size());
    gradients_[index(steps_.back().dst)] = {Where::block_diff_dst, 0};
    for (std::size_t i = steps_.size(); i-- > 0;) {
      const GraphStep& graph = steps_[i];
      memory_.steps[i].diff_dst = gradients_[index(graph.dst)];
      if (is_plain_add(graph)) {
        contribute_alias(graph.srcs[0], memory_.steps[i].diff_dst, i);
        contribute_alias(graph.srcs[1], memory_.steps[i].diff_dst, i);
      } else {
        if (graph.residual) contribute_alias(graph.srcs[1], memory_.steps[i].diff_dst, i);
        contribute_data(i);
      }
    }
    for (int k = 0; k < inputs_; ++k) {
      const Place home{.where = Where::block_diff_src, .input = k};
      if (!wants_gradient_[index(k)] || gradients_[index(k)] == home) continue;
      memory_.steps[0].sums.push_back({home, gradients_[index(k)], {}, k});
    }
  }

  const std::vector<GraphStep>& steps_;
  const std::vector<std::shared_ptr<Layer>>& layers_;
  const std::vector<tensor::TensorDesc>& descs_;
  int inputs_;  ///< of the block: tensors 0 .. inputs - 1
  std::vector<bool> wants_gradient_;
  std::vector<Place> gradients_;  ///< by tensor id, as far as the walk has come
  std::set<std::size_t> shared_;  ///< offsets of pending buffers with more than one reader
  GraphMemory memory_;
};

}  // namespace

std::vector<GraphStep> fuse(const graph::BlockSpec& block, int inputs) {
  const std::vector<graph::FusedStep> fused = graph::fused_steps(block, inputs);
  std::vector<GraphStep> steps;
  for (const graph::FusedStep& step : fused) {
    const graph::Node& node = block.nodes[static_cast<std::size_t>(step.node)];
    steps.push_back({.name = node.name,
                     .spec = node.layer,
                     .srcs = step.srcs,
                     .dst = step.dst,
                     .relu = step.relu,
                     .residual = step.residual});
  }
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    if (!graph::ends_in_activation(block, fused, i)) continue;
    steps[i].activation = std::get<ops::Activation>(steps[i + 1].spec);
    steps[i + 1].forward_done = true;
  }
  return steps;
}

GraphMemory place_memory(const std::vector<GraphStep>& steps,
                         const std::vector<std::shared_ptr<Layer>>& layers,
                         const std::vector<tensor::TensorDesc>& descs,
                         const std::vector<bool>& wants_diff_srcs) {
  return Placement(steps, layers, descs, wants_diff_srcs).run();
}

}  // namespace plait::kernels
