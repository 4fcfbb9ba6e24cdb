// The oracle of strategies whose nodes have weights of their own: the whole algorithm (shares of
// the minibatch, sums inside nodes, exchanges, merges, modes by the losses) in one thread and in
// plain loops, with nothing of plans, workers or messages. A block that uses another one's weights
// has a gradient of its own, which every worker adds to the owner's before they are summed.
#pragma once

#include <algorithm>
#include <deque>

#include "data/batch.hpp"
#include "optim/clip.hpp"
#include "optim/loss.hpp"
#include "optim/optimizer.hpp"
#include "optim/schedule.hpp"
#include "run/parameters.hpp"
#include "run/plain_layouts.hpp"
#include "run/training.hpp"
#include "session/setup.hpp"

namespace plait::run {

class PlainReplicas {
 public:
  using Values = std::vector<float>;

  /// Every minibatch has config.batch samples, which nodes x places divide; fp32 on the wire.
  PlainReplicas(const session::TrainConfig& config, std::vector<strategy::ExchangeMode> modes)
      : config_(config),
        modes_(std::move(modes)),
        nodes_(static_cast<int>(config.nodes)),
        places_(static_cast<int>(config.workers_per_node)),
        setup_(make_setup(config)),
        stream_(setup_.data.train,
                {.batch = config.batch, .seed = config.seed, .drop_last = false}),
        weights_(class_weights(config.class_weights, *setup_.data.train)),
        optimizer_(make_optimizer(optimizer_spec(config))),
        chain_(setup_.model, {.batch = config.batch / (nodes_ * places_), .threads = 1}) {
    for (int node = 0; node < nodes_; ++node) {
      stores_.push_back(
          std::make_unique<ParameterStore>(chain_, config.seed, optimizer_->state_count()));
    }
    std::size_t scratch = 0;
    for (std::size_t i = 0; i < chain_.size(); ++i) {
      dst_.emplace_back(chain_.block(i).dst_desc());
      diff_.emplace_back(chain_.block(i).dst_desc());
      own_diffs_.emplace_back();
      for (const tensor::TensorDesc& src : chain_.block(i).src_descs()) {
        own_diffs_.back().emplace_back(src);
      }
      saved_.push_back(tensor::allocate_bytes(chain_.block(i).saved_bytes() + 64));
      pending_.push_back(tensor::allocate_bytes(chain_.block(i).pending_bytes() + 64));
      own_weights_.emplace_back(tensor::Shape{chain_.block(i).weights_size()});
      own_gradients_.emplace_back(tensor::Shape{chain_.block(i).weights_size()});
      scratch = std::max(scratch, chain_.block(i).scratch_bytes());
    }
    scratch_ = tensor::allocate_bytes(scratch + 64);
  }

  /// The hash of the weights after all epochs.
  std::string run() {
    const std::int64_t per_epoch = stream_.batches_per_epoch();
    const optim::ScheduleSpec schedule =
        schedule_spec(config_, per_epoch, per_epoch * config_.epochs);
    const planner::ModeOfEpoch mode_of = modes_of(config_);
    velocity_.assign(values_of(0).size(), 0.0F);
    bool weights = true;  // and running statistics, in turn
    each(0, [&](std::span<float> part) {
      learns_.insert(learns_.end(), part.size(), weights);
      weights = !weights;
    });
    std::int64_t t = 0;
    for (std::int64_t epoch = 0; epoch < config_.epochs; ++epoch) {
      const int mode = mode_of ? mode_of(config_.epochs, losses_) : 0;
      common_ = values_of(0);
      double loss = 0;
      for (std::int64_t m = 0; m < per_epoch; ++m, ++t) {
        const data::Batch batch = stream_.load(static_cast<std::uint64_t>(epoch), m);
        weigh(batch);
        for (int node = 0; node < nodes_; ++node) {
          loss += step(node, batch, t, learning_rate(schedule, t));
        }
        exchange(modes_[static_cast<std::size_t>(mode)], t);
      }
      while (!flights_.empty()) land();
      average();
      losses_.push_back(loss / static_cast<double>(setup_.data.train->size()));
      modes_used_.push_back(mode);
    }
    return stores_.front()->hash();
  }

  const std::vector<int>& modes_used() const { return modes_used_; }

 private:
  struct Flight {
    std::int64_t due = 0;
    strategy::ExchangeMode mode;
    std::vector<Values> own;  ///< by node
  };

  /// Weights, then running statistics, block after block.
  Values values_of(int node) {
    Values values;
    each(node,
         [&](std::span<float> part) { values.insert(values.end(), part.begin(), part.end()); });
    return values;
  }
  void set_values(int node, const Values& values) {
    std::size_t at = 0;
    each(node, [&](std::span<float> part) {
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(at), part.size(), part.begin());
      at += part.size();
    });
  }
  template <class Use>
  void each(int node, const Use& use) {
    ParameterStore& store = *stores_[static_cast<std::size_t>(node)];
    for (std::size_t i = 0; i < store.size(); ++i) {
      use(store.block(i).weights.floats());
      use(store.block(i).state.floats());
    }
  }

  /// Node `node` on its samples: the mean gradient over them, one update. Gives the loss.
  double step(int node, const data::Batch& batch, std::int64_t t, double rate) {
    ParameterStore& store = *stores_[static_cast<std::size_t>(node)];
    std::vector<Values> gradient(store.size());
    std::vector<Values> state(store.size());
    double loss = 0;
    for (int place = 0; place < places_; ++place) {
      std::vector<Values> own_state;
      for (std::size_t i = 0; i < store.size(); ++i) {
        const auto old = store.block(i).state.floats();
        own_state.emplace_back(old.begin(), old.end());
      }
      loss += compute(store, own_state, batch, node * places_ + place);
      for (std::size_t i = 0; i < store.size(); ++i) {
        if (!is_tied(i)) add(gradient[i], store.block(i).gradient.floats(), 1.0F);
        add(state[i], own_state[i], 1.0F / static_cast<float>(places_));
      }
    }
    float clipped = 1;
    if (config_.clip_norm > 0) {
      const std::vector<std::span<const float>> all(gradient.begin(), gradient.end());
      clipped = static_cast<float>(
          optim::clip_factor(nodes_ * optim::gradient_norm(all), config_.clip_norm));
    }
    const double of_node = node_weights_[static_cast<std::size_t>(node)];
    for (std::size_t i = 0; i < store.size(); ++i) {
      BlockMemory& memory = store.block(i);
      std::ranges::copy(state[i], memory.state.floats().begin());
      if (memory.weights.floats().empty()) continue;
      for (const kernels::BlockParameter& parameter : chain_.block(i).parameters()) {
        if (!parameter.spec.trainable) continue;
        const auto part = [&](auto values) {
          return values.subspan(static_cast<std::size_t>(parameter.offset),
                                static_cast<std::size_t>(parameter.physical_size));
        };
        const bool spared = config_.decay == "matrices" && parameter.spec.shape.rank() < 2;
        optim::UpdateArgs now{.weights = part(memory.weights.floats()),
                              .result = part(memory.weights.floats()),
                              .gradient = part(std::span(gradient[i])),
                              .state = {},
                              .learning_rate = rate,
                              .weight_decay = spared ? 0 : config_.weight_decay,
                              .gradient_scale = clipped * static_cast<float>(weight_ / of_node),
                              .step = t + 1,
                              .threads = 1};
        for (std::size_t s = 0; s < static_cast<std::size_t>(optimizer_->state_count()); ++s) {
          now.state[s] = part(memory.optimizer[s].floats());
        }
        optimizer_->update(now);
      }
    }
    return loss;
  }

  /// What the samples of the minibatch weigh in the loss, all and by node.
  void weigh(const data::Batch& batch) {
    weight_ = 0;
    node_weights_.assign(static_cast<std::size_t>(nodes_), 0);
    const auto labels = batch.targets.floats();
    for (std::size_t n = 0; n < labels.size(); ++n) {
      const double weight =
          weights_.of_class.empty() ? 1 : weights_.of_class[static_cast<std::size_t>(labels[n])];
      weight_ += weight;
      node_weights_[n * static_cast<std::size_t>(nodes_) / labels.size()] += weight;
    }
  }

  static void add(Values& sum, std::span<const float> values, float scale) {
    const bool first = sum.empty();
    sum.resize(values.size());
    for (std::size_t j = 0; j < sum.size(); ++j) {
      sum[j] = first ? values[j] * scale : sum[j] + values[j] * scale;
    }
  }

  /// Forward and backward of one worker's samples; gradients are left in the store.
  double compute(ParameterStore& store, std::vector<Values>& state, const data::Batch& batch,
                 int worker) {
    const auto part = [&](const tensor::Tensor& of) {
      const std::size_t each = of.floats().size() / static_cast<std::size_t>(nodes_ * places_);
      return of.floats().subspan(static_cast<std::size_t>(worker) * each, each);
    };
    const tensor::Tensor images(chain_.src_desc(), const_cast<float*>(part(batch.images).data()));
    tensor::Tensor diff(chain_.dst_desc());
    const plan::Network& network = chain_.network();
    const auto args = [&](std::size_t i) {
      std::vector<tensor::ConstView> srcs;
      std::vector<tensor::View> diff_srcs;
      for (const int read : network.blocks[i].srcs) {  // block b writes tensor b + 1
        srcs.emplace_back(read == 0 ? images : dst_[static_cast<std::size_t>(read) - 1]);
        diff_srcs.push_back(network.has_gradient(read)
                                ? tensor::View(own_diffs_[i][diff_srcs.size()])
                                : tensor::View());
      }
      return kernels::BlockArgs{.srcs = std::move(srcs),
                                .dst = dst_[i],
                                .diff_dst = i + 1 == store.size() ? diff : diff_[i],
                                .diff_srcs = std::move(diff_srcs),
                                .weights = is_tied(i) ? own_weights_[i].floats().data()
                                                      : store.block(i).weights.floats().data(),
                                .diff_weights = is_tied(i)
                                                    ? own_gradients_[i].floats().data()
                                                    : store.block(i).gradient.floats().data(),
                                .state = state[i].data(),
                                .saved = saved_[i].get(),
                                .pending = pending_[i].get(),
                                .scratch = scratch_.get(),
                                .training = true,
                                .randomness = {}};
    };
    for (std::size_t i = 0; i < store.size(); ++i) {
      if (is_tied(i)) {
        convert({chain_.block(owner(i)), store.owner(i).weights.floats().data()},
                {chain_.block(i), own_weights_[i].floats().data()}, true);
      }
      chain_.block(i).forward(args(i));
    }
    optim::LossSpec spec = loss_spec(config_);
    spec.class_weights = weights_.of_class;
    const optim::LossResult loss = compute_loss(spec,
                                                {.logits = dst_.back().floats(),
                                                 .targets = part(batch.targets),
                                                 .classes = chain_.dst_desc().shape[1],
                                                 .scale = 1.0 / weight_},
                                                diff.floats());
    std::vector<bool> begun(store.size(), false);
    for (std::size_t i = store.size(); i-- > 0;) {
      chain_.block(i).backward_data(args(i));
      chain_.block(i).backward_weights(args(i));
      hand_back(i, begun);
    }
    for (std::size_t i = 0; i < store.size(); ++i) {
      if (is_tied(i)) add_to_owner(store, i);
    }
    return loss.sum;
  }

  bool is_tied(std::size_t i) const { return chain_.network().is_tied(static_cast<int>(i)); }
  std::size_t owner(std::size_t i) const {
    return static_cast<std::size_t>(chain_.network().owner_of(static_cast<int>(i)));
  }
  /// The gradient of a user, in the layout of its owner.
  void add_to_owner(ParameterStore& store, std::size_t i) {
    const std::span<float> sum = store.owner(i).gradient.floats();
    Values user(sum.size(), 0.0F);
    convert({chain_.block(i), own_gradients_[i].floats().data()},
            {chain_.block(owner(i)), user.data()}, true);
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += user[j];
  }

  /// The gradients of what block i has read, to the blocks that wrote it.
  void hand_back(std::size_t i, std::vector<bool>& begun) {
    const plan::Network& network = chain_.network();
    for (std::size_t k = 0; k < network.blocks[i].srcs.size(); ++k) {
      if (!network.has_gradient(network.blocks[i].srcs[k])) continue;
      const auto writer = static_cast<std::size_t>(network.blocks[i].srcs[k]) - 1;
      const std::span<const float> own = own_diffs_[i][k].floats();
      const std::span<float> all = diff_[writer].floats();
      for (std::size_t j = 0; j < all.size(); ++j) {
        all[j] = begun[writer] ? all[j] + own[j] : own[j];
      }
      begun[writer] = true;
    }
  }

  /// After step t: a new one is sent before one that is due is merged.
  void exchange(const strategy::ExchangeMode& mode, std::int64_t t) {
    if (t % mode.every == mode.every - 1) {
      Flight flight{.due = t + mode.wait, .mode = mode, .own = {}};
      for (int node = 0; node < nodes_; ++node) flight.own.push_back(values_of(node));
      flights_.push_back(std::move(flight));
    }
    while (!flights_.empty() && flights_.front().due == t) land();
  }

  void land() {
    const Flight flight = std::move(flights_.front());
    flights_.pop_front();
    Values sum = flight.own.front();
    for (int node = 1; node < nodes_; ++node) {
      const Values& own = flight.own[static_cast<std::size_t>(node)];
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += own[j];
    }
    const auto members = static_cast<float>(nodes_);
    const auto twice = static_cast<float>(2 * flight.mode.wait);
    const Values velocity = velocity_;
    for (int node = 0; node < nodes_; ++node) {
      Values x = values_of(node);
      const Values& own = flight.own[static_cast<std::size_t>(node)];
      for (std::size_t j = 0; j < x.size(); ++j) {
        switch (flight.mode.merge) {
          case plan::MergeKind::average: x[j] = sum[j] / members; break;
          case plan::MergeKind::weighted: x[j] = (twice * x[j] + sum[j]) / (twice + members); break;
          case plan::MergeKind::corrected: x[j] += sum[j] / members - own[j]; break;
          default:
            x[j] = learns_[j] ? outer(j, sum[j] / members, velocity[j]) : sum[j] / members;
            break;
        }
      }
      set_values(node, x);
      if (flight.mode.merge == plan::MergeKind::outer && node + 1 == nodes_) common_ = x;
    }
  }
  float outer(std::size_t j, float mean, float velocity) {
    const auto rate = static_cast<float>(config_.outer_lr);
    const auto momentum = static_cast<float>(config_.outer_momentum);
    const float gradient = common_[j] - mean;
    velocity_[j] = momentum * velocity + gradient;
    return common_[j] - rate * (gradient + momentum * velocity_[j]);
  }

  /// At the end of an epoch all weights, running statistics and optimizer arrays are averaged.
  void average() {
    const auto mean = [&](const auto& part_of_node) {
      const std::span<float> first = part_of_node(0);
      Values sum(first.begin(), first.end());
      for (int node = 1; node < nodes_; ++node) {
        const std::span<float> part = part_of_node(node);
        for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += part[j];
      }
      for (float& x : sum) x /= static_cast<float>(nodes_);
      for (int node = 0; node < nodes_; ++node) std::ranges::copy(sum, part_of_node(node).begin());
    };
    for (std::size_t i = 0; i < chain_.size(); ++i) {
      const auto block = [&](int node) -> BlockMemory& {
        return stores_[static_cast<std::size_t>(node)]->block(i);
      };
      mean([&](int node) { return block(node).weights.floats(); });
      mean([&](int node) { return block(node).state.floats(); });
      for (int s = 0; s < optimizer_->state_count(); ++s) {
        mean([&](int node) { return block(node).optimizer[static_cast<std::size_t>(s)].floats(); });
      }
    }
  }

  session::TrainConfig config_;
  std::vector<strategy::ExchangeMode> modes_;
  int nodes_;
  int places_;
  session::Setup setup_;
  data::BatchStream stream_;
  ClassWeights weights_;
  double weight_ = 0;
  std::vector<double> node_weights_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  Chain chain_;
  std::vector<std::unique_ptr<ParameterStore>> stores_;  ///< by node
  std::vector<tensor::Tensor> dst_;
  std::vector<tensor::Tensor> diff_;  ///< of the blocks' results, summed over their readers
  std::vector<std::vector<tensor::Tensor>> own_diffs_;  ///< by block and source, of it alone
  /// By block, as it lays them out: of those that use another one's weights.
  std::vector<tensor::Tensor> own_weights_, own_gradients_;
  std::vector<std::shared_ptr<std::byte>> saved_;
  std::vector<std::shared_ptr<std::byte>> pending_;
  std::shared_ptr<std::byte> scratch_;
  std::deque<Flight> flights_;
  Values common_;  ///< where all were last equal
  std::vector<bool> learns_;
  Values velocity_;  ///< of the outer optimizer
  std::vector<double> losses_;
  std::vector<int> modes_used_;
};

}  // namespace plait::run
