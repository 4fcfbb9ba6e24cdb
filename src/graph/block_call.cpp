// The call of a finest block, and where its values lie.
#include "graph/block_call.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/rounding.hpp"
#include "graph/fused_steps.hpp"

namespace plait::graph {

namespace {

bool is_one_call(const BlockSpec& block, const std::vector<FusedStep>& steps) {
  return steps.size() == 1 || (steps.size() == 2 && ends_in_activation(block, steps, 0));
}

}  // namespace

bool is_one_call(const BlockSpec& block, int inputs) {
  return is_one_call(block, fused_steps(block, inputs));
}

BlockCall call_of(const BlockSpec& block, int inputs) {
  const std::vector<FusedStep> steps = fused_steps(block, inputs);
  if (!is_one_call(block, steps)) fail("block '{}' is more than one layer call", block.name);
  const FusedStep& step = steps.front();
  const Node& node = block.nodes[static_cast<std::size_t>(step.node)];
  BlockCall call{.name = node.name,
                 .layer = node.layer,
                 .srcs = step.srcs,
                 .relu = step.relu,
                 .residual = step.residual};
  if (steps.size() > 1) {
    const auto last = static_cast<std::size_t>(steps.back().node);
    call.activation = std::get<ops::Activation>(block.nodes[last].layer);
  }
  return call;
}

std::vector<tensor::TensorDesc> descs_to_read(const BlockCall& call,
                                              const std::vector<tensor::TensorDesc>& srcs) {
  std::vector<tensor::TensorDesc> read;
  for (const int src : call.srcs) read.push_back(srcs[static_cast<std::size_t>(src)]);
  for (bool changed = true; changed;) {  // what one source is converted to may change the others'
    changed = false;
    const std::vector<tensor::Layout> wanted = source_layouts(call.layer, read);
    for (std::size_t k = 0; k < read.size() && !changed; ++k) {
      changed = read[k].layout != wanted[k];
      if (changed) read[k] = conversion_sizes(read[k], wanted[k]).dst;
    }
  }
  return read;
}

bool CallParts::is_repeated(std::size_t source) const {
  const auto end = call.srcs.begin() + static_cast<std::ptrdiff_t>(source);
  return std::find(call.srcs.begin(), end, call.srcs[source]) != end;
}

bool CallParts::passes_gradient(std::size_t source) const {
  return source >= call.own_srcs() || std::holds_alternative<ops::Add>(call.layer);
}

bool CallParts::runs_data() const {
  bool wanted = makes_early_gradient();
  for (std::size_t k = 0; k < call.srcs.size(); ++k)
    wanted = wanted || (wants(k) && !passes_gradient(k));
  return wanted;
}

bool CallParts::has_backward() const {
  bool wanted = layer.weights_bytes > 0;
  for (std::size_t k = 0; k < call.srcs.size(); ++k) wanted = wanted || wants(k);
  return wanted;
}

bool CallParts::makes_early_gradient() const {
  return layer.weights_bytes > 0 && !layer.traits.weights_reads_src;
}

namespace {

const LayerTraits& last_traits(const CallParts& parts) {
  return parts.call.activation ? parts.activation.traits : parts.layer.traits;
}

/// Whether backward_data reads what the last layer has left.
bool reads_result(const CallParts& parts) {
  return last_traits(parts).data_reads_dst &&
         (parts.call.activation ? parts.has_backward() : parts.runs_data());
}

bool is_bare(const CallParts& parts) {
  for (std::size_t k = 0; k < parts.layer_srcs.size(); ++k) {
    if (parts.converts(k)) return false;
  }
  return !parts.converts_dst() && !parts.call.activation;
}

/// Where nothing is converted.
void allow_in_place(const CallParts& parts, BlockTraits& traits) {
  const BlockCall& call = parts.call;
  const LayerTraits& layer = parts.layer.traits;
  const bool alone = call.srcs.size() == 1;
  traits.forward_in_place = alone && layer.forward_in_place && parts.src(0) == parts.dst;
  traits.diff_in_place = alone && layer.diff_in_place && parts.src(0).bytes() == parts.dst.bytes();
  traits.adds_gradient = alone && layer.adds_addend;
  if (call.srcs.size() != parts.srcs.size()) return;  // one is read twice
  traits.adds_in_place = call.residual && layer.adds_in_place;
  if (call.residual) traits.passed_srcs = static_cast<int>(call.own_srcs());
  if (const std::optional<ops::Sum> sum = ops::sum_of(call.layer)) {
    traits.passed_srcs = 0;
    traits.subtracted_src = sum->subtracted;
  }
}

}  // namespace

BlockTraits traits_of(const CallParts& parts) {
  const LayerTraits& layer = parts.layer.traits;
  BlockTraits traits{.data_reads_src = false,
                     .data_reads_dst = !parts.converts_dst() && reads_result(parts),
                     .weights_read_src = false,
                     .weights_read_pending = false,
                     .read_srcs = 0};
  for (std::size_t k = 0; k < parts.call.own_srcs(); ++k) {
    const bool data = parts.runs_data() && layer.data_reads_src;
    if (parts.converts(k) || !(data || layer.weights_reads_src)) continue;
    traits.data_reads_src = data;
    traits.weights_read_src = layer.weights_reads_src;
    traits.read_srcs = std::max(traits.read_srcs, parts.call.srcs[k] + 1);
  }
  const bool reads_diff_linear = parts.call.activation && layer.weights_reads_src;
  traits.weights_read_pending = parts.makes_early_gradient() || reads_diff_linear;
  if (is_bare(parts)) allow_in_place(parts, traits);
  return traits;
}

namespace {

/// Hands out places; one object per call.
class Placing {
 public:
  explicit Placing(const CallParts& parts) : parts_(parts), count_(parts.call.srcs.size()) {}

  CallMemory run() {
    memory_.layer_saved = take(Region::saved, parts_.layer.saved_bytes);
    memory_.activation_saved = take(Region::saved, parts_.activation.saved_bytes);
    place_values();
    memory_.layer_diff_srcs.resize(count_);
    memory_.repeated_diffs.resize(count_);
    if (parts_.has_backward()) place_gradients();
    return std::move(memory_);
  }

 private:
  CallPlace take(Region region, std::size_t bytes) {
    std::size_t& end = region == Region::saved     ? memory_.saved_bytes
                       : region == Region::pending ? memory_.pending_bytes
                                                   : memory_.transient_bytes;
    const CallPlace place{region, end};
    end += cache_lines(bytes);
    return place;
  }

  void place_values() {
    const LayerTraits& layer = parts_.layer.traits;
    const bool reads_src = (layer.data_reads_src && parts_.runs_data()) || layer.weights_reads_src;
    memory_.layer_srcs.resize(count_);
    for (std::size_t k = 0; k < count_; ++k) {
      if (!parts_.converts(k)) continue;
      const bool kept = reads_src && k < parts_.call.own_srcs();
      memory_.layer_srcs[k] =
          take(kept ? Region::saved : Region::scratch, parts_.layer_srcs[k].bytes());
    }
    if (parts_.converts_dst()) {
      const bool kept = reads_result(parts_);
      memory_.layer_dst = take(kept ? Region::saved : Region::scratch, parts_.layer_dst.bytes());
    }
  }

  void place_gradients() {
    const std::size_t dst = parts_.layer_dst.bytes();
    if (parts_.converts_dst()) memory_.layer_diff_dst = take(Region::scratch, dst);
    if (parts_.call.activation) memory_.linear_diff_dst = take(Region::pending, dst);
    if (parts_.makes_early_gradient()) {
      memory_.early_gradient = take(Region::pending, parts_.layer.weights_bytes);
    }
    for (std::size_t k = 0; k < count_; ++k) {
      if (!parts_.wants(k)) continue;
      const bool passes = parts_.passes_gradient(k);
      if (parts_.converts(k) && !passes) {
        memory_.layer_diff_srcs[k] = take(Region::scratch, parts_.layer_srcs[k].bytes());
      }
      if (parts_.is_repeated(k) && (parts_.converts(k) || !passes)) {
        memory_.repeated_diffs[k] = take(Region::scratch, parts_.src(k).bytes());
      }
    }
  }

  const CallParts& parts_;
  std::size_t count_;  ///< sources of the layer
  CallMemory memory_;
};

}  // namespace

CallMemory place_call(const CallParts& parts) { return Placing(parts).run(); }

}  // namespace plait::graph
