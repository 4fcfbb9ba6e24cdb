// ParameterStore: the weights of a chain, their gradients, running statistics and optimizer state,
// as flat physical arrays per block; and their way in and out as named plain tensors.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors.hpp"
#include "run/chain.hpp"

namespace plait::run {

struct BlockMemory {
  tensor::Tensor weights;   ///< without elements where they are another block's
  tensor::Tensor gradient;  ///< lies as the weights it belongs to
  tensor::Tensor state;
  std::array<tensor::Tensor, 3> optimizer;  ///< the optimizer's own, and one of an outer one
};

/// What of a block a worker needs.
struct BlockNeeds {
  bool weights = true;  ///< and running statistics
  bool gradient = true;
  bool optimizer = true;
};

class ParameterStore {
 public:
  /// Initial values from (seed, parameter name). `optimizer_states`: arrays per weight, 0 to 3. The
  /// chain must outlive the store. `needs` per block: what is not needed is left empty, and then
  /// the store is not whole: it can be neither exported nor hashed. Empty: everything.
  ParameterStore(const Chain& chain, std::uint64_t seed, int optimizer_states,
                 const std::vector<BlockNeeds>& needs = {});

  BlockMemory& block(std::size_t i) { return blocks_[i]; }
  /// With the weights that block `i` uses.
  BlockMemory& owner(std::size_t i) {
    return blocks_[static_cast<std::size_t>(chain_.network().owner_of(static_cast<int>(i)))];
  }
  /// The running statistics that block `i` of the network computes with, its home's or one of them.
  float* state(std::size_t i);
  std::size_t size() const { return blocks_.size(); }
  std::size_t bytes() const;

  /// "block.node.weight", plain, copies. Running statistics are included.
  std::vector<checkpoint::NamedTensor> export_weights() const;
  /// "block.node.weight.0", "...1"
  std::vector<checkpoint::NamedTensor> export_optimizer() const;

  /// UserError with `source` (a file name) when a tensor is missing, surplus or of another shape.
  /// Blocks that a strategy has added keep what they have where the file knows nothing of any.
  /// Further sets of running statistics that it does not know begin as the model's own; those that
  /// only it knows are left out.
  void import_weights(const std::vector<checkpoint::NamedTensor>& tensors,
                      const std::string& source);
  void import_optimizer(const std::vector<checkpoint::NamedTensor>& tensors,
                        const std::string& source);

  /// XXH3 of all weights in plain layout, with their names: equal bits, equal hash.
  std::string hash() const;
  /// The name of a parameter that holds NaN or infinity, or "".
  std::string non_finite_parameter() const;

 private:
  static constexpr int kWeights = -1;  ///< instead of the index of an optimizer state

  struct Entry {
    std::size_t block;
    const kernels::BlockParameter* parameter;
    std::string name;
    int set = 0;  ///< of running statistics
    const std::string& full_name() const;
    const ops::ParameterSpec& whole() const;
  };
  std::vector<Entry> entries() const;
  /// In the array that holds it.
  std::int64_t offset_of(const Entry& entry) const;
  tensor::Tensor read(const Entry& entry, const BlockMemory& memory, int optimizer_state) const;
  void write(const Entry& entry, int optimizer_state, const tensor::Tensor& plain);
  /// Every parameter of the model, pieces put together, with its whole's spec.
  struct Whole {
    const ops::ParameterSpec* spec;
    checkpoint::NamedTensor tensor;
  };
  std::vector<Whole> wholes(int optimizer_state) const;
  using WholeValue =
      std::function<tensor::Tensor(const std::string& name, const ops::ParameterSpec& spec)>;
  /// Asks for each whole once, and writes it, or the parts of it that are here.
  void fill(const std::vector<Entry>& entries, int optimizer_state, const WholeValue& value);

  const Chain& chain_;
  int optimizer_states_;
  std::vector<BlockMemory> blocks_;
};

/// Whether there are weights of blocks that a strategy has added.
bool has_added_weights(const plan::Network& network,
                       const std::vector<checkpoint::NamedTensor>& tensors);

/// "tensor 'conv1.weight' holds nan (element 5 of 500)"; "" where all numbers are finite.
std::string non_finite_tensor(const std::vector<checkpoint::NamedTensor>& tensors);

/// UserError with `source` where `tensors` are not the weights of the network, as in
/// import_weights.
void check_weights(const plan::Network& network,
                   const std::vector<checkpoint::NamedTensor>& tensors, const std::string& source);

}  // namespace plait::run
