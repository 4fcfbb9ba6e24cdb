// Costs and bytes along the line, and the balance of its pieces by dynamic programming.
#include "strategy/pipeline/task_line.hpp"

#include <algorithm>

namespace plait::strategy::pipeline {

namespace {

/// Decides between equal cuts where bytes are free.
constexpr double kLeastSecondsPerByte = 1e-15;
/// Cuts of the whole line; a backward_data is cut more coarsely where there would be more.
constexpr int kMostCuts = 2500;

double link_seconds_per_byte(const plan::Machine& machine) {
  const plan::Link& slow = machine.nodes > 1 ? machine.between : machine.inside;
  return slow.bytes_per_second > 0 ? 1 / slow.bytes_per_second : kLeastSecondsPerByte;
}

}  // namespace

/// Which tensors cross the borders between blocks.
class TaskLine::Crossings {
 public:
  explicit Crossings(const plan::Network& network)
      : network_(network),
        last_(network.tensors.size(), -1),
        returns_(network.tensors.size(), false),
        elements_(network.blocks.size() + 1, 0) {
    for (int b = 0; b < network.size(); ++b) {
      for (const int tensor : block(b).srcs) last_[at(tensor)] = b;
      returns_[at(block(b).dst)] = network.has_gradient(block(b).dst);
    }
    for (int b = 0; b < network.size(); ++b) {
      if (last_[at(block(b).dst)] <= b) continue;
      elements_[at(b) + 1] += both_ways(block(b).dst);
      elements_[at(last_[at(block(b).dst)]) + 1] -= both_ways(block(b).dst);
    }
    for (std::size_t b = 1; b < elements_.size(); ++b) elements_[b] += elements_[b - 1];
  }

  /// Elements per sample before a block, those whose gradients come back counted twice.
  double before(int index) const { return elements_[at(index)]; }
  /// Of those behind a block, the ones that it has not written.
  double past(int index) const {
    const int dst = block(index).dst;
    return before(index + 1) - (last_[at(dst)] > index ? both_ways(dst) : 0);
  }
  /// Of tensors that nobody reads behind this block, but its backward tasks there do; of gradients
  /// the share `returned` comes back.
  double sources(int index, double returned) const {
    const graph::BlockTraits& traits = block(index).traits;
    const bool reads = traits.weights_read_src || (traits.data_reads_src && returned > 0);
    double sum = 0;
    for (std::size_t k = 0; k < block(index).srcs.size(); ++k) {
      const int tensor = block(index).srcs[k];
      if (tensor == 0 || last_[at(tensor)] != index) continue;
      const bool sent = reads && traits.reads_src(static_cast<int>(k));
      sum += elements(tensor) * ((sent ? 1 : 0) + (returns_[at(tensor)] ? returned : 0));
    }
    return sum;
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  const plan::NetworkBlock& block(int index) const { return network_.blocks[at(index)]; }
  double elements(int tensor) const { return static_cast<double>(network_.tensors[at(tensor)]); }
  double both_ways(int tensor) const { return (returns_[at(tensor)] ? 2 : 1) * elements(tensor); }

  const plan::Network& network_;
  std::vector<int> last_;      ///< reader, by tensor
  std::vector<bool> returns_;  ///< its gradient does
  std::vector<double> elements_;
};

TaskLine::TaskLine(const PlanRequest& request, CutPlaces places)
    : microbatches_(request.microbatches),
      batch_(static_cast<double>(request.batch)),
      seconds_per_byte_(link_seconds_per_byte(request.machine)) {
  const plan::Network& network = request.network;
  const std::int64_t samples = std::max<std::int64_t>(1, request.batch / microbatches_);
  const double slower = request.cost->contention(request.machine.workers_per_node);
  // Where microbatches do not divide the batch, `larger` of them have one sample more.
  const auto larger = static_cast<double>(request.batch % microbatches_);
  const double all = slower * (microbatches_ - larger);
  const double more = slower * larger;
  for (int b = 0; b < network.size(); ++b) {
    const cost::BlockSeconds one = request.cost->block(b, samples);
    const cost::BlockSeconds two =
        larger > 0 ? request.cost->block(b, samples + 1) : cost::BlockSeconds{};
    loads_.push_back({.forward = all * one.forward + more * two.forward,
                      .backward_data = all * one.backward_data + more * two.backward_data,
                      .backward_weights = all * one.backward_weights + more * two.backward_weights +
                                          slower * one.update});
  }
  loads_.back().backward_data += all * request.cost->loss(samples);
  if (larger > 0) loads_.back().backward_data += more * request.cost->loss(samples + 1);

  const int room = std::max(1, kMostCuts / network.size() - 2);
  const int pieces = places == CutPlaces::samples ? std::min(microbatches_, room) : 1;
  const Crossings crossings(network);
  double seconds = 0;
  double weights = 0;
  for (int b = 0; b < network.size(); ++b) {
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(b)];
    add({b, 0}, seconds, 4 * batch_ * crossings.before(b), weights);
    const bool divisible =
        places != CutPlaces::borders && block.parameters > 0 && block.traits.weights_read_src;
    for (int piece = 0; divisible && piece <= pieces; ++piece) {
      const int left = static_cast<int>(std::int64_t{piece} * microbatches_ / pieces);
      const double share = static_cast<double>(left) / microbatches_;
      add({b, left + 1}, seconds + load(b).forward + share * load(b).backward_data,
          inner_bytes(network, crossings, b, share), weights);
    }
    seconds += load(b).forward + load(b).backward_data + load(b).backward_weights;
    weights += 4 * static_cast<double>(block.parameters);
  }
  add({network.size(), 0}, seconds, 0, weights);
}

void TaskLine::add(const Cut& cut, double seconds, double bytes, double weights) {
  cuts_.push_back(cut);
  before_.push_back(seconds);
  bytes_.push_back(bytes);
  weights_.push_back(weights);
}

/// To the right: dst, what backward reads and forward saves, and what backward_data of the `left`
/// share leaves.
/// To the left: gradients, and the weights once per minibatch.
double TaskLine::inner_bytes(const plan::Network& network, const Crossings& crossings, int index,
                             double left) const {
  const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(index)];
  const auto dst = static_cast<double>(network.tensors[static_cast<std::size_t>(block.dst)]);
  const auto inner = static_cast<double>(block.inner_elements);
  // Behind the last block there is no forward, and the loss is with its own: the gradient comes
  // from the left.
  const bool last = index + 1 == network.size();
  const double samples =
      crossings.sources(index, 1 - left) + crossings.past(index) +
      dst * (last ? 1 + (block.traits.data_reads_dst ? 1 - left : 0) : 1 + left) +
      inner * (1 + (block.traits.weights_read_pending ? left : 0));
  return 4 * (batch_ * samples + static_cast<double>(block.parameters));
}

namespace {

/// Of the microbatches, those that the busiest of the replicas gets.
double largest_share(const TaskLine& line, int replicas) {
  const int most = (line.microbatches() + replicas - 1) / replicas;
  return static_cast<double>(most) / line.microbatches();
}

class Balance {
 public:
  Balance(const TaskLine& line, int workers, bool replicate)
      : line_(line), workers_(workers), replicate_(replicate) {
    for (std::size_t i = 0; i < line.cuts().size(); ++i) seconds_.push_back(line.before(i));
  }

  /// First the least time of the slowest piece; then, of all cuts that reach it, the evenest one.
  std::vector<Stage> run(bool even) {
    search();
    const double slowest = row(workers_).back().seconds;
    if (slowest >= kNever) return {};
    if (!even) return stages();
    limit_ = slowest * (1 + 1e-9);
    search();
    return stages();
  }

 private:
  struct Choice {
    double seconds = kNever;  ///< of the slowest piece; once that is known, the sum of squares
    int from = -1;
    int replicas = 0;
  };
  static constexpr double kNever = 1e300;

  void search() {
    best_.assign(static_cast<std::size_t>(workers_) + 1, std::vector<Choice>(line_.cuts().size()));
    best_[0][0].seconds = 0;
    for (int n = 1; n <= workers_; ++n) {
      const int most = replicate_ ? std::min(n, line_.microbatches()) : 1;
      for (int replicas = 1; replicas <= most; ++replicas) extend(n, replicas);
    }
  }

  std::vector<Choice>& row(int n) { return best_[static_cast<std::size_t>(n)]; }
  const Cut& cut(std::size_t place) const { return line_.cuts()[place]; }

  /// The last piece of n workers has so many replicas.
  void extend(int n, int replicas) {
    for (std::size_t to = 1; to < line_.cuts().size(); ++to) {
      if (replicas == 1 || cut(to).at_border()) end_at(to, n, replicas);
    }
  }

  void end_at(std::size_t to, int n, int replicas) {
    const std::vector<Choice>& before = row(n - replicas);
    Choice& best = row(n)[to];
    const double share = largest_share(line_, replicas);
    for (std::size_t from = to; from-- > 0;) {
      const double work = (seconds_[to] - seconds_[from]) * share;
      if (work >= (even() ? limit_ : best.seconds)) break;  // grows with the piece
      if (before[from].seconds >= best.seconds) continue;
      if (replicas > 1 && !cut(from).at_border()) continue;
      const double piece = work + traffic(from, to, replicas);
      if (even() && piece > limit_) continue;
      const double seconds = even() ? before[from].seconds + replicas * piece * piece
                                    : std::max(before[from].seconds, piece);
      if (seconds < best.seconds) best = {seconds, static_cast<int>(from), replicas};
    }
  }

  bool even() const { return limit_ < kNever; }

  /// Half of what crosses each end, and the sum of the gradients: 2 (r - 1) / r of the weights.
  double traffic(std::size_t from, std::size_t to, int replicas) const {
    const double r = replicas;
    const double ends = (line_.bytes(from) + line_.bytes(to)) / 2 / r;
    const double weights = line_.weight_bytes_before(to) - line_.weight_bytes_before(from);
    return line_.seconds_per_byte() * (ends + 2 * (r - 1) / r * weights);
  }

  std::vector<Stage> stages() {
    std::vector<Stage> result;
    std::size_t to = line_.cuts().size() - 1;
    int n = workers_;
    if (row(n)[to].from < 0) return {};
    while (n > 0) {
      const Choice& choice = row(n)[to];
      const auto from = static_cast<std::size_t>(choice.from);
      result.push_back({cut(from), cut(to), choice.replicas});
      to = from;
      n -= choice.replicas;
    }
    std::ranges::reverse(result);
    return result;
  }

  const TaskLine& line_;
  int workers_;
  bool replicate_;
  double limit_ = kNever;                  ///< of a piece, once it is known
  std::vector<double> seconds_;            ///< by cut: of what lies before it
  std::vector<std::vector<Choice>> best_;  ///< by workers used and cut reached
};

}  // namespace

std::vector<Stage> balance(const TaskLine& line, int workers, bool replicate, bool even) {
  return Balance(line, workers, replicate).run(even);
}

double busiest(const TaskLine& line, const std::vector<Stage>& stages) {
  const auto number = [&](const Cut& cut) {
    return static_cast<std::size_t>(std::ranges::find(line.cuts(), cut) - line.cuts().begin());
  };
  double most = 0;
  for (const Stage& stage : stages) {
    const double work = line.before(number(stage.end)) - line.before(number(stage.begin));
    most = std::max(most, work * largest_share(line, stage.replicas));
  }
  return most;
}

}  // namespace plait::strategy::pipeline
