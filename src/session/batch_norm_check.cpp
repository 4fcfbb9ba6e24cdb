// Looks for BatchNorms over 1x1 images or features, and for minibatches that leave them one sample.
#include "session/batch_norm_check.hpp"

#include <optional>

#include "base/error.hpp"
#include "graph/shapes.hpp"

namespace plait::session {

namespace {

struct Norm {
  std::string layer;  ///< "block 'b', layer 'bn'"
  tensor::Shape src;  ///< of one sample
};

/// By block: the batch_norm that sees one value per channel of a sample, if there is any.
std::vector<std::optional<Norm>> single_valued_norms(const plan::Network& network) {
  const std::vector<tensor::Shape> shapes = plan::tensor_shapes(network);
  std::vector<std::optional<Norm>> norms;
  for (const plan::NetworkBlock& block : network.blocks) {
    std::optional<Norm>& found = norms.emplace_back();
    const std::vector<tensor::Shape> srcs = src_shapes(block, shapes);
    const std::vector<tensor::Shape> inner = graph::node_shapes(block.spec, srcs);
    for (const graph::Node& node : block.spec.nodes) {
      if (found || !std::holds_alternative<ops::BatchNorm>(node.layer)) continue;
      const tensor::Shape of = graph::node_inputs(node, srcs, inner, block.name).front();
      if (of.elements() == of[0]) {
        found = Norm{fmt::format("block '{}', layer '{}'", block.spec.name, node.name), of};
      }
    }
  }
  return norms;
}

/// "`batch` 8 / 4 workers / 2 microbatches".
std::string arithmetic(const plan::Plan& plan, const plan::Samples& samples) {
  std::string text = fmt::format("`batch` {}", plan.batch);
  const int workers = samples.of / plan.microbatches;
  if (workers > 1) text += fmt::format(" / {} workers", workers);
  if (plan.microbatches > 1) text += fmt::format(" / {} microbatches", plan.microbatches);
  return text;
}

std::string other_ways(const plan::Plan& plan, const plan::Samples& samples) {
  const bool workers = samples.of > plan.microbatches;
  const bool microbatches = plan.microbatches > 1;
  if (!workers && !microbatches) return "";
  return fmt::format(" or fewer {}{}{}", workers ? "workers" : "",
                     workers && microbatches ? " or " : "", microbatches ? "`microbatches`" : "");
}

}  // namespace

void check_batch_norms(const plan::Plan& plan, const TrainConfig& config,
                       std::int64_t train_samples) {
  const std::vector<std::optional<Norm>> norms = single_valued_norms(plan.network);
  const std::int64_t tail = config.drop_last ? 0 : train_samples % plan.batch;
  for (const plan::Program& program : plan.programs) {
    for (const plan::Task& task : program.tasks) {
      const auto* forward = std::get_if<plan::Forward>(&task.what);
      if (forward == nullptr) continue;
      const plan::Samples& samples = forward->samples;
      const std::optional<Norm>& norm = norms[static_cast<std::size_t>(forward->block)];
      if (!norm) continue;
      if (samples.count(plan.batch) == 1) {
        user_error(
            "{}: batch_norm of {} would see 1 value per channel ({}: 1 sample) and needs more than "
            "1 in training; use a `batch` of at least {}{}",
            norm->layer, norm->src, arithmetic(plan, samples), 2 * samples.of,
            other_ways(plan, samples));
      }
      if (tail > 0 && samples.count(tail) == 1) {
        user_error(
            "{}: batch_norm of {} would see 1 value per channel in the last minibatch of an epoch "
            "({} samples, `batch` {}: the last has {}{}) and needs more than 1 in training; add "
            "`drop_last`, or use another `batch`",
            norm->layer, norm->src, train_samples, plan.batch, tail,
            samples.of > 1 ? fmt::format(", cut in {}", samples.of) : "");
      }
    }
  }
}

}  // namespace plait::session
