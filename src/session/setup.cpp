// Opens the data and loads the model for its shape.
#include "session/setup.hpp"

#include <algorithm>
#include <thread>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "data/ids.hpp"
#include "graph/input_type.hpp"
#include "graph/model_file.hpp"
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
  setup.model = graph::load_model(config.model, train.sample_shape(), outputs);
  if (data::holds_ids(train)) {
    const graph::IdLimit ids = graph::id_limit(setup.model);
    const std::string reader = fmt::format("block '{}'", ids.block);
    data::check_ids(train, ids.limit, fmt::format("data '{}', train", config.data), reader);
    data::check_ids(*setup.data.test, ids.limit, fmt::format("data '{}', test", config.data),
                    reader);
  }
  const tensor::Shape dst = graph::border_shapes(setup.model).back();
  if (pixels) {
    const tensor::Shape wanted = train.target_shape().with_front(outputs);
    if (!(dst == wanted)) {
      user_error(
          "model '{}' ends with shape {}, but `data` {} has a label per pixel and needs {}{}",
          config.model, dst, config.data, wanted, dst.rank() == 1 ? "; try unet" : "");
    }
  } else if (dst.rank() != 1 || dst[0] != outputs) {
    user_error("model '{}' ends with shape {}, but `data` {} needs {} output(s)", config.model, dst,
               config.data, outputs);
  }
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
