// Costs measured on this machine: the network at a few batch sizes, and the blocks that a strategy
// adds; kept in the cache.
#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "cost/measured.hpp"
#include "plan/worker_memory.hpp"
#include "session/cost_cache.hpp"
#include "session/costs.hpp"
#include "session/measure.hpp"
#include "strategy/parareal/tear.hpp"
#include "strategy/strategy.hpp"

namespace plait::session {

namespace {

std::string now_text() { return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(std::time(nullptr))); }

plan::Plan serial_plan(const plan::Network& network, std::int64_t batch) {
  const plan::Machine machine;
  return strategy::make_plan("serial", {.network = network, .machine = machine, .batch = batch});
}

/// Batch sizes at which a step takes seconds, not minutes. From counts: equal requests measure the
/// same. Larger batches take their share more. With many parameters the largest and the smallest
/// are enough: most of a step does not depend on the batch, and every worker takes seconds to
/// build.
std::vector<std::int64_t> affordable_batches(const CostSubject& subject) {
  constexpr std::int64_t kManyParameters = 32'000'000;
  constexpr double kLongestStep = 4;  // counted seconds, which are more than real ones
  std::vector<std::int64_t> batches = batches_to_measure(subject.batch, subject.microbatches);
  const auto cost = cost::make_analytic_cost(subject.network);
  const auto too_long = [&](std::int64_t batch) {
    double sum = 0;
    for (int b = 0; b < subject.network.size(); ++b) {
      const cost::BlockSeconds one = cost->block(b, batch);
      sum += one.forward + one.backward_data + one.backward_weights + one.update;
    }
    return sum > kLongestStep * subject.threads;
  };
  const std::int64_t least = *std::ranges::min_element(batches);
  std::erase_if(batches, [&](std::int64_t batch) { return batch > least && too_long(batch); });
  if (subject.network.parameters() > kManyParameters && batches.size() > 2) {
    batches = {batches.front(), least};
  }
  return batches;
}

/// Blocks of a network, by index.
using Part = std::vector<int>;

/// Appends the blocks `part` of `from` to `chain`: tensor `src` of `from` is the one that `chain`
/// wrote last.
void append(const plan::Network& from, const Part& part, int src, plan::Network& chain) {
  std::map<int, int> now{{src, static_cast<int>(chain.tensors.size()) - 1}};
  for (const int index : part) {
    plan::NetworkBlock block = from.blocks[static_cast<std::size_t>(index)];
    const std::int64_t elements = from.tensors[static_cast<std::size_t>(block.dst)];
    now[block.dst] = static_cast<int>(chain.tensors.size());
    for (int& tensor : block.srcs) tensor = now.at(tensor);
    block.dst = now.at(block.dst);
    block.added = false;
    block.piece = -1;
    chain.tensors.push_back(elements);
    chain.blocks.push_back(std::move(block));
  }
}

/// The added blocks that a tearing has made together: what brings the input to a piece, or a coarse
/// part.
struct AddedParts {
  std::vector<Part> enters;
  std::vector<Part> coarse;
};

AddedParts added_parts(const plan::Network& torn) {
  AddedParts parts;
  const std::string* name = nullptr;
  std::vector<Part>* list = nullptr;
  for (int b = 0; b < torn.size(); ++b) {
    const plan::NetworkBlock& block = torn.blocks[static_cast<std::size_t>(b)];
    if (!block.added || block.is_join() || !block.owns_weights()) continue;
    if (name == nullptr || *name != block.spec.name) {
      name = &block.spec.name;
      list = block.reads_input() ? &parts.enters : &parts.coarse;
      list->emplace_back();
    }
    list->back().push_back(b);
  }
  return parts;
}

/// The parts that a tearing adds as networks of their own: the way from the image to a piece, the
/// coarse parts from there on, the model's head. One per piece but the first.
std::vector<plan::Network> coarse_chains(const plan::Network& model, const plan::Network& torn) {
  const AddedParts parts = added_parts(torn);
  const strategy::TornChain of_model(model);
  Part head;
  for (int b = of_model.head(); b < model.size(); ++b) head.push_back(b);
  const auto src_of = [&](const Part& part) {
    return torn.blocks[static_cast<std::size_t>(part.front())].srcs.front();
  };
  std::vector<plan::Network> chains;
  for (std::size_t i = 0; i < parts.enters.size(); ++i) {
    const auto first = static_cast<std::size_t>(parts.enters[i].front());
    plan::Network chain{.name = torn.blocks[first].spec.name,
                        .blocks = {},
                        .tensors = {model.input.elements()},
                        .input = model.input};
    append(torn, parts.enters[i], 0, chain);
    for (std::size_t j = i; j < parts.coarse.size(); ++j) {
      append(torn, parts.coarse[j], src_of(parts.coarse[j]), chain);
    }
    append(model, head, of_model.crossing(of_model.head()), chain);
    plan::complete(chain);
    chains.push_back(std::move(chain));
  }
  return chains;
}

/// Appends the blocks of `from` with these names to the added ones of `to`, point by point.
void add_blocks(const cost::ProfileFile& from, const std::set<std::string>& names,
                cost::ProfileFile& to) {
  for (std::size_t i = 0; i < to.points.size(); ++i) {
    for (const cost::ProfileBlock& block : from.points[i].blocks) {
      if (names.contains(block.name)) to.points[i].added.push_back(block);
    }
  }
}

}  // namespace

Costs Costs::measured(const CostSubject& subject, Freshness freshness,
                      const CostProgress& progress) {
  Costs costs;
  costs.batches_ = affordable_batches(subject);
  const std::int64_t needed = plan::process_memory(
      serial_plan(subject.network, costs.batches_.front()), 0, 1, subject.threads);
  if (const std::int64_t there = available_memory_bytes(); there > 0 && needed > there) {
    costs = counted(subject.network, {});
    costs.text_ = fmt::format("counted: measuring would take {} of memory, there are {}",
                              with_bytes(needed), with_bytes(there));
    return costs;
  }
  costs.network_ = subject.network;
  costs.subject_ = subject;
  costs.freshness_ = freshness;
  costs.progress_ = progress;
  costs.name_ = "measured";
  costs.machine_ = this_machine();
  costs.base_ = costs.measure(subject.network, subject.model, true);
  const cost::ProfileFile& base = *costs.base_;
  costs.text_ = fmt::format("measured on this machine{}, {}",
                            costs.measured_now_ ? " just now" : " " + base.measured + " (cached)",
                            threads_text(base.threads));
  progress.note(noise_note(base.noise, "add `cost` again"));
  costs.keep_all(base);
  costs.last_ = *costs.base_;
  return costs;
}

cost::ProfileFile Costs::measure(const plan::Network& network, const std::string& name,
                                 bool whole) {
  const CostKey key{.network_hash = plan::network_hash(network),
                    .input = network.input.to_string(),
                    .batches = batches_,
                    .threads = subject_->threads,
                    .machine = machine_};
  CostCache cache(cost_cache_folder());
  const std::string file_name = cache.file_of(key).string();
  if (const auto here = measured_here_.find(file_name); here != measured_here_.end()) {
    return here->second;
  }
  std::optional<cost::ProfileFile> found;
  const auto look = [&] {
    if (freshness_ == Freshness::cached) found = cache.find(key);
    return found.has_value();
  };
  if (!look()) {
    const CacheLock lock(cost_cache_folder());
    if (!look()) {
      cost::ProfileFile file =
          measure_now(network, whole ? name : subject_->model + ", " + name, whole);
      file.model = name;
      file.network_hash = key.network_hash;
      file.data_shape = key.input;
      file.machine = key.machine;
      file.measured = now_text();
      cache.keep(key, file);
      problem_ = cache.problem();
      measured_now_ = true;
      measured_here_.emplace(file_name, file);
      return file;
    }
  }
  measured_here_.emplace(file_name, *found);
  return *found;
}

cost::ProfileFile Costs::measure_now(const plan::Network& network, const std::string& shown,
                                     bool whole) const {
  progress_.step({.what = shown, .part = "", .whole = whole});
  cost::ProfileFile file =
      measure_points({.plan = [&](std::int64_t batch) { return serial_plan(network, batch); },
                      .batches = batches_,
                      .config = {.threads = subject_->threads,
                                 .steps = 20,
                                 .warmup = 1,
                                 .enough_seconds = whole ? 0.5 : 0.1},
                      .together = whole},
                     [&](const std::string& part) {
                       progress_.step({.what = shown, .part = part, .whole = whole});
                     });
  progress_.step({.what = shown, .part = "", .whole = whole, .ended = true});
  return file;
}

void Costs::measure_added(const plan::Network& torn, cost::ProfileFile& known) {
  std::set<std::string> names;
  for (const plan::NetworkBlock& block : torn.blocks) {
    if (block.added) names.insert(block.name);
  }
  for (const plan::Network& chain : coarse_chains(network_, torn)) {
    add_blocks(measure(chain, chain.name, false), names, known);
  }
}

void Costs::keep_all(const cost::ProfileFile& known) {
  if (!profile_) profile_ = known;
  const std::vector<cost::ProfileBlock>& added = known.points.front().added;
  for (std::size_t k = 0; k < added.size(); ++k) {
    const std::vector<cost::ProfileBlock>& all = profile_->points.front().added;
    if (std::ranges::find(all, added[k]) != all.end()) continue;
    for (std::size_t i = 0; i < known.points.size(); ++i) {
      profile_->points[i].added.push_back(known.points[i].added[k]);
    }
  }
  model_ = cost::make_measured_cost(*profile_, network_, name_);
}

}  // namespace plait::session
