// Trains each added block against the residual it stands for, with outputs of the model's own
// blocks as targets.
#include "session/fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "data/batch.hpp"
#include "session/fit_interfaces.hpp"
#include "session/fit_learner.hpp"

namespace plait::session {

namespace {

/// The model's own blocks, as in evaluation.
class Frozen {
 public:
  Frozen(run::Chain& chain, run::ParameterStore& store) : chain_(chain), store_(store) {
    std::size_t saved = 0;
    std::size_t scratch = 0;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      saved = std::max(saved, chain.block(i).saved_bytes());
      scratch = std::max(scratch, chain.block(i).scratch_bytes());
    }
    saved_ = tensor::allocate_bytes(saved);
    scratch_ = tensor::allocate_bytes(scratch);
  }

  /// The result of `blocks`, of which the first reads nothing but `src`.
  tensor::Tensor forward(const std::vector<int>& blocks, const tensor::Tensor& src) {
    const auto of_network = [&](int index) -> const plan::NetworkBlock& {
      return chain_.network().blocks[static_cast<std::size_t>(index)];
    };
    std::map<int, int> last;  // by tensor: the block that reads it last
    for (const int index : blocks) {
      for (const int tensor : of_network(index).srcs) last[tensor] = index;
    }
    const int from = of_network(blocks.front()).srcs.front();
    std::map<int, tensor::Tensor> made;
    tensor::Tensor result;
    for (const int index : blocks) {
      kernels::Block& block = chain_.block(static_cast<std::size_t>(index));
      run::BlockMemory& memory = store_.block(static_cast<std::size_t>(index));
      tensor::Tensor dst(block.dst_desc());
      kernels::BlockArgs args;
      for (const int tensor : of_network(index).srcs) {
        args.srcs.emplace_back(tensor == from ? src : made.at(tensor));
      }
      args.dst = dst;
      args.weights = memory.weights.floats().data();
      args.state = memory.state.floats().data();
      args.saved = saved_.get();
      args.scratch = scratch_.get();
      args.training = false;
      block.forward(args);
      for (const int tensor : of_network(index).srcs) {
        if (last.at(tensor) == index) made.erase(tensor);
      }
      if (index == blocks.back()) {
        result = std::move(dst);
      } else {
        made.emplace(of_network(index).dst, std::move(dst));
      }
    }
    return result;
  }

 private:
  run::Chain& chain_;
  run::ParameterStore& store_;
  std::shared_ptr<std::byte> saved_;
  std::shared_ptr<std::byte> scratch_;
};

tensor::Tensor difference(const tensor::Tensor& a, const tensor::Tensor& b) {
  tensor::Tensor result(a.desc());
  const std::span<float> out = result.floats();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = a.floats()[i] - b.floats()[i];
  return result;
}

}  // namespace

std::vector<checkpoint::NamedTensor> fit_added(const plan::Network& network,
                                               const std::vector<checkpoint::NamedTensor>& weights,
                                               const FitOptions& options,
                                               const data::DatasetPtr& data) {
  run::Chain chain(network, {.batch = options.batch, .threads = options.threads});
  run::ParameterStore store(chain, options.seed, 2);
  store.import_weights(weights, options.source);
  const std::vector<FitInterface> interfaces = fit_interfaces(network);
  std::vector<FitLearner> enters;
  std::vector<FitLearner> coarses;
  for (const FitInterface& one : interfaces) {
    enters.emplace_back(chain, store, one.enter, options);
    coarses.emplace_back(chain, store, one.coarse.empty() ? one.enter : one.coarse, options);
  }
  Frozen frozen(chain, store);
  const data::BatchStream stream(data,
                                 {.batch = options.batch, .seed = options.seed, .drop_last = true});
  std::vector<std::pair<double, double>> errors(interfaces.size());
  data::Batch batch;
  const std::int64_t first = (options.steps + 1) / 2;  // for C; F then has a target that stands
  for (std::int64_t step = 0; step < options.steps; ++step) {
    stream.load_into(static_cast<std::uint64_t>(step / stream.batches_per_epoch()),
                     step % stream.batches_per_epoch(), batch);
    tensor::Tensor exact;
    for (std::size_t i = 0; i < interfaces.size(); ++i) {
      const FitInterface& one = interfaces[i];
      exact = frozen.forward(one.before, i == 0 ? batch.images : exact);
      const tensor::Tensor& x = enters[i].forward(batch.images);
      if (step < first) {
        errors[i].first = enters[i].learn(exact, step, first);
      } else if (!one.coarse.empty()) {
        const tensor::Tensor d = difference(exact, x);
        const tensor::Tensor from_x = frozen.forward(one.piece, x);
        const tensor::Tensor target = difference(frozen.forward(one.piece, exact), from_x);
        coarses[i].forward(d);
        errors[i].second = coarses[i].learn(target, step - first, options.steps - first);
      }
    }
    if (options.tick) options.tick();
  }
  for (std::size_t i = 0; i < interfaces.size() && options.note; ++i) {
    options.note(fmt::format(
        "fitted {} in {} steps: {:.0f}% of the interface missed, {:.0f}% of the correction",
        network.blocks[static_cast<std::size_t>(interfaces[i].enter.front())].spec.name,
        options.steps, 100 * std::sqrt(errors[i].first), 100 * std::sqrt(errors[i].second)));
  }
  std::vector<checkpoint::NamedTensor> fitted = store.export_weights();
  // Only the model's own running statistics have seen anything: further sets begin like them.
  std::erase_if(
      fitted, [](const checkpoint::NamedTensor& one) { return plan::is_of_another_set(one.name); });
  return fitted;
}

}  // namespace plait::session
