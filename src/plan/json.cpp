// Machine, network, programs and what follows from them, as JSON.
#include "plan/json.hpp"

#include <nlohmann/json.hpp>

#include "plan/memory.hpp"

namespace plait {

namespace {

using Json = nlohmann::ordered_json;

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

Json network_json(const Network& network, const std::vector<int>& late) {
  Json blocks = Json::array();
  for (std::size_t i = 0; i < network.blocks.size(); ++i) {
    const NetworkBlock& block = network.blocks[i];
    blocks.push_back({{"name", block.name},
                      {"src", block.src},
                      {"dst", block.dst},
                      {"parameters", block.parameters},
                      {"state", block.state},
                      {"macs", block.macs},
                      {"inner_elements", block.inner_elements},
                      {"staleness", late[i]}});
    Json& last = blocks.back();
    if (block.joins()) {
      last["other"] = block.other;
      last["subtracts"] = block.subtracts;
    }
    if (block.repeats >= 0) last["repeats"] = block.repeats;
    if (block.state_sets > 1) last["state_sets"] = block.state_sets;
    if (block.state_set > 0) last["state_set"] = block.state_set;
    if (block.added) last["added"] = true;
    if (block.piece >= 0) last["piece"] = block.piece;
  }
  return {{"name", network.name},
          {"hash", network_hash(network)},
          {"tensor_elements", network.tensors},
          {"diffs", network.diffs},
          {"blocks", std::move(blocks)}};
}

Json task_json(const Task& task) {
  const Task usual{};
  Json json{{"kind", name_of(task.kind)}};
  const auto put = [&](const char* key, int value, int otherwise) {
    if (value != otherwise) json[key] = value;
  };
  put("block", task.block, usual.block);
  put("tensor", task.tensor, usual.tensor);
  if (task.kind == TaskKind::send || task.kind == TaskKind::receive) {
    json["role"] = name_of(task.role);
  }
  put("peer", task.peer, usual.peer);
  put("group", task.group, usual.group);
  put("bucket", task.bucket, usual.bucket);
  put("list", task.list, usual.list);
  if (takes_samples(task.kind) && task.samples != usual.samples) {
    json["samples"] = {task.samples.begin, task.samples.end, task.samples.of};
  }
  if (task.accumulate) json["accumulate"] = true;
  if (task.half) json["half"] = true;
  put("delay", task.delay, usual.delay);
  put("offset", task.offset, usual.offset);
  put("every", task.every, usual.every);
  put("phase", task.phase, usual.phase);
  if (task.at_end) json["at_end"] = true;
  put("mode", task.mode, usual.mode);
  return json;
}

Json worker_json(const Plan& plan, int worker) {
  Json tasks = Json::array();
  for (const Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
    tasks.push_back(task_json(task));
  }
  return {{"node", plan.machine.node_of(worker)},
          {"memory_bytes", estimate_memory(plan, worker)},
          {"tasks", std::move(tasks)}};
}

}  // namespace

std::string to_json(const Plan& plan, int indent) {
  Json buckets = Json::array();
  for (const Bucket& bucket : plan.buckets) {
    buckets.push_back({{"payload", name_of(bucket.payload)},
                       {"blocks", bucket.blocks},
                       {"bytes", bucket_bytes(plan, bucket)}});
    if (bucket.payload != Payload::weights) continue;
    buckets.back()["merge"] = name_of(bucket.merge.kind);
    buckets.back()["part"] = {bucket.part, bucket.parts};
    buckets.back()["half"] = bucket.half;
  }
  Json workers = Json::array();
  for (int worker = 0; worker < plan.workers(); ++worker) {
    workers.push_back(worker_json(plan, worker));
  }
  const Json json{{"strategy", plan.strategy},
                  {"machine", machine_json(plan.machine)},
                  {"network", network_json(plan.network, staleness(plan))},
                  {"batch", plan.batch},
                  {"microbatches", plan.microbatches},
                  {"optimizer_states", plan.optimizer_states},
                  {"wire_bytes", plan.wire_bytes},
                  {"depth", plan.depth()},
                  {"groups", plan.groups},
                  {"buckets", std::move(buckets)},
                  {"row_lists", plan.row_lists},
                  {"modes", plan.modes},
                  {"workers", std::move(workers)}};
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plait
