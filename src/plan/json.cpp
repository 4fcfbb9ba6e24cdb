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

Json samples_json(const Samples& samples) { return {samples.begin, samples.end, samples.of}; }

/// The fields of one task. What has its usual value is left out.
class TaskWriter {
 public:
  explicit TaskWriter(const Task& task) : json_{{"kind", name_of(kind_of(task))}} {
    std::visit(*this, task.what);
    const When usual{};
    put("offset", task.when.offset, usual.offset);
    put("every", task.when.every, usual.every);
    put("phase", task.when.phase, usual.phase);
    put("mode", task.when.mode, usual.mode);
    flag("at_end", task.when.at_end);
  }
  Json take() { return std::move(json_); }

  void operator()(const Load& load) { part(load.samples); }
  void operator()(const Forward& forward) {
    put("block", forward.block, -1);
    part(forward.samples);
    put("delay", forward.delay, 0);
    if (!forward.moves_state) json_["moves_state"] = false;
  }
  void operator()(const Loss& loss) { part(loss.samples); }
  void operator()(const BackwardData& backward) {
    put("block", backward.block, -1);
    put("tensor", backward.tensor, -1);
    part(backward.samples);
    put("delay", backward.delay, 0);
  }
  void operator()(const BackwardWeights& backward) {
    put("block", backward.block, -1);
    part(backward.samples);
    flag("adds", backward.adds);
  }
  void operator()(const Clip&) {}
  void operator()(const Update& update) { put("block", update.block, -1); }
  void operator()(const Send& send) { message(send.message); }
  void operator()(const Receive& receive) {
    message(receive.message);
    flag("adds", receive.adds);
  }
  void operator()(const Reduce& reduce) {
    put("group", reduce.group, -1);
    put("bucket", reduce.bucket, -1);
  }

 private:
  void put(const char* key, int value, int otherwise) {
    if (value != otherwise) json_[key] = value;
  }
  void flag(const char* key, bool value) {
    if (value) json_[key] = true;
  }
  void part(const Samples& samples) {
    if (samples != Samples{}) json_["samples"] = samples_json(samples);
  }
  void message(const Message& message) {
    json_["role"] = name_of(message.value.role);
    put(is_of_tensor(message.value.role) ? "tensor" : "block", message.value.index, -1);
    put("peer", message.peer, -1);
    put("list", message.list, -1);
    part(message.value.samples);
    flag("half", message.half);
  }

  Json json_;
};

Json worker_json(const Plan& plan, int worker) {
  Json tasks = Json::array();
  for (const Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
    tasks.push_back(TaskWriter(task).take());
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
