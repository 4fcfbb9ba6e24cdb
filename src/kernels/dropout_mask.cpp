// Draws the masks from the random stream of (seed, step, layer), sample by sample.
#include "kernels/dropout_mask.hpp"

#include "base/hash.hpp"
#include "base/rng.hpp"

namespace plait::kernels {

std::uint64_t dropout_key(std::string_view layer_name) {
  Hash hash;
  hash.add(layer_name);
  return hash.value();
}

void draw_dropout_mask(const DropoutDraw& draw, std::span<std::uint8_t> keep) {
  const Randomness& random = draw.randomness;
  const std::uint64_t stream = random.step * 0x9E3779B97F4A7C15ULL + draw.key;
  Rng rng(random.seed, Purpose::dropout, stream,
          static_cast<std::uint64_t>(random.first_sample + draw.sample));
  for (std::uint8_t& k : keep) k = static_cast<double>(rng.uniform()) >= draw.probability ? 1 : 0;
}

float dropout_scale(double probability) { return static_cast<float>(1.0 / (1.0 - probability)); }

}  // namespace plait::kernels
