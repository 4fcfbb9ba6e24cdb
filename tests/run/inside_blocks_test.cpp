// Pipelines that cut inside the blocks of a model, against plain SGD, bit for bit: residual blocks,
// dense blocks, and an encoder and decoder with skips. And one convolution whose two gradients are
// made at the same time.
#include <barrier>
#include <set>

#include "base/error.hpp"
#include "plan/check.hpp"
#include "plan/hand_made.hpp"
#include "run/inside_models.hpp"
#include "run/pipeline_case.hpp"

namespace plait::run {
namespace {

/// Whether two workers compute parts of one block of the model.
bool cuts_inside(const plan::Plan& plan) {
  std::map<std::string, std::set<int>> workers;
  for (int worker = 0; worker < plan.workers(); ++worker) {
    for (const plan::Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
      if (!plan::is<plan::Forward>(task)) continue;
      const auto block = static_cast<std::size_t>(plan::block_of(task));
      workers[plan.network.blocks[block].spec.name].insert(worker);
    }
  }
  return std::ranges::any_of(workers, [](const auto& one) { return one.second.size() > 1; });
}

class InsideBlocks : public PipelineTest {
 protected:
  session::TrainConfig config_of(const PipelineCase& one) {
    PipelineCase named = one;
    named.model = (folder_ / (one.model + ".toml")).string();
    write_text(named.model, kInsideModels.at(one.model));
    return PipelineTest::config_of(named);
  }
};

class EveryInsidePipeline : public InsideBlocks,
                            public testing::WithParamInterface<PipelineCase> {};

TEST_P(EveryInsidePipeline, HasTheBitsOfPlainSgd) {
  const session::TrainConfig config = config_of(GetParam());
  const plan::Plan plan = plan_of(config);
  EXPECT_TRUE(cuts_inside(plan) || GetParam().strategy.ends_with("-replicated"));
  const int delay = std::ranges::max(plan::staleness(plan));
  EXPECT_TRUE(delay == 0 || GetParam().pipeline == "async") << delay;
  EXPECT_EQ(run(config).weights_hash, oracle(config, plan));
}

std::vector<PipelineCase> inside_pipelines() {
  std::vector<PipelineCase> all;
  for (const auto& [model, text] : kInsideModels) {
    for (const int workers : {2, 3, 4, 8}) {
      for (const char* strategy : {"layerpipe", "gpipe", "1f1b", "zb-h1", "zb-h2"}) {
        all.push_back({strategy, model, workers});
      }
      all.push_back({"layerpipe", model, workers, 1, "async"});
      all.push_back({"pipedream", model, workers, 1, "async"});
      all.push_back({"layerpipe-replicated", model, workers});
      for (const char* strategy : {"layerpipe-replicated", "pipedream-replicated"}) {
        all.push_back({strategy, model, workers, 4, "async"});
      }
      all.push_back({"pipedream-2bw", model, workers, workers == 3 ? 4 : workers, "async"});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryInsidePipeline, testing::ValuesIn(inside_pipelines()),
                         pipeline_case_name);

TEST_F(InsideBlocks, ReplicatedPipelinesHaveReplicas) {
  for (const auto& [model, text] : kInsideModels) {
    for (const char* pipeline : {"sync", "async"}) {
      const plan::Plan plan = plan_of(config_of({"layerpipe-replicated", model, 8, 4, pipeline}));
      EXPECT_GT(std::ranges::max(sums_of(plan)), 1) << model << ", " << pipeline;
    }
  }
}

/// Worker 0 computes everything but the weight gradient of block `far`, which is worker 1's.
plan::Plan weights_elsewhere(const session::TrainConfig& config, const graph::ModelSpec& model,
                             const plan::Machine& machine, int far) {
  plan::Plan plan{.strategy = "by hand", .machine = machine, .network = plan::make_network(model)};
  plan.batch = config.batch;
  plan.optimizer_states = 1;
  plan.programs.resize(2);
  const plan::NetworkBlock& block = plan.network.blocks[static_cast<std::size_t>(far)];
  const int last = plan.network.size() - 1;
  plan::hand_made::Writer first(plan.programs[0]);
  first.task(plan::TaskKind::load).forward(0, last).task(plan::TaskKind::loss);
  first.backward(plan.network, last, far + 1);
  first.message(plan::TaskKind::send, block.srcs.front(), false, 1);
  first.message(plan::TaskKind::send, block.dst, true, 1);
  first.message(plan::TaskKind::send, plan::Role::saved, far, 1);
  first.task(plan::TaskKind::backward_data, far).backward(plan.network, far - 1, 0);
  first.update(plan.network, 0, far - 1).update(plan.network, far + 1, last);
  first.message(plan::TaskKind::receive, plan::Role::weights, far, 1);
  plan::hand_made::Writer second(plan.programs[1]);
  second.message(plan::TaskKind::receive, block.srcs.front(), false, 0);
  second.message(plan::TaskKind::receive, block.dst, true, 0);
  second.message(plan::TaskKind::receive, plan::Role::saved, far, 0);
  second.task(plan::TaskKind::backward_weights, far).update(plan.network, far, far);
  second.message(plan::TaskKind::send, plan::Role::weights, far, 0);
  plan::check_plan(plan);
  return plan;
}

/// Each of the two waits for the other to begin: neither needs what the other one makes.
TEST_F(InsideBlocks, BothGradientsOfAConvolutionAreMadeAtTheSameTime) {
  session::TrainConfig config = config_of({"serial", "residual", 1, 1});
  const session::TrainResult serial = run(config);
  config.workers = 2;
  config.run_dir = "none";
  const plan::Network network = plan::make_network(make_setup(config).model);
  const auto found = std::ranges::find(network.blocks, "one.conv1", &plan::NetworkBlock::name);
  ASSERT_NE(found, network.blocks.end());
  const int far = static_cast<int>(found - network.blocks.begin());
  std::barrier begin(2);
  std::atomic<int> met = 0;
  session::TrainObserver silent;
  session::TrainJob job = job_with_plan(
      config, silent, [&](const graph::ModelSpec& model, const plan::Machine& machine) {
        return weights_elsewhere(config, model, machine, far);
      });
  job.hook = [&](int, const plan::Task& task, std::int64_t) {
    const bool one = plan::is<plan::BackwardData>(task) || plan::is<plan::BackwardWeights>(task);
    if (!one || plan::block_of(task) != far) return;
    ++met;
    begin.arrive_and_wait();
  };
  const session::TrainResult result = session::train(job);
  EXPECT_EQ(result.weights_hash, serial.weights_hash);
  EXPECT_EQ(met, 2 * result.steps);
}

}  // namespace
}  // namespace plait::run
