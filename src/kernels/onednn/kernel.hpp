// Kernel: one oneDNN primitive with its memory descriptors fixed, and reorders at its borders where
// the primitive wants another layout than the network has. This room alone speaks oneDNN's API
// (2.x).
#pragma once

#include <dnnl.hpp>

#include <optional>
#include <unordered_map>
#include <vector>

#include "tensor/tensor.hpp"

namespace plait::kernels::onednn {

using Md = dnnl::memory::desc;

/// The one engine: a handle without state that every primitive and memory needs alive.
const dnnl::engine& cpu();
Md to_md(const tensor::TensorDesc& desc);
/// The network's desc of a primitive's rank-4 or rank-2 memory, if it is one of our layouts.
std::optional<tensor::TensorDesc> from_md(const Md& md);
Md plain_md(const tensor::Shape& shape);
/// Physical floats of a descriptor, padding included.
std::int64_t float_count(const Md& md);
/// Attributes every primitive here is built with: scratch memory comes from the caller.
dnnl::primitive_attr user_scratch();
/// Copies between two layouts of one tensor; for loading and saving weights, not for the hot path.
void reorder_once(const Md& from, const float* src, const Md& to, float* dst);

class Kernel {
 public:
  Kernel() = default;
  Kernel(dnnl::primitive primitive, const Md& scratchpad);

  /// Operand `arg` lies as `outside`; the primitive computes on `inside`.
  void input(int arg, const Md& outside, const Md& inside);
  void output(int arg, const Md& outside, const Md& inside);

  std::size_t scratch_bytes() const { return scratch_bytes_; }
  explicit operator bool() const { return primitive_.has_value(); }

  struct Operand {
    int arg;
    const void* data;
  };
  /// Every input and output, by arg. Scratch is 64-byte aligned.
  void run(std::initializer_list<Operand> operands, std::byte* scratch);

 private:
  struct Border {
    int arg = 0;
    dnnl::memory outside;
    dnnl::memory inside;
    std::size_t scratch_offset = 0;
    std::optional<dnnl::reorder> reorder;
    bool is_output = false;
  };
  void add_border(int arg, const Md& outside, const Md& inside, bool is_output);

  std::optional<dnnl::primitive> primitive_;
  dnnl::stream stream_;
  std::vector<Border> borders_;
  dnnl::memory scratchpad_;
  std::unordered_map<int, dnnl::memory> args_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace plait::kernels::onednn
