// Counts a block's memory step by step, as kernels/block_graph places it. A change there must be
// repeated here.
#include "graph/block_sizes.hpp"

#include <algorithm>
#include <set>
#include <span>

#include "base/rounding.hpp"
#include "graph/counted_steps.hpp"

namespace plait::graph {

namespace {

/// Where a gradient lies: nowhere yet, the block's own two, or `pending` buffer number >= 0.
constexpr int kConverted = -4;  ///< in scratch memory
constexpr int kNowhere = -3;
constexpr int kDiffDst = -2;
constexpr int kDiffSrc = -1;

class BlockCounter {
 public:
  BlockCounter(const BlockSpec& block, std::vector<tensor::TensorDesc> srcs,
               const BlockSizeOptions& options)
      : options_(options),
        inputs_(static_cast<int>(srcs.size())),
        steps_(counted_steps(block, inputs_)),
        descs_(std::move(srcs)) {
    descs_.resize(descs_.size() + block.nodes.size());
  }

  BlockSizes run() {
    size_layers();
    find_gradients();
    count_tensors();
    count_gradients();
    for (const CountedStep& step : steps_) {
      sizes_.weights += step.sizes.weights;
      sizes_.state += step.sizes.state;
      // backward_data leaves the gradient of BatchNorm's parameters in `pending`.
      if (runs_data(step) && !step.sizes.weights_reads_src) {
        sizes_.pending_bytes += cache_lines(step.sizes.weights * 4);
      }
      sizes_.scratch_bytes = std::max(sizes_.scratch_bytes, step.sizes.scratch_bytes);
    }
    sizes_.scratch_bytes += transient_bytes_;
    find_traits();
    return std::move(sizes_);
  }

 private:
  tensor::TensorDesc& desc(int tensor) { return descs_[static_cast<std::size_t>(tensor)]; }
  std::vector<tensor::TensorDesc> descs_of(const std::vector<int>& tensors) {
    std::vector<tensor::TensorDesc> descs;
    for (const int tensor : tensors) descs.push_back(desc(tensor));
    return descs;
  }
  std::int64_t bytes_of(int tensor) const {
    return static_cast<std::int64_t>(descs_[static_cast<std::size_t>(tensor)].bytes());
  }

  void size_layers() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i].convert_to) match_layouts(i);
      CountedStep& step = steps_[i];
      const tensor::TensorDesc& src = desc(step.srcs[0]);
      step.sizes = step.convert_to ? conversion_sizes(src, *step.convert_to)
                                   : layer_sizes(step.spec, read_by(step), options_.kernels);
      const tensor::TensorDesc dst = step.residual ? desc(step.srcs[1]) : step.sizes.dst;
      desc(step.dst) = dst;
      const bool last = i + 1 == steps_.size();
      if (last && options_.dst_layout && dst.layout != *options_.dst_layout) {
        convert_to(step.dst, *options_.dst_layout, steps_.size());
      }
    }
    sizes_.dst = desc(steps_.back().dst);
  }

  /// Without the tensor that a fused residual adds.
  std::vector<tensor::TensorDesc> read_by(const CountedStep& step) {
    std::vector<tensor::TensorDesc> descs = descs_of(step.srcs);
    if (step.residual) descs.pop_back();
    return descs;
  }

  /// A conversion before step `i` where it does not take the layout of what it reads; the next step
  /// to size is then the conversion.
  void match_layouts(std::size_t i) {
    std::vector<int>& srcs = steps_[i].srcs;
    const std::vector<tensor::Layout> wanted =
        source_layouts(steps_[i].spec, descs_of(steps_[i].srcs));
    for (std::size_t k = 0; k < srcs.size(); ++k) {
      if (desc(srcs[k]).layout == wanted[k]) continue;
      const int converted = convert_to(srcs[k], wanted[k], i);
      steps_[i + 1].srcs[k] = converted;
      return;
    }
  }

  int convert_to(int tensor, tensor::Layout layout, std::size_t before) {
    const int converted = static_cast<int>(descs_.size());
    descs_.emplace_back();
    steps_.insert(
        steps_.begin() + static_cast<std::ptrdiff_t>(before),
        CountedStep{.spec = ops::Add{}, .srcs = {tensor}, .dst = converted, .convert_to = layout});
    return converted;
  }

  /// Which tensors have a gradient.
  void find_gradients() {
    wants_ = options_.wants_diff_srcs;
    if (wants_.empty()) wants_.assign(static_cast<std::size_t>(inputs_), true);
    wants_.resize(descs_.size(), false);
    for (const CountedStep& step : steps_) {
      bool wants = step.trains();
      for (const int src : step.srcs) wants = wants || wanted(src);
      wants_[static_cast<std::size_t>(step.dst)] = wants;
    }
  }
  bool is_input(int tensor) const { return tensor < inputs_; }
  /// Those whose gradients backward_data of the layer makes.
  static std::span<const int> data_srcs(const CountedStep& step) {
    return {step.srcs.data(), step.residual ? 1 : step.srcs.size()};
  }
  bool wanted(int tensor) const { return wants_[static_cast<std::size_t>(tensor)]; }
  bool runs_data(const CountedStep& step) const {
    const bool any = std::ranges::any_of(data_srcs(step), [&](int src) { return wanted(src); });
    return !step.adds() && (any || (step.trains() && !step.sizes.weights_reads_src));
  }

  /// Does anything in backward read tensor `t`?
  bool kept(int t) const {
    return std::ranges::any_of(steps_, [&](const CountedStep& step) {
      const bool src =
          (step.sizes.data_reads_src && runs_data(step)) || step.sizes.weights_reads_src;
      const std::span<const int> srcs = data_srcs(step);
      return (src && std::ranges::find(srcs, t) != srcs.end()) ||
             (step.dst == t && step.sizes.data_reads_dst && runs_data(step));
    });
  }
  /// Of the first `before` steps.
  std::ptrdiff_t readers(int t, std::size_t before) const {
    std::ptrdiff_t count = 0;
    for (std::size_t i = 0; i < before; ++i) count += std::ranges::count(steps_[i].srcs, t);
    return count;
  }

  void count_tensors() {
    std::vector<bool> placed(descs_.size(), false);
    for (std::size_t k = 0; k < static_cast<std::size_t>(inputs_); ++k) placed[k] = true;
    placed[static_cast<std::size_t>(steps_.back().dst)] = true;
    for (std::size_t i = steps_.size(); i-- > 0;) {
      const CountedStep& step = steps_[i];
      sizes_.saved_bytes += cache_lines(step.sizes.saved_bytes);
      if (!placed[static_cast<std::size_t>(step.dst)]) {
        (kept(step.dst) ? sizes_.saved_bytes : transient_bytes_) += cache_lines(bytes_of(step.dst));
      }
      const int src = step.srcs[0];
      const bool shares = step.sizes.forward_in_place && !is_input(src) &&
                          readers(src, steps_.size()) == 1 && !kept(src) &&
                          desc(src) == desc(step.dst);
      if (shares) placed[static_cast<std::size_t>(src)] = true;
    }
  }

  void find_traits() {
    std::vector<StepTraits> traits;
    for (const CountedStep& step : steps_) {
      traits.push_back({.layer = step.sizes,
                        .srcs = step.srcs,
                        .dst = step.dst,
                        .residual = step.residual,
                        .sum = step.convert_to ? std::nullopt : ops::sum_of(step.spec),
                        .trains = step.trains(),
                        .runs_data = runs_data(step),
                        .reads_pending = gradient(step.dst) >= 0,
                        .same_layout = desc(step.srcs[0]) == desc(step.dst),
                        .same_bytes = bytes_of(step.srcs[0]) == bytes_of(step.dst)});
    }
    sizes_.traits = block_traits(traits, inputs_);
  }

  /// The result of the last layer before a conversion: both backward tasks convert its gradient.
  bool is_converted(int tensor) const {
    const CountedStep& last = steps_.back();
    return last.convert_to && last.srcs[0] == tensor && !is_input(tensor);
  }
  int take(int tensor) {
    if (is_converted(tensor)) {
      transient_bytes_ += cache_lines(bytes_of(tensor));
      return kConverted;
    }
    sizes_.pending_bytes += cache_lines(bytes_of(tensor));
    return buffers_++;
  }
  int& gradient(int tensor) { return gradients_[static_cast<std::size_t>(tensor)]; }

  /// Where step `i` writes the gradient of its src: the block's diff_src as soon as the remaining
  /// way there is in place, else a new buffer.
  int destination(int t, std::size_t i) {
    int walk = t;
    while (!is_input(walk)) {
      const auto producer = std::ranges::find(steps_, walk, &CountedStep::dst);
      const bool in_place = producer->sizes.diff_in_place && runs_data(*producer) &&
                            !producer->sizes.weights_reads_src && readers(walk, i) == 0 &&
                            bytes_of(walk) == bytes_of(producer->srcs[0]) &&
                            producer->srcs.size() == 1;
      if (!in_place) break;
      walk = producer->srcs[0];
      i = static_cast<std::size_t>(producer - steps_.begin());
    }
    const bool home = is_input(walk) && wanted(walk) && readers(walk, i) == 0;
    return home ? kDiffSrc : take(t);
  }

  /// Tensor `t` also gets the gradient at `place`, as it is.
  void share(int t, int place) {
    if (!wanted(t)) return;
    if (gradient(t) == kNowhere) {
      if (place >= 0) shared_.insert(place);
      gradient(t) = place;
    } else {
      gradient(t) = take(t);
    }
  }

  void count_gradients() {
    gradients_.assign(descs_.size(), kNowhere);
    gradient(steps_.back().dst) = kDiffDst;
    for (std::size_t i = steps_.size(); i-- > 0;) {
      const CountedStep& step = steps_[i];
      const int diff_dst = gradient(step.dst);
      const int src = step.srcs[0];
      if (step.adds()) share(src, diff_dst);
      if (step.adds() || step.residual) share(step.srcs[1], diff_dst);
      if (!runs_data(step)) continue;
      const std::span<const int> srcs = data_srcs(step);
      for (std::size_t k = 0; k < srcs.size(); ++k) {
        const int one = srcs[k];
        if (!wanted(one)) continue;
        if (std::ranges::find(srcs.subspan(k + 1), one) != srcs.end()) {  // read once more
          gradient(one) = take(one);
          continue;
        }
        const bool alone = srcs.size() == 1;
        const bool in_place = alone && step.sizes.diff_in_place && !step.sizes.weights_reads_src &&
                              !is_input(one) && diff_dst >= 0 && !shared_.contains(diff_dst) &&
                              bytes_of(one) == bytes_of(step.dst);
        gradient(one) =
            (alone && diff_dst == kDiffSrc) || in_place ? diff_dst : destination(one, i);
      }
    }
  }

  BlockSizeOptions options_;
  int inputs_;
  std::vector<CountedStep> steps_;
  std::vector<tensor::TensorDesc> descs_;
  std::vector<bool> wants_;
  std::vector<int> gradients_;
  std::set<int> shared_;
  int buffers_ = 0;
  std::int64_t transient_bytes_ = 0;
  BlockSizes sizes_;
};

}  // namespace

BlockSizes block_sizes(const BlockSpec& block, std::vector<tensor::TensorDesc> srcs,
                       const BlockSizeOptions& options) {
  return BlockCounter(block, std::move(srcs), options).run();
}

}  // namespace plait::graph
