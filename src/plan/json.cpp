// Machine, network, programs and what follows from them, as JSON.
#include "plan/json.hpp"

#include "plan/json_network.hpp"
#include "plan/json_plan.hpp"
#include "plan/json_task.hpp"
#include "plan/memory.hpp"

namespace plait::plan {

namespace {

Json link_json(const Link& link) {
  return {{"bytes_per_second", link.bytes_per_second}, {"latency_seconds", link.latency_seconds}};
}

Json machine_json(const Machine& machine) {
  return {{"nodes", machine.nodes},
          {"workers_per_node", machine.workers_per_node},
          {"inside", link_json(machine.inside)},
          {"between", link_json(machine.between)},
          {"memory_per_worker_bytes", machine.memory_per_worker}};
}

Json bucket_json(const Plan& plan, const Bucket& bucket) {
  Json json{{"payload", name_of(bucket.payload)},
            {"blocks", bucket.blocks},
            {"bytes", bucket_bytes(plan, bucket)}};
  if (bucket.merge != Merge{}) {
    json["merge"] = {{"kind", name_of(bucket.merge.kind)},
                     {"steps", bucket.merge.steps},
                     {"rate", bucket.merge.rate},
                     {"momentum", bucket.merge.momentum}};
  }
  if (bucket.parts != 1) json["part"] = {bucket.part, bucket.parts};
  if (bucket.half) json["half"] = true;
  return json;
}

Json worker_json(const Plan& plan, int worker) {
  const Program& program = plan.programs[static_cast<std::size_t>(worker)];
  Json tasks = Json::array();
  for (const Task& task : program.tasks) tasks.push_back(task_json(task));
  Json json{{"node", plan.machine.node_of(worker)},
            {"memory_bytes", estimate_memory(plan, worker)}};
  if (program.averages != Samples{}) json["averages"] = samples_json(program.averages);
  json["tasks"] = std::move(tasks);
  return json;
}

}  // namespace

Json plan_json(const Plan& plan) {
  Json buckets = Json::array();
  for (const Bucket& bucket : plan.buckets) buckets.push_back(bucket_json(plan, bucket));
  Json workers = Json::array();
  for (int worker = 0; worker < plan.workers(); ++worker) {
    workers.push_back(worker_json(plan, worker));
  }
  return {{"plait_plan", kPlanVersion},
          {"strategy", plan.strategy},
          {"machine", machine_json(plan.machine)},
          {"network", network_json(plan.network, staleness(plan))},
          {"batch", plan.batch},
          {"microbatches", plan.microbatches},
          {"optimizer_states", plan.optimizer_states},
          {"wire_bytes", plan.wire_bytes},
          {"old_weights", name_of(plan.old_weights)},
          {"depth", plan.depth()},
          {"groups", plan.groups},
          {"buckets", std::move(buckets)},
          {"row_lists", plan.row_lists},
          {"modes", plan.modes},
          {"workers", std::move(workers)}};
}

std::string to_json(const Plan& plan, int indent) {
  return plan_json(plan).dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plait::plan
