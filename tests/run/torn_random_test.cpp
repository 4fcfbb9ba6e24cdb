// Random networks with odd shapes: after as many sweeps as pieces, the torn network in evaluation
// has the bits of the serial one, also where coarse parts would like other layouts than the model.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "graph/model_file.hpp"
#include "run/torn_testing.hpp"

namespace plait::run {
namespace {

/// A network of four to seven blocks as TOML, the same for the same seed.
class RandomModel {
 public:
  explicit RandomModel(std::uint64_t seed) : rng_(seed, Purpose::test) {
    channels_ = pick(2) == 0 ? 1 : 3;
    height_ = 7 + pick(14);
    width_ = pick(2) == 0 ? height_ : 7 + pick(14);
    input_ = {channels_, height_, width_};
  }

  const tensor::Shape& input() const { return input_; }
  std::string text() {
    const int blocks = 4 + pick(4);
    std::string all;
    for (int i = 0; i < blocks; ++i) all += block(i);
    const char* pool = pick(2) == 0 ? "{type = \"global_average_pool\"}, " : "";
    return all + fmt::format(
                     "[[block]]\nname = \"head\"\nlayers = [{}{{type = \"flatten\"}}, {{type = "
                     "\"linear\", out = \"classes\"}}]\n",
                     pool);
  }

 private:
  int pick(int below) {
    return static_cast<int>(rng_.uniform(0.0F, 1.0F) * 0.999999F * static_cast<float>(below));
  }

  std::string convolution(std::int64_t out, std::int64_t groups) {
    const std::int64_t kernel = 1 + 2 * pick(3);
    const bool strides = height_ >= 6 && width_ >= 6 && !keeps_ && pick(4) == 0;
    if (strides) height_ = (height_ + 1) / 2, width_ = (width_ + 1) / 2;
    return fmt::format(
        "{{type = \"convolution\", out = {}, kernel = {}, padding = {}, stride = {}, groups = {}, "
        "bias = {}}}",
        out, kernel, kernel / 2, strides ? 2 : 1, groups, pick(2) == 0);
  }

  std::string block(int index) {
    static constexpr std::int64_t kChannels[] = {1, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24};
    static constexpr const char* kActivations[] = {"relu", "relu", "tanh", "gelu", "sigmoid"};
    const bool depthwise = index > 0 && pick(3) == 0;
    keeps_ = index > 0 && pick(3) == 0;
    std::int64_t out = keeps_ || depthwise ? channels_ : kChannels[pick(12)];
    if (depthwise && !keeps_ && pick(3) == 0) out *= 2;
    std::string layers = convolution(out, depthwise ? channels_ : 1);
    if (pick(2) == 0) layers += ", {type = \"batch_norm\"}";
    if (pick(4) != 0) layers += fmt::format(", {{type = \"{}\"}}", kActivations[pick(5)]);
    if (!keeps_ && height_ >= 6 && width_ >= 6 && pick(3) == 0) {
      layers += fmt::format(", {{type = \"{}\", kernel = 2}}",
                            pick(2) == 0 ? "max_pool" : "average_pool");
      height_ /= 2, width_ /= 2;
    }
    const bool residual = keeps_ && pick(2) == 0;
    channels_ = out;
    return fmt::format("[[block]]\nname = \"b{}\"\n{}layers = [{}]\n", index,
                       residual ? "residual = true\n" : "", layers);
  }

  Rng rng_;
  std::int64_t channels_ = 3, height_ = 11, width_ = 11;
  tensor::Shape input_;
  bool keeps_ = false;  ///< the shape
};

TEST(TornRandomNetworks, HaveTheBitsOfTheSerialOnesAfterAsManySweepsAsPieces) {
  constexpr std::int64_t kBatch = 3;
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RandomModel model(seed);
    const std::string text = model.text();
    const plan::Network network =
        plan::make_network(graph::parse_model(text, "random.toml", model.input(), 7));
    const tensor::Tensor images = random_tensor(network.input.with_front(kBatch), seed);
    const std::vector<float> wanted = Evaluated(network, kBatch).logits(images);
    for (const int pieces : {2, 3}) {
      for (const strategy::CoarseKind kind :
           {strategy::CoarseKind::block, strategy::CoarseKind::conv}) {
        std::optional<strategy::Tearing> tearing;
        try {
          tearing = tearing_for(network, pieces, kind);
        } catch (const UserError&) {
          continue;
        }
        for (const strategy::Sweeping sweeping :
             {strategy::Sweeping::all, strategy::Sweeping::needed}) {
          const plan::Network torn = torn_network(network, *tearing, pieces, sweeping).network;
          EXPECT_TRUE(equal_bits(Evaluated(torn, kBatch).logits(images), wanted))
              << "seed " << seed << ", " << pieces << " pieces, " << name_of(kind) << "\n"
              << text;
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 60) << "hardly any network could be torn";
}

}  // namespace
}  // namespace plait::run
