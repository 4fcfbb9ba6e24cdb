// Owners of all rows from a partition, and the program of each worker over the cut network.
#include "strategy/sparse_rows/sparse_rows.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "strategy/sparse_rows/cut_network.hpp"
#include "strategy/steps.hpp"

namespace plait::strategy {

namespace {

using sparse_rows::CutNetwork;
using sparse_rows::Halo;
using sparse_rows::Part;
using sparse_rows::RowLayer;

void check(const PlanRequest& request, const std::vector<RowLayer>& layers) {
  const int workers = request.machine.workers();
  for (std::size_t k = 0; k + 1 < layers.size(); ++k) {
    if (workers <= layers[k].rows()) continue;
    setting_error("workers", workers, "are more than layer '{}' has rows: use at most {}",
                  layers[k].name, layers[k].rows());
  }
  if (request.microbatches != 1) {
    user_error("`strategy` sparse_rows does not cut minibatches: leave `microbatches` {} away",
               request.microbatches);
  }
  if (request.clip) {
    user_error(
        "`clip_norm` needs the gradients of the whole network on every worker, which sparse_rows "
        "has not: leave it away, or use {}",
        workers == 1 ? "serial" : "data_parallel");
  }
}

std::vector<std::int32_t> equal_runs(std::int64_t rows, int workers) {
  std::vector<std::int32_t> owners;
  for (std::int64_t row = 0; row < rows; ++row) {
    owners.push_back(static_cast<std::int32_t>(row * workers / rows));
  }
  return owners;
}

/// Everybody owns something of all layers but the last: blocks without sources are not foreseen.
void check_owners(const std::vector<std::int32_t>& owners, const RowLayer& layer, int workers) {
  std::vector<bool> has(static_cast<std::size_t>(workers), false);
  bool good = static_cast<std::int64_t>(owners.size()) == layer.rows();
  for (const std::int32_t owner : owners) {
    good = good && owner >= 0 && owner < workers;
    if (good) has[static_cast<std::size_t>(owner)] = true;
  }
  if (good && std::ranges::all_of(has, [](bool x) { return x; })) return;
  user_error(
      "the partition gives layer '{}' ({} rows) to others than the {} workers, or leaves one out",
      layer.name, layer.rows(), workers);
}

RowOwners owners_of(const PlanRequest& request, const std::vector<RowLayer>& layers) {
  const int workers = request.machine.workers();
  RowOwners owners;
  if (request.partition && layers.size() > 1) {
    owners = request.partition(row_patterns(request.network), workers);
    if (owners.size() + 1 != layers.size()) {
      user_error("the partition has {} layers but the network {} to cut", owners.size(),
                 layers.size() - 1);
    }
  }
  for (std::size_t k = 0; k + 1 < layers.size(); ++k) {
    if (k == owners.size()) owners.push_back(equal_runs(layers[k].rows(), workers));
    check_owners(owners[k], layers[k], workers);
  }
  owners.emplace_back(static_cast<std::size_t>(layers.back().rows()), 0);
  return owners;
}

/// The program of one worker.
class Programmer {
 public:
  Programmer(const CutNetwork& cut, int worker, std::vector<plan::Task>& tasks)
      : cut_(cut), worker_(worker), tasks_(tasks) {}

  void run() {
    add(plan::Load{});
    for (std::size_t k = 0; k < cut_.parts.size(); ++k) forward(k);
    if (worker_ == 0) {
      add(plan::Forward{cut_.logits});
      add(plan::Loss{});
      add(plan::BackwardData{cut_.logits});
    }
    for (std::size_t k = cut_.parts.size(); k-- > 0;) backward(k);
    for (const std::vector<Part>& layer : cut_.parts) {
      const Part& part = layer[static_cast<std::size_t>(worker_)];
      if (part.local >= 0) add(plan::Update{part.local});
      for (const Halo& halo : part.halos) add(plan::Update{halo.block});
    }
  }

 private:
  const Part& part(std::size_t layer) const {
    return cut_.parts[layer][static_cast<std::size_t>(worker_)];
  }
  void add(const plan::What& what) { tasks_.push_back({.what = what}); }
  static plan::Message rows(plan::Role role, int tensor, int peer, int list) {
    return {.value = {.role = role, .index = tensor}, .peer = peer, .list = list};
  }

  /// visit(reader, halo) for all who read this worker's rows in the layer.
  template <class Visit>
  void each_reader(std::size_t layer, const Visit& visit) const {
    for (std::size_t reader = 0; reader < cut_.parts[layer].size(); ++reader) {
      for (const Halo& halo : cut_.parts[layer][reader].halos) {
        if (halo.owner == worker_) visit(static_cast<int>(reader), halo);
      }
    }
  }

  void forward(std::size_t k) {
    each_reader(k, [&](int reader, const Halo& halo) {
      add(plan::Send{rows(plan::Role::tensor, part(k - 1).out, reader, halo.list)});
    });
    if (part(k).local < 0) return;
    add(plan::Forward{part(k).local});
    for (const Halo& halo : part(k).halos) {
      add(plan::Receive{rows(plan::Role::tensor, halo.tensor, halo.owner, halo.list)});
      add(plan::Forward{halo.block});
    }
    if (part(k).activation >= 0 && !part(k).in_place) add(plan::Forward{part(k).activation});
  }

  void backward(std::size_t k) {
    const bool has_rows = part(k).local >= 0;
    if (has_rows) {
      if (part(k).activation >= 0) add(plan::BackwardData{part(k).activation});
      for (const Halo& halo : part(k).halos) {
        add(plan::BackwardData{halo.block});
        add(plan::Send{rows(plan::Role::diff, halo.tensor, halo.owner, halo.list)});
      }
      add(plan::BackwardData{part(k).local});
      add(plan::BackwardWeights{part(k).local});
      for (const Halo& halo : part(k).halos) add(plan::BackwardWeights{halo.block});
    }
    bool adds = has_rows;
    each_reader(k, [&](int reader, const Halo& halo) {
      add(plan::Receive{.message = rows(plan::Role::diff, part(k - 1).out, reader, halo.list),
                        .adds = adds});
      adds = true;
    });
  }

  const CutNetwork& cut_;
  int worker_;
  std::vector<plan::Task>& tasks_;
};

}  // namespace

std::vector<std::shared_ptr<const tensor::SparsePattern>> row_patterns(
    const plan::Network& network) {
  std::vector<std::shared_ptr<const tensor::SparsePattern>> patterns;
  for (const RowLayer& layer : sparse_rows::row_layers(network)) patterns.push_back(layer.pattern);
  patterns.pop_back();
  return patterns;
}

plan::Plan make_sparse_rows_plan(const PlanRequest& request) {
  const std::vector<RowLayer> layers = sparse_rows::row_layers(request.network);
  check(request, layers);
  CutNetwork cut = sparse_rows::cut_network(request.network, layers, owners_of(request, layers),
                                            request.machine.workers());
  plan::Plan plan = empty_plan("sparse_rows", request);
  for (int worker = 0; worker < plan.workers(); ++worker) {
    Programmer(cut, worker, plan.programs[static_cast<std::size_t>(worker)].tasks).run();
  }
  plan.network = std::move(cut.network);
  plan.row_lists = std::move(cut.row_lists);
  return plan;
}

}  // namespace plait::strategy
