// Slice: dst[n] = a run of src[n] along an axis; the gradient of the rest is 0. Added to a gradient
// that is there already, only the run is touched: n slices of a tensor cost as much as a split.
#include <algorithm>

#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

class Slice final : public PlainLayer {
 public:
  explicit Slice(const LayerRequest& request) : PlainLayer(request) {
    const auto& spec = std::get<ops::Slice>(request.spec);
    const auto axis = static_cast<std::size_t>(spec.axis) + 1;  // behind the samples
    std::int64_t inner = 1;
    for (std::size_t i = axis + 1; i < src_.shape.rank(); ++i) inner *= src_.shape[i];
    from_ = src_.shape[axis] * inner;
    to_ = dst_.shape[axis] * inner;
    first_ = spec.start * inner;
    rows_ = src_.shape.elements() / from_;
  }

  LayerTraits traits() const override {
    return {.adds_addend = ops::Slice::kPlainOnly.adds_gradient};
  }

  void forward(const LayerArgs& args) override {
    in_parallel(rows_, [&](std::int64_t n) {
      std::copy_n(args.src[0].floats() + n * from_ + first_, to_, args.dst.floats() + n * to_);
    });
  }
  void backward_data(const LayerArgs& args) override {
    if (!args.diff_addend.empty()) return add(args);
    in_parallel(rows_, [&](std::int64_t n) {
      float* diff_src = args.diff_src() + n * from_;
      std::fill_n(diff_src, first_, 0.0F);
      std::copy_n(args.diff_dst.floats() + n * to_, to_, diff_src + first_);
      std::fill(diff_src + first_ + to_, diff_src + from_, 0.0F);
    });
  }

 private:
  void add(const LayerArgs& args) const {
    const float* const addend = args.diff_addend.floats();
    const bool in_place = addend == args.diff_src();
    in_parallel(rows_, [&](std::int64_t n) {
      float* const diff_src = args.diff_src() + n * from_;
      if (!in_place) std::copy_n(addend + n * from_, from_, diff_src);
      const float* const diff_dst = args.diff_dst.floats() + n * to_;
      for (std::int64_t i = 0; i < to_; ++i) diff_src[first_ + i] += diff_dst[i];
    });
  }

  std::int64_t rows_;   ///< runs: all before the axis, samples too
  std::int64_t from_;   ///< elements of src for one run
  std::int64_t to_;     ///< of dst
  std::int64_t first_;  ///< where in those of src it begins
};

}  // namespace

std::unique_ptr<Layer> make(const ops::Slice&, const LayerRequest& request) {
  return std::make_unique<Slice>(request);
}

}  // namespace plait::kernels::reference
