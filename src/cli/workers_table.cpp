// Folds the blocks of each worker into ranges, beside its predicted and measured times.
#include "cli/workers_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.hpp"

namespace plait::cli {

namespace {

constexpr int kMostWorkers = 16;
constexpr std::size_t kMostRuns = 3;

/// A run of consecutive blocks of which a worker has the same share of microbatches.
struct Blocks {
  int first = 0;
  int last = 0;
  int microbatches = 0;
};

/// Those of one block of the model, `end` excluded.
struct Module {
  int first = 0;
  int end = 0;
};

Module module_with(const plan::Network& network, int block) {
  Module module{block, block + 1};
  while (!plan::begins_module(network, module.first)) --module.first;
  while (module.end < network.size() && !plan::begins_module(network, module.end)) ++module.end;
  return module;
}

/// "layer1.0", and "layer1.0#2" where a sweep repeats it.
std::string module_name(const plan::NetworkBlock& block) {
  const std::size_t sweep = block.owns_weights() ? std::string::npos : block.name.rfind('#');
  return block.spec.name + (sweep == std::string::npos ? "" : block.name.substr(sweep));
}

/// Of an end of a run: the model's block where the run has all of it, as far as it has such tasks.
std::string name_in(const plan::Network& network, const Blocks& run, int block,
                    const std::vector<bool>& exists) {
  const plan::NetworkBlock& own = network.blocks[static_cast<std::size_t>(block)];
  const Module module = module_with(network, block);
  for (int b = module.first; b < module.end; ++b) {
    const bool inside = b >= run.first && b <= run.last;
    if (exists[static_cast<std::size_t>(b)] && !inside) return own.name;
  }
  return module.end - module.first > 1 ? module_name(own) : own.name;
}

std::string text_of(const plan::Plan& plan, const Blocks& blocks, const std::vector<bool>& exists) {
  std::string text = plan.network.blocks[static_cast<std::size_t>(blocks.first)].name;
  if (blocks.last > blocks.first) {
    text = name_in(plan.network, blocks, blocks.first, exists);
    const std::string last = name_in(plan.network, blocks, blocks.last, exists);
    if (last != text) text += " .. " + last;
  }
  const int all = std::max(1, plan.microbatches);
  if (blocks.microbatches < all) text += fmt::format(" ({} of {})", blocks.microbatches, all);
  return text;
}

/// Microbatches by block; runs may step over blocks that have no such task anywhere. Many runs are
/// only counted.
std::string runs_of(const plan::Plan& plan, const std::map<int, int>& count,
                    const std::vector<bool>& exists) {
  std::string text;
  std::vector<Blocks> runs;
  for (const auto& [block, microbatches] : count) {
    int next = runs.empty() ? block : runs.back().last + 1;
    while (next < block && !exists[static_cast<std::size_t>(next)]) ++next;
    if (!runs.empty() && next == block && runs.back().microbatches == microbatches) {
      runs.back().last = block;
    } else {
      runs.push_back({block, block, microbatches});
    }
  }
  if (runs.size() > kMostRuns) return fmt::format("{} blocks", count.size());
  for (const Blocks& run : runs) text += (text.empty() ? "" : ", ") + text_of(plan, run, exists);
  return text;
}

constexpr std::array<std::pair<plan::TaskKind, const char*>, 3> kPasses{
    {{plan::TaskKind::forward, "F"},
     {plan::TaskKind::backward_data, "D"},
     {plan::TaskKind::backward_weights, "G"}}};

/// By pass: the blocks that have such a task anywhere.
using BlocksWith = std::array<std::vector<bool>, kPasses.size()>;

BlocksWith blocks_with_tasks(const plan::Plan& plan) {
  BlocksWith with;
  with.fill(std::vector<bool>(plan.network.blocks.size(), false));
  for (const plan::Program& program : plan.programs) {
    for (const plan::Task& task : program.tasks) {
      const plan::TaskKind kind = plan::kind_of(task);
      for (std::size_t i = 0; i < kPasses.size(); ++i) {
        if (kind != kPasses[i].first) continue;
        with[i][static_cast<std::size_t>(plan::block_of(task))] = true;
      }
    }
  }
  return with;
}

std::string tasks_text(const plan::Plan& plan, int worker, const BlocksWith& with) {
  std::string text;
  for (std::size_t i = 0; i < kPasses.size(); ++i) {
    std::map<int, int> count;
    for (const plan::Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
      if (plan::kind_of(task) == kPasses[i].first) ++count[plan::block_of(task)];
    }
    if (count.empty()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", kPasses[i].second,
                        runs_of(plan, count, with[i]));
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace

std::vector<std::string> tasks_texts(const plan::Plan& plan, int workers) {
  const BlocksWith with = blocks_with_tasks(plan);
  std::vector<std::string> texts;
  for (int worker = 0; worker < workers; ++worker) {
    texts.push_back(tasks_text(plan, worker, with));
  }
  return texts;
}

std::string staleness_text(const plan::Plan& plan, int worker) {
  std::map<int, std::map<int, int>, std::greater<>> by_delay;
  for (const plan::Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
    const std::optional<int> delay = plan::delay_of(task);
    if (!delay) continue;
    const int block = plan::block_of(task);
    if (plan.network.blocks[static_cast<std::size_t>(block)].parameters == 0) continue;
    by_delay[*delay][block] = std::max(1, plan.microbatches);
  }
  if (by_delay.empty() || by_delay.begin()->first == 0) return "0";
  std::vector<bool> learns;
  for (const plan::NetworkBlock& block : plan.network.blocks)
    learns.push_back(block.parameters > 0);
  std::string text;
  for (const auto& [delay, blocks] : by_delay) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", delay, runs_of(plan, blocks, learns));
  }
  return text;
}

std::string workers_table(const plan::Plan& plan, const std::vector<WorkerFigures>& predicted,
                          const std::vector<WorkerFigures>& measured) {
  std::vector<Row> rows{{"worker", "tasks", "staleness", "busy", "memory"}};
  if (!measured.empty()) {
    rows.front() = {"worker", "tasks", "staleness", "busy", "predicted", "memory", "predicted"};
  }
  const auto share = [](double busy) { return fmt::format("{:.0f}%", 100 * busy); };
  const int shown = std::min(plan.workers(), kMostWorkers);
  const std::vector<std::string> tasks = tasks_texts(plan, shown);
  for (int worker = 0; worker < shown; ++worker) {
    const auto at = static_cast<std::size_t>(worker);
    Row row{fmt::format("{}", worker), tasks[at], staleness_text(plan, worker)};
    if (measured.empty()) {
      row.insert(row.end(), {share(predicted[at].busy), with_bytes(predicted[at].memory)});
    } else {
      row.insert(row.end(), {share(measured[at].busy), share(predicted[at].busy),
                             with_bytes(measured[at].memory), with_bytes(predicted[at].memory)});
    }
    rows.push_back(std::move(row));
  }
  std::string text = table(rows, 3, kLineColumns);
  if (shown < plan.workers()) text += fmt::format("and {} more workers\n", plan.workers() - shown);
  return text;
}

}  // namespace plait::cli
