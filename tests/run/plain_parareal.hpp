// The oracle of parareal: the formulas written down as plainly as possible, on one thread, with
// nothing of plans, workers or torn networks. One sweep:
//
//   x_1 = image,  x_j = C_j(image),  y_j = g_j(x_j)
//   u_1 = y_1,    u_j = y_j + F_j(u_{j-1} - x_j),     logits = h(u_N)
//   lambda_N = h'^T dL,  lambda_{j-1} = F_j'^T lambda_j
//   g_j is seeded with lambda_j;  C_j receives g_j'^T lambda_j - lambda_{j-1}
#pragma once

#include <omp.h>

#include <optional>

#include "data/batch.hpp"
#include "graph/shapes.hpp"
#include "kernels/graph_of_blocks.hpp"
#include "optim/loss.hpp"
#include "optim/optimizer.hpp"
#include "run/torn_testing.hpp"

namespace plait::run {

/// A block of the model with all its memory, which learns by itself.
class PlainPart {
 public:
  PlainPart(const graph::BlockSpec& spec, const tensor::TensorDesc& src, bool wants_diff_src,
            std::optional<tensor::Layout> dst_layout = {})
      : name_(spec.name),
        graph_(spec, {src}, {.wants_diff_srcs = {wants_diff_src}, .dst_layout = dst_layout}) {
    for (const auto& part : graph_.parts()) {
      momentum_.emplace_back(part->weights.size(), 0.0F);
    }
  }

  const tensor::TensorDesc& desc() const { return graph_.dst_desc(); }
  std::span<float> diff_src() { return diff_src_; }

  std::span<const float> forward(std::span<const float> src) {
    dst_ = graph_.forward({{src.begin(), src.end()}});
    return dst_;
  }
  std::span<const float> backward(std::span<const float> diff_dst) {
    diff_src_ = graph_.backward({diff_dst.begin(), diff_dst.end()}).front();
    return diff_src_;
  }
  void update(const optim::Optimizer& optimizer, double rate, std::int64_t step) {
    for (std::size_t i = 0; i < momentum_.size(); ++i) {
      GraphOfBlocks::Part& part = *graph_.parts()[i];
      if (part.weights.empty()) continue;
      optimizer.update({.weights = part.weights,
                        .result = part.weights,
                        .gradient = {part.gradient.floats(), part.weights.size()},
                        .state = {momentum_[i], {}},
                        .learning_rate = rate,
                        .step = step});
    }
  }

  void set_weights(const std::vector<checkpoint::NamedTensor>& weights) {
    each([&](GraphOfBlocks::Part& part, const kernels::BlockParameter& one, float* place) {
      const auto found =
          std::ranges::find(weights, name_ + "." + one.name, &checkpoint::NamedTensor::name);
      ASSERT_NE(found, weights.end()) << name_ << "." << one.name;
      part.block.pack_parameter(one, found->tensor.floats().data(), place);
    });
  }
  void append_to(std::vector<checkpoint::NamedTensor>& weights) {
    each([&](GraphOfBlocks::Part& part, const kernels::BlockParameter& one, const float* place) {
      tensor::Tensor plain(one.spec.shape);
      part.block.unpack_parameter(one, place, plain.floats().data());
      weights.push_back({name_ + "." + one.name, plain});
    });
  }

 private:
  using GraphOfBlocks = kernels::layer_testing::GraphOfBlocks;

  template <class Body>
  void each(const Body& body) {
    for (const auto& part : graph_.parts()) {
      for (const kernels::BlockParameter& one : part->block.parameters()) {
        body(*part, one, (one.spec.trainable ? part->weights : part->state).data() + one.offset);
      }
    }
  }

  std::string name_;
  GraphOfBlocks graph_;
  std::vector<kernels::layer_testing::Floats> momentum_;
  kernels::layer_testing::Floats dst_;
  kernels::layer_testing::Floats diff_src_;
};

class PlainParareal {
 public:
  /// Piece j begins with block first[j - 1] of the network, the head with block `head`.
  PlainParareal(const graph::ModelSpec& model, const strategy::Tearing& tearing, std::int64_t batch)
      : batch_(batch), optimizer_(optim::make_optimizer({.kind = "sgd", .momentum = 0.9})) {
    omp_set_num_threads(1);
    const std::vector<tensor::Shape> shapes = border_shapes(model);
    const tensor::TensorDesc image = kernels::batch_desc(model.input, batch);
    const std::size_t count = tearing.first.size();
    const auto spec = [&](int b) -> const graph::BlockSpec& {
      return model.blocks[static_cast<std::size_t>(b)];
    };
    const auto shape = [&](int b) -> const tensor::Shape& {
      return shapes[static_cast<std::size_t>(b)];
    };
    pieces_.resize(count);
    const plan::Network whole = plan::make_network(model);
    const auto block_of = [&](int fine) {  // of the model
      const std::string& name = whole.blocks[static_cast<std::size_t>(fine)].spec.name;
      return static_cast<int>(std::ranges::find(model.blocks, name, &graph::BlockSpec::name) -
                              model.blocks.begin());
    };
    const int head = block_of(tearing.head);
    for (std::size_t j = 0; j < count; ++j) {
      Piece& piece = pieces_[j];
      const int first = block_of(tearing.first[j]);
      const int end = j + 1 < count ? block_of(tearing.first[j + 1]) : head;
      std::optional<tensor::Layout> behind;
      if (j > 0) {  // what is joined lies as the model's own blocks leave it
        const tensor::Layout before = pieces_[j - 1].u.desc().layout;
        piece.enter.emplace(
            strategy::enter_block(strategy::enter_name(spec(first).name), model.input, shape(first),
                                  strategy::TornChain(whole).is_rectified(tearing.first[j])),
            image, false, before);
        if (tearing.coarse == strategy::CoarseKind::identity) behind = before;
      }
      for (int b = first; b < end; ++b) {
        const tensor::TensorDesc& src = b > first ? piece.body.back()->desc()
                                        : j > 0   ? piece.enter->desc()
                                                  : image;
        piece.body.push_back(
            std::make_unique<PlainPart>(spec(b), src, b > 0, b + 1 == end ? behind : std::nullopt));
      }
      const tensor::TensorDesc& y = piece.body.back()->desc();
      piece.u = tensor::Tensor(y);
      if (j == 0) continue;
      piece.d = tensor::Tensor(piece.enter->desc());
      if (tearing.coarse == strategy::CoarseKind::identity) continue;
      piece.coarse.emplace(coarse_block(strategy::coarse_name(spec(first).name), tearing.coarse,
                                        shape(first), shape(end)),
                           piece.enter->desc(), true, y.layout);
    }
    for (int b = head; b < static_cast<int>(model.blocks.size()); ++b) {
      const bool last = b + 1 == static_cast<int>(model.blocks.size());
      const tensor::TensorDesc& src =
          head_.empty() ? pieces_.back().u.desc() : head_.back()->desc();
      head_.push_back(std::make_unique<PlainPart>(
          spec(b), src, true, last ? std::optional(tensor::Layout::plain) : std::nullopt));
    }
  }

  void set_weights(const std::vector<checkpoint::NamedTensor>& weights) {
    each([&](PlainPart& part) { part.set_weights(weights); });
  }
  std::vector<checkpoint::NamedTensor> weights() {
    std::vector<checkpoint::NamedTensor> all;
    each([&](PlainPart& part) { part.append_to(all); });
    return all;
  }

  /// One update; gives the sum of the losses before it.
  double step(const data::Batch& batch, double rate) {
    const std::span<const float> logits = forward(batch.images.floats());
    tensor::Tensor diff(head_.back()->desc());
    const double loss = optim::compute_loss({},
                                            {.logits = logits,
                                             .targets = batch.targets.floats(),
                                             .classes = diff.shape()[1],
                                             .scale = 1.0 / static_cast<double>(batch_)},
                                            diff.floats())
                            .sum;
    backward(diff.floats());
    ++steps_;
    each([&](PlainPart& part) { part.update(*optimizer_, rate, steps_); });
    return loss;
  }

 private:
  struct Piece {
    std::optional<PlainPart> enter;                ///< C_j
    std::vector<std::unique_ptr<PlainPart>> body;  ///< g_j
    std::optional<PlainPart> coarse;               ///< F_j
    tensor::Tensor d;
    tensor::Tensor u;
  };

  template <class Body>
  void each(const Body& body) {
    for (Piece& piece : pieces_) {
      if (piece.enter) body(*piece.enter);
      for (auto& part : piece.body) body(*part);
      if (piece.coarse) body(*piece.coarse);
    }
    for (auto& part : head_) body(*part);
  }

  std::span<const float> forward(std::span<const float> image) {
    for (std::size_t j = 0; j < pieces_.size(); ++j) {
      Piece& piece = pieces_[j];
      const std::span<const float> x = j == 0 ? image : piece.enter->forward(image);
      std::span<const float> y = x;
      for (auto& part : piece.body) y = part->forward(y);
      const std::span<float> u = piece.u.floats();
      std::ranges::copy(y, u.begin());
      if (j == 0) continue;
      const std::span<const float> before = pieces_[j - 1].u.floats();
      const std::span<float> d = piece.d.floats();
      for (std::size_t i = 0; i < d.size(); ++i) d[i] = before[i] - x[i];
      const std::span<const float> f = piece.coarse ? piece.coarse->forward(d) : d;
      for (std::size_t i = 0; i < u.size(); ++i) u[i] = y[i] + f[i];
    }
    std::span<const float> at = pieces_.back().u.floats();
    for (auto& part : head_) at = part->forward(at);
    return at;
  }

  void backward(std::span<const float> diff) {
    for (auto part = head_.rbegin(); part != head_.rend(); ++part) diff = (*part)->backward(diff);
    std::vector<std::span<const float>> lambda(pieces_.size());
    lambda.back() = diff;
    for (std::size_t j = pieces_.size() - 1; j > 0; --j) {
      lambda[j - 1] = pieces_[j].coarse ? pieces_[j].coarse->backward(lambda[j]) : lambda[j];
    }
    for (std::size_t j = 0; j < pieces_.size(); ++j) {
      Piece& piece = pieces_[j];
      std::span<const float> back = lambda[j];
      for (auto part = piece.body.rbegin(); part != piece.body.rend(); ++part) {
        back = (*part)->backward(back);
      }
      if (j == 0) continue;
      const std::span<float> received = piece.body.front()->diff_src();
      for (std::size_t i = 0; i < received.size(); ++i) received[i] -= lambda[j - 1][i];
      piece.enter->backward(received);
    }
  }

  std::int64_t batch_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::vector<Piece> pieces_;
  std::vector<std::unique_ptr<PlainPart>> head_;
  std::int64_t steps_ = 0;
};

}  // namespace plait::run
