// Opens the data and loads the model for its shape.
#include "session/setup.hpp"

#include <algorithm>
#include <thread>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "data/ids.hpp"
#include "data/labels.hpp"
#include "graph/input_type.hpp"
#include "graph/model_file.hpp"
#include "graph/model_outputs.hpp"
#include "graph/shapes.hpp"

namespace plait::session {

namespace {

constexpr std::int64_t kUnknownMemory = std::int64_t{4} << 30;

data::ImageFileOptions image_options(const TrainConfig& config) {
  const std::int64_t free = available_memory_bytes();
  const std::int64_t half = free > 0 ? free / 2 : kUnknownMemory;
  return {.size = config.image_size,
          .shorter = config.image_resize,
          .grey = config.grey,
          .skip_broken = config.skip_broken,
          .memory = config.data_memory > 0 ? config.data_memory << 20 : half,
          .threads = data_threads(config)};
}

/// Of a network with too few outputs for the labels.
[[noreturn]] void refuse_labels(const TrainConfig& config, const Setup& setup,
                                std::int64_t outputs) {
  std::string which;
  std::string pixels;
  for (const auto& [split, dataset] :
       {std::pair{"train", setup.data.train}, std::pair{"test", setup.data.test}}) {
    const auto found = data::find_label_from(*dataset, outputs);
    if (!found) continue;
    which = fmt::format(" ({}: sample {} has the label {})",
                        data::place_of_labels(config.data, split), found->sample, found->label);
    if (data::labels_pixels(*dataset)) {
      pixels = fmt::format(", or leave such pixels out with `ignore_label` {}", found->label);
    }
    break;
  }
  user_error(
      "{}: the last block '{}' returns {} but the data has {} classes{}; end with out = "
      "\"classes\"{}",
      config.model, setup.model.blocks.back().name, graph::border_shapes(setup.model).back(),
      setup.data.train->classes(), which, pixels);
}

/// Classes of the network that do not occur in the data are classes, too: metrics and class weights
/// have the network's number of outputs.
void add_classes(const TrainConfig& config, Setup& setup, std::int64_t outputs) {
  const std::size_t weights = run::parse_class_weights(config.class_weights).size();
  if (weights > 0 && weights != static_cast<std::size_t>(outputs)) {
    setting_error("class_weights", config.class_weights.substr(0, 60),
                  "has {} weight(s), but model '{}' has {} outputs; write {}", weights,
                  config.model, outputs, outputs);
  }
  for (data::DatasetPtr* split : {&setup.data.train, &setup.data.test}) {
    *split = std::make_shared<data::MoreClasses>(*split, static_cast<int>(outputs));
  }
}

/// `wanted`: classes of the data, or values of a target.
void fit_outputs(const TrainConfig& config, Setup& setup, int wanted) {
  graph::check_trainable(setup.model, config.model);
  const data::Dataset& train = *setup.data.train;
  const tensor::Shape dst = graph::border_shapes(setup.model).back();
  if (data::labels_pixels(train)) {
    if (dst.rank() != 3 || !(dst.without_front() == train.target_shape())) {
      user_error(
          "model '{}' ends with shape {}, but `data` {} has a label per pixel and needs {}{}",
          config.model, dst, config.data, train.target_shape().with_front(wanted),
          dst.rank() == 1 ? "; try unet" : "");
    }
  } else if (dst.rank() != 1 || (train.classes() == 0 && dst[0] != wanted)) {
    user_error("model '{}' ends with shape {}, but `data` {} needs {} output(s)", config.model, dst,
               config.data, wanted);
  }
  if (dst[0] < wanted) refuse_labels(config, setup, dst[0]);
  if (dst[0] > wanted) add_classes(config, setup, dst[0]);
}

Setup with_data(const TrainConfig& config, const data::DataOptions& options) {
  Setup setup{.data = data::open_data(config.data, options), .model = {}};
  const data::Dataset& train = *setup.data.train;
  const auto targets = static_cast<int>(train.target_shape().elements());
  if (train.classes() == 0 && config.loss == "cross_entropy") {
    setting_error("data", config.data, "has values as targets, not classes; use `loss` mse");
  }
  const bool pixels = data::labels_pixels(train);
  if (pixels && config.loss != "cross_entropy") {
    setting_error("loss", config.loss,
                  "is not for labels of pixels, as `data` {} has; use "
                  "cross_entropy",
                  config.data);
  }
  const int outputs = train.classes() > 0 ? train.classes() : targets;
  setup.model = graph::load_network(config.model, train.sample_shape(), outputs);
  if (data::holds_ids(train)) {
    const graph::IdLimit ids = graph::id_limit(setup.model);
    const std::string reader = fmt::format("block '{}'", ids.block);
    data::check_ids(train, ids.limit, fmt::format("data '{}', train", config.data), reader);
    data::check_ids(*setup.data.test, ids.limit, fmt::format("data '{}', test", config.data),
                    reader);
  }
  fit_outputs(config, setup, outputs);
  return setup;
}

}  // namespace

int data_threads(const TrainConfig& config) {
  constexpr unsigned most = 4;
  const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1U, most);
  return config.data_threads > 0 ? static_cast<int>(config.data_threads) : static_cast<int>(cores);
}

data::DataOptions data_options(const TrainConfig& config) {
  return {.seed = config.seed,
          .train_limit = config.train_limit,
          .test_limit = config.test_limit,
          .normalise = config.normalise,
          .input = graph::input_type_of(config.model),
          .sequences = graph::reads_sequences(config.model),
          .ignore_label = config.ignore_label,
          .augmentation = data::parse_augmentation(config.augment),
          .images = image_options(config)};
}

Setup make_setup(const TrainConfig& config) { return with_data(config, data_options(config)); }

Setup make_outline(const TrainConfig& config) {
  data::DataOptions options = data_options(config);
  options.normalise = false;
  options.images.decode_ahead = false;
  return with_data(config, options);
}

}  // namespace plait::session
