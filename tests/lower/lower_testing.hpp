// Small networks, schedules of them and readings of programs for the tests of lowering.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "lower/lower.hpp"

namespace plait::lower {

/// A chain of blocks with so many parameters each.
inline plan::Network chain(const std::vector<std::int64_t>& parameters) {
  plan::Network network{.name = "chain", .blocks = {}, .tensors = {4}, .input = {4}};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const int b = static_cast<int>(i);
    network.blocks.push_back(
        {.name = fmt::format("b{}", i), .srcs = {b}, .dst = b + 1, .parameters = parameters[i]});
    network.tensors.push_back(4);
  }
  return network;
}

inline Schedule schedule_of(plan::Network network, int workers) {
  Schedule schedule{.plan = {.strategy = "test",
                             .machine = {.nodes = 1, .workers_per_node = workers},
                             .network = std::move(network),
                             .batch = 8}};
  schedule.plan.programs.resize(static_cast<std::size_t>(workers));
  return schedule;
}

inline int list(Schedule& schedule, int worker, const plan::What& what) {
  schedule.items.push_back({.task = {.what = what}, .worker = worker});
  return static_cast<int>(schedule.items.size()) - 1;
}

/// Forward and backward of all blocks, block b on worker of[b].
inline void list_pass(Schedule& schedule, const std::vector<int>& of,
                      const plan::Samples& samples = {}) {
  const int size = schedule.plan.network.size();
  for (int b = 0; b < size; ++b) {
    list(schedule, of[static_cast<std::size_t>(b)], plan::Forward{.block = b, .samples = samples});
  }
  list(schedule, of.back(), plan::Loss{samples});
  for (int b = size; b-- > 0;) {
    const int worker = of[static_cast<std::size_t>(b)];
    list(schedule, worker, plan::BackwardData{.block = b, .samples = samples});
    list(schedule, worker, plan::BackwardWeights{.block = b, .samples = samples});
  }
}

/// "load", "forward 0", "send tensor 1 to 1", "start 0": one worker's program.
inline std::vector<std::string> text_of(const plan::Plan& plan, int worker) {
  std::vector<std::string> lines;
  for (const plan::Task& task : plan.programs.at(static_cast<std::size_t>(worker)).tasks) {
    std::string line(name_of(plan::kind_of(task)));
    if (const plan::Message* message = plan::message_of(task)) {
      line += fmt::format(" {} {} {} {}", name_of(message->value.role), message->value.index,
                          plan::is<plan::Send>(task) ? "to" : "from", message->peer);
      if (message->list >= 0) line += fmt::format(" rows {}", message->list);
      if (message->half) line += " half";
      const auto* receive = std::get_if<plan::Receive>(&task.what);
      if (receive != nullptr && receive->adds) line += " adds";
    } else if (const auto* reduce = std::get_if<plan::Reduce>(&task.what)) {
      line += fmt::format(" {}", reduce->bucket);
    } else if (plan::block_of(task) >= 0) {
      line += fmt::format(" {}", plan::block_of(task));
    }
    if (const auto* backward = std::get_if<plan::BackwardWeights>(&task.what)) {
      if (backward->adds) line += " adds";
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace plait::lower
