// Slice: dst[n] = a run of src[n]; the gradient of the rest is 0.
#include <algorithm>

#include "layers/reference/plain_layer.hpp"

namespace plait::layers::reference {

namespace {

class Slice final : public PlainLayer {
 public:
  explicit Slice(const LayerRequest& request)
      : PlainLayer(request),
        from_(src_.shape.elements() / src_.shape[0]),
        to_(dst_.shape.elements() / dst_.shape[0]),
        first_(from_ / src_.shape[1] * std::get<ops::Slice>(request.spec).start) {}

  LayerTraits traits() const override { return {}; }

  void forward(const LayerArgs& args) override {
    in_parallel(src_.shape[0], [&](std::int64_t n) {
      std::copy_n(args.src[0].floats() + n * from_ + first_, to_, args.dst.floats() + n * to_);
    });
  }
  void backward_data(const LayerArgs& args) override {
    in_parallel(src_.shape[0], [&](std::int64_t n) {
      float* diff_src = args.diff_src() + n * from_;
      std::fill_n(diff_src, first_, 0.0F);
      std::copy_n(args.diff_dst.floats() + n * to_, to_, diff_src + first_);
      std::fill(diff_src + first_ + to_, diff_src + from_, 0.0F);
    });
  }

 private:
  std::int64_t from_;   ///< elements of a sample of src
  std::int64_t to_;     ///< of dst
  std::int64_t first_;  ///< where in a sample of src
};

}  // namespace

std::unique_ptr<Layer> make(const ops::Slice&, const LayerRequest& request) {
  return std::make_unique<Slice>(request);
}

}  // namespace plait::layers::reference
