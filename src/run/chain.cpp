#include "run/chain.hpp"

#include <omp.h>

#include "base/error.hpp"
#include "model/shapes.hpp"

namespace plait {

Chain::Chain(ModelSpec model, const ChainOptions& options)
    : model_(std::move(model)), options_(options) {
  if (options.batch < 1) user_error("batch {} is too small; it must be at least 1", options.batch);
  if (options.threads < 1)
    user_error("threads {} is too small; it must be at least 1", options.threads);
  const std::vector<Shape> borders = border_shapes(model_);
  if (model_.blocks.empty()) user_error("model '{}' has no blocks", model_.name);
  if (borders.back().rank() != 1) {
    user_error(
        "model '{}' ends with shape {}, but the loss needs flat outputs; end it with flatten",
        model_.name, borders.back());
  }
  omp_set_dynamic(0);                    // a smaller team would sum in another order
  omp_set_num_threads(options.threads);  // oneDNN shapes its kernels for the pool it finds
  TensorDesc src = batch_desc(model_.input, options.batch);
  for (std::size_t i = 0; i < model_.blocks.size(); ++i) {
    blocks_.push_back(std::make_unique<Block>(
        model_.blocks[i], src,
        BlockOptions{
            .backend = options.backend, .threads = options.threads, .wants_diff_src = i > 0}));
    src = blocks_.back()->dst_desc();
  }
}

}  // namespace plait
