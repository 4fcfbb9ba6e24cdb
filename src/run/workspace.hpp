// Workspace: a forward pass that nothing follows (evaluation), and its memory: every tensor lives
// only until its last reader is done, and blocks are left out that neither the logits nor the
// residuals depend on.
#pragma once

#include <span>

#include "run/chain.hpp"
#include "run/layout_bridge.hpp"
#include "run/residual.hpp"
#include "tensor/poison.hpp"

namespace plait::run {

class Workspace {
 public:
  explicit Workspace(Chain& chain);

  /// `images` as the network wants them. The logits stay until the next call.
  std::span<const float> forward(ParameterStore& parameters, tensor::ConstView images);
  /// Per block: of the differences since the last call; 0 for all others.
  std::vector<ResidualSums> take_residuals();

 private:
  void forward(const plan::NetworkBlock& block, std::size_t index, ParameterStore& parameters);
  float* tensor(int index) const { return tensors_[static_cast<std::size_t>(index)]; }

  Chain& chain_;
  LayoutBridge bridge_;  ///< of blocks that use another one's weights
  std::shared_ptr<std::byte> memory_;
  tensor::ConstView images_{};
  std::vector<bool> needed_;     ///< by block
  std::vector<float*> tensors_;  ///< by tensor; null where no block writes it
  std::byte* saved_ = nullptr;
  std::byte* scratch_ = nullptr;
  std::size_t saved_and_scratch_ = 0;
  bool poisons_ = tensor::poisons_memory();
  std::vector<ResidualSums> residuals_;
};

}  // namespace plait::run
