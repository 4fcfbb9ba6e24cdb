// Layer: what one layer computes, as three tasks on views of memory. A layer is built once per
// shape and keeps no activations: everything between forward and backward lives in memory the
// caller hands in, so one layer object serves any number of minibatches in flight, one call at a
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/layer_sizes.hpp"
#include "graph/parameters.hpp"
#include "graph/spec.hpp"
#include "kernels/pass.hpp"
#include "tensor/view.hpp"

namespace plait::kernels {

namespace sparse {
class KernelCache;
}

/// What random layers (dropout) draw from: sample n of a task is `first_sample + n` of the
/// minibatch of `step`, so that cutting a minibatch does not change the numbers.
struct Randomness {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::int64_t first_sample = 0;
};

/// The memory one task of one layer reads and writes, all of it 64-byte aligned. Every task gets
/// what its comment in Layer names; the rest may be empty. Parameters are flat arrays of floats in
/// a layout that only the layer knows, so they have no descs.
struct LayerArgs {
  std::vector<tensor::ConstView> src{};
  tensor::View dst{};
  tensor::ConstView diff_dst{};
  std::vector<tensor::View> diff_srcs{};  ///< by input; empty: not wanted
  tensor::ConstView diff_addend{};        ///< if set: diff_src <- gradient + diff_addend
  const float* weights = nullptr;         ///< the layer's trainable parameters, physical
  float* diff_weights = nullptr;          ///< same layout; overwritten
  float* state = nullptr;                 ///< the layer's other parameters (running statistics)
  std::byte* saved = nullptr;    ///< the layer's own memory, from forward to its last backward
  std::byte* scratch = nullptr;  ///< garbage before and after
  bool training = true;
  Randomness randomness;

  /// Of a layer with one input.
  float* diff_src() const { return diff_srcs.empty() ? nullptr : diff_srcs.front().floats(); }
};

using graph::LayerTraits;

/// One parameter inside the flat arrays a layer is handed. Offsets count floats, from the layer's
/// `weights` (trainable) or `state` (others).
struct ParameterSlot {
  ops::ParameterSpec spec;
  std::int64_t offset = 0;
  std::int64_t physical_size = 0;
};

class Layer {
 public:
  virtual ~Layer() = default;
  Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  virtual const tensor::TensorDesc& dst_desc() const = 0;
  virtual LayerTraits traits() const = 0;
  virtual std::size_t saved_bytes() const { return 0; }
  virtual std::size_t scratch_bytes(Pass) const { return 0; }

  /// dst <- src, weights. With a fused residual, src[1] is added to the result.
  virtual void forward(const LayerArgs& args) = 0;
  /// diff_src <- diff_dst, weights and what traits() names. BatchNorm also writes its diff_weights
  /// here, because they fall out of the sums that diff_src needs; diff_src may then be null.
  virtual void backward_data(const LayerArgs& args) = 0;
  /// diff_weights <- diff_dst, src.
  virtual void backward_weights(const LayerArgs&) {}

  /// Whether parameters may lie differently for another number of samples.
  virtual bool layout_follows_batch() const { return true; }
  /// Where each parameter lies; plain unless a layer overrides these four together.
  virtual std::vector<ParameterSlot> parameter_slots() const { return slots_; }
  /// Plain <-> physical layout of parameter `index`.
  virtual void pack_parameter(std::size_t index, const float* plain, float* physical) const;
  virtual void unpack_parameter(std::size_t index, const float* physical, float* plain) const;

 protected:
  /// Lays the parameters out one after another, plain, each at a multiple of 16 floats.
  void place_parameters(const std::vector<ops::ParameterSpec>& specs);
  /// The same with given physical sizes (one per spec).
  void place_parameters(const std::vector<ops::ParameterSpec>& specs,
                        std::span<const std::int64_t> sizes);

  std::vector<ParameterSlot> slots_;
};

/// Everything a layer is built from. `srcs` are batch descs; `relu` asks a BatchNorm to end in
/// ReLU; `activation` asks a sparse linear to end in it; `residual` asks a convolution
/// or a sparse linear to add src[1] to its result; `convert_to` asks for nothing but a change of
/// layout, whatever the spec.
struct LayerRequest {
  ops::Operation spec;
  std::vector<tensor::TensorDesc> srcs;
  bool relu = false;
  bool residual = false;
  std::optional<ops::Activation> activation{};
  std::optional<tensor::Layout> convert_to{};
  bool shares_weights = false;  ///< other layers use them too: linear keeps them plain
  int threads = 1;
  std::string name{};
  /// Where sparse layers share what they make of their patterns; null: each for itself.
  std::shared_ptr<sparse::KernelCache> kernels{};
};

/// `reference` is the plain-loop twin of every layer: slow, obvious, plain layouts only.
enum class Backend { onednn, reference };

std::unique_ptr<Layer> make_layer(const LayerRequest& request, Backend backend);

namespace onednn {
std::unique_ptr<Layer> make_layer(const LayerRequest& request);
}
namespace reference {
std::unique_ptr<Layer> make_layer(const LayerRequest& request);
}

/// Batch desc of a plain sample shape.
tensor::TensorDesc batch_desc(const tensor::Shape& sample, std::int64_t batch,
                              tensor::Layout layout = tensor::Layout::plain);

}  // namespace plait::kernels
