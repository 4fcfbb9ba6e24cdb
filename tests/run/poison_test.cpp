// Nothing reads memory that holds no value: a run in which every such byte is NaN has the bits of
// the same run without. For every strategy, with microbatches, clipping and bf16 where it takes
// them.
#include <cmath>
#include <cstdlib>

#include "partition/partition.hpp"
#include "run/noise_images.hpp"
#include "run/sparse_files.hpp"
#include "run/training.hpp"

namespace plait::run {
namespace {

/// Switches the mode on while it lives. No other thread runs when it begins or ends.
class Poisoned {
 public:
  Poisoned() { setenv("PLAIT_POISON_MEMORY", "1", 1); }
  ~Poisoned() { unsetenv("PLAIT_POISON_MEMORY"); }
  Poisoned(const Poisoned&) = delete;
  Poisoned& operator=(const Poisoned&) = delete;
};

/// Parameters that fill no multiple of 16 floats, channels that fill no block, a window with
/// padding, groups, dropout, a skip: whatever leaves gaps and padding in memory.
constexpr const char* kMixed = R"([[block]]
name = "stem"
layers = [{type = "convolution", out = 6, kernel = 5, padding = 2}, {type = "batch_norm"}, {type = "relu"}]
[[block]]
name = "narrow"
residual = true
layers = [{type = "convolution", out = 6, kernel = 3, padding = 1, groups = 3}, {type = "tanh"}]
[[block]]
name = "wide"
layers = [{type = "convolution", out = 20, kernel = 3, padding = 1, stride = 2}, {type = "gelu"}]
[[block]]
name = "winograd"
layers = [{type = "convolution", out = 24, kernel = 5, padding = 2}, {type = "batch_norm"}, {type = "relu"}, {type = "max_pool", kernel = 2}]
[[block]]
name = "pooled"
layers = [{type = "average_pool", kernel = 3, stride = 2, padding = 1}, {type = "dropout", probability = 0.2}]
[[block]]
name = "head"
layers = [{type = "global_average_pool"}, {type = "flatten"}, {type = "linear", out = 13}, {type = "relu"}, {type = "linear", out = "classes"}]
)";

using Change = void (*)(session::TrainConfig&);

struct Case {
  std::string name;
  std::string strategy;
  int workers = 1;
  std::string model = "mixed";
  Change change = [](session::TrainConfig&) {};
};

std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }

class PoisonedMemory : public TrainTest, public testing::WithParamInterface<Case> {
 protected:
  std::string file_of(const std::string& model) const {
    if (model == "sparse") return write_sparse_model(folder_, "relu");
    if (model != "mixed") return model;
    const std::filesystem::path file = folder_ / "mixed.toml";
    std::ofstream(file) << kMixed;
    return file.string();
  }

  /// Five steps of two epochs, the last of each with fewer samples.
  session::TrainConfig config_of(const Case& one) const {
    session::TrainConfig config = small();
    config.model = file_of(one.model);
    config.strategy = one.strategy;
    config.workers = one.workers;
    config.threads = 1;
    config.batch = 16;
    config.epochs = 2;
    config.train_limit = 40;
    config.test_limit = 24;
    config.checkpoint_every = 2;
    config.optimizer = "adam";
    config.lr = 1e-3;
    config.weight_decay = 1e-3;
    config.stall_seconds = 30;
    config.pin = "none";
    if (one.model == "vgg11" || one.model == "resnet20") config.data = noise_images(folder_);
    one.change(config);
    return config;
  }

  static session::TrainResult run_once(const session::TrainConfig& config,
                                       std::vector<double>& losses) {
    LossCurve curve;
    const auto make_cut = [config](const graph::ModelSpec& model, const plan::Machine& machine) {
      const plan::Network network = plan::make_network(model);
      const auto owners =
          [](const std::vector<std::shared_ptr<const tensor::SparsePattern>>& layers, int workers) {
            return partition::make_partition(layers, {.parts = workers}).owners;
          };
      return strategy::make_plan(config.strategy, {.network = network,
                                                   .machine = machine,
                                                   .batch = config.batch,
                                                   .optimizer_states = 2,
                                                   .partition = owners});
    };
    const session::TrainResult result =
        session::train(config.strategy == "sparse_rows" ? job_with_plan(config, curve, make_cut)
                                                        : job_of(config, curve));
    losses = curve.losses;
    return result;
  }
};

TEST_P(PoisonedMemory, ChangesNoBit) {
  const session::TrainConfig config = config_of(GetParam());
  std::vector<double> losses;
  const session::TrainResult expected = run_once(config, losses);
  ASSERT_FALSE(losses.empty());
  std::vector<double> poisoned_losses;
  const Poisoned mode;
  const session::TrainResult result = run_once(config, poisoned_losses);
  EXPECT_EQ(result.weights_hash, expected.weights_hash);
  EXPECT_EQ(poisoned_losses, losses);
  EXPECT_EQ(result.test_loss, expected.test_loss);
  EXPECT_TRUE(std::isfinite(result.train_loss));
  EXPECT_EQ(result.train_loss, expected.train_loss);
}

void clip(session::TrainConfig& config) { config.clip_norm = 0.1; }
void micro(session::TrainConfig& config) { config.microbatches = 2; }
void clip_micro(session::TrainConfig& config) { clip(config), micro(config); }
void clip_micro_bf16(session::TrainConfig& config) { clip_micro(config), config.wire = "bf16"; }
void async(session::TrainConfig& config) { micro(config), config.pipeline = "async"; }
void nodes(session::TrainConfig& config) {
  config.nodes = 2;
  config.workers_per_node = 2;
  config.workers = 0;
  config.epochs = 4;
  config.local_steps = 2;
  config.exchange_every = 2;
  clip_micro(config);
}

std::vector<Case> poisoned_runs() {
  std::vector<Case> all{
      {"serial", "serial"},
      {"serial_clip", "serial", 1, "mixed", clip},
      {"serial_clip_microbatches", "serial", 1, "mixed", clip_micro},
      {"serial_uneven_microbatches", "serial", 1, "lenet",
       [](session::TrainConfig& c) { clip(c), c.microbatches = 4; }},
      {"serial_sgd", "serial", 1, "lenet",
       [](session::TrainConfig& c) { clip_micro(c), c.optimizer = "sgd", c.lr = 0.05; }},
      {"serial_sparse", "serial", 1, "sparse", clip_micro},
      {"serial_vgg11", "serial", 1, "vgg11", clip_micro},
      {"serial_resnet20", "serial", 1, "resnet20", clip_micro},
      {"data_parallel", "data_parallel", 2},
      {"data_parallel_clip_microbatches_bf16", "data_parallel", 2, "mixed", clip_micro_bf16},
      {"data_parallel_more_workers_than_samples", "data_parallel", 3, "lenet",
       [](session::TrainConfig& c) { clip_micro(c), c.train_limit = 34; }},
      {"layerpipe", "layerpipe", 2, "mixed", micro},
      {"layerpipe_resnet20", "layerpipe", 3, "resnet20", micro},
      {"layerpipe_async", "layerpipe", 2, "mixed", async},
      {"layerpipe_rebuilt", "layerpipe", 2, "mixed",
       [](session::TrainConfig& c) { async(c), c.weights = "rebuilt"; }},
      {"layerpipe_predicted", "layerpipe", 2, "mixed",
       [](session::TrainConfig& c) { async(c), c.weights = "predicted"; }},
      {"layerpipe_replicated", "layerpipe-replicated", 3, "mixed", micro},
      {"layerpipe_replicated_async", "layerpipe-replicated", 3, "mixed", async},
      {"gpipe", "gpipe", 2, "mixed", micro},
      {"one_f_one_b", "1f1b", 2, "mixed", micro},
      {"zb_h1", "zb-h1", 2, "mixed", micro},
      {"zb_h2", "zb-h2", 2, "mixed", micro},
      {"zb_v", "zb-v", 2, "mixed", micro},
      {"interleaved", "1f1b-interleaved", 2, "mixed", micro},
      {"pipedream", "pipedream", 2, "mixed", async},
      {"pipedream_replicated", "pipedream-replicated", 3, "mixed", async},
      {"pipedream_2bw", "pipedream-2bw", 2, "mixed", async},
      {"parareal", "parareal", 2, "resnet20"},
      {"parareal_sweeps", "parareal", 3, "resnet20", [](session::TrainConfig& c) { c.sweeps = 3; }},
      {"parareal_sweeps_bf16", "parareal", 2, "resnet20",
       [](session::TrainConfig& c) { micro(c), c.sweeps = 2, c.residual_wire = "bf16"; }},
      {"parareal_sparse", "parareal", 2, "sparse", [](session::TrainConfig& c) { c.sweeps = 2; }},
      {"sparse_rows", "sparse_rows", 3, "sparse"},
  };
  for (const std::string strategy : {"daso", "local_sgd", "diloco"}) {
    all.push_back({strategy, strategy, 0, "mixed", nodes});
    all.push_back({strategy + "_bf16", strategy, 0, "mixed", [](session::TrainConfig& c) {
                     nodes(c), c.exchange_wire = "bf16", c.wire = "bf16";
                   }});
    all.push_back({strategy + "_pipeline", strategy, 0, "mixed",
                   [](session::TrainConfig& c) { nodes(c), c.clip_norm = 0, c.inner = "zb-h1"; }});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(EveryStrategy, PoisonedMemory, testing::ValuesIn(poisoned_runs()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace plait::run
