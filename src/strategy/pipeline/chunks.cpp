// Deals pieces out, writes the interleaved order down, and leaves out cuts that these pieces cannot
// have.
#include "strategy/pipeline/chunks.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "strategy/pipeline/checked_request.hpp"
#include "strategy/pipeline/shift_cuts.hpp"

namespace plait::strategy::pipeline {

namespace {

constexpr int kMostRounds = 4;

/// The turns of one worker, before it is known that nobody waits in a circle.
std::vector<Turn> turns_of(int worker, int workers, int rounds, int microbatches) {
  std::vector<Turn> forwards;
  std::vector<Turn> backwards;
  for (int first = 0; first < microbatches; first += workers) {
    const int last = std::min(first + workers, microbatches);
    for (int round = 0; round < rounds; ++round) {
      for (int k = first; k < last; ++k) {
        forwards.push_back({.piece = round * workers + worker, .microbatch = k});
        backwards.push_back(
            {.backward = true, .piece = (rounds - 1 - round) * workers + worker, .microbatch = k});
      }
    }
  }
  const auto warm_up = static_cast<std::size_t>(
      std::min(2 * (workers - worker - 1) + (rounds - 1) * workers, rounds * microbatches));
  std::vector<Turn> turns(forwards.begin(),
                          forwards.begin() + static_cast<std::ptrdiff_t>(warm_up));
  for (std::size_t i = 0; i < backwards.size(); ++i) {
    if (warm_up + i < forwards.size()) turns.push_back(forwards[warm_up + i]);
    turns.push_back(backwards[i]);
  }
  return turns;
}

/// Whether what the turn waits for has been done.
bool is_ready(const Turn& turn, int pieces, const std::set<Turn>& done) {
  if (!turn.backward) {
    return turn.piece == 0 || done.contains({false, turn.piece - 1, turn.microbatch});
  }
  return done.contains({false, turn.piece, turn.microbatch}) &&
         (turn.piece + 1 == pieces || done.contains({true, turn.piece + 1, turn.microbatch}));
}

/// The first tensor whose gradient would come back to a worker that has passed its part on to
/// another one: its readers add to it from the last to the first. -1: there is none.
int returning_gradient(const plan::Network& network, const std::vector<int>& workers) {
  for (int tensor = 1; tensor < static_cast<int>(network.tensors.size()); ++tensor) {
    if (!network.has_gradient(tensor)) continue;
    std::vector<int> way;
    for (int b = network.size(); b-- > 0;) {
      const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(b)];
      if (!block.reads(tensor) && block.dst != tensor) continue;
      const int worker = workers[static_cast<std::size_t>(b)];
      if (way.empty() || way.back() != worker) way.push_back(worker);
    }
    if (std::set<int>(way.begin(), way.end()).size() < way.size()) return tensor;
  }
  return -1;
}

/// The same with these pieces.
int returning_gradient(const plan::Network& network, const std::vector<Stage>& stages,
                       const std::vector<int>& owners) {
  std::vector<int> workers;  // by block
  for (std::size_t piece = 0; piece < stages.size(); ++piece) {
    workers.resize(static_cast<std::size_t>(stages[piece].end.block), owners[piece]);
  }
  return returning_gradient(network, workers);
}

/// Cuts whose pieces these workers can have, and a tensor that is in the way of others.
struct Cuts {
  std::vector<std::vector<Stage>> tried{};
  int returning = -1;
};

/// Adds the most even cut, and the first one found.
void cut_into(const PlanRequest& request, const std::vector<int>& owners, Cuts& cuts) {
  const TaskLine line(request, CutPlaces::borders);
  for (const bool even : {false, true}) {
    std::vector<Stage> stages = balance(line, static_cast<int>(owners.size()), false, even);
    if (stages.empty()) continue;
    const int tensor = returning_gradient(request.network, stages, owners);
    if (tensor < 0) {
      cuts.tried.push_back(std::move(stages));
    } else {
      cuts.returning = tensor;
    }
  }
}

void need_cuts(const PlanRequest& request, const Recipe& recipe, const Cuts& cuts) {
  if (!cuts.tried.empty()) return;
  const auto& blocks = request.network.blocks;
  const auto writer = std::ranges::find(blocks, cuts.returning, &plan::NetworkBlock::dst);
  setting_error("strategy", recipe.name,
                "has no cut of {} for {} workers in which the gradient of what {} writes does not "
                "come back to a worker: use zb-h1 or 1f1b",
                request.network.name, request.machine.workers(),
                writer == blocks.end() ? "a block" : writer->name);
}

void need_two_pieces_each(const PlanRequest& request) {
  const int most = request.network.size() / 2;
  if (most == 0) {
    user_error("{} is one block, but every worker has two pieces or more: use `strategy` 1f1b",
               request.network.name);
  }
  if (request.machine.workers() > most) {
    too_many_workers(request, most, "two or more to every worker");
  }
}

/// From the best that was offered.
void shift_best(const PlanRequest& request, const Offers& offers, CandidateMaker& candidates,
                Choice& choice) {
  if (request.machine.workers() == 1) return;
  PlayedCandidate best = *offers.best();
  const auto allowed = [&](const Candidate& one) {
    return returning_gradient(request.network, one.stages, one.owners) < 0;
  };
  shift_cuts(TaskLine(request, CutPlaces::borders), best, {candidates, choice, allowed});
}

}  // namespace

std::vector<int> dealt_in_rounds(int workers, int rounds) {
  std::vector<int> owners;
  for (int piece = 0; piece < workers * rounds; ++piece) owners.push_back(piece % workers);
  return owners;
}

std::vector<int> there_and_back(int workers) {
  std::vector<int> owners;
  for (int piece = 0; piece < 2 * workers; ++piece) {
    owners.push_back(piece < workers ? piece : 2 * workers - 1 - piece);
  }
  return owners;
}

std::vector<std::vector<Turn>> interleaved_turns(int workers, int rounds, int microbatches) {
  std::vector<std::vector<Turn>> left;
  for (int worker = 0; worker < workers; ++worker) {
    left.push_back(turns_of(worker, workers, rounds, microbatches));
  }
  std::vector<std::vector<Turn>> turns(left.size());
  std::set<Turn> done;
  const auto take = [&](std::size_t worker, std::size_t turn) {
    const auto at = left[worker].begin() + static_cast<std::ptrdiff_t>(turn);
    done.insert(*at);
    turns[worker].push_back(*at);
    left[worker].erase(at);
  };
  const auto all = 2 * static_cast<std::size_t>(workers * rounds * microbatches);
  const auto ready = [&](const Turn& turn) { return is_ready(turn, workers * rounds, done); };
  while (done.size() < all) {
    const std::size_t before = done.size();
    for (std::size_t worker = 0; worker < left.size(); ++worker) {
      while (!left[worker].empty() && ready(left[worker].front())) take(worker, 0);
    }
    for (std::size_t worker = 0; done.size() == before && worker < left.size(); ++worker) {
      const auto any = std::ranges::find_if(left[worker], ready);
      if (any != left[worker].end()) {
        take(worker, static_cast<std::size_t>(any - left[worker].begin()));
      }
    }
  }
  return turns;
}

ScoredPlan make_interleaved(const PlanRequest& request, const Recipe& recipe) {
  need_two_pieces_each(request);
  const int workers = request.machine.workers();
  CandidateMaker candidates(request);
  Choice choice({});
  Offers offers(candidates, choice);
  Cuts all;
  for (int rounds = 2; rounds <= kMostRounds; ++rounds) {
    Cuts cuts;
    cut_into(request, dealt_in_rounds(workers, rounds), cuts);
    for (const std::vector<Stage>& stages : cuts.tried) {
      offers.add(recipe, {.stages = stages,
                          .in_flight = std::vector<int>(static_cast<std::size_t>(workers),
                                                        request.microbatches),
                          .owners = dealt_in_rounds(workers, rounds),
                          .turns = interleaved_turns(workers, rounds, request.microbatches)});
    }
    std::ranges::move(cuts.tried, std::back_inserter(all.tried));
    all.returning = std::max(all.returning, cuts.returning);
  }
  need_cuts(request, recipe, all);
  shift_best(request, offers, candidates, choice);
  return choice.take(*request.cost);
}

ScoredPlan make_v_shaped(const PlanRequest& request, Recipe recipe) {
  need_two_pieces_each(request);
  const int workers = request.machine.workers();
  CandidateMaker candidates(request);
  Choice choice({});
  Offers offers(candidates, choice);
  Cuts cuts;
  cut_into(request, there_and_back(workers), cuts);
  need_cuts(request, recipe, cuts);
  for (const std::vector<Stage>& stages : cuts.tried) {
    for (const Urgency urgency : {Urgency::backward_first, Urgency::weights_last}) {
      recipe.urgency = urgency;
      for (int limit = workers; limit <= 2 * workers; limit += (workers + 7) / 8) {
        offers.add(recipe, {.stages = stages,
                            .in_flight = std::vector<int>(static_cast<std::size_t>(workers), limit),
                            .owners = there_and_back(workers),
                            .held = 2 * workers});
      }
    }
  }
  shift_best(request, offers, candidates, choice);
  return choice.take(*request.cost);
}

}  // namespace plait::strategy::pipeline
