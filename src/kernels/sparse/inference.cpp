// The loop of each thread: takes a group of images, runs all layers, and merges groups that lost
// most of their images.
#include "kernels/sparse/inference.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>

#include "base/clock.hpp"
#include "kernels/sparse/image_group.hpp"
#include "kernels/sparse/neuron_order.hpp"

namespace plait::kernels::sparse {

namespace {

constexpr std::int64_t kMaxPanels = 4;
constexpr std::int64_t kGroupFloats = 1 << 20;  // of a group, more or less
/// Groups that may wait for others at a time; each holds a buffer.
constexpr std::size_t kMaxWaiting = 16;

/// Whether a group that began with so many images lost enough to pay for moving the others.
bool lost_many(std::int64_t began, std::int64_t images) { return 4 * images <= 3 * began; }

GroupSize group_size(std::int64_t images, std::int64_t features, int threads) {
  const std::int64_t width = tensor::panel_width(std::clamp<std::int64_t>(images, 1, 64));
  const std::int64_t share = images / (width * threads);
  const std::int64_t most =
      std::clamp<std::int64_t>(kGroupFloats / (features * width), 1, kMaxPanels);
  return {.panels = std::clamp<std::int64_t>(share, 1, most), .width = width, .features = features};
}

}  // namespace

/// What one thread does: takes groups of images until there are no more.
class InferenceThread {
 public:
  InferenceThread(const SparseInference& chain, const tensor::SparsePattern& images, bool drop,
                  const GroupSize& size)
      : chain_(chain),
        images_(images),
        drop_(drop),
        size_(size),
        group_(size),
        other_(size.shape()) {}

  void run(std::atomic<std::int64_t>& next) {
    for (;;) {
      const std::int64_t first = next.fetch_add(size_.samples());
      if (first >= images_.rows) break;
      const std::int64_t last = std::min(images_.rows, first + size_.samples());
      group_.load(images_, first, last, chain_.place_);
      advance(0);
    }
    while (!waiting_.empty()) {
      auto earliest = waiting_.extract(waiting_.begin());
      std::swap(group_, earliest.mapped());
      group_.pack(rows_before(earliest.key()));
      advance(earliest.key());
    }
  }
  void add_to(InferenceResult& result) const {
    result.images.insert(result.images.end(), alive_.begin(), alive_.end());
    result.computed += computed_;
  }

 private:
  /// Takes the group through the layers from `layer` on.
  void advance(std::size_t layer) {
    std::int64_t began = group_.images();
    while (layer < chain_.layers_.size()) {
      compute(chain_.layers_[layer++]);
      if (!drop_ || layer == chain_.layers_.size()) continue;
      group_.drop_dead(rows_before(layer));
      if (group_.images() == 0) return;
      if (!lost_many(began, group_.images()) || !may_wait(layer)) continue;
      join(layer);
      if (group_.images() == 0) return;
      began = group_.images();
    }
    group_.drop_dead(rows_before(layer));
    group_.give_up(alive_);
  }

  void compute(const SparseInference::Layer& layer) {
    const Panels panels = group_.panels();
    computed_ += panels.samples;
    layer.kernels.forward(panels, layer.weights.floats().data(), layer.bias.floats().data(),
                          group_.values(), other_.floats().data(),
                          {.kind = ActivationKind::clip, .ceiling = chain_.ceiling_}, 1);
    group_.swap_values(other_);
  }

  std::int64_t rows_before(std::size_t layer) const {
    return chain_.layers_[layer - 1].kernels.rows();
  }

  bool may_wait(std::size_t layer) const {
    return waiting_.size() < kMaxWaiting || waiting_.contains(layer);
  }

  /// The group and the one that waits before `layer` become one. If that is full it goes on and
  /// what is left waits; else it waits itself, and an empty group is left here.
  void join(std::size_t layer) {
    ImageGroup& waits = waiting_.try_emplace(layer, size_).first->second;
    if (waits.images() > group_.images()) std::swap(waits, group_);
    group_.take(waits, rows_before(layer));
    if (!group_.full()) std::swap(waits, group_);
  }

  const SparseInference& chain_;
  const tensor::SparsePattern& images_;
  const bool drop_;
  const GroupSize size_;
  ImageGroup group_;
  tensor::Tensor other_;
  std::map<std::size_t, ImageGroup> waiting_;  ///< before which layer
  std::vector<std::int64_t> alive_;
  std::int64_t computed_ = 0;
};

SparseInference::SparseInference(const std::vector<tensor::SparseMatrix>& layers, float bias,
                                 float ceiling)
    : ceiling_(ceiling) {
  if (bias > 0) throw std::invalid_argument("sparse inference: a bias above 0");
  OrderedChain chain = ordered(layers);
  place_ = std::move(chain.place);
  for (const tensor::SparseMatrix& matrix : chain.layers) {
    const tensor::SparsePattern& pattern = *matrix.pattern;
    Layer layer{.kernels = SparseKernels(pattern),
                .weights = tensor::Tensor(tensor::Shape{pattern.size()}),
                .bias = tensor::Tensor(tensor::Shape{pattern.rows})};
    layer.kernels.pack(matrix.values->data(), layer.weights.floats().data());
    std::ranges::fill(layer.bias.floats(), bias);
    layers_.push_back(std::move(layer));
    edges_ += pattern.size();
    features_ = std::max({features_, pattern.rows, pattern.columns});
  }
}

InferenceResult SparseInference::run(const tensor::SparsePattern& images,
                                     const InferenceOptions& options) const {
  const Stopwatch watch;
  const GroupSize size = group_size(images.rows, features_, options.threads);
  InferenceResult result;
  std::atomic<std::int64_t> next = 0;
  std::exception_ptr error;
  std::mutex mutex;  // of the result and the error
#pragma omp parallel num_threads(options.threads)
  try {
    InferenceThread thread(*this, images, options.drop, size);
    thread.run(next);
    const std::lock_guard lock(mutex);
    thread.add_to(result);
  } catch (...) {
    const std::lock_guard lock(mutex);
    error = std::current_exception();
  }
  if (error) std::rethrow_exception(error);
  std::ranges::sort(result.images);
  result.seconds = watch.seconds();
  return result;
}

}  // namespace plait::kernels::sparse
