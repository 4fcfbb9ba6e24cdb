// The line of tasks, its cuts, and who gets which task of which microbatch: against brute force.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "strategy/pipeline_testing.hpp"

namespace plait::strategy::pipeline {
namespace {

/// A line with everything it refers to.
struct Line {
  MadeUp made;
  TableCost cost;
  plan::Machine machine;
  PlanRequest request;
  TaskLine line;

  Line(MadeUp what, const plan::Machine& on, int microbatches)
      : made(std::move(what)),
        cost(made.cost()),
        machine(on),
        request{.network = made.network,
                .machine = machine,
                .cost = &cost,
                .batch = 4 * microbatches,
                .microbatches = microbatches},
        line(request, CutPlaces::samples) {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
};

/// The number of a cut.
std::size_t number(const TaskLine& line, const Cut& cut) {
  const auto found = std::ranges::find(line.cuts(), cut);
  EXPECT_NE(found, line.cuts().end());
  return static_cast<std::size_t>(found - line.cuts().begin());
}

/// Work of the busiest of the replicas, half the bytes of both ends, the sum of the gradients.
double piece_seconds(const TaskLine& line, std::size_t from, std::size_t to, int replicas) {
  const double r = replicas;
  const double rounds = std::ceil(line.microbatches() / r);
  const double work = (line.before(to) - line.before(from)) * rounds / line.microbatches();
  const double weights = line.weight_bytes_before(to) - line.weight_bytes_before(from);
  const double bytes = (line.bytes(from) + line.bytes(to)) / 2 / r + 2 * (r - 1) / r * weights;
  return work + bytes * line.seconds_per_byte();
}

/// All ways to cut, one by one.
struct BruteForce {
  const TaskLine& line;
  bool replicate;

  /// Least seconds of the slowest piece of everything from `from` on; nullopt: not possible.
  std::optional<double> least(std::size_t from, int workers) const {
    const std::size_t end = line.cuts().size() - 1;
    if (workers == 0) return from == end ? std::optional(0.0) : std::nullopt;
    std::optional<double> best;
    for (std::size_t to = from + 1; to <= end; ++to) {
      const bool borders = line.cuts()[from].at_border() && line.cuts()[to].at_border();
      const int most = replicate && borders ? std::min(workers, line.microbatches()) : 1;
      for (int r = 1; r <= most; ++r) {
        const auto rest = least(to, workers - r);
        if (!rest) continue;
        const double slowest = std::max(*rest, piece_seconds(line, from, to, r));
        if (!best || slowest < *best) best = slowest;
      }
    }
    return best;
  }
};

void expect_pieces(const TaskLine& line, const std::vector<Stage>& stages, int workers) {
  int used = 0;
  ASSERT_FALSE(stages.empty());
  EXPECT_EQ(stages.front().begin, Cut{});
  EXPECT_EQ(stages.back().end, (Cut{line.blocks(), 0}));
  for (std::size_t i = 0; i < stages.size(); ++i) {
    used += stages[i].replicas;
    if (i > 0) {
      EXPECT_EQ(stages[i].begin, stages[i - 1].end);
    }
    EXPECT_LT(number(line, stages[i].begin), number(line, stages[i].end));
    if (stages[i].replicas > 1) {
      EXPECT_TRUE(stages[i].begin.at_border() && stages[i].end.at_border());
      EXPECT_LE(stages[i].replicas, line.microbatches());
    }
  }
  EXPECT_EQ(used, workers);
}

double slowest(const TaskLine& line, const std::vector<Stage>& stages) {
  double most = 0;
  for (const Stage& stage : stages) {
    most = std::max(most, piece_seconds(line, number(line, stage.begin), number(line, stage.end),
                                        stage.replicas));
  }
  return most;
}

double squares(const TaskLine& line, const std::vector<Stage>& stages) {
  double sum = 0;
  for (const Stage& stage : stages) {
    const double one =
        piece_seconds(line, number(line, stage.begin), number(line, stage.end), stage.replicas);
    sum += stage.replicas * one * one;
  }
  return sum;
}

/// Seconds of the busiest worker, counted task by task.
double busiest_of(const Line& of, const Placement& placement, int workers) {
  std::vector<double> sums(static_cast<std::size_t>(workers));
  const std::int64_t samples = of.request.batch / of.request.microbatches;
  for (int b = 0; b < of.line.blocks(); ++b) {
    const cost::BlockSeconds one = of.cost.block(b, samples);
    const double loss = b + 1 == of.line.blocks() ? of.cost.loss(samples) : 0;
    for (int k = 0; k < of.request.microbatches; ++k) {
      const auto at = [&](Pass3 pass) -> double& {
        return sums[static_cast<std::size_t>(placement.worker(pass, b, k))];
      };
      at(Pass3::forward) += one.forward;
      at(Pass3::backward_data) += one.backward_data + loss;
      at(Pass3::backward_weights) += one.backward_weights + one.update / of.request.microbatches;
    }
  }
  return *std::ranges::max_element(sums);
}

TEST(Balance, SlowestPieceIsTheLeastOfAllCuts) {
  Rng rng(1, Purpose::test);
  int replicated = 0;
  int inner = 0;
  int impossible = 0;
  for (int round = 0; round < 120; ++round) {
    const int blocks = 1 + static_cast<int>(rng.below(4));
    const int microbatches = 1 + static_cast<int>(rng.below(4));
    const int workers = 2 + static_cast<int>(rng.below(3));
    const plan::Link link{.bytes_per_second = round % 3 == 0 ? 0 : 4000.0 * (1 + rng.below(20))};
    const Line of(random_network(rng, blocks, round % 2 == 0), one_node(workers, link),
                  microbatches);
    for (const CutPlaces places : {CutPlaces::borders, CutPlaces::tasks, CutPlaces::samples}) {
      const TaskLine line(of.request, places);
      for (const bool replicate : {false, true}) {
        SCOPED_TRACE(fmt::format("round {}: {} blocks, {} microbatches, {} workers, cuts {}{}",
                                 round, blocks, microbatches, workers, static_cast<int>(places),
                                 replicate ? ", replicas" : ""));
        const auto least = BruteForce{line, replicate}.least(0, workers);
        for (const bool even : {false, true}) {
          const std::vector<Stage> stages = balance(line, workers, replicate, even);
          ASSERT_EQ(stages.empty(), !least.has_value());
          if (!least) {
            ++impossible;
            continue;
          }
          expect_pieces(line, stages, workers);
          EXPECT_NEAR(slowest(line, stages), *least, 2e-9 * *least);
          EXPECT_NEAR(busiest(line, stages),
                      busiest_of(of, place(stages, blocks, microbatches), workers), 1e-9);
          for (const Stage& stage : stages) {
            replicated += stage.replicas > 1;
            inner += !stage.end.at_border();
          }
        }
        if (!least) continue;
        EXPECT_LE(squares(line, balance(line, workers, replicate, true)),
                  squares(line, balance(line, workers, replicate, false)) * (1 + 1e-9));
      }
    }
  }
  EXPECT_GT(replicated, 50);  // all of it has been seen
  EXPECT_GT(inner, 50);
  EXPECT_GT(impossible, 10);
}

TEST(Balance, ReplicasAndInnerCutsNeverMakeTheSlowestPieceSlower) {
  Rng rng(2, Purpose::test);
  for (int round = 0; round < 60; ++round) {
    const int workers = 2 + static_cast<int>(rng.below(7));
    const Line of(random_network(rng, 10, true), one_node(workers, {.bytes_per_second = 1e5}), 8);
    const auto seconds = [&](CutPlaces places, bool replicate) {
      const TaskLine line(of.request, places);
      return slowest(line, balance(line, workers, replicate));
    };
    const double straight = seconds(CutPlaces::borders, false) * (1 + 1e-8);
    EXPECT_LE(seconds(CutPlaces::borders, true), straight);
    EXPECT_LE(seconds(CutPlaces::samples, false), straight);
    EXPECT_LE(seconds(CutPlaces::samples, true), seconds(CutPlaces::samples, false) * (1 + 1e-8));
  }
}

TEST(Balance, IsEmptyWhereThereAreMoreWorkersThanPieces) {
  const Line of(even_network(3), one_node(2), 2);
  const TaskLine borders(of.request, CutPlaces::borders);
  EXPECT_EQ(balance(borders, 3, false).size(), 3U);
  EXPECT_TRUE(balance(borders, 4, false).empty());
  // F and, per microbatch, D; then G: 2 + 2 pieces of a block
  EXPECT_EQ(balance(of.line, 12, false).size(), 12U);
  EXPECT_TRUE(balance(of.line, 13, false).empty());
  EXPECT_FALSE(balance(borders, 6, true).empty());
  EXPECT_TRUE(balance(borders, 7, true).empty());
}

/// Two pieces with this cut between them.
std::vector<Stage> halves(const TaskLine& line, const Cut& cut) {
  return {{Cut{}, cut}, {cut, Cut{line.blocks(), 0}}};
}

TEST(TaskLine, SecondsBeforeACutAreThoseOfTheTasksOnItsLeft) {
  Rng rng(3, Purpose::test);
  for (int round = 0; round < 10; ++round) {
    const Line of(random_network(rng, 5, round % 2 == 0), one_node(2), 1 + round % 5);
    const TaskLine& line = of.line;
    EXPECT_NEAR(line.total(), total_seconds(of.cost, of.made.network, of.request.batch), 1e-9);
    for (std::size_t i = 1; i + 1 < line.cuts().size(); ++i) {
      EXPECT_GE(line.before(i), line.before(i - 1));
      const Placement placement =
          place(halves(line, line.cuts()[i]), line.blocks(), line.microbatches());
      const double right = line.total() - line.before(i);
      EXPECT_NEAR(busiest_of(of, placement, 2), std::max(right, line.before(i)), 1e-9)
          << "block " << line.cuts()[i].block << " part " << line.cuts()[i].part;
    }
  }
}

TEST(TaskLine, IsCutWhereItIsAllowed) {
  const Line of(even_network(4), one_node(2), 3);
  const TaskLine borders(of.request, CutPlaces::borders);
  EXPECT_EQ(borders.cuts().size(), 5U);
  EXPECT_TRUE(std::ranges::all_of(borders.cuts(), &Cut::at_border));
  const TaskLine tasks(of.request, CutPlaces::tasks);
  EXPECT_EQ(tasks.cuts().size(), 4U * (1 + 2) + 1);
  for (const Cut& cut : tasks.cuts()) {  // backward_data is on one side
    EXPECT_TRUE(cut.part == 0 || cut.part == 1 || cut.part == 1 + 3) << cut.part;
  }
  EXPECT_EQ(of.line.cuts().size(), 4U * (1 + 4) + 1);
}

TEST(TaskLine, OfManyBlocksIsCutMoreCoarsely) {
  const Line of(even_network(200), one_node(2), 64);
  EXPECT_LE(of.line.cuts().size(), 2700U);
  EXPECT_NEAR(of.line.total(), total_seconds(of.cost, of.made.network, of.request.batch), 1e-6);
  for (std::size_t i = 1; i < of.line.cuts().size(); ++i) {
    EXPECT_GE(of.line.before(i), of.line.before(i - 1));
    EXPECT_LE(of.line.cuts()[i].part, 65);
  }
}

/// Bytes of the messages of two workers, counted value by value.
double delivered(const Line& of, const Cut& cut) {
  const Placement placement = place(halves(of.line, cut), of.line.blocks(), of.line.microbatches());
  const lower::Graph graph = make_jobs(of.request, placement, {});
  const plan::Plan plan =
      lower::write_programs(graph, freeze(graph, play(graph, {.in_flight = {64, 64}}), false));
  double bytes = 0;
  for (int w = 0; w < plan.workers(); ++w) {
    for (const plan::Task& task : plan.programs[static_cast<std::size_t>(w)].tasks) {
      bytes += static_cast<double>(plan::wire_bytes(plan, w, task));
    }
  }
  return bytes;
}

/// Where the line's formula is another than the messages: a cut inside the last block, whose loss
/// is computed on the left of it, and one right behind a first block that has no backward.
bool is_guessed(const Line& of, const Cut& cut) {
  const bool in_last = cut.block + 1 == of.line.blocks() && !cut.at_border();
  return in_last || (cut.block == 1 && of.made.network.blocks[0].parameters == 0);
}

void expect_bytes(bool guessed_ones) {
  Rng rng(4, Purpose::test);
  int compared = 0;
  for (int round = 0; round < 12; ++round) {
    const Line of(random_network(rng, 4, round % 2 == 0), one_node(2), 1 + round % 4);
    for (std::size_t i = 1; i + 1 < of.line.cuts().size(); ++i) {
      const Cut& cut = of.line.cuts()[i];
      if (is_guessed(of, cut) != guessed_ones) continue;
      ++compared;
      EXPECT_NEAR(of.line.bytes(i), delivered(of, cut), 1e-6)
          << "round " << round << " block " << cut.block << " part " << cut.part << " of "
          << of.line.microbatches();
    }
  }
  EXPECT_GT(compared, 20);
}

TEST(TaskLine, BytesOfACutAreThoseOfThePlansMessages) { expect_bytes(false); }

TEST(TaskLine, BytesOfEveryCutAreThoseOfThePlansMessages) { expect_bytes(true); }

TEST(Place, GivesEveryTaskOneWorkerOfItsPiece) {
  Rng rng(5, Purpose::test);
  for (int round = 0; round < 60; ++round) {
    const int workers = 2 + static_cast<int>(rng.below(7));
    const int blocks = 3 + static_cast<int>(rng.below(8));
    const int microbatches = 1 + static_cast<int>(rng.below(8));
    const Line of(random_network(rng, blocks, round % 2 == 0), one_node(workers), microbatches);
    const auto stages = balance(of.line, workers, round % 3 != 0);
    if (stages.empty()) continue;
    const Placement placement = place(stages, blocks, microbatches);
    std::vector<int> tasks(static_cast<std::size_t>(workers));
    int before = 0;  // workers never go back along the line, replicas apart
    for (int b = 0; b < blocks; ++b) {
      for (const Pass3 pass : {Pass3::forward, Pass3::backward_data, Pass3::backward_weights}) {
        int least = workers;
        for (int k = 0; k < microbatches; ++k) {
          const int worker = placement.worker(pass, b, k);
          ASSERT_GE(worker, 0);
          ASSERT_LT(worker, workers);
          ++tasks[static_cast<std::size_t>(worker)];
          least = std::min(least, worker);
        }
        EXPECT_GE(least, before);
        before = least;
      }
    }
    EXPECT_THAT(tasks, testing::Each(testing::Ge(1))) << "round " << round;
  }
}

TEST(Place, ReplicasTakeMicrobatchesInTurn) {
  const std::vector<Stage> stages{{Cut{}, Cut{1, 0}, 1}, {Cut{1, 0}, Cut{2, 0}, 3}};
  const Placement placement = place(stages, 2, 7);
  for (int k = 0; k < 7; ++k) {
    for (const Pass3 pass : {Pass3::forward, Pass3::backward_data, Pass3::backward_weights}) {
      EXPECT_EQ(placement.worker(pass, 0, k), 0);
      EXPECT_EQ(placement.worker(pass, 1, k), 1 + k % 3);
    }
  }
}

TEST(IsLeft, CountsExactlyAndSpreadsEvenly) {
  for (int of = 1; of <= 40; ++of) {
    for (int left = 0; left <= of; ++left) {
      int count = 0;
      for (int k = 0; k < of; ++k) {
        count += is_left(k, left, of);
        // of the first k + 1, never a whole one away from the even share
        EXPECT_LT(std::abs(count - static_cast<double>(k + 1) * left / of), 1) << left << "/" << of;
      }
      EXPECT_EQ(count, left) << "of " << of;
    }
  }
}

}  // namespace
}  // namespace plait::strategy::pipeline
