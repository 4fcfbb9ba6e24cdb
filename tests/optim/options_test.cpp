// The tables of optimizers, losses and schedules: bounds, settings that do not apply, and the specs
// made of the settings.
#include "optim/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.hpp"

namespace plait::optim {
namespace {

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::string refusal(const OptimizerOptions& options) {
  return refusal([&] { check_optimizer_options(options); });
}

TEST(OptimOptions, AllowTheirDefaults) {
  EXPECT_EQ(refusal(OptimizerOptions{}), "");
  EXPECT_EQ(refusal([] { check_loss_options({}); }), "");
  EXPECT_EQ(refusal([] { check_schedule_options({}); }), "");
}

TEST(OptimOptions, RefuseWhatARowDoesNotAllow) {
  EXPECT_EQ(refusal({.optimizer = "adm"}),
            "`optimizer` adm is not known (did you mean 'adam'?); there are: sgd, adam, adamw");
  EXPECT_EQ(refusal({.momentum = 1}),
            "`momentum` 1 is out of range; it must be 0 or more and below 1");
  EXPECT_EQ(refusal([] { check_loss_options({.label_smoothing = 2}); }),
            "`label_smoothing` 2 is out of range; it must be between 0 and 1");
  EXPECT_EQ(refusal([] { check_schedule_options({.lr_scale = "many"}); }),
            "`lr_scale` many must be a number above 0, or workers");
}

TEST(OptimOptions, RefuseWhatDoesNotApply) {
  EXPECT_EQ(refusal({.beta1 = 0.5}),
            "`beta1` 0.5 is for `optimizer` adam, adamw; sgd has no such option");
  EXPECT_EQ(refusal({.optimizer = "adamw", .nesterov = true}),
            "`nesterov` is for `optimizer` sgd; adamw has no such option");
  EXPECT_EQ(refusal([] { check_loss_options({.loss = "mse", .label_smoothing = 0.1}); }),
            "`label_smoothing` 0.1 is for `loss` cross_entropy; mse has no such option");
  EXPECT_EQ(refusal([] { check_schedule_options({.final_lr = 0.1}); }),
            "`final_lr` 0.1 is for `schedule` cosine; constant has no such option");
}

TEST(OptimOptions, BecomeSpecs) {
  EXPECT_EQ(optimizer_spec({.optimizer = "adam"}).momentum, 0) << "the default is for sgd";
  EXPECT_EQ(optimizer_states({.optimizer = "adam"}), 2);
  const ScheduleSpec spec = schedule_spec({.lr = 0.1, .lr_scale = "workers"},
                                          {.steps_per_epoch = 10, .total_steps = 30, .workers = 4});
  EXPECT_DOUBLE_EQ(spec.base, 0.4);
  EXPECT_EQ(spec.warmup_steps, 10) << "the first epoch";
  EXPECT_DOUBLE_EQ(spec.warmup_from, 0.25);
}

}  // namespace
}  // namespace plait::optim
