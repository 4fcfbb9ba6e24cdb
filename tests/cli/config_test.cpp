// The table of fields: round trips, precedence, refusals with file and line, --resume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"
#include "cli/config_file.hpp"
#include "cli/fields.hpp"
#include "cli/flag_text.hpp"
#include "temp_folder.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;

template <class Work>
std::string refusal(const Work& work) {
  try {
    work();
  } catch (const UserError& error) {
    return with_flags(error.what());
  }
  return "nothing thrown";
}

std::string parse_refusal(const std::string& text) {
  return refusal([&] {
    GivenConfig given;
    parse_config(text, "my.toml", given);
  });
}

std::string flag_refusal(const std::string& key, const std::string& value) {
  return refusal([&] { resolve_config("", {{key, value}}); });
}

session::TrainConfig reread(const session::TrainConfig& config) {
  GivenConfig given;
  parse_config(write_config(config), "x.toml", given);
  EXPECT_EQ(given.keys.size(), fields().size());
  return given.config;
}

/// A value that is not the default, and hard to print.
struct Odd {
  void operator()(std::string& to) const { to = "a \"b\" \\ c\n\t\x01 # = ü"; }
  void operator()(std::int64_t& to) const { to = std::numeric_limits<std::int64_t>::min(); }
  void operator()(std::uint64_t& to) const { to = std::numeric_limits<std::uint64_t>::max(); }
  void operator()(double& to) const { to = 0.1 + 0.2; }
  void operator()(bool& to) const { to = !to; }
};

TEST(Config, EveryFieldSurvivesWritingAndReading) {
  const session::TrainConfig defaults;
  EXPECT_EQ(reread(defaults), defaults);
  session::TrainConfig all;
  for (const Field& field : fields()) {
    session::TrainConfig one;
    std::visit([&](auto member) { Odd{}(one.*member); }, field.member);
    std::visit([&](auto member) { Odd{}(all.*member); }, field.member);
    EXPECT_FALSE(equal_in(field, one, defaults)) << field.key;
    EXPECT_EQ(reread(one), one) << field.key;
  }
  EXPECT_EQ(reread(all), all);
}

TEST(Config, TheTableCoversTrainConfig) {
  // Bytes of the struct that no row points at may only be padding, which is shorter than a member.
  const session::TrainConfig config;
  const auto* begin = reinterpret_cast<const std::byte*>(&config);
  std::vector<int> rows(sizeof(session::TrainConfig));
  for (const Field& field : fields()) {
    std::visit(
        [&](auto member) {
          const auto at = reinterpret_cast<const std::byte*>(&(config.*member)) - begin;
          for (std::size_t i = 0; i < sizeof(config.*member); ++i) {
            ++rows[static_cast<std::size_t>(at) + i];
          }
        },
        field.member);
  }
  std::size_t uncovered = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_LE(rows[i], 1) << "two rows for byte " << i;
    uncovered = rows[i] == 0 ? uncovered + 1 : 0;
    EXPECT_LT(uncovered, 8U) << "no row for the member that ends at byte " << i;
  }
}

TEST(Config, DoublesRoundTrip) {
  for (const double value : {0.0, 1.0, -0.0, 5e-324, 1e-8, 0.1, 1.0 / 3, 1e16, 1e22,
                             1.7976931348623157e308, 123456789012345678.0}) {
    session::TrainConfig config;
    config.lr = value;
    EXPECT_EQ(std::signbit(reread(config).lr), std::signbit(value));
    EXPECT_EQ(reread(config).lr, value);
  }
}

TEST(Config, FlagsOverrideTheFileAndTheFileTheDefaults) {
  const TempFolder folder;
  const std::string file = (folder.path() / "c.toml").string();
  write_text(file, "lr = 0.5\nepochs = 7\nnormalise = false\n");
  const session::TrainConfig config =
      resolve_config(file, {{"epochs", "9"}, {"momentum", "-0.25"}});
  EXPECT_EQ(config.lr, 0.5);
  EXPECT_EQ(config.epochs, 9);
  EXPECT_FALSE(config.normalise);
  EXPECT_EQ(config.momentum, -0.25);
  EXPECT_EQ(config.batch, session::TrainConfig{}.batch);
}

TEST(Config, AnEmptyFileIsAConfig) {
  const TempFolder folder;
  write_text(folder.path() / "c.toml", "");
  EXPECT_EQ(resolve_config((folder.path() / "c.toml").string(), {}), session::TrainConfig{});
}

TEST(Config, UnknownKeysNameFileLineAndTheNearest) {
  EXPECT_THAT(parse_refusal("lr = 1\n\nwieght_decay = 0.1\n"),
              ::testing::StartsWith(
                  "my.toml:3: unknown key 'wieght_decay' (did you mean 'weight_decay'?)"));
  EXPECT_THAT(parse_refusal("[train]\nlr = 1\n"), HasSubstr("my.toml:1: unknown key 'train'"));
  EXPECT_THAT(parse_refusal("lr 1\n"), HasSubstr("my.toml:1: not valid TOML"));
  EXPECT_THAT(parse_refusal("lr = 1\nlr = 2\n"), HasSubstr("my.toml:2:"));
}

TEST(Config, WrongTypesInFiles) {
  EXPECT_EQ(parse_refusal("\nlr = \"big\""), "my.toml:2: lr must be a number but is a text");
  EXPECT_EQ(parse_refusal("batch = 1.5"),
            "my.toml:1: batch must be a whole number but is a number with a fraction");
  EXPECT_EQ(parse_refusal("model = 3"),
            "my.toml:1: model must be a text in quotes but is a whole number");
  EXPECT_EQ(parse_refusal("nesterov = 1"),
            "my.toml:1: nesterov must be true or false but is a whole number");
  EXPECT_EQ(parse_refusal("lr = nan"), "my.toml:1: lr is nan but must be a finite number");
  EXPECT_EQ(parse_refusal("lr = [1]"), "my.toml:1: lr must be a number but is a list");
  EXPECT_EQ(parse_refusal("seed = -1"), "my.toml:1: seed is -1 but must not be negative");
  EXPECT_THAT(parse_refusal("batch = 99999999999999999999"), HasSubstr("my.toml:1:"));
  EXPECT_THAT(parse_refusal("lr = 1e999"), HasSubstr("my.toml:1:"));
}

TEST(Config, WrongTypesInFlags) {
  EXPECT_EQ(flag_refusal("batch", "many"), "--batch needs a whole number but is 'many'");
  EXPECT_EQ(flag_refusal("batch", "6 4"), "--batch needs a whole number but is '6 4'");
  EXPECT_EQ(flag_refusal("batch", ""), "--batch needs a whole number but has no value");
  EXPECT_EQ(flag_refusal("batch", "64.0"), "--batch needs a whole number but is '64.0'");
  EXPECT_THAT(flag_refusal("batch", "9223372036854775808"), HasSubstr("out of range"));
  EXPECT_THAT(flag_refusal("seed", "-1"), HasSubstr("not negative but is '-1'"));
  EXPECT_THAT(flag_refusal("seed", "18446744073709551616"), HasSubstr("out of range"));
  EXPECT_EQ(flag_refusal("lr", "nan"), "--lr needs a finite number but is 'nan'");
  EXPECT_EQ(flag_refusal("lr", "-inf"), "--lr needs a finite number but is '-inf'");
  EXPECT_THAT(flag_refusal("weight_decay", "1e999"),
              ::testing::StartsWith("--weight-decay 1e999 is out of range"));
  EXPECT_EQ(flag_refusal("lr", "0,1"), "--lr needs a number but is '0,1'");
}

class Resume : public ::testing::Test {
 protected:
  std::string run_dir() const { return folder_.path().string(); }
  session::TrainConfig resume(FlagValues flags) const {
    flags.insert({{"resume", "true"}, {"run_dir", run_dir()}});
    return resolve_config("", flags);
  }
  void keep(const session::TrainConfig& config) const {
    write_text(folder_.path() / "config.toml", write_config(config));
  }
  TempFolder folder_;
};

TEST_F(Resume, TakesTheRunsConfigAndLetsFreeKeysChange) {
  session::TrainConfig run;
  run.lr = 0.3;
  run.epochs = 2;
  run.threads = 3;
  keep(run);
  session::TrainConfig wanted = run;
  wanted.resume = true;
  wanted.run_dir = run_dir();
  EXPECT_EQ(resume({}), wanted);
  wanted.epochs = 9;
  EXPECT_EQ(resume({{"epochs", "9"}, {"lr", "0.3"}}), wanted);
}

TEST_F(Resume, KeepsTheNumberThatAWordBecame) {
  session::TrainConfig run;
  run.lr_scale = "4";
  run.pieces = "3";
  keep(run);
  const session::TrainConfig again = resume({{"lr_scale", "workers"}, {"pieces", "auto"}});
  EXPECT_EQ(again.lr_scale, "4");
  EXPECT_EQ(again.pieces, "3");
  EXPECT_THAT(refusal([&] { resume({{"pieces", "2"}}); }), HasSubstr("another pieces"));
}

TEST_F(Resume, RefusesWhatDecidesTheBits) {
  keep({});
  EXPECT_EQ(refusal([&] {
              resume({{"lr", "0.3"}});
            }),
            "cannot resume with another lr: " + run_dir() +
                "/config.toml says 0.01, now it is 0.3; omit --lr, or start a new run without "
                "--resume");
  const std::set<std::string, std::less<>> free{
      "epochs", "steps", "threads", "early_stop", "checkpoint_every", "checkpoint_minutes",
      "keep_last", "run_dir", "resume", "tensorboard", "data_memory", "data_threads",
      // Who does the work: equal up to rounding, and a checkpoint of four workers resumes on one.
      "plan", "strategy", "workers", "nodes", "workers_per_node", "link_between_nodes", "pin",
      "bucket_mb", "stall_seconds", "trace_steps", "cuts", "in_flight", "replicas",
      "memory_per_worker", "profile", "cost", "peak_gflops", "peak_share", "memory_gbs"};
  for (const Field& field : fields()) {
    EXPECT_EQ(field.decides_bits, !free.contains(field.key)) << field.key;
  }
}

TEST_F(Resume, StartsAfreshWhereNoConfigIsButAModelIsNamed) {
  EXPECT_EQ(resume({{"model", "lenet"}, {"lr", "0.3"}}).lr, 0.3);
  EXPECT_THAT(refusal([&] { resume({{"lr", "0.3"}}); }), HasSubstr("there is no run in "));
}

TEST_F(Resume, NeedsAFolder) {
  EXPECT_THAT(flag_refusal("resume", "true"), HasSubstr("add --run-dir DIR"));
  EXPECT_THAT(refusal([] {
                resolve_config("", {{"resume", "true"}, {"run_dir", "none"}});
              }),
              HasSubstr("add --run-dir DIR"));
}

}  // namespace
}  // namespace plait::cli
