// What all plain-loop layers share: one source desc, one destination desc, both plain. And the door
// of each file of this folder. Internal: others call reference::make_layer().
#pragma once

#include <memory>

#include "kernels/layer.hpp"

namespace plait::kernels::reference {

class PlainLayer : public Layer {
 public:
  /// Infers dst; Failure where the request has a layout or a source count this folder does not
  /// serve.
  explicit PlainLayer(const LayerRequest& request);
  const tensor::TensorDesc& dst_desc() const override { return dst_; }

 protected:
  /// visit(i) for i below `count`, shared out among the threads. One of them computes all of an i,
  /// so sums have the same order for any number of threads.
  template <class Visit>
  void in_parallel(std::int64_t count, const Visit& visit) const {
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t i = 0; i < count; ++i) visit(i);
  }

  tensor::TensorDesc src_;
  tensor::TensorDesc dst_;
  int threads_;
};

/// The request is for this operation. Each is defined by a file of this folder.
#define PLAIT_MAKE(Op) \
  std::unique_ptr<Layer> make(const ops::Op& operation, const LayerRequest& request);
PLAIT_OPERATIONS(PLAIT_MAKE)
#undef PLAIT_MAKE

std::unique_ptr<Layer> make_max_pool(const LayerRequest& request);
std::unique_ptr<Layer> make_average_pool(const LayerRequest& request);

}  // namespace plait::kernels::reference
