// forward and backward_data. Every value of the result is computed by one thread in one order, so
// that it does not matter which thread takes which piece of work.
#include <omp.h>

#include <algorithm>

#include "layers/winograd/kernels.hpp"
#include "layers/winograd/run.hpp"

namespace plait::winograd {
namespace {

class DataRun {
 public:
  DataRun(const DataPlan& plan, Direction direction, const float* in, const float* weights,
          const float* bias, float* out, void* scratch)
      : p_(plan),
        direction_(direction),
        in_(in),
        weights_(weights),
        bias_(bias),
        out_(out),
        scratch_(scratch) {}

  // Both are called by every thread of a parallel region.
  void tile_chunks() const;
  void channel_groups() const;

 private:
  int tiles_end(int chunk) const { return std::min((chunk + 1) * p_.chunk, p_.grid.tiles()); }

  // Transforms the weights between one in block and one out block.
  void make_panel(int in_block, int out_block, float* to) const {
    if (direction_ == Direction::forward) {
      const std::ptrdiff_t at = std::ptrdiff_t{out_block} * p_.in_blocks + in_block;
      transform_weights(p_.tiling, weights_ + at * 576, to, p_.panel_plane);
    } else {
      const std::ptrdiff_t at = std::ptrdiff_t{in_block} * p_.out_blocks + out_block;
      transform_weights_backward(p_.tiling, weights_ + at * 576, to, p_.panel_plane);
    }
  }

  // Multiplies a chunk with the panels of `blocks` out blocks from first_block
  // on and writes the result.
  void products(int chunk, int first_block, int blocks, const float* in_planes, const float* panels,
                float* out_planes) const {
    const int first = chunk * p_.chunk;
    const int last = tiles_end(chunk);
    for (int i = 0; i < positions(p_.tiling); ++i) {
      multiply(in_planes + i * p_.in_strides.plane, p_.in_strides.block, last - first, p_.in_blocks,
               panels + i * p_.panel_plane, blocks, out_planes + i * p_.out_strides.plane,
               p_.out_strides.block);
    }
    for (int j = 0; j < blocks; ++j) {
      const int block = first_block + j;
      transform_dst(p_.tiling, p_.grid, out_planes + j * p_.out_strides.block, p_.out_strides.plane,
                    {p_.out_blocks, block, first, last},
                    bias_ != nullptr ? bias_ + block * 8 : nullptr, out_);
    }
  }

  const DataPlan& p_;
  const Direction direction_;
  const float* const in_;
  const float* const weights_;
  const float* const bias_;
  float* const out_;
  void* const scratch_;
};

void DataRun::tile_chunks() const {
  float* const panels = p_.panels.at(scratch_);
#pragma omp for collapse(2) schedule(static)
  for (int j = 0; j < p_.out_blocks; ++j) {
    for (int k = 0; k < p_.in_blocks; ++k) {
      make_panel(k, j, panels + (std::ptrdiff_t{j} * p_.in_blocks + k) * 64);
    }
  }
  float* const in_planes = p_.in_planes.at(scratch_, omp_get_thread_num());
  float* const out_planes = p_.out_planes.at(scratch_, omp_get_thread_num());
#pragma omp for schedule(dynamic)
  for (int chunk = 0; chunk < p_.chunks(); ++chunk) {
    for (int k = 0; k < p_.in_blocks; ++k) {
      transform_src(p_.tiling, p_.grid, in_, {p_.in_blocks, k, chunk * p_.chunk, tiles_end(chunk)},
                    in_planes + k * p_.in_strides.block, p_.in_strides.plane);
    }
    products(chunk, 0, p_.out_blocks, in_planes, panels, out_planes);
  }
}

void DataRun::channel_groups() const {
  float* const in_planes = p_.in_planes.at(scratch_);
  float* const panels = p_.panels.at(scratch_, omp_get_thread_num());
  float* const out_planes = p_.out_planes.at(scratch_, omp_get_thread_num());
  const int slice = (p_.chunk + p_.slices - 1) / p_.slices;
  for (int chunk = 0; chunk < p_.chunks(); ++chunk) {
#pragma omp for collapse(2) schedule(static)
    for (int s = 0; s < p_.slices; ++s) {
      for (int k = 0; k < p_.in_blocks; ++k) {
        const int first = chunk * p_.chunk + s * slice;
        const int last = std::min({first + slice, (chunk + 1) * p_.chunk, p_.grid.tiles()});
        if (first >= last) continue;
        transform_src(p_.tiling, p_.grid, in_, {p_.in_blocks, k, first, last},
                      in_planes + k * p_.in_strides.block + std::ptrdiff_t{8} * s * slice,
                      p_.in_strides.plane);
      }
    }
#pragma omp for schedule(dynamic)
    for (int g = 0; g < p_.groups(); ++g) {
      const int first_block = g * p_.group;
      const int blocks = std::min(p_.group, p_.out_blocks - first_block);
      for (int j = 0; j < blocks; ++j) {
        for (int k = 0; k < p_.in_blocks; ++k) {
          make_panel(k, first_block + j, panels + (std::ptrdiff_t{j} * p_.in_blocks + k) * 64);
        }
      }
      products(chunk, first_block, blocks, in_planes, panels, out_planes);
    }
  }
}

}  // namespace

void run_data(const DataPlan& plan, Direction direction, const float* in, const float* weights,
              const float* bias, float* out, void* scratch) {
  const DataRun run(plan, direction, in, weights, bias, out, scratch);
#pragma omp parallel num_threads(plan.threads)
  {
    if (plan.order == DataPlan::Order::tile_chunks) {
      run.tile_chunks();
    } else {
      run.channel_groups();
    }
  }
}

}  // namespace plait::winograd
