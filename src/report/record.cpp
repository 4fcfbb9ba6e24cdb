// report.json from a plan, its breakdowns and timelines.
#include "report/record.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <set>

#include "report/breakdown.hpp"
#include "report/record_check.hpp"
#include "report/timeline.hpp"

namespace plait::report {

namespace {

using Json = nlohmann::ordered_json;

Json blocks_json(const plan::Plan& plan) {
  Json blocks = Json::array();
  const std::vector<int> late = plan::staleness(plan);
  for (std::size_t i = 0; i < late.size(); ++i) {
    const plan::NetworkBlock& block = plan.network.blocks[i];
    if (block.parameters == 0 || !block.owns_weights()) continue;
    blocks.push_back({{"name", block.name}, {"staleness", late[i]}});
  }
  return blocks;
}

/// Words per sample that travel for a layer.
struct Volume {
  std::string name;
  std::int64_t forward = 0;
  std::int64_t backward = 0;
};

/// Of layers cut by rows. A neighbour's rows arrive in a tensor of their own, which one block
/// reads: that is the layer they travel for.
Json volumes_json(const plan::Plan& plan) {
  std::map<int, const plan::NetworkBlock*> reader;
  for (const plan::NetworkBlock& block : plan.network.blocks) {
    if (block.whole >= 0) reader[block.srcs.front()] = &block;
  }
  std::map<int, Volume> volumes;
  std::set<std::pair<int, plan::Role>> counted;  // microbatches send the same rows again
  for (const plan::Program& program : plan.programs) {
    for (const plan::Task& task : program.tasks) {
      const plan::Message* message = plan::message_of(task);
      if (message == nullptr || message->list < 0) continue;
      const auto& [role, tensor, samples] = message->value;
      if (role != (plan::is<plan::Receive>(task) ? plan::Role::tensor : plan::Role::diff)) continue;
      const auto found = reader.find(tensor);
      if (found == reader.end() || !counted.insert({message->list, role}).second) continue;
      const auto list = static_cast<std::size_t>(message->list);
      const auto words = std::ssize(plan.row_lists.at(list));
      Volume& volume = volumes[found->second->whole];
      volume.name = found->second->whole_name;
      (plan::is<plan::Receive>(task) ? volume.forward : volume.backward) += words;
    }
  }
  Json layers = Json::array();
  for (const auto& [whole, volume] : volumes) {
    (void)whole;
    layers.push_back({{"name", volume.name},
                      {"forward_words", volume.forward},
                      {"backward_words", volume.backward}});
  }
  return layers;
}

Json breakdown_json(const Breakdown& found) {
  if (found.steps == 0) return nullptr;
  Json workers = Json::array();
  for (const WorkerSeconds& one : found.workers) {
    workers.push_back({{"forward", one.forward},
                       {"backward_data", one.backward_data},
                       {"backward_weights", one.backward_weights},
                       {"update", one.update},
                       {"other", one.other},
                       {"communication", one.communication},
                       {"waiting", one.waiting},
                       {"span", one.span}});
  }
  Json blocks = Json::array();
  for (const BlockTimes& one : found.blocks) {
    blocks.push_back({{"name", one.name},
                      {"forward", one.forward},
                      {"backward_data", one.backward_data},
                      {"backward_weights", one.backward_weights}});
  }
  return {{"steps", found.steps},
          {"workers", std::move(workers)},
          {"blocks", std::move(blocks)},
          {"bytes", found.bytes}};
}

Json straggler_json(const std::optional<Straggler>& found) {
  if (!found) return nullptr;
  return {{"worker", found->worker},
          {"compute", found->compute},
          {"others", found->others},
          {"cost", found->cost()},
          {"planned", found->planned ? Json(*found->planned) : Json(nullptr)}};
}

}  // namespace

Json record_json(const RecordParts& parts) {
  const plan::Plan& plan = parts.plan;
  const Breakdown predicted = break_down(plan, parts.prediction.trace);
  const Breakdown measured = parts.trace == nullptr ? Breakdown{} : break_down(plan, *parts.trace);
  Json record{
      {"format", kRecordFormat},
      {"result", parts.result},
      {"machine",
       {{"processor", parts.machine.processor},
        {"cores", parts.machine.cores},
        {"nodes", plan.machine.nodes},
        {"workers_per_node", plan.machine.workers_per_node},
        {"mpi", parts.machine.mpi}}},
      {"plan",
       {{"strategy", plan.strategy},
        {"workers", plan.workers()},
        {"batch", plan.batch},
        {"microbatches", plan.microbatches},
        {"depth", plan.depth()},
        {"old_weights", name_of(plan.old_weights)},
        {"blocks", blocks_json(plan)},
        {"volumes", volumes_json(plan)},
        {"modes", plan.modes},
        {"tasks", parts.tasks}}},
      {"predicted",
       {{"source", parts.prediction.source},
        {"step_seconds", parts.prediction.step_seconds},
        {"utilisation", parts.prediction.utilisation},
        {"timeline", timeline_json(plan, parts.prediction.trace)},
        {"breakdown", breakdown_json(predicted)}}},
      {"measured", parts.trace == nullptr
                       ? Json(nullptr)
                       : Json{{"timeline", timeline_json(plan, *parts.trace)},
                              {"breakdown", breakdown_json(measured)},
                              {"straggler", straggler_json(find_straggler(measured, predicted))}}}};
  return record;
}

}  // namespace plait::report
