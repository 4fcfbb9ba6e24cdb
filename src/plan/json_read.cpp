// plan_from_json of json.hpp: a document may be anything, so every number is checked before it is
// used, and what comes out has passed the check of every plan.
#include "base/error.hpp"
#include "plan/check.hpp"
#include "plan/json.hpp"
#include "plan/json_network.hpp"
#include "plan/json_plan.hpp"
#include "plan/json_task.hpp"

namespace plait::plan {

namespace {

constexpr std::int64_t kMostWorkers = 1 << 20;
constexpr std::size_t kMostEntries = 1 << 24;  ///< of groups, buckets, lists, programs
constexpr std::int64_t kMostBatch = 1 << 30;
/// Elements of all tensors and of what blocks keep, of a whole minibatch.
constexpr std::int64_t kMostValues = std::int64_t{1} << 44;

Link read_link(const JsonField& field) {
  return {.bytes_per_second = field.at("bytes_per_second").real(0, 1e30),
          .latency_seconds = field.at("latency_seconds").real(0, 1e30)};
}

Machine read_machine(const JsonField& field) {
  Machine machine{.nodes = field.at("nodes").small({1, kMostWorkers}),
                  .workers_per_node = field.at("workers_per_node").small({1, kMostWorkers}),
                  .inside = read_link(field.at("inside")),
                  .between = read_link(field.at("between")),
                  .memory_per_worker = field.at("memory_per_worker_bytes").number({0, INT64_MAX})};
  if (std::int64_t{machine.nodes} * machine.workers_per_node > kMostWorkers) {
    field.refuse(fmt::format("has {} nodes x {} workers, more than {}", machine.nodes,
                             machine.workers_per_node, kMostWorkers));
  }
  return machine;
}

Merge read_merge(const JsonField& field) {
  using enum MergeKind;
  return {.kind = field.at("kind").word({average, weighted, corrected, outer, gather}),
          .steps = field.at("steps").small({0, 1 << 20}),
          .rate = field.at("rate").real(0, 1e30),
          .momentum = field.at("momentum").real(0, 1e30)};
}

Bucket read_bucket(const JsonField& field) {
  using enum Payload;
  Bucket bucket{.payload = field.at("payload").word({gradient, state, weights, optimizer, outer}),
                .blocks = field.at("blocks").numbers_as<int>(kMostEntries, {0, INT32_MAX}),
                .merge = field.has("merge") ? read_merge(field.at("merge")) : Merge{},
                .half = field.flag_or("half", false)};
  if (field.has("part")) {
    const JsonField part = field.at("part");
    const std::vector<int> numbers = part.numbers_as<int>(2, {0, 1 << 16});
    if (numbers.size() != 2 || numbers[0] >= numbers[1]) part.refuse("must be [part, parts]");
    bucket.part = numbers[0];
    bucket.parts = numbers[1];
  }
  return bucket;
}

Program read_program(const JsonField& field) {
  Program program;
  if (field.has("averages")) program.averages = read_samples(field.at("averages"));
  for (const JsonField& task : field.at("tasks").list(kMostEntries)) {
    program.tasks.push_back(read_task(task));
  }
  return program;
}

/// Products of these numbers must stay numbers.
void check_sizes(const Plan& plan, const JsonField& field) {
  std::int64_t elements = 0;
  const auto add = [&](std::int64_t more) {
    if (more <= kMostValues - elements)
      elements += more;
    else
      elements = kMostValues;
  };
  for (const std::int64_t tensor : plan.network.tensors) add(tensor);
  for (const NetworkBlock& block : plan.network.blocks) add(block.inner_elements);
  if (plan.batch > kMostValues / std::max<std::int64_t>(1, elements)) {
    field.at("batch").refuse(
        fmt::format("is {}: too many samples of {} elements", plan.batch, elements));
  }
}

Plan read_plan(const JsonField& field, const graph::ModelSpec* model) {
  Plan plan;
  plan.strategy = field.at("strategy").text();
  plan.machine = read_machine(field.at("machine"));
  plan.network = read_network(field.at("network"), model);
  plan.batch = field.at("batch").number({1, kMostBatch});
  check_sizes(plan, field);
  plan.microbatches = field.at("microbatches").small({1, kMostBatch});
  plan.optimizer_states = field.at("optimizer_states").small({0, 16});
  plan.wire_bytes = field.at("wire_bytes").small({2, 4});
  using enum OldWeights;
  plan.old_weights = field.at("old_weights").word({stash, rebuilt, predicted});
  for (const JsonField& group : field.at("groups").list(kMostEntries)) {
    plan.groups.push_back(group.numbers_as<int>(kMostWorkers, {0, kMostWorkers}));
  }
  for (const JsonField& bucket : field.at("buckets").list(kMostEntries)) {
    plan.buckets.push_back(read_bucket(bucket));
  }
  for (const JsonField& rows : field.at("row_lists").list(kMostEntries)) {
    plan.row_lists.push_back(rows.numbers_as<std::int32_t>(kMostEntries, {0, INT32_MAX}));
  }
  for (const JsonField& mode : field.at("modes").list(1 << 10)) plan.modes.push_back(mode.text());
  for (const JsonField& worker : field.at("workers").list(kMostWorkers)) {
    plan.programs.push_back(read_program(worker));
  }
  return plan;
}

void check_version(const Json& json, const std::string& place) {
  if (!json.is_object() || !json.contains("plait_plan")) {
    user_error("{}: no plan of plait (it has no 'plait_plan')", place);
  }
  const JsonField version = JsonField(json, place).at("plait_plan");
  const std::int64_t number = version.number({INT32_MIN, INT32_MAX});
  if (number != kPlanVersion) {
    version.refuse(
        fmt::format("is {}, and this plait reads version {}: plan again", number, kPlanVersion));
  }
}

}  // namespace

Json parse_plan_json(std::string_view text, const std::string& place) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    user_error("{}: no JSON at byte {}", place, error.byte);
  } catch (const Json::out_of_range&) {
    user_error("{}: a number in it is too large for any use", place);
  }
}

Plan read_plan_json(const Json& json, const std::string& place, const graph::ModelSpec* model) {
  check_version(json, place);
  Plan plan = read_plan(JsonField(json, place), model);
  if (const std::vector<std::string> lines = faults(plan); !lines.empty()) {
    user_error("{}: {}", place, lines.front());
  }
  return plan;
}

Plan plan_from_json(std::string_view text, const std::string& place) {
  return read_plan_json(parse_plan_json(text, place), place, nullptr);
}

Plan plan_from_json(std::string_view text, const std::string& place,
                    const graph::ModelSpec& model) {
  return read_plan_json(parse_plan_json(text, place), place, &model);
}

}  // namespace plait::plan
