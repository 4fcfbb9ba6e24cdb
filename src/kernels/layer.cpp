// Offsets of parameters in a layer's flat array, their default layout, and the choice between fast
// and reference layers.
#include "kernels/layer.hpp"

#include <algorithm>

#include "base/rounding.hpp"

namespace plait::kernels {

void Layer::pack_parameter(std::size_t index, const float* plain, float* physical) const {
  std::copy_n(plain, slots_[index].physical_size, physical);
}

void Layer::unpack_parameter(std::size_t index, const float* physical, float* plain) const {
  std::copy_n(physical, slots_[index].physical_size, plain);
}

void Layer::place_parameters(const std::vector<ops::ParameterSpec>& specs) {
  std::vector<std::int64_t> sizes;
  for (const ops::ParameterSpec& spec : specs) sizes.push_back(spec.shape.elements());
  place_parameters(specs, sizes);
}

void Layer::place_parameters(const std::vector<ops::ParameterSpec>& specs,
                             std::span<const std::int64_t> sizes) {
  constexpr std::int64_t alignment = 16;  // floats: one cache line
  std::int64_t trainable = 0;
  std::int64_t other = 0;
  slots_.clear();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    std::int64_t& end = specs[i].trainable ? trainable : other;
    slots_.push_back({specs[i], end, sizes[i]});
    end += round_up(sizes[i], alignment);
  }
}

std::unique_ptr<Layer> make_layer(const LayerRequest& request, Backend backend) {
  return backend == Backend::reference ? reference::make_layer(request)
                                       : onednn::make_layer(request);
}

tensor::TensorDesc batch_desc(const tensor::Shape& sample, std::int64_t batch,
                              tensor::Layout layout) {
  return {.shape = sample.with_front(batch), .layout = layout};
}

}  // namespace plait::kernels
