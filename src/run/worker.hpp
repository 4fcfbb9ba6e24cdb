// Worker: plays its program of a plan on real tensors. It knows tasks, never strategies. Everything
// it does ends up in its trace; what it is doing right now, in its status.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "base/clock.hpp"
#include "data/batch.hpp"
#include "optim/loss.hpp"
#include "optim/optimizer.hpp"
#include "plan/memory.hpp"
#include "run/class_weights.hpp"
#include "run/decay.hpp"
#include "run/exchange.hpp"
#include "run/join.hpp"
#include "run/status.hpp"
#include "run/weight_history.hpp"
#include "run/worker_chains.hpp"
#include "tensor/poison.hpp"
#include "trace/trace.hpp"
#include "transport/reduction.hpp"

namespace plait {

/// One minibatch of the run, whichever worker sees it.
struct Minibatch {
  std::int64_t samples = 0;  ///< of all workers together
  double learning_rate = 0;
  /// What its samples weigh in the loss, all of them and those whose mean gradient this worker's
  /// updates see; not set: as many as they are.
  std::optional<MinibatchWeights::Sums> weight{};
};

struct WorkerOptions {
  int rank = 0;
  int threads = 1;
  Backend backend = Backend::onednn;
  std::uint64_t seed = 1;
  LossSpec loss{};
  OptimizerSpec optimizer{};
  double weight_decay = 0;
  bool decay_matrices = false;  ///< weight_decay is for matrices only (decay.hpp)
  double clip_norm = 0;
  double stale_lr = 0;    ///< as in TrainConfig
  std::int64_t tail = 0;  ///< as in WorkerChainsOptions
};

/// Called before each task; tests let it throw.
using TaskHook = std::function<void(int worker, const Task& task, std::int64_t minibatch)>;

/// What a worker is connected to. All of it outlives the worker.
struct WorkerLinks {
  Group& group;
  WorkerTrace& trace;
  WorkerStatus& status;
  /// The next minibatch's samples of this worker, in order; as Prefetch::next.
  std::function<void(Batch&)> next_batch;
  std::function<Minibatch(std::int64_t minibatch)> minibatch;
  TaskHook hook{};
};

struct MinibatchLoss {
  std::int64_t minibatch = 0;
  LossResult loss;  ///< of this worker's samples
};

/// A loss that is NaN or infinite; `block` is the first of this worker whose result is ("" : none).
struct NonFiniteLoss : std::runtime_error {
  NonFiniteLoss(std::int64_t minibatch_, double loss_, std::string block_)
      : std::runtime_error("loss is not finite"),
        minibatch(minibatch_),
        loss(loss_),
        block(std::move(block_)) {}
  std::int64_t minibatch;
  double loss;
  std::string block;
};

/// Of every block: what the worker's tasks use. Worker 0 holds all weights and optimizer arrays,
/// because it collects and saves them.
std::vector<BlockNeeds> block_needs(const Plan& plan, int worker);

class Worker {
 public:
  /// Every worker of the plan must be built at the same time (groups are split).
  Worker(const Plan& plan, const WorkerOptions& options, WorkerLinks links);

  ParameterStore& parameters() { return parameters_; }
  Chain& home() { return chains_.home(); }
  std::size_t memory_bytes() const;

  /// All tasks of one step, for those of their minibatches that are in `range`. Failure names
  /// worker, task, minibatch and step.
  void play(std::int64_t step, const MinibatchRange& range);
  /// Losses of the minibatches whose last loss task has been played since the last call.
  std::vector<MinibatchLoss> take_losses();
  /// Per block, of the differences it has computed; 0 for all others. Whoever reads them begins
  /// them anew.
  std::vector<ResidualSums>& residuals() { return residuals_; }
  /// Of the exchanges that are merged some steps later.
  ExchangeTimes exchange_times() const;
  /// Payload sent to other workers.
  Traffic traffic() const;
  /// Events count from now on.
  void begin_trace() { trace_begin_ = now_seconds(); }

 private:
  /// One task of the program with everything that does not depend on the minibatch.
  struct Bound {
    int src = -1, dst = -1, diff_src = -1, diff_dst = -1;  ///< slots
    int saved = -1, pending = -1, partial = -1, message = -1;
    int rows = -1;   ///< the tensor that is packed, or rows of it
    int other = -1;  ///< of a join
    int tag = 0;
  };
  /// Where and when a task is played.
  struct Moment {
    std::size_t task = 0;
    std::int64_t minibatch = 0;
    std::int64_t step = 0;
    std::int64_t whole = 0;    ///< samples of the minibatch
    std::int64_t samples = 0;  ///< of them, the task's
  };

  Bound bind(const Task& task) const;
  Bound bind_message(const Task& task) const;
  void bind_block(const Task& task, Bound& bound) const;
  int slot_of(Value value) const;
  std::byte* memory(int slot, std::int64_t minibatch) const;
  float* floats(int slot, std::int64_t minibatch) const;
  const float* input(const Moment& at) const;
  BlockArgs block_args(const Moment& at, BlockMemory& parameters) const;
  /// Arguments with the weights this task reads, brought into the layout of its number of samples.
  BlockArgs args_with_weights(const Moment& at);
  std::size_t message_bytes(const Moment& at) const;
  /// Of a message that is packed whole.
  std::span<float> tensor_of(const Moment& at) const;
  /// Of a task that packs: from its tensor to the message, and back.
  void pack(const Moment& at);
  void unpack(const Moment& at);

  /// Two exchanges of one bucket may be under way.
  static constexpr int kTagsPerBucket = 2;

  std::size_t home_of(const Moment& at) const {
    return static_cast<std::size_t>(plan_.network.home_of(block_of(task_of(at))));
  }
  void join_forward(const Moment& at, const NetworkBlock& block);
  void join_backward(const Moment& at, const NetworkBlock& block);

  void perform(const Moment& at);
  /// For tests (poisons_memory): NaN wherever the task is about to write, and in its scratch
  /// memory.
  void poison_results(const Moment& at);
  void load(const Moment& at);
  void forward(const Moment& at);
  void compute_loss_of(const Moment& at);
  void backward_data(const Moment& at);
  void backward_weights(const Moment& at);
  /// From a gradient over the whole minibatch's samples to the mean over those that updates see; 0
  /// where these have none of it.
  double mean_scale(const Moment& at) const;
  MinibatchWeights::Sums weight_of(const Moment& at) const;
  void clip(const Moment& at);
  void update(const Moment& at);
  void post_receives(std::int64_t step, const MinibatchRange& range);
  void send(const Moment& at);
  void receive(const Moment& at);
  void reduce(const Moment& at);
  std::string first_non_finite_block(const Moment& at);

  void send_weights(const Moment& at);
  void receive_weights(const Moment& at);

  void send_copy(const Moment& at, std::span<const std::byte> bytes);
  /// Where what was sent from there is not taken yet, the slot gets other memory.
  void free_for_writing(const Moment& at, int slot);
  std::vector<std::span<float>> payload(const Bucket& bucket);
  void make_exchanges();
  void reduce_part(const Moment& at, const Bucket& bucket, Group& group);
  void exchange_part(const Moment& at);
  void compute_event(const Moment& at, double begin);
  void message_event(const Moment& at, double begin, std::size_t bytes);
  /// Calls body() with the status set to waiting, and notes the wait.
  void waiting(const Moment& at, const std::function<void()>& body);
  const Task& task_of(const Moment& at) const { return program_.tasks[at.task]; }
  template <class Kind>
  const Kind& what_of(const Moment& at) const {
    return std::get<Kind>(task_of(at).what);
  }
  /// Of a send or a receive.
  const Message& message_at(const Moment& at) const { return *message_of(task_of(at)); }
  Moment moment_of(std::size_t task, std::int64_t step) const;

  const Plan& plan_;
  const Program& program_;
  WorkerOptions options_;
  WorkerLinks links_;
  std::unique_ptr<Optimizer> optimizer_;
  WorkerChains chains_;
  ParameterStore parameters_;
  WeightHistory history_;
  MemoryMap map_;
  std::vector<Bound> bound_;  ///< one per task
  std::shared_ptr<std::byte> memory_;
  std::vector<std::vector<std::shared_ptr<std::byte>>> places_;  ///< by slot and copy
  std::byte* scratch_ = nullptr;
  std::size_t scratch_bytes_ = 0;
  bool poisons_ = poisons_memory();

  std::vector<Batch> batches_;  ///< ring of the minibatches in flight
  Samples share_{};             ///< what next_batch brings of each minibatch
  Samples averaged_{};          ///< whose mean gradient the updates see
  bool loads_directly_ = true;  ///< tensor 0 is read where the data was loaded
  std::int64_t newest_batch_ = -1;

  std::vector<std::unique_ptr<Group>> groups_;  ///< of the plan; null where this worker is not in
  std::vector<std::optional<Reduction>> reductions_;  ///< per bucket of gradients or state
  std::vector<Tensor>
      outer_of_state_;  ///< by block: what an outer optimizer keeps of running statistics
  std::vector<std::unique_ptr<Exchange>> exchanges_;  ///< per bucket of weights or optimizer arrays
  std::size_t most_exchanged_bytes_ = 0;              ///< of all of them, at one time
  std::map<std::pair<int, std::int64_t>, std::vector<Request>> sends_;  ///< by slot and copy
  /// Memory that others still read: its slot went on with another piece. A worker that is ahead
  /// must not wait for one that takes its messages later.
  struct Lent {
    std::shared_ptr<std::byte> bytes;
    std::size_t size = 0;
    std::vector<Request> requests{};
  };
  std::deque<Lent> lent_;
  std::vector<Request> receives_;  ///< per task
  bool overlaps_ = false;          ///< steps do: weights are sent as copies
  /// Copies of weights on their way.
  struct Copy {
    std::shared_ptr<std::byte> bytes;
    std::size_t size = 0;
    Request request{};
  };
  std::deque<Copy> copies_;
  /// Weights on their way to others, per block: they must stay until they are taken.
  std::vector<std::vector<Request>> weight_sends_;
  std::int64_t range_begin_ = -1;
  struct OpenLoss {
    MinibatchLoss loss;
    int tasks = 0;  ///< of `loss_tasks_` played
  };
  std::vector<OpenLoss> losses_;
  int loss_tasks_ = 0;
  std::vector<ResidualSums> residuals_;
  float gradient_scale_ = 1;
  std::vector<double> rate_scale_;              ///< of the learning rate, per block
  std::vector<std::vector<DecayRange>> decay_;  ///< per block
  double trace_begin_ = 0;
  std::int64_t plays_ = 0;  ///< steps so far
  Traffic before_{};        ///< of the groups' making, which does not count
};

}  // namespace plait
