// The forecast kind by kind. It repeats decisions of run/worker and run/workspace; tests compare it
// with what a run holds.
#include "plan/worker_memory.hpp"

#include <algorithm>
#include <utility>

#include "base/rounding.hpp"
#include "plan/alike.hpp"
#include "plan/evaluation_memory.hpp"
#include "plan/exchange_memory.hpp"
#include "plan/value_slots.hpp"
#include "plan/versions.hpp"

namespace plait::plan {

namespace {

/// Minibatches that are ready, being loaded, and in the worker's hands.
constexpr std::int64_t kBatches = 4;

/// Arrays of the size of a block's weights that old versions, or doing without them, take.
std::int64_t old_arrays(const Plan& plan, int versions, int delay) {
  if (plan.old_weights == OldWeights::predicted) return delay > 0 && versions > 0 ? 2 : 0;
  if (versions <= 1) return 0;
  return plan.old_weights == OldWeights::stash ? versions - 1 : 2;
}

/// Of a block: what the worker's tasks use (run/worker's block_needs).
struct Use {
  bool weights = false;
  bool gradient = false;
  bool optimizer = false;
};

std::vector<Use> uses_of(const Plan& plan, int worker) {
  const bool collects = worker == 0;  // for checkpoints: all weights and optimizer arrays
  std::vector<Use> uses(plan.network.blocks.size(), {collects, false, collects});
  for (const Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
    if (block_of(task) < 0) continue;
    Use& use = uses[static_cast<std::size_t>(plan.network.home_of(block_of(task)))];
    Use& owner = uses[static_cast<std::size_t>(plan.network.owner_of(block_of(task)))];
    const bool updates = is<Update>(task);
    use.weights = owner.weights = true;
    use.optimizer = use.optimizer || updates;
    use.gradient = use.gradient || updates || makes_gradient(task);
    owner.gradient = owner.gradient || is<AddGradient>(task);
  }
  return uses;
}

}  // namespace

MemoryForecast::MemoryForecast(const Plan& plan, const graph::SizeOptions& options)
    : plan_(plan),
      sizes_(plan.network, options),
      has_layers_(plait::plan::has_layers(plan.network)),
      all_compute_all_(true),
      staleness_(staleness(plan)) {
  std::vector<int> forward(plan.network.blocks.size(), -1);  // the last program that has it
  Samples last{.begin = -1};
  for (int worker = 0; worker < plan.workers(); ++worker) {
    int blocks = 0;
    for (const Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
      overlaps_ = overlaps_ || task.when.offset > 0;
      const auto* of = std::get_if<Forward>(&task.what);
      if (of == nullptr) continue;
      if (std::exchange(forward[static_cast<std::size_t>(of->block)], worker) != worker) ++blocks;
      if (std::exchange(last, of->samples) == of->samples) continue;
      home_samples_ = std::max(home_samples_, of->samples.count(plan.batch));
    }
    all_compute_all_ = all_compute_all_ && blocks == plan.network.size();
  }
}

std::int64_t MemoryForecast::bytes_of(const Value& value, bool loads_directly) {
  const std::int64_t samples = value.samples.count(plan_.batch);
  if (samples == 0) return 0;
  const auto index = static_cast<std::size_t>(value.index);
  // Minibatches are loaded into memory of their own.
  const bool input = value.role == Role::tensor && value.index == 0;
  if (has_layers_ && (value.role == Role::targets || (input && loads_directly))) return 0;
  const NetworkSizes& sizes = sizes_.at(samples);
  const auto tensor_bytes = [&](std::size_t tensor) {
    return static_cast<std::int64_t>(sizes.tensors[tensor].bytes());
  };
  switch (value.role) {
    case Role::tensor:
    case Role::diff: return tensor_bytes(index);
    case Role::targets: return samples * labels_per_sample() * tensor::kFloatBytes;
    case Role::saved: return sizes.blocks[index].saved_bytes;
    case Role::pending: return sizes.blocks[index].pending_bytes;
    case Role::partial: {
      const int owner = plan_.network.owner_of(value.index);
      return home(static_cast<std::size_t>(owner)).weights * tensor::kFloatBytes;
    }
    case Role::half_tensor:
    case Role::half_diff: return (tensor_bytes(index) + 1) / 2;
    case Role::sent_rows:
    case Role::received_rows: {
      const tensor::TensorDesc rows{
          .shape = {samples, std::ssize(plan_.row_lists.at(index))},
          .layout = has_layers_ ? tensor::Layout::panels : tensor::Layout::plain};
      return static_cast<std::int64_t>(rows.bytes());
    }
    case Role::weights:
    case Role::gradient:
    case Role::state: break;
  }
  return 0;
}

void MemoryForecast::count_parameters(int worker, WorkerMemory& memory) {
  const std::vector<int> versions = weight_versions(plan_, worker);
  const std::vector<Use> uses = uses_of(plan_, worker);
  const int outer = has_outer_optimizer(plan_) ? 1 : 0;
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const NetworkBlock& block = plan_.network.blocks[i];
    const int index = static_cast<int>(i);
    if (plan_.network.repeats(index)) continue;
    // Gradients lie as the weights they belong to.
    const auto owner = static_cast<std::size_t>(plan_.network.owner_of(index));
    const std::int64_t weights = home(owner).weights * tensor::kFloatBytes;
    std::int64_t arrays = uses[i].gradient ? 1 : 0;
    if (block.owns_weights()) {
      arrays +=
          (uses[i].weights ? 1 : 0) + (uses[i].optimizer ? plan_.optimizer_states + outer : 0);
    }
    memory.parameters += weights * arrays;
    if (uses[i].weights) {
      memory.parameters += home(i).state * block.state_sets * (1 + outer) * tensor::kFloatBytes;
    }
    if (!block.owns_weights()) continue;
    const std::int64_t old = old_arrays(plan_, versions[i], staleness_[i]);
    memory.versions += weights * old;
    if (old > 0) largest = std::max(largest, weights);
  }
  if (has_layers_ && plan_.old_weights != OldWeights::stash) memory.versions += largest;
}

std::int64_t MemoryForecast::labels_per_sample() {
  const auto logits = static_cast<std::size_t>(plan_.network.logits());
  const tensor::Shape& shape = sizes_.at(home_samples_).tensors[logits].shape;
  return shape.rank() == 4 ? shape[2] * shape[3] : 1;
}

double MemoryForecast::padding() {
  std::int64_t floats = 0;
  for (std::size_t i = 0; i < plan_.network.blocks.size(); ++i) {
    if (plan_.network.blocks[i].owns_weights()) floats += home(i).weights;
  }
  return static_cast<double>(floats) /
         static_cast<double>(std::max<std::int64_t>(1, plan_.network.parameters()));
}

WorkerMemory MemoryForecast::of(int worker) {
  WorkerMemory memory;
  const std::vector<Task>& tasks = plan_.programs[static_cast<std::size_t>(worker)].tasks;
  const bool loads_directly = std::ranges::count_if(tasks, is<Load>) <= 1;
  Traits traits;
  for (const graph::BlockSizes& block : sizes_.at(home_samples_).blocks) {
    traits.push_back(block.traits);
  }
  const std::vector<Slot> slots = value_slots(
      plan_, worker,
      [&](const Value& value) { return static_cast<std::size_t>(bytes_of(value, loads_directly)); },
      traits);
  memory.values = static_cast<std::int64_t>(peak_bytes(slots, tasks.size()));
  for (const Task& task : tasks) {
    const std::int64_t samples = samples_of(task).count(plan_.batch);
    // Updates and messages of weights have none.
    if (block_of(task) < 0 || !takes_samples(task) || samples == 0) continue;
    const graph::BlockSizes& block =
        sizes_.at(samples).blocks[static_cast<std::size_t>(block_of(task))];
    std::int64_t scratch = block.scratch_bytes;
    const std::vector<int>& srcs =
        plan_.network.blocks[static_cast<std::size_t>(block_of(task))].srcs;
    for (std::size_t k = 0; k < srcs.size(); ++k) {
      const int tensor = srcs[k];
      if (!plan_.network.has_gradient(tensor) || block.traits.adds_in_pass(static_cast<int>(k)) ||
          !plan_.network.adds_gradient(block_of(task), tensor)) {
        continue;
      }
      const tensor::TensorDesc& desc = sizes_.at(samples).tensors[static_cast<std::size_t>(tensor)];
      scratch = cache_lines(scratch) + cache_lines(static_cast<std::int64_t>(desc.bytes()));
    }
    memory.scratch = std::max(memory.scratch, scratch);
  }
  count_parameters(worker, memory);
  memory.exchanges =
      static_cast<std::int64_t>(padding() * static_cast<double>(exchanged_bytes(plan_, worker)));
  memory.messages = overlaps_ ? sent_bytes(plan_, worker) : 0;
  if (has_layers_) count_around(worker, memory);
  return memory;
}

/// What is there beside the plan's own arrays.
void MemoryForecast::count_around(int worker, WorkerMemory& memory) {
  const Program& program = plan_.programs[static_cast<std::size_t>(worker)];
  // An exchange that is merged has its values twice more: as they travel and as they are merged.
  memory.messages += reduced_bytes(plan_, worker) + memory.exchanges;
  std::int64_t loaded = 0;
  for (const Task& task : program.tasks) {
    if (is<Load>(task)) loaded += samples_of(task).count(plan_.batch);
  }
  const auto each = static_cast<std::int64_t>(tensor::size_of(plan_.network.input_type));
  memory.batches =
      kBatches * loaded *
      (plan_.network.input.elements() * each + labels_per_sample() * tensor::kFloatBytes);
  if (all_compute_all_ || worker == 0) {
    memory.evaluation = workspace_bytes(plan_.network, sizes_.at(home_samples_));
  }
  if (worker == 0) {
    memory.saving = plan_.network.parameters() * (1 + plan_.optimizer_states) * tensor::kFloatBytes;
  }
  memory.kernels = kernels_of(worker);
  memory.program = kProgramBytes;
}

std::int64_t MemoryForecast::kernels_of(int worker) {
  std::vector<bool> seen(plan_.network.blocks.size(), false);
  std::int64_t bytes = 0;
  for (const Task& task : plan_.programs[static_cast<std::size_t>(worker)].tasks) {
    if (block_of(task) < 0) continue;
    const auto home = static_cast<std::size_t>(plan_.network.home_of(block_of(task)));
    if (seen[home]) continue;
    seen[home] = true;
    bytes += kernel_bytes(plan_.network.blocks[home].spec);
  }
  return bytes;
}

std::vector<std::int64_t> estimate_memories(const Plan& plan, const graph::SizeOptions& options) {
  MemoryForecast forecast(plan, options);
  const std::vector<int> first = first_alike(plan);
  std::vector<std::int64_t> bytes;
  std::vector<int> known(first.size(), 0);  // by first one alike: whose bytes are its; 0: nobody's
  for (int worker = 0; worker < plan.workers(); ++worker) {
    int& like = known[static_cast<std::size_t>(first[static_cast<std::size_t>(worker)])];
    if (like > 0) {
      bytes.push_back(bytes[static_cast<std::size_t>(like)]);
    } else {
      bytes.push_back(forecast.of(worker).total());
      like = worker;  // worker 0 has more to do than its program says
    }
  }
  return bytes;
}

std::int64_t process_memory(const Plan& plan, int begin, int end, int threads) {
  MemoryForecast forecast(plan, {.threads = threads});
  std::int64_t bytes = kProgramBytes;
  for (int worker = begin; worker < end; ++worker) bytes += forecast.of(worker).own();
  return bytes;
}

}  // namespace plait::plan
