// plait profile: the time of every block's tasks in real training steps, for people, and as a file
// that plait plan reads.
#include "run/profile.hpp"

#include <cstdio>
#include <new>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/named_network.hpp"
#include "cli/out_place.hpp"
#include "cli/terminal.hpp"
#include "cli/thread_warning.hpp"
#include "cli/verbs.hpp"
#include "cost/profile_file.hpp"
#include "graph/shapes.hpp"
#include "plan/worker_memory.hpp"
#include "run/cores.hpp"
#include "session/config.hpp"
#include "session/measure.hpp"
#include "session/memory_check.hpp"
#include "strategy/strategy.hpp"

namespace plait::cli {

namespace {

constexpr std::int64_t kMaxBatch = 1 << 24;

struct ProfileRequest {
  std::string model;
  int classes = 10;  ///< outputs of the network
  std::int64_t batch = 64;
  run::ProfileConfig config;
  plan::Network network;
  strategy::TearRequest tear{};  ///< pieces 0: the model as it is
};

ProfileRequest read_profile_request(const Arguments& arguments) {
  ProfileRequest request;
  request.model = arguments.text("--model", "lenet");
  request.batch = arguments.integer("--batch", 64, {1, kMaxBatch});
  const std::int64_t threads = arguments.integer("--threads", 0, {0, run::kMaxThreads});
  request.config.threads = threads > 0 ? static_cast<int>(threads) : run::usable_cores();
  request.config.steps = arguments.integer("--steps", 10, {1, 1'000'000});
  const graph::ModelSpec model = trainable_network(arguments, request.model);
  request.classes = static_cast<int>(graph::border_shapes(model).back()[0]);
  request.network = plan::make_network(model);
  strategy::PararealOptions tear;
  tear.pieces = arguments.text("--pieces", tear.pieces);
  tear.coarse = arguments.text("--coarse", tear.coarse);
  check_settings(tear, strategy::parareal_settings());
  request.tear = strategy::tear_request(tear);
  if (request.tear.pieces == strategy::kBestPieces) {
    user_error("--pieces auto: a profile is of a number of pieces; plait plan finds the best one");
  }
  return request;
}

/// The blocks that the pieces of a torn network but the first begin with.
std::vector<int> cuts_of(const plan::Network& torn) {
  std::vector<int> cuts;
  int piece = 0;
  for (const plan::NetworkBlock& block : torn.blocks) {
    if (block.added || block.piece <= piece) continue;
    cuts.push_back(block.whole);
    piece = block.piece;
  }
  return cuts;
}

/// At every batch size the network is torn where it is best for the largest.
void fix_tearing(ProfileRequest& request) {
  if (request.tear.pieces == 0) return;
  const plan::Machine machine;
  request.tear.cuts = cuts_of(strategy::make_plan("parareal", {.network = request.network,
                                                               .machine = machine,
                                                               .batch = request.batch,
                                                               .tear = request.tear})
                                  .network);
}

/// What plait plan wants too: smaller batches (what each of several workers gets).
session::MeasureRequest measuring(const ProfileRequest& request) {
  return {.plan =
              [&request](std::int64_t batch) {
                const plan::Machine machine;
                plan::Plan plan = strategy::make_plan(
                    request.tear.pieces > 0 ? "parareal" : "serial", {.network = request.network,
                                                                      .machine = machine,
                                                                      .batch = batch,
                                                                      .tear = request.tear});
                session::check_memory(
                    plan::process_memory(plan, 0, 1, request.config.threads),
                    fmt::format("--model {} with --batch {}", request.model, batch),
                    "use a smaller --batch or a smaller model");
                return plan;
              },
          .batches = session::batches_to_measure(request.batch, 1),
          .config = request.config};
}

std::string milliseconds(double value) { return fmt::format("{:.3f}", value); }

std::string percent(double part, double whole) {
  return fmt::format("{:.1f}%", whole > 0 ? 100 * part / whole : 0.0);
}

double total_of(const run::BlockProfile& block) {
  return block.forward_ms + block.backward_data_ms + block.backward_weights_ms + block.update_ms;
}

/// And multiply-adds.
void add_times(const run::BlockProfile& from, run::BlockProfile& to) {
  to.forward_ms += from.forward_ms;
  to.backward_data_ms += from.backward_data_ms;
  to.backward_weights_ms += from.backward_weights_ms;
  to.update_ms += from.update_ms;
  to.macs += from.macs;
}

Row row_of(const run::BlockProfile& block, double whole) {
  return {block.name,
          milliseconds(block.forward_ms),
          milliseconds(block.backward_data_ms),
          milliseconds(block.backward_weights_ms),
          milliseconds(block.update_ms),
          milliseconds(total_of(block)),
          percent(total_of(block), whole),
          fmt::format("{:.1f}", static_cast<double>(block.macs) / 1e6),
          with_bytes(block.dst_bytes)};
}

/// One line for the parts of each block of the model.
std::vector<run::BlockProfile> by_model_block(const std::vector<run::BlockProfile>& parts) {
  std::vector<run::BlockProfile> blocks;
  for (const run::BlockProfile& part : parts) {
    if (blocks.empty() || blocks.back().whole != part.whole) {
      blocks.push_back(part);
      blocks.back().name = part.whole;
      continue;
    }
    run::BlockProfile& block = blocks.back();
    add_times(part, block);
    block.dst_bytes = part.dst_bytes;
  }
  return blocks;
}

std::string profile_text(const run::Profile& profile, const ProfileRequest& request) {
  std::vector<Row> rows{
      {"block", "forward", "bwd data", "weights", "update", "ms", "share", "M MACs", "output"}};
  run::BlockProfile sum{.name = "total", .whole = ""};
  for (const run::BlockProfile& block : by_model_block(profile.blocks)) {
    rows.push_back(row_of(block, profile.sum_ms));
    add_times(block, sum);
  }
  rows.push_back({"loss", "", "", "", "", milliseconds(profile.loss_ms),
                  percent(profile.loss_ms, profile.sum_ms), "", ""});
  Row total = row_of(sum, profile.sum_ms);
  total[5] = milliseconds(profile.sum_ms);
  total[6] = percent(profile.sum_ms, profile.sum_ms);
  total[8] = "";
  rows.push_back(std::move(total));
  return fmt::format(
      "{} on {}, batch {}, {} thread(s)\n"
      "milliseconds, mean of the faster half of {} step(s)\n\n{}\n"
      "one step takes {} ms: {:.0f} images/s\n",
      request.model, request.network.input, request.batch, request.config.threads,
      request.config.steps, table(rows, 1), milliseconds(profile.step_ms),
      static_cast<double>(request.batch) / profile.step_ms * 1000);
}

int run_profile(const Arguments& arguments) {
  ProfileRequest request = read_profile_request(arguments);
  fix_tearing(request);
  const std::string out = arguments.text("--out", "");
  if (!out.empty()) check_file_place(out, "--out");
  warn_of_threads(1, request.config.threads);
  try {
    const session::MeasureRequest wanted = measuring(request);
    const run::Profile result = run::steady_profile(wanted.plan(request.batch), request.config);
    cost::ProfileFile file{.model = request.model,
                           .network_hash = plan::network_hash(request.network),
                           .data_shape = request.network.input.to_string(),
                           .classes = request.classes,
                           .threads = request.config.threads,
                           .steps = request.config.steps,
                           .points = {session::to_point(result, request.batch)},
                           .noise = result.noise};
    if (!out.empty()) {
      session::measure_more_points(
          wanted, [](const std::string& what) { tell("measuring {} ...\n", what); }, file);
      cost::write_profile(file, out);
    }
    tell("{}", session::noise_note(file.noise, "profile again"));
    if (arguments.on("--json")) {
      fmt::print("{}\n", cost::print_profile(file));
    } else {
      fmt::print("{}", profile_text(result, request));
      if (!out.empty()) {
        tell("written to {}; next: plait plan --model {} --batch {} --profile {}\n", out,
             request.model, request.batch, out);
      }
    }
  } catch (const std::bad_alloc&) {
    fail("not enough memory for --model {} with --batch {}; try a smaller batch", request.model,
         request.batch);
  }
  return 0;
}

}  // namespace

Verb profile_verb() {
  return {
      .name = "profile",
      .about = "Time every block of a network, task by task.",
      .examples = {"plait profile --model vgg16 --batch 64",
                   "plait profile --model net.toml --data-shape 3x64x64 --threads 4 --json",
                   "plait profile --model vgg16 --batch 128 --threads 1 --out vgg16.json"},
      .options = {{.name = "--model",
                   .value = "NAME|FILE.toml",
                   .help = "network; plait models lists them",
                   .standard = "lenet"},
                  {.name = "--batch", .value = "N", .help = "samples per step", .standard = "64"},
                  {.name = "--data-shape",
                   .value = "CxHxW",
                   .help = "shape of one sample; default: what the network usually takes"},
                  {.name = "--classes",
                   .value = "N",
                   .help = "outputs, if a file leaves them open",
                   .standard = "10"},
                  {.name = "--threads", .value = "N", .help = "0: all cores", .standard = "0"},
                  {.name = "--steps", .value = "N", .help = "measured steps", .standard = "10"},
                  {.name = "--pieces",
                   .value = "N",
                   .help = "profile the network split by parareal, with its coarse parts",
                   .standard = "0"},
                  {.name = "--coarse",
                   .value = "KIND",
                   .help = "of them: block, conv or identity",
                   .standard = "block"},
                  {.name = "--out",
                   .value = "FILE",
                   .help = "write a profile for plait plan; measures smaller batches and all cores "
                           "at once too"},
                  {.name = "--json", .value = "", .help = "one JSON object on stdout"}},
      .run = run_profile};
}

}  // namespace plait::cli
