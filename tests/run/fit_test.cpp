// Fitting the added blocks of a torn network to trained weights.
#include "session/fit.hpp"

#include <gmock/gmock.h>

#include "data/batch.hpp"
#include "run/torn_testing.hpp"
#include "run/training.hpp"
#include "session/setup.hpp"
#include "strategy/parareal/torn_weights.hpp"

namespace plait::run {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class Fit : public TrainTest {
 protected:
  session::TrainConfig config(const std::string& model) const {
    session::TrainConfig config = small();
    config.model = model;
    config.threads = 1;
    config.checkpoint_every = 0;
    config.lr = 0.05;
    config.run_dir = (folder_ / "serial").string();
    return config;
  }
  static session::FitOptions options(std::int64_t steps) {
    return {.steps = steps, .batch = 32, .source = "test"};
  }
  /// The torn network's residuals in evaluation, and the weights they are of.
  static std::vector<Residual> residuals_of(const session::TrainConfig& config,
                                            const std::vector<checkpoint::NamedTensor>& weights) {
    return session::evaluate_weights(
               config, weights, "test",
               {.network_of =
                    [](const plan::Network& model, const std::vector<std::string>& names) {
                      return strategy::network_of_weights(model, names, 1);
                    }})
        .residuals;
  }
  /// |u_1 - x_2|^2 of a batch.
  static double missed(const plan::Network& torn,
                       const std::vector<checkpoint::NamedTensor>& weights,
                       const data::Batch& batch) {
    Evaluated evaluated(torn, batch.size(), weights);
    evaluated.logits(batch.images);
    for (const ResidualSums& one : evaluated.residuals()) {
      if (one.other > 0) return one.difference;
    }
    return 0;
  }
  static std::vector<checkpoint::NamedTensor> begin_of(
      const plan::Network& torn, const std::vector<checkpoint::NamedTensor>& serial) {
    Chain chain(torn, {.batch = 32, .threads = 1});
    ParameterStore store(chain, 1, 0);
    store.import_weights(serial, "test");
    return store.export_weights();
  }
};

TEST_F(Fit, LowersTheResidualsAndLeavesTheModelAlone) {
  for (const char* model : {"mlp:32-32-32-32", "lenet"}) {
    SCOPED_TRACE(model);
    session::TrainConfig trained = config(model);
    trained.run_dir = (folder_ / std::string(model).substr(0, 3)).string();
    run(trained);
    const auto serial =
        checkpoint::read_safetensors(session::weights_of_run(trained.run_dir)).tensors;
    const auto setup = make_setup(trained);
    const plan::Network network = plan::make_network(setup.model);
    const data::Batch batch = data::BatchStream(setup.data.test, {.batch = 32}).load(0, 0);
    for (const strategy::CoarseKind kind : {strategy::CoarseKind::block, strategy::CoarseKind::conv,
                                            strategy::CoarseKind::identity}) {
      const int pieces = std::string_view(model) == "lenet" ? 2 : 3;
      if (kind == strategy::CoarseKind::identity && pieces == 2) continue;
      SCOPED_TRACE(std::string(name_of(kind)));
      const plan::Network torn =
          torn_network(network, tearing_for(network, pieces, kind), 1).network;
      int ticks = 0;
      std::vector<std::string> notes;
      // What makes x of images is normalised: its scale takes some steps to learn.
      const int steps = pieces == 2 ? 200 : 60;
      session::FitOptions how = options(steps);
      how.tick = [&] { ++ticks; };
      how.note = [&](const std::string& line) { notes.push_back(line); };
      const auto fitted = session::fit_added(torn, serial, how, setup.data.train);
      EXPECT_EQ(ticks, steps);
      const auto interfaces = static_cast<std::size_t>(pieces - 1);
      EXPECT_THAT(notes, SizeIs(interfaces));
      EXPECT_THAT(differing(serial, fitted), IsEmpty());
      EXPECT_THAT(
          differing(fitted, session::fit_added(torn, serial, options(steps), setup.data.train)),
          IsEmpty())
          << "two fits are equal";
      const auto begin = begin_of(torn, serial);
      EXPECT_EQ(begin.size(), fitted.size());
      EXPECT_EQ(differing(fitted, begin).size(), fitted.size() - serial.size())
          << "every added weight has learned, and no other";
      const auto before = residuals_of(trained, begin);
      const auto after = residuals_of(trained, fitted);
      ASSERT_THAT(before, SizeIs(interfaces));
      ASSERT_THAT(after, SizeIs(interfaces));
      EXPECT_LT(missed(torn, fitted, batch), missed(torn, begin, batch));
      if (pieces == 2) continue;  // x is so small there that what it is compared with says more
      EXPECT_LT(after.front().value, 0.9 * before.front().value);
      EXPECT_LT(after.back().value, before.back().value);
    }
  }
}

TEST_F(Fit, RefusesWeightsOfAnotherModel) {
  const auto setup = make_setup(config("mlp:32-32-32"));
  const plan::Network network = plan::make_network(setup.model);
  const plan::Network torn = torn_network(network, tearing_for(network, 2), 1).network;
  EXPECT_THROW(session::fit_added(torn, random_weights(strategy::network_of("lenet")), options(1),
                                  setup.data.train),
               UserError);
}

TEST_F(Fit, IsTheBeginOfARunThatSaysSo) {
  const session::TrainConfig trained = config("mlp:32-32-32-32");
  run(trained);
  session::TrainConfig torn = trained;
  torn.strategy = "parareal";
  torn.pieces = "3";
  torn.workers = 3;
  torn.run_dir = "none";
  torn.lr = 0;
  torn.epochs = 1;
  torn.init = session::weights_of_run(trained.run_dir).string();
  const auto residuals_after = [&](bool fits) {
    session::TrainObserver silent;
    torn.fit_coarse = fits;
    return session::train(job_of(torn, silent)).residuals;
  };
  torn.fit_steps = 60;
  const auto fitted = residuals_after(true);
  const auto random = residuals_after(false);
  ASSERT_THAT(fitted, SizeIs(2));
  ASSERT_THAT(random, SizeIs(2));
  EXPECT_LT(fitted[0].value, random[0].value);
}

}  // namespace
}  // namespace plait::run
