// plait profile: the time of every block's tasks in real training steps.
#include "run/profile.hpp"

#include <cstdio>
#include <new>

#include "base/error.hpp"
#include "cli/json.hpp"
#include "cli/text.hpp"
#include "cli/verbs.hpp"
#include "model/model_file.hpp"
#include "run/config.hpp"

namespace plait {

namespace {

constexpr std::int64_t kMaxBatch = 1 << 24;
constexpr std::int64_t kMaxThreads = 4096;
constexpr std::int64_t kMaxClasses = 1 << 24;

ProfileConfig profile_config(const Arguments& arguments) {
  ProfileConfig config;
  TrainConfig machine;
  machine.threads = arguments.integer("--threads", 0, {0, kMaxThreads});
  config.model = arguments.text("--model", config.model);
  config.classes =
      static_cast<int>(arguments.integer("--classes", config.classes, {1, kMaxClasses}));
  config.batch = arguments.integer("--batch", config.batch, {1, kMaxBatch});
  config.threads = threads_per_worker(machine);
  config.steps = arguments.integer("--steps", config.steps, {1, 1'000'000});
  const std::string* shape = arguments.find("--data-shape");
  const Shape shape_or_none = shape != nullptr ? parse_shape(*shape) : usual_input(config.model);
  config.data_shape = load_model(config.model, shape_or_none, config.classes).input;
  return config;
}

std::string milliseconds(double value) { return fmt::format("{:.3f}", value); }

std::string percent(double part, double whole) {
  return fmt::format("{:.1f}%", whole > 0 ? 100 * part / whole : 0.0);
}

double total_of(const BlockProfile& block) {
  return block.forward_ms + block.backward_data_ms + block.backward_weights_ms + block.update_ms;
}

Row row_of(const BlockProfile& block, double whole) {
  return {block.name,
          milliseconds(block.forward_ms),
          milliseconds(block.backward_data_ms),
          milliseconds(block.backward_weights_ms),
          milliseconds(block.update_ms),
          milliseconds(total_of(block)),
          percent(total_of(block), whole),
          fmt::format("{:.1f}", static_cast<double>(block.macs) / 1e6),
          with_commas(block.parameters),
          with_bytes(block.dst_bytes)};
}

std::string profile_text(const Profile& profile, const ProfileConfig& config) {
  std::vector<Row> rows{{"block", "forward", "bwd data", "bwd weights", "update", "ms", "share",
                         "M MACs", "parameters", "output"}};
  BlockProfile sum{.name = "total"};
  for (const BlockProfile& block : profile.blocks) {
    rows.push_back(row_of(block, profile.sum_ms));
    sum.forward_ms += block.forward_ms;
    sum.backward_data_ms += block.backward_data_ms;
    sum.backward_weights_ms += block.backward_weights_ms;
    sum.update_ms += block.update_ms;
    sum.macs += block.macs;
    sum.parameters += block.parameters;
  }
  rows.push_back({"loss", "", "", "", "", milliseconds(profile.loss_ms),
                  percent(profile.loss_ms, profile.sum_ms), "", "", ""});
  Row total = row_of(sum, profile.sum_ms);
  total[5] = milliseconds(profile.sum_ms);
  total[6] = percent(profile.sum_ms, profile.sum_ms);
  total[9] = "";
  rows.push_back(std::move(total));
  return fmt::format(
      "{} on {}, batch {}, {} thread(s), mean of the faster half of {} step(s), "
      "milliseconds\n\n{}\n"
      "one step takes {} ms: {:.0f} images/s\n",
      config.model, config.data_shape, config.batch, config.threads, config.steps, table(rows, 1),
      milliseconds(profile.step_ms), static_cast<double>(config.batch) / profile.step_ms * 1000);
}

int run_profile(const Arguments& arguments) {
  const ProfileConfig config = profile_config(arguments);
  try {
    const Profile result = profile(config);
    if (arguments.on("--json")) {
      fmt::print("{}\n", to_json(result, config));
    } else {
      fmt::print("{}", profile_text(result, config));
    }
  } catch (const std::bad_alloc&) {
    fail("not enough memory for --model {} with --batch {}; try a smaller batch", config.model,
         config.batch);
  }
  return 0;
}

}  // namespace

Verb profile_verb() {
  return {
      .name = "profile",
      .about = "Time every block of a network, task by task.",
      .examples = {"plait profile --model vgg16 --batch 64",
                   "plait profile --model net.toml --data-shape 3x64x64 --threads 4 --json"},
      .options = {{.name = "--model",
                   .value = "NAME|FILE.toml",
                   .help = "network; plait models lists them",
                   .standard = "lenet"},
                  {.name = "--batch", .value = "N", .help = "samples per step", .standard = "64"},
                  {.name = "--data-shape",
                   .value = "CxHxW",
                   .help = "of one sample; left away: what the network is usually fed"},
                  {.name = "--classes", .value = "N", .help = "outputs", .standard = "10"},
                  {.name = "--threads", .value = "N", .help = "0: all cores", .standard = "0"},
                  {.name = "--steps", .value = "N", .help = "measured steps", .standard = "10"},
                  {.name = "--json", .value = "", .help = "one JSON object on stdout"}},
      .run = run_profile};
}

}  // namespace plait
