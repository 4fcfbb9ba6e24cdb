// Times a large matrix product of oneDNN.
#include "kernels/onednn/gemm_peak.hpp"

#include <dnnl.hpp>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace plait::kernels::onednn {

double measure_gemm_gflops(int threads) {
  constexpr dnnl_dim_t n = 1536;
  constexpr int rounds = 8;
  const std::vector<float> a(n * n, 0.5F);
  const std::vector<float> b(n * n, 0.25F);
  std::vector<float> c(n * n);
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(threads);
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    const Stopwatch watch;
    const dnnl_status_t status =
        dnnl_sgemm('N', 'N', n, n, n, 1.0F, a.data(), n, b.data(), n, 0.0F, c.data(), n);
    const double seconds = watch.seconds();
    if (status != dnnl_success)
      fail("oneDNN's sgemm failed with status {}", static_cast<int>(status));
    best = std::max(best, 2.0 * n * n * n / seconds / 1e9);
  }
  omp_set_num_threads(threads_before);
  return best;
}

}  // namespace plait::kernels::onednn
