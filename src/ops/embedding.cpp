// The table of an embedding, and the shape of the rows taken from it.
#include "ops/embedding.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"
#include "ops/window.hpp"

namespace plait::ops {

std::string Embedding::text() const { return fmt::format("embedding {}x{}", vocabulary, width); }

void Embedding::check(const std::string& where) const {
  check_channels(vocabulary, where);
  check_channels(width, where);
}

tensor::Shape Embedding::result(std::span<const tensor::Shape> srcs,
                                const std::string& where) const {
  if (vocabulary < 1 || width < 1) {
    user_error("{}: embedding needs a positive vocabulary and width", where);
  }
  std::vector<std::int64_t> dims(srcs[0].dims().begin(), srcs[0].dims().end());
  dims.push_back(width);
  return tensor::Shape(std::move(dims));
}

std::vector<ParameterSpec> Embedding::parameters(const tensor::Shape&) const {
  return {{.name = "weight", .shape = {vocabulary, width}, .init = Init::normal}};
}

std::vector<OperationInfo> Embedding::describe() {
  return {{.name = "embedding",
           .onnx = "Gather",
           .torch = "Embedding",
           .usual = Embedding{},
           .fields = {
               field(&Embedding::vocabulary,
                     {.key = "vocabulary", .least = 1, .most = kMaxChannels, .required = true}),
               field(&Embedding::width,
                     {.key = "width", .least = 1, .most = kMaxChannels, .required = true}),
           }}};
}

}  // namespace plait::ops
