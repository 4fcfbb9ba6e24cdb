// The max pooling layer: layouts, saved bytes, and division of the planes between threads. The
// passes are in max_pool_kernel.cpp.
#include "kernels/simd/max_pool.hpp"

#include <omp.h>

#include "base/rounding.hpp"
#include "graph/shapes.hpp"
#include "kernels/simd/max_pool_kernel.hpp"

namespace plait::kernels::simd {

namespace {

class MaxPool final : public Layer {
 public:
  explicit MaxPool(const LayerRequest& request) : threads_(request.threads) {
    const tensor::Shape& src = request.srcs[0].shape;
    const tensor::Shape sample = src.without_front();
    const tensor::Shape dst = ops::result_shape(request.spec, {&sample, 1}, request.name);
    dst_desc_ = batch_desc(dst, src[0], request.srcs[0].layout);
    const std::int64_t block = tensor::channel_block(dst_desc_.layout);
    planes_ = src[0] * divide_up(src[1], block);
    pass_.pool = std::get<ops::Pool>(request.spec);
    pass_.src_height = src[2];
    pass_.src_width = src[3];
    pass_.dst_height = dst[1];
    pass_.dst_width = dst[2];
    pass_.block = block;
  }

  const tensor::TensorDesc& dst_desc() const override { return dst_desc_; }
  LayerTraits traits() const override { return {}; }
  std::size_t saved_bytes() const override {
    return static_cast<std::size_t>(dst_desc_.physical_elements());
  }

  void forward(const LayerArgs& args) override {
    MaxPoolPass pass = pass_;
    pass.src = args.src[0].floats();
    pass.dst = args.dst.floats();
    pass.places = reinterpret_cast<std::uint8_t*>(args.saved);
    in_planes(pass, max_pool);
  }
  void backward_data(const LayerArgs& args) override {
    MaxPoolPass pass = pass_;
    pass.diff_dst = args.diff_dst.floats();
    pass.diff_src = args.diff_src();
    pass.places = reinterpret_cast<std::uint8_t*>(args.saved);
    in_planes(pass, max_pool_diff);
  }

 private:
  void in_planes(const MaxPoolPass& whole, void (*function)(const MaxPoolPass&)) const {
#pragma omp parallel num_threads(threads_)
    {
      MaxPoolPass pass = whole;
      pass.begin = planes_ * omp_get_thread_num() / omp_get_num_threads();
      pass.end = planes_ * (omp_get_thread_num() + 1) / omp_get_num_threads();
      function(pass);
    }
  }

  int threads_;
  tensor::TensorDesc dst_desc_;
  std::int64_t planes_ = 0;
  MaxPoolPass pass_;
};

}  // namespace

std::unique_ptr<Layer> make_max_pool(const LayerRequest& request) {
  const auto* pool = std::get_if<ops::Pool>(&request.spec);
  const tensor::Layout layout = request.srcs[0].layout;
  if (pool == nullptr || pool->kind != ops::PoolKind::max || tensor::channel_block(layout) == 1 ||
      pool->kernel.height * pool->kernel.width > 256) {
    return nullptr;
  }
  return std::make_unique<MaxPool>(request);
}

}  // namespace plait::kernels::simd
