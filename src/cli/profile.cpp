// plait profile: the time of every block's tasks in real training steps, for people, and as a file
// that plait plan reads.
#include "run/profile.hpp"

#include <algorithm>
#include <cstdio>
#include <new>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/out_place.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cost/profile_file.hpp"
#include "model/model_file.hpp"
#include "run/config.hpp"
#include "run/cores.hpp"
#include "strategy/strategy.hpp"

namespace plait {

namespace {

constexpr std::int64_t kMaxBatch = 1 << 24;
constexpr std::int64_t kMaxThreads = 4096;
constexpr std::int64_t kMaxClasses = 1 << 24;
constexpr int kSmallerBatches = 3;

struct Request {
  std::string model;
  int classes = 10;
  std::int64_t batch = 64;
  ProfileConfig config;
  Network network;
  TearRequest tear{};  ///< pieces 0: the model as it is
};

Request read_request(const Arguments& arguments) {
  Request request;
  request.model = arguments.text("--model", "lenet");
  request.classes = static_cast<int>(arguments.integer("--classes", 10, {1, kMaxClasses}));
  request.batch = arguments.integer("--batch", 64, {1, kMaxBatch});
  const std::int64_t threads = arguments.integer("--threads", 0, {0, kMaxThreads});
  request.config.threads = threads > 0 ? static_cast<int>(threads) : usable_cores();
  request.config.steps = arguments.integer("--steps", 10, {1, 1'000'000});
  const std::string* shape = arguments.find("--data-shape");
  const Shape input = shape != nullptr ? parse_shape(*shape) : usual_input(request.model);
  request.network = make_network(load_model(request.model, input, request.classes));
  request.tear = tear_request(arguments.text("--pieces", "0"), 0, 1,
                              arguments.text("--coarse", "block"), "fp32");
  if (request.tear.pieces == kBestPieces) {
    user_error("--pieces auto: a profile is of a number of pieces; plait plan finds the best one");
  }
  return request;
}

/// The blocks that the pieces of a torn network but the first begin with.
std::vector<int> cuts_of(const Network& torn) {
  std::vector<int> cuts;
  int piece = 0;
  for (const NetworkBlock& block : torn.blocks) {
    if (block.added || block.piece <= piece) continue;
    cuts.push_back(block.whole);
    piece = block.piece;
  }
  return cuts;
}

/// At every batch size the network is torn where it is best for the largest.
void fix_tearing(Request& request) {
  if (request.tear.pieces == 0) return;
  const Machine machine;
  request.tear.cuts = cuts_of(make_plan("parareal", {.network = request.network,
                                                     .machine = machine,
                                                     .batch = request.batch,
                                                     .tear = request.tear})
                                  .network);
}

Profile measure(const Request& request, std::int64_t batch, int side_by_side = 1) {
  const Machine machine;
  const Plan plan = make_plan(
      request.tear.pieces > 0 ? "parareal" : "serial",
      {.network = request.network, .machine = machine, .batch = batch, .tear = request.tear});
  ProfileConfig config = request.config;
  config.side_by_side = side_by_side;
  return profile(plan, config);
}

ProfilePoint to_point(const Profile& measured, std::int64_t batch) {
  ProfilePoint point{.batch = batch,
                     .blocks = {},
                     .loss_ms = measured.loss_ms,
                     .load_ms = 0,
                     .step_ms = measured.step_ms};
  for (const BlockProfile& block : measured.blocks) {
    (block.added ? point.added : point.blocks)
        .push_back({.name = block.name,
                    .forward_ms = block.forward_ms,
                    .backward_data_ms = block.backward_data_ms,
                    .backward_weights_ms = block.backward_weights_ms,
                    .update_ms = block.update_ms,
                    .macs = block.macs,
                    .parameters = block.parameters,
                    .dst_bytes = block.dst_bytes});
  }
  return point;
}

/// Everything plait plan wants: smaller batches (what each of several workers gets), the slowdown
/// when all cores work, the speed of adding gradients.
void measure_for_planning(const Request& request, ProfileFile& file) {
  std::int64_t batch = request.batch;
  for (int i = 0; i < kSmallerBatches && batch >= 2; ++i) {
    batch /= 2;
    tell("measuring batch {} ...\n", batch);
    file.points.push_back(to_point(measure(request, batch), batch));
  }
  const int beside = usable_cores() / request.config.threads;
  if (beside > 1) {
    tell("measuring {} workers at once ...\n", beside);
    // In turn, so that both halves of the ratio come from the same minute; the fastest of each,
    // since whatever else runs on the machine only ever makes it slower.
    double together = measure(request, request.batch, beside).step_ms;
    double alone = measure(request, request.batch).step_ms;
    for (int again = 0; again < 2; ++again) {
      together = std::min(together, measure(request, request.batch, beside).step_ms);
      alone = std::min(alone, measure(request, request.batch).step_ms);
    }
    file.contention = {.workers = beside, .factor = std::max(1.0, together / alone)};
  }
  file.sum_bytes_per_second = measure_sum_rate(std::max(2, beside));
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

std::string profile_text(const Profile& profile, const Request& request) {
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
      request.model, request.network.input, request.batch, request.config.threads,
      request.config.steps, table(rows, 1), milliseconds(profile.step_ms),
      static_cast<double>(request.batch) / profile.step_ms * 1000);
}

int run_profile(const Arguments& arguments) {
  Request request = read_request(arguments);
  fix_tearing(request);
  const std::string out = arguments.text("--out", "");
  if (!out.empty()) check_file_place(out, "--out");
  try {
    const Profile result = measure(request, request.batch);
    ProfileFile file{.model = request.model,
                     .network_hash = network_hash(request.network),
                     .data_shape = request.network.input.to_string(),
                     .classes = request.classes,
                     .threads = request.config.threads,
                     .steps = request.config.steps,
                     .points = {to_point(result, request.batch)}};
    if (!out.empty()) {
      measure_for_planning(request, file);
      write_profile(file, out);
    }
    if (arguments.on("--json")) {
      fmt::print("{}\n", print_profile(file));
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
                   .help = "of one sample; left away: what the network is usually fed"},
                  {.name = "--classes", .value = "N", .help = "outputs", .standard = "10"},
                  {.name = "--threads", .value = "N", .help = "0: all cores", .standard = "0"},
                  {.name = "--steps", .value = "N", .help = "measured steps", .standard = "10"},
                  {.name = "--pieces",
                   .value = "N",
                   .help = "of the torn network (parareal): its coarse parts too",
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

}  // namespace plait
