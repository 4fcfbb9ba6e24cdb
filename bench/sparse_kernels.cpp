// The kernels of sparse layers beside the core's peak: share = multiply-adds / time / (threads x
// peak). The layers take turns, so that weights come from where those of a deep network come from.
#include "kernels/sparse/sparse_kernels.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fma_peak.hpp"
#include "tensor/tensor.hpp"

namespace plait::bench {
namespace {

constexpr std::int64_t kNeurons = 1024;

struct Options {
  int layers = 120;
  int rounds = 8;
  std::int64_t batch = 64;
  int threads = 1;
};

struct Floats {
  explicit Floats(std::int64_t size)
      : bytes(tensor::allocate_bytes(static_cast<std::size_t>(size) * sizeof(float))),
        data(reinterpret_cast<float*>(bytes.get())) {
    std::fill_n(data, size, 0.01F);
  }
  std::shared_ptr<std::byte> bytes;
  float* data;
};

tensor::SparseMatrix of_entries(std::vector<tensor::MatrixEntry> entries) {
  return tensor::make_sparse_matrix(kNeurons, kNeurons, std::move(entries), "bench");
}

/// Two dense 16 x 16 blocks per block row, rows and columns permuted.
tensor::SparseMatrix radix(std::mt19937& random) {
  std::vector<std::int64_t> row(kNeurons), column(kNeurons);
  std::iota(row.begin(), row.end(), 0);
  std::iota(column.begin(), column.end(), 0);
  std::ranges::shuffle(row, random);
  std::ranges::shuffle(column, random);
  std::vector<tensor::MatrixEntry> entries;
  const std::int64_t distance = std::int64_t{16} << random() % 6;
  for (std::size_t i = 0; i < kNeurons; ++i) {
    for (std::size_t j = 0; j < 16; ++j) {
      const std::size_t near = i / 16 * 16 + j;
      const std::size_t far = (near + static_cast<std::size_t>(distance)) % kNeurons;
      entries.push_back({row[i], column[near], 1.0F / 16});
      entries.push_back({row[i], column[far], 1.0F / 16});
    }
  }
  return of_entries(std::move(entries));
}

tensor::SparseMatrix unstructured(std::mt19937& random, double sparsity) {
  std::bernoulli_distribution there(1 - sparsity);
  std::vector<tensor::MatrixEntry> entries;
  for (std::int64_t i = 0; i < kNeurons; ++i) {
    for (std::int64_t j = 0; j < kNeurons; ++j) {
      if (there(random)) entries.push_back({i, j, 1.0F / 16});
    }
  }
  return of_entries(std::move(entries));
}

struct BenchLayer {
  explicit BenchLayer(const tensor::SparseMatrix& matrix)
      : kernels(*matrix.pattern),
        weights(kernels.weights_size()),
        gradient(kernels.weights_size()) {
    kernels.pack(matrix.values->data(), weights.data);
  }
  kernels::sparse::SparseKernels kernels;
  Floats weights;
  Floats gradient;
};

/// Seconds of a turn through all layers, of every layer its best: others may be using the machine.
template <class Run>
double best_turn(const Options& options, const std::vector<BenchLayer>& layers, const Run& run) {
  std::vector<double> best(layers.size(), 1e9);
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      run(layers[i], i);
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      best[i] = std::min(best[i], time.count());
    }
  }
  return std::accumulate(best.begin(), best.end(), 0.0);
}

void print_row(const std::string& structure, std::string_view pass, const Options& options,
               double work, double seconds) {
  double peak = 0;
  for (int i = 0; i < 50; ++i) peak = std::max(peak, fma_peak());
  const double rate = work / seconds;
  fmt::print("{:<18} {:<18} {:>5} {:>7} {:>8.1f} % {:>12.2e}\n", structure, pass, options.batch,
             options.threads, 100 * rate / peak / options.threads, rate);
}

void measure(const std::string& structure, const Options& options,
             const std::vector<BenchLayer>& layers) {
  const kernels::sparse::Panels panels = kernels::sparse::panels_for(options.batch);
  // Two buffers forward, as in inference; each pass reads what the one before wrote.
  const std::vector<Floats> value{Floats(panels.floats(kNeurons)), Floats(panels.floats(kNeurons))};
  const Floats bias(kNeurons);
  double work = 0;
  for (const BenchLayer& layer : layers) {
    work += static_cast<double>(layer.kernels.weights_size() * options.batch);
  }
  const kernels::sparse::Activation clip{.kind = kernels::sparse::ActivationKind::clip,
                                         .ceiling = 32};
  const int threads = options.threads;
  print_row(structure, "forward", options, work,
            best_turn(options, layers, [&](const BenchLayer& layer, std::size_t i) {
              layer.kernels.forward(panels, layer.weights.data, bias.data, value[i % 2].data,
                                    value[(i + 1) % 2].data, clip, threads);
            }));
  print_row(structure, "backward_data", options, work,
            best_turn(options, layers, [&](const BenchLayer& layer, std::size_t i) {
              layer.kernels.backward_data(panels, layer.weights.data, value[i % 2].data,
                                          value[(i + 1) % 2].data, false, threads);
            }));
  print_row(structure, "backward_weights", options, work,
            best_turn(options, layers, [&](const BenchLayer& layer, std::size_t i) {
              layer.kernels.backward_weights(panels, value[i % 2].data, value[(i + 1) % 2].data,
                                             layer.gradient.data, bias.data, threads);
            }));
}

void all(const Options& options) {
  fmt::print("{:<18} {:<18} {:>5} {:>7} {:>10} {:>12}\n", "structure", "pass", "batch", "threads",
             "of peak", "edges/s");
  std::mt19937 random(1);
  const auto make = [&](const auto& matrix) {
    std::vector<BenchLayer> layers;
    for (int i = 0; i < options.layers; ++i) layers.emplace_back(matrix());
    return layers;
  };
  measure("classes of 16", options, make([&] { return radix(random); }));
  for (const double sparsity : {0.9, 0.95, 0.99}) {
    measure(fmt::format("unstructured {:.0f} %", 100 * sparsity), options,
            make([&] { return unstructured(random, sparsity); }));
  }
}

}  // namespace
}  // namespace plait::bench

/// sparse_kernels [batch [threads [layers [rounds]]]]
int main(int argc, char** argv) {
  plait::bench::Options options;
  if (argc > 1) options.batch = std::atoll(argv[1]);
  if (argc > 2) options.threads = std::atoi(argv[2]);
  if (argc > 3) options.layers = std::atoi(argv[3]);
  if (argc > 4) options.rounds = std::atoi(argv[4]);
  plait::bench::all(options);
}
