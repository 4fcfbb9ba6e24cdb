// The oracle of pipelines: SGD written down as plainly as possible, on one thread, with nothing of
// plans or workers. Minibatches are computed one after the other, each in microbatches; minibatch m
// of an epoch reads of every block the weights that were there `delay` updates ago, or those of the
// epoch's beginning. A block that uses another one's weights has a gradient of its own, over all
// microbatches; these are added to the owner's from the first to the last.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "data/batch.hpp"
#include "optim/clip.hpp"
#include "optim/loss.hpp"
#include "optim/optimizer.hpp"
#include "optim/schedule.hpp"
#include "run/class_weights.hpp"
#include "run/parameters.hpp"
#include "run/plain_layouts.hpp"
#include "session/setup.hpp"

namespace plait::run {

struct PlainSgdOptions {
  std::vector<int> delay{};  ///< per block; empty: none
  /// Per block: how many updates are missing when forward and backward_data read, where the weights
  /// are predicted: newest + missing x moving average of the last `delay` updates. Empty: not.
  std::vector<std::pair<int, int>> missing{};
  /// Per block: the gradients of microbatches k, k + n, k + 2 n ... are added first, the n sums
  /// then; empty: 1 everywhere.
  std::vector<int> sums{};
  /// Per owner of weights with several users: whether each of the n sums is over all users already,
  /// as where the same workers make them. Empty: false everywhere.
  std::vector<bool> together{};
};

class PlainSgd {
 public:
  /// Every minibatch must have config.batch samples.
  PlainSgd(const session::TrainConfig& config, PlainSgdOptions options)
      : config_(config),
        options_(std::move(options)),
        setup_(make_setup(config)),
        stream_(setup_.data.train, {.batch = config.batch,
                                    .seed = config.seed,
                                    .shuffle = config.shuffle,
                                    .drop_last = config.drop_last}),
        weights_(class_weights(config.class_weights, *setup_.data.train)),
        optimizer_(make_optimizer(optimizer_spec(config))),
        home_(sized((config.batch + config.microbatches - 1) / config.microbatches)),
        store_(home_.chain, config.seed, optimizer_->state_count()),
        sums_(home_.chain.size()) {
    options_.delay.resize(sums_.size(), 0);
    options_.sums.resize(sums_.size(), 1);
    options_.together.resize(sums_.size(), false);
  }

  /// The hash of the weights after all epochs.
  std::string run() {
    const std::int64_t per_epoch = stream_.batches_per_epoch();
    const optim::ScheduleSpec schedule =
        schedule_spec(config_, per_epoch, per_epoch * config_.epochs);
    std::int64_t update = 0;
    for (std::int64_t epoch = 0; epoch < config_.epochs; ++epoch) {
      versions_.assign(sums_.size(), {});
      const std::vector<std::uint32_t> order = stream_.order(static_cast<std::uint64_t>(epoch));
      for (std::int64_t m = 0; m < per_epoch; ++m, ++update) {
        for (std::size_t i = 0; i < sums_.size(); ++i) keep_version(i);
        minibatch_weight_ = static_cast<double>(config_.batch);
        if (!weights_.of_sample.empty()) minibatch_weight_ = 0;
        for (std::int64_t n = m * config_.batch; n < (m + 1) * config_.batch; ++n) {
          if (weights_.of_sample.empty()) break;
          minibatch_weight_ += weights_.of_sample[order[static_cast<std::size_t>(n)]];
        }
        const data::Batch batch = stream_.load(static_cast<std::uint64_t>(epoch), m);
        for (int k = 0; k < config_.microbatches; ++k) microbatch(batch, m, k);
        const float clipped = clip();
        for (std::size_t i = 0; i < sums_.size(); ++i) {
          step(i, update, {learning_rate(schedule, update), clipped});
        }
      }
    }
    return store_.hash();
  }

 private:
  struct BlockState {
    tensor::Tensor dst;
    tensor::Tensor diff_dst;  ///< the sum over all readers, from the last to the first
    std::vector<tensor::Tensor> diff_srcs;  ///< by input, of this block alone
    std::shared_ptr<std::byte> saved;
    std::shared_ptr<std::byte> pending;
  };
  /// The network for one number of samples, with the memory it computes in.
  struct Sized {
    Sized(const graph::ModelSpec& model, const ChainOptions& options) : chain(model, options) {
      std::size_t most = 64;
      for (std::size_t i = 0; i < chain.size(); ++i) {
        const kernels::Block& block = chain.block(i);
        blocks.push_back({tensor::Tensor(block.dst_desc()),
                          tensor::Tensor(block.dst_desc()),
                          {},
                          bytes(block.saved_bytes()),
                          bytes(block.pending_bytes())});
        for (const tensor::TensorDesc& src : block.src_descs()) {
          blocks.back().diff_srcs.emplace_back(src);
        }
        most = std::max(most, block.scratch_bytes());
        weights.emplace_back(tensor::Shape{block.weights_size()});
        gradient.emplace_back(tensor::Shape{block.weights_size()});
        state.emplace_back(tensor::Shape{block.state_size()});
      }
      scratch = bytes(most);
    }
    Chain chain;
    std::vector<BlockState> blocks;
    std::vector<tensor::Tensor> weights, gradient,
        state;  ///< in the layouts of this number of samples
    std::shared_ptr<std::byte> scratch;
  };

  Sized& sized(std::int64_t samples) {
    auto& found = sizes_[samples];
    if (!found) {
      found = std::make_unique<Sized>(
          setup_.model,
          ChainOptions{.batch = samples, .threads = static_cast<int>(config_.threads)});
    }
    return *found;
  }

  static std::shared_ptr<std::byte> bytes(std::size_t size) {
    auto memory = tensor::allocate_bytes(size + 64);
    std::fill_n(memory.get(), size + 64, std::byte{0});
    return memory;
  }

  void keep_version(std::size_t i) {
    const auto weights = store_.block(i).weights.floats();
    versions_[i].emplace_back();
    tensor::Tensor& copy = versions_[i].back();
    copy = tensor::Tensor(tensor::Shape{static_cast<std::int64_t>(weights.size())});
    std::ranges::copy(weights, copy.floats().begin());
  }

  /// Weights of block i that minibatch reads, `back`: on its way back.
  const float* weights_of(std::size_t i, std::int64_t minibatch, bool back) {
    if (options_.missing.empty()) {
      return version(i, minibatch - options_.delay[i]).floats().data();
    }
    const auto [forth, returning] = options_.missing[i];
    const std::int64_t newest = std::max<std::int64_t>(0, minibatch - (back ? returning : forth));
    const tensor::Tensor& base = version(i, newest);
    predicted_ = tensor::Tensor(base.shape());
    std::vector<float> average(base.floats().size(), 0.0F);
    for (std::int64_t m = 1; m <= newest; ++m) {
      const auto count = std::clamp<std::int64_t>(m, 1, std::max(1, options_.delay[i]));
      const float share = 1.0F / static_cast<float>(count);
      const auto before = version(i, m - 1).floats();
      const auto after = version(i, m).floats();
      for (std::size_t j = 0; j < average.size(); ++j) {
        average[j] += ((after[j] - before[j]) - average[j]) * share;
      }
    }
    const auto updates = static_cast<float>(minibatch - newest);
    for (std::size_t j = 0; j < average.size(); ++j) {
      predicted_.floats()[j] = base.floats()[j] + updates * average[j];
    }
    return predicted_.floats().data();
  }
  const tensor::Tensor& version(std::size_t i, std::int64_t number) const {
    return versions_[i][static_cast<std::size_t>(std::max<std::int64_t>(0, number))];
  }

  kernels::BlockArgs args(Sized& size, std::size_t i, std::int64_t minibatch,
                          const tensor::Tensor& images, const tensor::Tensor* diff) {
    BlockState& of = size.blocks[i];
    const float* weights = weights_of(owner(i), minibatch, diff != nullptr);
    float* state = store_.block(i).state.floats().data();
    const bool as_stored = &size == &home_ && owner(i) == i;
    if (!as_stored) {
      const kernels::Block& block = size.chain.block(i);
      convert({home_.chain.block(owner(i)), const_cast<float*>(weights)},
              {block, size.weights[i].floats().data()}, true);
      convert({home_.chain.block(i), state}, {block, size.state[i].floats().data()}, false);
      weights = size.weights[i].floats().data();
      state = size.state[i].floats().data();
    }
    std::vector<tensor::ConstView> srcs;
    std::vector<tensor::View> diff_srcs;
    const plan::Network& network = size.chain.network();
    for (const int read : network.blocks[i].srcs) {  // block b writes tensor b + 1
      srcs.emplace_back(read == 0 ? images : size.blocks[static_cast<std::size_t>(read) - 1].dst);
      diff_srcs.push_back(network.has_gradient(read) ? tensor::View(of.diff_srcs[diff_srcs.size()])
                                                     : tensor::View());
    }
    tensor::ConstView diff_dst(of.diff_dst);
    if (i + 1 == size.blocks.size()) diff_dst = diff == nullptr ? tensor::ConstView() : *diff;
    return {
        .srcs = std::move(srcs),
        .dst = of.dst,
        .diff_dst = diff_dst,
        .diff_srcs = std::move(diff_srcs),
        .weights = weights,
        .diff_weights = (as_stored ? store_.block(i).gradient : size.gradient[i]).floats().data(),
        .state = state,
        .saved = of.saved.get(),
        .pending = of.pending.get(),
        .scratch = size.scratch.get(),
        .training = true,
        .randomness = {}};
  }

  void microbatch(const data::Batch& batch, std::int64_t minibatch, int k) {
    const std::int64_t first = config_.batch * k / config_.microbatches;
    const std::int64_t samples = config_.batch * (k + 1) / config_.microbatches - first;
    Sized& size = sized(samples);
    Chain& chain = size.chain;
    const auto part = [&](const tensor::Tensor& of) {
      const auto each = of.floats().size() / static_cast<std::size_t>(batch.size());
      return of.floats().subspan(static_cast<std::size_t>(first) * each,
                                 static_cast<std::size_t>(samples) * each);
    };
    tensor::Tensor images(chain.src_desc());
    const auto bytes = images.bytes() / static_cast<std::size_t>(samples);
    std::memcpy(images.data(), batch.images.data() + static_cast<std::size_t>(first) * bytes,
                images.bytes());
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      kernels::BlockArgs now = args(size, i, minibatch, images, nullptr);
      float* state = now.state;
      if (k > 0) now.state = nullptr;
      chain.block(i).forward(now);
      if (k > 0 || (&size == &home_ && owner(i) == i)) continue;
      convert({chain.block(i), state},
              {home_.chain.block(i), store_.block(i).state.floats().data()}, false);
    }
    tensor::Tensor diff(chain.dst_desc());
    optim::LossSpec loss = loss_spec(config_);
    loss.class_weights = weights_.of_class;
    compute_loss(loss,
                 {.logits = size.blocks.back().dst.floats(),
                  .targets = part(batch.targets),
                  .classes = chain.dst_desc().shape[1],
                  .scale = 1.0 / minibatch_weight_,
                  .pixels = chain.pixels()},
                 diff.floats());
    std::vector<bool> begun(sums_.size(), false);
    for (std::size_t i = sums_.size(); i-- > 0;) {
      const kernels::BlockArgs now = args(size, i, minibatch, images, &diff);
      chain.block(i).backward_data(now);
      hand_back(size, i, begun);
      chain.block(i).backward_weights(now);
      if (&size != &home_ || owner(i) != i) {
        convert({chain.block(i), now.diff_weights},
                {home_.chain.block(owner(i)), store_.block(i).gradient.floats().data()}, true);
      }
      add_gradient(i, k);
    }
  }

  /// The gradients of what block i has read, to the blocks that wrote it.
  void hand_back(Sized& size, std::size_t i, std::vector<bool>& begun) const {
    std::size_t input = 0;
    const plan::Network& network = size.chain.network();
    for (const int read : network.blocks[i].srcs) {
      const std::span<const float> own = size.blocks[i].diff_srcs[input++].floats();
      if (!network.has_gradient(read)) continue;
      const auto writer = static_cast<std::size_t>(read) - 1;
      const std::span<float> all = size.blocks[writer].diff_dst.floats();
      for (std::size_t j = 0; j < all.size(); ++j)
        all[j] = begun[writer] ? all[j] + own[j] : own[j];
      begun[writer] = true;
    }
  }

  void add_gradient(std::size_t i, int k) {
    const auto gradient = store_.block(i).gradient.floats();
    const int n = options_.sums[i];
    std::vector<std::vector<float>>& sums = sums_[i];
    if (k < n) {
      if (k == 0) sums.clear();
      sums.emplace_back(gradient.begin(), gradient.end());
      return;
    }
    std::vector<float>& sum = sums[static_cast<std::size_t>(k % n)];
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += gradient[j];
  }

  /// Of the owner of weights, that of other users included.
  std::vector<float> gradient_of(std::size_t i) const {
    const auto add = [](std::vector<float>& sum, const std::vector<float>& more) {
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += more[j];
    };
    const auto sum_of = [&](const std::vector<std::vector<float>>& sums) {
      std::vector<float> gradient = sums.front();
      for (std::size_t s = 1; s < sums.size(); ++s) add(gradient, sums[s]);
      return gradient;
    };
    std::vector<std::vector<float>> own = sums_[i];
    std::vector<std::vector<float>> others;
    for (std::size_t user = i + 1; user < sums_.size(); ++user) {
      if (owner(user) != i) continue;
      if (!options_.together[i]) {
        others.push_back(sum_of(sums_[user]));
        continue;
      }
      for (std::size_t s = 0; s < own.size(); ++s) add(own[s], sums_[user][s]);
    }
    std::vector<float> gradient = sum_of(own);
    for (const std::vector<float>& other : others) add(gradient, other);
    return gradient;
  }

  std::size_t owner(std::size_t i) const {
    return static_cast<std::size_t>(home_.chain.network().owner_of(static_cast<int>(i)));
  }

  /// The factor of all gradients whose norm, over parameters alone, is too large.
  float clip() const {
    if (config_.clip_norm == 0) return 1;
    double squares = 0;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (home_.chain.block(i).weights_size() == 0 || owner(i) != i) continue;
      const std::vector<float> gradient = gradient_of(i);
      for (const kernels::BlockParameter& parameter : home_.chain.block(i).parameters()) {
        if (!parameter.spec.trainable) continue;
        tensor::Tensor plain(parameter.spec.shape);
        home_.chain.block(i).unpack_parameter(parameter, gradient.data() + parameter.offset,
                                              plain.floats().data());
        for (const float x : plain.floats()) squares += static_cast<double>(x) * x;
      }
    }
    return static_cast<float>(optim::clip_factor(std::sqrt(squares), config_.clip_norm));
  }

  struct Rate {
    double learning = 0;
    float clipped = 1;
  };
  void step(std::size_t i, std::int64_t update, Rate rate) {
    BlockMemory& memory = store_.block(i);
    if (memory.weights.floats().empty()) return;
    const std::vector<float> gradient = gradient_of(i);
    for (const kernels::BlockParameter& parameter : home_.chain.block(i).parameters()) {
      if (!parameter.spec.trainable) continue;
      const auto part = [&](auto values) {
        return values.subspan(static_cast<std::size_t>(parameter.offset),
                              static_cast<std::size_t>(parameter.physical_size));
      };
      const bool spared = config_.decay == "matrices" && parameter.spec.pattern == nullptr &&
                          parameter.spec.shape.rank() < 2;
      optim::UpdateArgs now{
          .weights = part(memory.weights.floats()),
          .result = part(memory.weights.floats()),
          .gradient = part(std::span<const float>(gradient)),
          .state = {},
          .learning_rate = rate.learning * std::pow(1.0 + options_.delay[i], -config_.stale_lr),
          .weight_decay = spared ? 0 : config_.weight_decay,
          .gradient_scale = rate.clipped,
          .step = update + 1,
          .threads = 1};
      for (std::size_t s = 0; s < static_cast<std::size_t>(optimizer_->state_count()); ++s) {
        now.state[s] = part(memory.optimizer[s].floats());
      }
      optimizer_->update(now);
    }
  }

  session::TrainConfig config_;
  PlainSgdOptions options_;
  session::Setup setup_;
  data::BatchStream stream_;
  ClassWeights weights_;
  double minibatch_weight_ = 0;  ///< of all samples of the minibatch under way
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::map<std::int64_t, std::unique_ptr<Sized>> sizes_;  ///< by samples of a microbatch
  Sized& home_;                                           ///< of the largest microbatch
  ParameterStore store_;
  std::vector<std::vector<std::vector<float>>> sums_;  ///< per block, of gradients
  std::vector<std::vector<tensor::Tensor>> versions_;  ///< per block, of this epoch
  tensor::Tensor predicted_;
};

}  // namespace plait::run
