// forward and backward_data. Every value of the result is computed by one thread in one order, so
// that it does not matter which thread takes which piece of work. (With Method::adjoint a value is
// a sum over tiles: those of an image are in one part, or divided by the barriers between chunks.)
#include <omp.h>

#include <algorithm>

#include "base/rounding.hpp"
#include "kernels/winograd/kernels.hpp"
#include "kernels/winograd/run.hpp"

namespace plait::kernels::winograd {
namespace {

class DataRun {
 public:
  DataRun(const DataPlan& plan, const float* in, const float* weights, const float* bias,
          float* out, void* scratch)
      : p_(plan), in_(in), weights_(weights), bias_(bias), out_(out), scratch_(scratch) {}

  // Both are called by every thread of a parallel region.
  void tile_parts() const;
  void channel_groups() const;

 private:
  // Transforms the weights between one in block and one out block.
  void make_panel(int in_block, int out_block, float* to) const {
    const std::ptrdiff_t at = p_.method == Method::forward
                                  ? std::ptrdiff_t{out_block} * p_.in_blocks + in_block
                                  : std::ptrdiff_t{in_block} * p_.out_blocks + out_block;
    transform_weights(p_.tiling, p_.method, weights_ + at * block_weights(p_.tiling), to,
                      p_.panel_plane);
  }

  // Transforms tiles first .. last - 1 of one in block.
  void transform_in(int block, int first, int last, float* planes) const {
    const TileSpan span{p_.in_blocks, block, first, last};
    if (p_.method == Method::adjoint) {
      transform_diff_dst(p_.tiling, p_.grid, in_, span, planes, p_.in_strides.plane, nullptr);
    } else {
      transform_src(p_.tiling, p_.grid, in_, span, planes, p_.in_strides.plane);
    }
  }

  void transform_out(int block, int first, int last, const float* planes) const {
    const TileSpan span{p_.out_blocks, block, first, last};
    if (p_.method == Method::adjoint) {
      add_diff_src(p_.tiling, p_.grid, planes, p_.out_strides.plane, span, out_);
    } else {
      transform_dst(p_.tiling, p_.grid, planes, p_.out_strides.plane, span,
                    bias_ != nullptr ? bias_ + block * 8 : nullptr, out_);
    }
  }

  struct Piece {
    int first;  // tiles
    int last;
    int first_block;  // out
    int blocks;
  };

  // Multiplies the tiles with the panels of the piece's out blocks and writes the result.
  void products(const Piece& piece, const float* in_planes, const float* panels,
                float* out_planes) const {
    for (int i = 0; i < positions(p_.tiling); ++i) {
      multiply(in_planes + i * p_.in_strides.plane, p_.in_strides.block, piece.last - piece.first,
               p_.in_blocks, panels + i * p_.panel_plane, piece.blocks,
               out_planes + i * p_.out_strides.plane, p_.out_strides.block);
    }
    for (int j = 0; j < piece.blocks; ++j) {
      transform_out(piece.first_block + j, piece.first, piece.last,
                    out_planes + j * p_.out_strides.block);
    }
  }

  const DataPlan& p_;
  const float* const in_;
  const float* const weights_;
  const float* const bias_;
  float* const out_;
  void* const scratch_;
};

void DataRun::tile_parts() const {
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
  for (int part = 0; part < p_.parts(); ++part) {
    const int end = std::min((part + 1) * p_.part, p_.grid.tiles());
    for (int first = part * p_.part; first < end; first += p_.chunk) {
      const int last = std::min(first + p_.chunk, end);
      for (int k = 0; k < p_.in_blocks; ++k) {
        transform_in(k, first, last, in_planes + k * p_.in_strides.block);
      }
      products({first, last, 0, p_.out_blocks}, in_planes, panels, out_planes);
    }
  }
}

void DataRun::channel_groups() const {
  float* const in_planes = p_.in_planes.at(scratch_);
  float* const panels = p_.panels.at(scratch_, omp_get_thread_num());
  float* const out_planes = p_.out_planes.at(scratch_, omp_get_thread_num());
  const int slice = divide_up(p_.chunk, p_.slices);
  for (int chunk = 0; chunk < p_.chunks(); ++chunk) {
#pragma omp for collapse(2) schedule(static)
    for (int s = 0; s < p_.slices; ++s) {
      for (int k = 0; k < p_.in_blocks; ++k) {
        const int first = chunk * p_.chunk + s * slice;
        const int last = std::min({first + slice, (chunk + 1) * p_.chunk, p_.grid.tiles()});
        if (first >= last) continue;
        transform_in(k, first, last,
                     in_planes + k * p_.in_strides.block + std::ptrdiff_t{8} * s * slice);
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
      const int last = std::min((chunk + 1) * p_.chunk, p_.grid.tiles());
      products({chunk * p_.chunk, last, first_block, blocks}, in_planes, panels, out_planes);
    }
  }
}

}  // namespace

void run_data(const DataPlan& plan, const float* in, const float* weights, const float* bias,
              float* out, void* scratch) {
  const DataRun run(plan, in, weights, bias, out, scratch);
#pragma omp parallel num_threads(plan.threads)
  {
    if (plan.order == DataPlan::Order::tile_parts) {
      run.tile_parts();
    } else {
      run.channel_groups();
    }
  }
}

}  // namespace plait::kernels::winograd
