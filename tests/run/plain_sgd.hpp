// The oracle of pipelines: SGD written down as plainly as possible, on one thread, with nothing of
// plans or workers. Minibatches are computed one after the other, each in microbatches; minibatch m
// of an epoch reads of every block the weights that were there `delay` updates ago, or those of the
// epoch's beginning.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>

#include "data/batch.hpp"
#include "optim/loss.hpp"
#include "optim/optimizer.hpp"
#include "optim/schedule.hpp"
#include "run/parameters.hpp"
#include "run/setup.hpp"

namespace plait {

struct PlainSgdOptions {
  std::vector<int> delay{};  ///< per block; empty: none
  /// Per block: how many updates are missing when forward and backward_data read, where the weights
  /// are predicted: newest + missing x moving average of the last `delay` updates. Empty: not.
  std::vector<std::pair<int, int>> missing{};
  /// Per block: the gradients of microbatches k, k + n, k + 2 n ... are added first, the n sums
  /// then; empty: 1 everywhere.
  std::vector<int> sums{};
};

class PlainSgd {
 public:
  /// Every minibatch must have config.batch samples, and microbatches divide them.
  PlainSgd(const TrainConfig& config, PlainSgdOptions options)
      : config_(config),
        options_(std::move(options)),
        setup_(make_setup(config)),
        stream_(setup_.data.train,
                {.batch = config.batch, .seed = config.seed, .drop_last = false}),
        optimizer_(make_optimizer(optimizer_spec(config))),
        chain_(setup_.model, {.batch = config.batch / config.microbatches,
                              .threads = static_cast<int>(config.threads)}),
        store_(chain_, config.seed, optimizer_->state_count()),
        blocks_(chain_.size()) {
    options_.delay.resize(chain_.size(), 0);
    options_.sums.resize(chain_.size(), 1);
    std::size_t scratch = 64;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Block& block = chain_.block(i);
      blocks_[i].dst = Tensor(block.dst_desc());
      blocks_[i].diff_src = Tensor(block.src_desc());
      blocks_[i].saved = bytes(block.saved_bytes());
      blocks_[i].pending = bytes(block.pending_bytes());
      scratch = std::max(scratch, block.scratch_bytes());
    }
    scratch_ = bytes(scratch);
  }

  /// The hash of the weights after all epochs.
  std::string run() {
    const std::int64_t per_epoch = stream_.batches_per_epoch();
    const ScheduleSpec schedule = schedule_spec(config_, per_epoch, per_epoch * config_.epochs);
    std::int64_t update = 0;
    for (std::int64_t epoch = 0; epoch < config_.epochs; ++epoch) {
      versions_.assign(blocks_.size(), {});
      for (std::int64_t m = 0; m < per_epoch; ++m, ++update) {
        for (std::size_t i = 0; i < blocks_.size(); ++i) keep_version(i);
        const Batch batch = stream_.load(static_cast<std::uint64_t>(epoch), m);
        for (int k = 0; k < config_.microbatches; ++k) microbatch(batch, m, k);
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
          step(i, update, learning_rate(schedule, update));
        }
      }
    }
    return store_.hash();
  }

 private:
  struct BlockState {
    Tensor dst;
    Tensor diff_src;
    std::shared_ptr<std::byte> saved;
    std::shared_ptr<std::byte> pending;
    std::vector<std::vector<float>> sums;
  };

  static std::shared_ptr<std::byte> bytes(std::size_t size) {
    auto memory = allocate_bytes(size + 64);
    std::fill_n(memory.get(), size + 64, std::byte{0});
    return memory;
  }

  void keep_version(std::size_t i) {
    const auto weights = store_.block(i).weights.floats();
    versions_[i].emplace_back();
    Tensor& copy = versions_[i].back();
    copy = Tensor(Shape{static_cast<std::int64_t>(weights.size())});
    std::ranges::copy(weights, copy.floats().begin());
  }

  /// Weights of block i that minibatch reads, `back`: on its way back.
  const float* weights_of(std::size_t i, std::int64_t minibatch, bool back) {
    if (options_.missing.empty()) {
      return version(i, minibatch - options_.delay[i]).floats().data();
    }
    const auto [forth, returning] = options_.missing[i];
    const std::int64_t newest = std::max<std::int64_t>(0, minibatch - (back ? returning : forth));
    const Tensor& base = version(i, newest);
    predicted_ = Tensor(base.shape());
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
  const Tensor& version(std::size_t i, std::int64_t number) const {
    return versions_[i][static_cast<std::size_t>(std::max<std::int64_t>(0, number))];
  }

  BlockArgs args(std::size_t i, std::int64_t minibatch, const float* images, const float* diff) {
    BlockState& of = blocks_[i];
    return {.src = i == 0 ? images : blocks_[i - 1].dst.floats().data(),
            .dst = of.dst.floats().data(),
            .diff_dst = i + 1 == blocks_.size() ? diff : blocks_[i + 1].diff_src.floats().data(),
            .diff_src = i == 0 ? nullptr : of.diff_src.floats().data(),
            .weights = weights_of(i, minibatch, diff != nullptr),
            .diff_weights = store_.block(i).gradient.floats().data(),
            .state = store_.block(i).state.floats().data(),
            .saved = of.saved.get(),
            .pending = of.pending.get(),
            .scratch = scratch_.get(),
            .training = true,
            .randomness = {}};
  }

  void microbatch(const Batch& batch, std::int64_t minibatch, int k) {
    const std::int64_t samples = config_.batch / config_.microbatches;
    const auto part = [&](const Tensor& of) {
      const auto each = of.floats().size() / static_cast<std::size_t>(batch.size());
      return of.floats().subspan(static_cast<std::size_t>(k * samples) * each,
                                 static_cast<std::size_t>(samples) * each);
    };
    Tensor images(chain_.src_desc());
    std::ranges::copy(part(batch.images), images.floats().begin());
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      BlockArgs now = args(i, minibatch, images.floats().data(), nullptr);
      if (k > 0) now.state = nullptr;
      chain_.block(i).forward(now);
    }
    Tensor diff(chain_.dst_desc());
    compute_loss(loss_spec(config_),
                 {.logits = blocks_.back().dst.floats(),
                  .targets = part(batch.targets),
                  .classes = chain_.dst_desc().shape[1],
                  .scale = 1.0 / static_cast<double>(config_.batch)},
                 diff.floats());
    for (std::size_t i = blocks_.size(); i-- > 0;) {
      const BlockArgs now = args(i, minibatch, images.floats().data(), diff.floats().data());
      chain_.block(i).backward_data(now);
      chain_.block(i).backward_weights(now);
      add_gradient(i, k);
    }
  }

  void add_gradient(std::size_t i, int k) {
    const auto gradient = store_.block(i).gradient.floats();
    const int n = options_.sums[i];
    std::vector<std::vector<float>>& sums = blocks_[i].sums;
    if (k < n) {
      if (k == 0) sums.clear();
      sums.emplace_back(gradient.begin(), gradient.end());
      return;
    }
    std::vector<float>& sum = sums[static_cast<std::size_t>(k % n)];
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += gradient[j];
  }

  void step(std::size_t i, std::int64_t update, double rate) {
    BlockMemory& memory = store_.block(i);
    if (memory.weights.floats().empty()) return;
    const std::vector<std::vector<float>>& sums = blocks_[i].sums;
    std::vector<float> gradient = sums.front();
    for (std::size_t s = 1; s < sums.size(); ++s) {
      for (std::size_t j = 0; j < gradient.size(); ++j) gradient[j] += sums[s][j];
    }
    UpdateArgs now{.weights = memory.weights.floats(),
                   .result = memory.weights.floats(),
                   .gradient = gradient,
                   .state = {},
                   .learning_rate = rate * std::pow(1.0 + options_.delay[i], -config_.stale_lr),
                   .weight_decay = config_.weight_decay,
                   .gradient_scale = 1,
                   .step = update + 1,
                   .threads = 1};
    for (int s = 0; s < optimizer_->state_count(); ++s) {
      now.state[static_cast<std::size_t>(s)] =
          memory.optimizer[static_cast<std::size_t>(s)].floats();
    }
    optimizer_->update(now);
  }

  TrainConfig config_;
  PlainSgdOptions options_;
  Setup setup_;
  BatchStream stream_;
  std::unique_ptr<Optimizer> optimizer_;
  Chain chain_;
  ParameterStore store_;
  std::vector<BlockState> blocks_;
  std::vector<std::vector<Tensor>> versions_;  ///< per block, of this epoch
  std::shared_ptr<std::byte> scratch_;
  Tensor predicted_;
};

}  // namespace plait
