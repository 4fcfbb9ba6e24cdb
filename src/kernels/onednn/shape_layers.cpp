// Layers that only move or join memory: flatten, add and subtract.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kernels/onednn/kernel.hpp"
#include "kernels/onednn/layers.hpp"
#include "kernels/simd/add.hpp"

namespace plait::kernels::onednn {

namespace {

/// A layout change as a kernel of its own; empty where both sides are the same bytes.
class Move {
 public:
  Move() = default;
  Move(const tensor::TensorDesc& from, const tensor::TensorDesc& to) : bytes_(to.bytes()) {
    if (from == to) return;
    const dnnl::engine& engine = cpu();
    const dnnl::reorder::primitive_desc pd(engine, to_md(from), engine, to_md(to), user_scratch());
    kernel_ = Kernel(dnnl::reorder(pd), pd.scratchpad_desc());
    kernel_.input(DNNL_ARG_FROM, to_md(from), to_md(from));
    kernel_.output(DNNL_ARG_TO, to_md(to), to_md(to));
  }
  std::size_t scratch_bytes() const { return kernel_.scratch_bytes(); }
  explicit operator bool() const { return static_cast<bool>(kernel_); }
  void run(const float* from, float* to, std::byte* scratch) {
    if (kernel_) {
      kernel_.run({{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, scratch);
    } else if (from != to) {
      std::memcpy(to, from, bytes_);
    }
  }

 private:
  Kernel kernel_;
  std::size_t bytes_ = 0;
};

/// src brought into the layout `moved`; the next layer sees it as `dst`, which are the same bytes.
class Relayout final : public Layer {
 public:
  Relayout(const tensor::TensorDesc& src, const tensor::TensorDesc& moved, tensor::TensorDesc dst)
      : dst_desc_(std::move(dst)), out_(src, moved), back_(moved, src) {}
  const tensor::TensorDesc& dst_desc() const override { return dst_desc_; }
  LayerTraits traits() const override { return {.diff_in_place = !out_}; }
  std::size_t scratch_bytes(Pass) const override {
    return std::max(out_.scratch_bytes(), back_.scratch_bytes());
  }
  void forward(const LayerArgs& args) override {
    out_.run(args.src[0].floats(), args.dst.floats(), args.scratch);
  }
  void backward_data(const LayerArgs& args) override {
    back_.run(args.diff_dst.floats(), args.diff_src(), args.scratch);
  }

 private:
  tensor::TensorDesc dst_desc_;
  Move out_, back_;
};

/// Only where an add could not be fused. Its sources lie alike: the block sees to it.
class Add final : public Layer {
 public:
  explicit Add(const LayerRequest& request) : desc_(request.srcs[0]), threads_(request.threads) {
    if (!(request.srcs[0] == request.srcs[1])) {
      throw std::logic_error(request.name + ": add of two layouts");
    }
  }
  const tensor::TensorDesc& dst_desc() const override { return desc_; }
  LayerTraits traits() const override { return {}; }
  void forward(const LayerArgs& args) override {
    simd::add({args.dst.floats(), args.src[0].floats(), args.src[1].floats(),
               desc_.bytes() / sizeof(float)},
              threads_);
  }
  void backward_data(const LayerArgs&) override {}

 private:
  tensor::TensorDesc desc_;
  int threads_;
};

/// The gradient of the first source is that of the result, which lies where it should already
/// unless somebody else still needs it.
class Subtract final : public Layer {
 public:
  explicit Subtract(const LayerRequest& request)
      : desc_(request.srcs[0]), size_(desc_.bytes() / sizeof(float)), threads_(request.threads) {
    if (!(request.srcs[0] == request.srcs[1])) {
      throw std::logic_error(request.name + ": subtract of two layouts");
    }
  }
  const tensor::TensorDesc& dst_desc() const override { return desc_; }
  LayerTraits traits() const override { return {}; }
  void forward(const LayerArgs& args) override {
    simd::subtract({args.dst.floats(), args.src[0].floats(), args.src[1].floats(), size_},
                   threads_);
  }
  void backward_data(const LayerArgs& args) override {
    const float* g = args.diff_dst.floats();
    float* first = args.diff_srcs[0].floats();
    float* second = args.diff_srcs[1].floats();
    if (second != nullptr) simd::negate(second, g, size_, threads_);
    if (first != nullptr && first != g) {
      simd::copy(first, g, size_, threads_);
    }
  }

 private:
  tensor::TensorDesc desc_;
  std::size_t size_;
  int threads_;
};

}  // namespace

std::unique_ptr<Layer> make_flatten(const LayerRequest& request) {
  const tensor::TensorDesc& src = request.srcs[0];
  const tensor::TensorDesc flat{.shape = {src.shape[0], src.shape.elements() / src.shape[0]}};
  return std::make_unique<Relayout>(src, tensor::TensorDesc{.shape = src.shape}, flat);
}

std::unique_ptr<Layer> make_conversion(const LayerRequest& request) {
  const tensor::TensorDesc moved{.shape = request.srcs[0].shape, .layout = *request.convert_to};
  return std::make_unique<Relayout>(request.srcs[0], moved, moved);
}

std::unique_ptr<Layer> make_add(const LayerRequest& request) {
  return std::make_unique<Add>(request);
}

std::unique_ptr<Layer> make_subtract(const LayerRequest& request) {
  return std::make_unique<Subtract>(request);
}

}  // namespace plait::kernels::onednn
