// Pipelines whose workers have several pieces each, on networks with skips and tied weights,
// against plain SGD, bit for bit; and which of them are refused.
#include "base/error.hpp"
#include "run/inside_models.hpp"
#include "run/pipeline_case.hpp"
#include "run/tied_models.hpp"

namespace plait::run {
namespace {

class ChunksOracle : public PipelineTest {
 protected:
  /// Of a model as text; "refused" with a reason that names what is in the way.
  std::string hash_of(const PipelineCase& one, const std::string& text) {
    PipelineCase named = one;
    named.model = (folder_ / (one.model + ".toml")).string();
    write_text(named.model, text);
    const session::TrainConfig config = config_of(named);
    plan::Plan plan;
    try {
      plan = plan_of(config);
    } catch (const UserError& error) {
      EXPECT_TRUE(
          std::string(error.what()).find("does not come back to a worker") != std::string::npos ||
          std::string(error.what()).find("two or more to every worker") != std::string::npos)
          << error.what();
      return "refused";
    }
    const std::string hash = run(config).weights_hash;
    EXPECT_EQ(hash, oracle(config, plan));
    return hash;
  }

  int trained(const std::string& model, const std::string& text) {
    int count = 0;
    for (const int workers : {2, 3, 4}) {
      for (const char* strategy : {"1f1b-interleaved", "zb-v"}) {
        SCOPED_TRACE(model + ", " + strategy + ", " + std::to_string(workers));
        count += hash_of({strategy, model, workers}, text) == "refused" ? 0 : 1;
      }
    }
    return count;
  }
};

TEST_F(ChunksOracle, InsideBlocks) {
  int count = 0;
  for (const auto& [model, text] : kInsideModels) count += trained(model, text);
  EXPECT_GE(count, 6);
}

TEST_F(ChunksOracle, TiedWeights) {
  int count = 0;
  for (const auto& [model, text] : tied_models()) count += trained(model, text);
  EXPECT_GE(count, 16);
}

}  // namespace
}  // namespace plait::run
