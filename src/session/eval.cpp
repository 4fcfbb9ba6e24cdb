// Builds a chain for saved weights and evaluates it.
#include "session/eval.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "checkpoint/store.hpp"

namespace plait::session {

std::int64_t evaluation_batch(const TrainConfig& config, const Setup& setup) {
  constexpr std::int64_t kFew = 1024;
  return std::min(config.batch, std::max(kFew, setup.data.test->size()));
}

run::Evaluation evaluate_weights(const TrainConfig& config,
                                 const std::vector<checkpoint::NamedTensor>& weights,
                                 const std::string& source, const EvaluationHooks& hooks) {
  check_config(config);
  return evaluate_weights(config, make_setup(config), weights, source, hooks);
}

run::Evaluation evaluate_weights(const TrainConfig& config, const Setup& setup,
                                 const std::vector<checkpoint::NamedTensor>& weights,
                                 const std::string& source, const EvaluationHooks& hooks) {
  TrainConfig alone = config;  // however many workers trained it
  alone.workers = alone.nodes = 1;
  alone.workers_per_node = 0;
  alone.link_between_nodes.clear();
  plan::Network network = plan::make_network(setup.model);
  if (hooks.network_of) {
    std::vector<std::string> names;
    for (const checkpoint::NamedTensor& tensor : weights) names.push_back(tensor.name);
    network = hooks.network_of(network, names);
  }
  run::Chain chain(std::move(network), {.batch = evaluation_batch(config, setup),
                                        .threads = threads_per_worker(alone)});
  run::ParameterStore parameters(chain, config.seed, 0);
  parameters.import_weights(weights, source);
  run::Evaluator evaluator(chain, setup.data.test, optim::loss_spec(config));
  return evaluator.run(parameters, hooks.outputs);
}

std::filesystem::path weights_of_run(const std::filesystem::path& run_dir) {
  const checkpoint::CheckpointStore store(run_dir / "checkpoints");
  for (const checkpoint::CheckpointEntry& one : store.list()) {
    if (one.damage.empty()) continue;
    user_error("{}; it may be the best one: delete '{}' to use the others", one.damage,
               store.path_of(one.folder).string());
  }
  auto entry = store.best();
  if (!entry) entry = store.latest();
  if (!entry) user_error("{} has no checkpoint; is it a run folder?", run_dir.string());
  store.load(entry->folder);  // refuses a damaged one by name
  return store.path_of(entry->folder) / "weights.safetensors";
}

}  // namespace plait::session
