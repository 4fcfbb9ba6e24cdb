// Ranges of a block's flat array whose parameters decay.
#include "run/decay.hpp"

#include <algorithm>

namespace plait::run {

bool is_matrix(const ops::ParameterSpec& parameter) {
  const ops::ParameterSpec& whole = parameter.part == nullptr ? parameter : parameter.part->whole;
  return whole.pattern != nullptr || whole.shape.rank() >= 2;
}

std::vector<DecayRange> decay_ranges(const kernels::Block& block, bool only_matrices) {
  if (!only_matrices) return {{0, block.weights_size(), true}};
  std::vector<const kernels::BlockParameter*> trained;
  for (const kernels::BlockParameter& parameter : block.parameters()) {
    if (parameter.spec.trainable) trained.push_back(&parameter);
  }
  std::ranges::sort(trained, {}, &kernels::BlockParameter::offset);
  std::vector<DecayRange> ranges;
  for (const kernels::BlockParameter* parameter : trained) {
    const bool decays = is_matrix(parameter->spec);
    if (!ranges.empty() && ranges.back().decays == decays) continue;
    if (!ranges.empty()) ranges.back().end = parameter->offset;
    ranges.push_back({ranges.empty() ? 0 : parameter->offset, 0, decays});
  }
  if (!ranges.empty()) ranges.back().end = block.weights_size();
  return ranges;
}

}  // namespace plait::run
