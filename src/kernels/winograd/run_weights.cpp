// backward_weights. The order of every sum is given by the plan: over the tiles of a chunk in one
// product, over the chunks of a part one after the other, over parts (for the bias, and slices) at
// the end.
#include <omp.h>

#include <algorithm>

#include "base/rounding.hpp"
#include "kernels/winograd/kernels.hpp"
#include "kernels/winograd/run.hpp"

namespace plait::kernels::winograd {
namespace {

class WeightsRun {
 public:
  WeightsRun(const WeightsPlan& plan, const float* src, const float* diff_dst, float* diff_weights,
             float* diff_bias, void* scratch)
      : p_(plan),
        src_(src),
        diff_dst_(diff_dst),
        diff_weights_(diff_weights),
        diff_bias_(diff_bias),
        scratch_(scratch) {}

  // All are called by every thread of a parallel region.
  void own_tiles() const;
  void shared_chunks() const;
  void channel_groups() const;
  void finish_bias() const;

 private:
  struct Range {
    int first;
    int last;
  };

  // The tiles of a slice of a chunk of a part.
  Range tiles(int part, int chunk, int slice) const {
    const int length = divide_up(p_.chunk, p_.slices);
    const int part_end = std::min((part + 1) * p_.part, p_.grid.tiles());
    const int chunk_first = part * p_.part + chunk * p_.chunk;
    const int first = std::min(chunk_first + slice * length, part_end);
    return {first, std::min({first + length, chunk_first + p_.chunk, part_end})};
  }

  void transform_in(int part, int chunk, int slice, int block) const;
  void transform_out(int part, int chunk, int slice, int block) const;
  void transform_shared(int chunk) const;
  void add_products(int part, int chunk, int position, int first_out, int outs) const;
  void finish_panels() const;

  std::ptrdiff_t block_at(int in_block, int out_block) const {
    return std::ptrdiff_t{out_block} * p_.in_blocks + in_block;
  }

  const WeightsPlan& p_;
  const float* const src_;
  const float* const diff_dst_;
  float* const diff_weights_;
  float* const diff_bias_;
  void* const scratch_;
};

void WeightsRun::transform_in(int part, int chunk, int slice, int block) const {
  const Range r = tiles(part, chunk, slice);
  const std::ptrdiff_t at = r.first - tiles(part, chunk, 0).first;
  transform_src(p_.tiling, p_.grid, src_, {p_.in_blocks, block, r.first, r.last},
                p_.in_planes.at(scratch_, part) + block * p_.in_strides.block + at * 8,
                p_.in_strides.plane);
}

void WeightsRun::transform_out(int part, int chunk, int slice, int block) const {
  const Range r = tiles(part, chunk, slice);
  const std::ptrdiff_t at = r.first - tiles(part, chunk, 0).first;
  float* const sum = p_.bias_sums.at(scratch_, part * p_.slices + slice) + block * 8;
  if (chunk == 0) std::fill_n(sum, 8, 0.0f);
  transform_diff_dst(p_.tiling, p_.grid, diff_dst_, {p_.out_blocks, block, r.first, r.last},
                     p_.out_planes.at(scratch_, part) + block * p_.out_strides.block + at * 8,
                     p_.out_strides.plane, sum);
}

void WeightsRun::transform_shared(int chunk) const {
#pragma omp for collapse(2) schedule(dynamic)
  for (int s = 0; s < p_.slices; ++s) {
    for (int b = 0; b < p_.in_blocks + p_.out_blocks; ++b) {
      if (b < p_.in_blocks) {
        transform_in(0, chunk, s, b);
      } else {
        transform_out(0, chunk, s, b - p_.in_blocks);
      }
    }
  }
}

// Adds the products of `outs` out blocks with all in blocks to the part's panels.
void WeightsRun::add_products(int part, int chunk, int position, int first_out, int outs) const {
  const int first = part * p_.part + chunk * p_.chunk;
  const int last = std::min({first + p_.chunk, (part + 1) * p_.part, p_.grid.tiles()});
  if (first >= last) return;
  const float* const in = p_.in_planes.at(scratch_, part) + position * p_.in_strides.plane;
  const float* const out = p_.out_planes.at(scratch_, part) + position * p_.out_strides.plane +
                           first_out * p_.out_strides.block;
  float* const panel = p_.panels.at(scratch_, part) + position * p_.panel_plane;
  multiply_transposed(in, p_.in_strides.block, p_.in_blocks, out, p_.out_strides.block, outs,
                      last - first, panel + block_at(0, first_out) * 64, block_at(0, 1) * 64,
                      chunk > 0);
}

void WeightsRun::finish_panels() const {
  const float* const panels = p_.panels.at(scratch_);
#pragma omp for collapse(2) schedule(static)
  for (int j = 0; j < p_.out_blocks; ++j) {
    for (int k = 0; k < p_.in_blocks; ++k) {
      transform_diff_weights(p_.tiling, panels + block_at(k, j) * 64, p_.panel_plane, p_.parts,
                             p_.panels.stride,
                             diff_weights_ + block_at(k, j) * block_weights(p_.tiling));
    }
  }
}

void WeightsRun::own_tiles() const {
#pragma omp for schedule(dynamic)
  for (int part = 0; part < p_.parts; ++part) {
    for (int chunk = 0; chunk < p_.chunks(); ++chunk) {
      for (int k = 0; k < p_.in_blocks; ++k) transform_in(part, chunk, 0, k);
      for (int j = 0; j < p_.out_blocks; ++j) transform_out(part, chunk, 0, j);
      for (int i = 0; i < positions(p_.tiling); ++i) {
        add_products(part, chunk, i, 0, p_.out_blocks);
      }
    }
  }
  finish_panels();
}

void WeightsRun::shared_chunks() const {
  for (int chunk = 0; chunk < p_.chunks(); ++chunk) {
    transform_shared(chunk);
#pragma omp for collapse(2) schedule(dynamic)
    for (int i = 0; i < positions(p_.tiling); ++i) {
      for (int g = 0; g < p_.out_groups(); ++g) {
        const int first = g * p_.out_group;
        add_products(0, chunk, i, first, std::min(p_.out_group, p_.out_blocks - first));
      }
    }
  }
  finish_panels();
}

void WeightsRun::channel_groups() const {
  transform_shared(0);
  float* const panels = p_.panels.at(scratch_, omp_get_thread_num());
#pragma omp for collapse(2) schedule(dynamic)
  for (int g = 0; g < p_.out_groups(); ++g) {
    for (int h = 0; h < p_.in_groups(); ++h) {
      const int out = g * p_.out_group;
      const int outs = std::min(p_.out_group, p_.out_blocks - out);
      const int in = h * p_.in_group;
      const int ins = std::min(p_.in_group, p_.in_blocks - in);
      for (int i = 0; i < positions(p_.tiling); ++i) {
        multiply_transposed(
            p_.in_planes.at(scratch_) + i * p_.in_strides.plane + in * p_.in_strides.block,
            p_.in_strides.block, ins,
            p_.out_planes.at(scratch_) + i * p_.out_strides.plane + out * p_.out_strides.block,
            p_.out_strides.block, outs, p_.grid.tiles(), panels + i * p_.panel_plane,
            std::ptrdiff_t{64} * ins, false);
      }
      for (int j = 0; j < outs; ++j) {
        for (int k = 0; k < ins; ++k) {
          transform_diff_weights(
              p_.tiling, panels + (j * ins + k) * 64, p_.panel_plane, 1, 0,
              diff_weights_ + block_at(in + k, out + j) * block_weights(p_.tiling));
        }
      }
    }
  }
}

void WeightsRun::finish_bias() const {
  if (diff_bias_ == nullptr) return;
#pragma omp for schedule(static)
  for (int j = 0; j < p_.out_blocks; ++j) {
    for (int lane = j * 8; lane < j * 8 + 8; ++lane) {
      float sum = 0.0f;
      for (int s = 0; s < p_.parts * p_.slices; ++s) sum += p_.bias_sums.at(scratch_, s)[lane];
      diff_bias_[lane] = sum;
    }
  }
}

}  // namespace

void run_weights(const WeightsPlan& plan, const float* src, const float* diff_dst,
                 float* diff_weights, float* diff_bias, void* scratch) {
  const WeightsRun run(plan, src, diff_dst, diff_weights, diff_bias, scratch);
#pragma omp parallel num_threads(plan.threads)
  {
    switch (plan.order) {
      case WeightsPlan::Order::own_tiles: run.own_tiles(); break;
      case WeightsPlan::Order::shared_chunks: run.shared_chunks(); break;
      case WeightsPlan::Order::channel_groups: run.channel_groups(); break;
    }
    run.finish_bias();
  }
}

}  // namespace plait::kernels::winograd
