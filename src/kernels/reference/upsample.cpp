// Upsample: every pixel of dst is a blend of at most four of src, with weights that only depend on
// its place; the gradient goes back with the same weights. The centre of dst pixel i lies at
// (i + 0.5) / scale - 0.5 in src; beyond the border the border's value is taken.
#include <algorithm>

#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

/// Two neighbours along one axis, and how much the second counts.
struct Blend {
  std::int64_t first = 0;
  std::int64_t second = 0;
  double share = 0;
};

/// Of every dst position along an axis.
std::vector<Blend> blends(ops::UpsampleKind kind, std::int64_t scale, std::int64_t extent) {
  std::vector<Blend> all;
  for (std::int64_t dst = 0; dst < extent * scale; ++dst) {
    if (kind == ops::UpsampleKind::nearest) {
      all.push_back({dst / scale, dst / scale, 0});
      continue;
    }
    const double centre =
        std::max(0.0, (static_cast<double>(dst) + 0.5) / static_cast<double>(scale) - 0.5);
    const auto first = std::min(static_cast<std::int64_t>(centre), extent - 1);
    all.push_back({first, std::min(first + 1, extent - 1), centre - static_cast<double>(first)});
  }
  return all;
}

class Upsample final : public PlainLayer {
 public:
  explicit Upsample(const LayerRequest& request) : PlainLayer(request) {
    const auto& spec = std::get<ops::Upsample>(request.spec);
    rows_ = blends(spec.kind, spec.scale.height, src_.shape[2]);
    columns_ = blends(spec.kind, spec.scale.width, src_.shape[3]);
  }

  LayerTraits traits() const override { return {}; }

  void forward(const LayerArgs& args) override {
    in_parallel(images(), [&](std::int64_t image) {
      const float* src = args.src[0].floats() + image * src_pixels();
      float* dst = args.dst.floats() + image * dst_pixels();
      for (const Blend& y : rows_) {
        const float* first = src + y.first * src_.shape[3];
        const float* second = src + y.second * src_.shape[3];
        for (const Blend& x : columns_) {
          const double above = (1 - x.share) * first[x.first] + x.share * first[x.second];
          const double below = (1 - x.share) * second[x.first] + x.share * second[x.second];
          *dst++ = static_cast<float>((1 - y.share) * above + y.share * below);
        }
      }
    });
  }
  void backward_data(const LayerArgs& args) override {
    in_parallel(images(), [&](std::int64_t image) {
      const float* diff_dst = args.diff_dst.floats() + image * dst_pixels();
      std::vector<double> sum(static_cast<std::size_t>(src_pixels()));
      for (const Blend& y : rows_) {
        double* first = sum.data() + y.first * src_.shape[3];
        double* second = sum.data() + y.second * src_.shape[3];
        for (const Blend& x : columns_) {
          const double g = *diff_dst++;
          first[x.first] += (1 - y.share) * (1 - x.share) * g;
          first[x.second] += (1 - y.share) * x.share * g;
          second[x.first] += y.share * (1 - x.share) * g;
          second[x.second] += y.share * x.share * g;
        }
      }
      float* diff_src = args.diff_src() + image * src_pixels();
      for (std::size_t i = 0; i < sum.size(); ++i) diff_src[i] = static_cast<float>(sum[i]);
    });
  }

 private:
  std::int64_t images() const { return src_.shape[0] * src_.shape[1]; }
  std::int64_t src_pixels() const { return src_.shape[2] * src_.shape[3]; }
  std::int64_t dst_pixels() const { return dst_.shape[2] * dst_.shape[3]; }

  std::vector<Blend> rows_;
  std::vector<Blend> columns_;
};

}  // namespace

std::unique_ptr<Layer> make(const ops::Upsample&, const LayerRequest& request) {
  return std::make_unique<Upsample>(request);
}

}  // namespace plait::kernels::reference
