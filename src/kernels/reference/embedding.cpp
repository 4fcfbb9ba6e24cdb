// Embedding: dst[i] = row src[i] of weight; the gradient of a row is the sum over its places.
#include <algorithm>

#include "base/error.hpp"
#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

class Embedding final : public PlainLayer {
 public:
  explicit Embedding(const LayerRequest& request)
      : PlainLayer(request),
        name_(request.name),
        vocabulary_(std::get<ops::Embedding>(request.spec).vocabulary),
        width_(std::get<ops::Embedding>(request.spec).width) {}

  LayerTraits traits() const override { return {.weights_reads_src = true}; }

  void forward(const LayerArgs& args) override {
    const std::span<const std::int32_t> ids = checked(args);
    float* const y = args.dst.floats();
    in_parallel(std::ssize(ids), [&](std::int64_t i) {
      std::copy_n(args.weights + ids[static_cast<std::size_t>(i)] * width_, width_, y + i * width_);
    });
  }
  /// Numbers have no gradient.
  void backward_data(const LayerArgs&) override {}

  /// By columns, so that no sum over places is split.
  void backward_weights(const LayerArgs& args) override {
    const std::span<const std::int32_t> ids = checked(args);
    const float* const g = args.diff_dst.floats();
    std::fill_n(args.diff_weights, vocabulary_ * width_, 0.0F);
    constexpr std::int64_t kColumns = 64;
    in_parallel((width_ + kColumns - 1) / kColumns, [&](std::int64_t part) {
      const std::int64_t first = part * kColumns;
      const std::int64_t count = std::min(kColumns, width_ - first);
      for (std::int64_t i = 0; i < std::ssize(ids); ++i) {
        const float* from = g + i * width_ + first;
        float* to = args.diff_weights + ids[static_cast<std::size_t>(i)] * width_ + first;
        for (std::int64_t k = 0; k < count; ++k) to[k] += from[k];
      }
    });
  }

 private:
  /// Data are checked where they are opened; this guards the memory against whoever did not.
  std::span<const std::int32_t> checked(const LayerArgs& args) const {
    const std::span ids(args.src[0].as<std::int32_t>(),
                        static_cast<std::size_t>(src_.shape.elements()));
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= vocabulary_) {
        fail("layer '{}': the id {} is not among the {} of its vocabulary", name_, id, vocabulary_);
      }
    }
    return ids;
  }

  std::string name_;
  std::int64_t vocabulary_;
  std::int64_t width_;
};

}  // namespace

std::unique_ptr<Layer> make(const ops::Embedding&, const LayerRequest& request) {
  return std::make_unique<Embedding>(request);
}

}  // namespace plait::kernels::reference
