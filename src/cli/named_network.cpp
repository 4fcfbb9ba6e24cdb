// Reads the two flags and holds them against the file.
#include "cli/named_network.hpp"

#include "base/error.hpp"
#include "cli/verbs.hpp"
#include "graph/input_type.hpp"
#include "graph/model_file.hpp"
#include "graph/model_outputs.hpp"
#include "graph/shapes.hpp"

namespace plait::cli {

namespace {

constexpr std::int64_t kMaxClasses = 1 << 24;

tensor::Shape input_of(const Arguments& arguments, const std::string& model) {
  const std::string* text = arguments.find("--data-shape");
  if (text == nullptr) return usual_input(model);
  const tensor::Shape shape = tensor::parse_shape(*text);
  const std::optional<tensor::Shape> own = graph::declared_input(model);
  if (own && !(*own == shape)) {
    user_error("--data-shape {}, but {} says that its input is {}; leave --data-shape away", shape,
               model, *own);
  }
  return shape;
}

}  // namespace

graph::ModelSpec named_network(const Arguments& arguments, const std::string& model) {
  const auto classes = static_cast<int>(arguments.integer("--classes", 10, {1, kMaxClasses}));
  graph::ModelSpec network = graph::load_network(model, input_of(arguments, model), classes);
  const bool asked = arguments.find("--classes") != nullptr && model.ends_with(".toml");
  const tensor::Shape output = graph::border_shapes(network).back();
  if (asked && output[0] != classes &&
      network == graph::load_network(model, input_of(arguments, model), classes + 1)) {
    user_error(
        "--classes {}, but {} returns {} whatever the number of classes; leave --classes away",
        classes, model, output);
  }
  return network;
}

graph::ModelSpec trainable_network(const Arguments& arguments, const std::string& model) {
  graph::ModelSpec network = named_network(arguments, model);
  graph::check_trainable(network, model);
  return network;
}

bool needs_no_data(const Arguments& arguments, const std::string& model) {
  if (arguments.find("--run") != nullptr || arguments.find("--data") != nullptr) return false;
  const std::optional<tensor::Shape> input = graph::declared_input(model);
  return input && graph::load_network(model, *input, 10) == graph::load_network(model, *input, 11);
}

}  // namespace plait::cli
