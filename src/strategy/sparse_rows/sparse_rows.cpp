// Owners of all rows from a partition, and the tasks of each worker over the cut network.
#include "strategy/sparse_rows/sparse_rows.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "lower/lower.hpp"
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

/// Lists the tasks of all workers, layer by layer.
class RowTasks {
 public:
  RowTasks(const CutNetwork& cut, lower::Schedule& schedule) : cut_(cut), schedule_(schedule) {}

  void run() {
    const int workers = schedule_.plan.workers();
    for (worker_ = 0; worker_ < workers; ++worker_) add(plan::Load{});  // also without rows
    for (std::size_t k = 0; k < cut_.parts.size(); ++k) {
      each_part(k, [&](const Part& part) { forward(part); });
    }
    worker_ = 0;
    add(plan::Forward{cut_.logits});
    add(plan::Loss{});
    add(plan::BackwardData{cut_.logits});
    for (std::size_t k = cut_.parts.size(); k-- > 0;) {
      each_part(k, [&](const Part& part) { backward(part); });
      copies(k);
    }
  }

 private:
  void add(const plan::What& what) {
    schedule_.items.push_back({.task = {.what = what}, .worker = worker_});
  }

  /// Of the workers that own rows of the layer.
  template <class Visit>
  void each_part(std::size_t layer, const Visit& visit) {
    for (std::size_t w = 0; w < cut_.parts[layer].size(); ++w) {
      worker_ = static_cast<int>(w);
      if (const Part& part = cut_.parts[layer][w]; part.local >= 0) visit(part);
    }
  }

  void forward(const Part& part) {
    if (part.flatten >= 0) add(plan::Forward{part.flatten});
    add(plan::Forward{part.local});
    for (const Halo& halo : part.halos) add(plan::Forward{halo.block});
    if (part.activation >= 0 && !part.in_place) add(plan::Forward{part.activation});
  }

  void backward(const Part& part) {
    if (part.activation >= 0) add(plan::BackwardData{part.activation});
    for (auto halo = part.halos.rbegin(); halo != part.halos.rend(); ++halo) {
      add(plan::BackwardData{halo->block});
    }
    add(plan::BackwardData{part.local});
    add(plan::BackwardWeights{part.local});
    for (const Halo& halo : part.halos) add(plan::BackwardWeights{halo.block});
  }

  void copies(std::size_t k) {
    for (const Part& part : cut_.parts[k]) {
      for (const Halo& halo : part.halos) {
        const Part& owner = cut_.parts[k - 1][static_cast<std::size_t>(halo.owner)];
        schedule_.copies.push_back({.tensor = halo.tensor, .of = owner.out, .list = halo.list});
      }
    }
  }

  const CutNetwork& cut_;
  lower::Schedule& schedule_;
  int worker_ = 0;
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
  refuse_tied_weights(request.network, "sparse_rows");
  const std::vector<RowLayer> layers = sparse_rows::row_layers(request.network);
  check(request, layers);
  CutNetwork cut = sparse_rows::cut_network(request.network, layers, owners_of(request, layers),
                                            request.machine.workers());
  lower::Schedule schedule = empty_schedule("sparse_rows", request);
  RowTasks(cut, schedule).run();
  schedule.plan.network = std::move(cut.network);
  schedule.plan.row_lists = std::move(cut.row_lists);
  return lower::lower(std::move(schedule));
}

}  // namespace plait::strategy
