// ChannelShuffle: channel g C / groups + i of src is channel i groups + g of dst; gradients go
// back.
#include <algorithm>

#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

class ChannelShuffle final : public PlainLayer {
 public:
  explicit ChannelShuffle(const LayerRequest& request)
      : PlainLayer(request), groups_(std::get<ops::ChannelShuffle>(request.spec).groups) {}

  LayerTraits traits() const override { return {}; }

  void forward(const LayerArgs& args) override {
    each_channel([&](std::int64_t src, std::int64_t dst, std::int64_t pixels) {
      std::copy_n(args.src[0].floats() + src, pixels, args.dst.floats() + dst);
    });
  }
  void backward_data(const LayerArgs& args) override {
    each_channel([&](std::int64_t src, std::int64_t dst, std::int64_t pixels) {
      std::copy_n(args.diff_dst.floats() + dst, pixels, args.diff_src() + src);
    });
  }

 private:
  /// Where it begins in src and in dst.
  template <class Visit>
  void each_channel(const Visit& visit) const {
    const std::int64_t channels = src_.shape[1];
    const std::int64_t pixels = src_.shape[2] * src_.shape[3];
    in_parallel(src_.shape[0] * channels, [&](std::int64_t image) {
      const std::int64_t first = image / channels * channels;
      const std::int64_t i = image % channels % (channels / groups_);
      const std::int64_t group = image % channels / (channels / groups_);
      visit(image * pixels, (first + i * groups_ + group) * pixels, pixels);
    });
  }

  std::int64_t groups_;
};

}  // namespace

std::unique_ptr<Layer> make(const ops::ChannelShuffle&, const LayerRequest& request) {
  return std::make_unique<ChannelShuffle>(request);
}

}  // namespace plait::kernels::reference
