// Opens the data and loads the model for its shape.
#include "session/setup.hpp"

#include "base/error.hpp"
#include "model/model_file.hpp"
#include "model/shapes.hpp"

namespace plait::session {

Setup make_setup(const TrainConfig& config) {
  Setup setup;
  setup.data =
      data::open_data(config.data, {.seed = config.seed,
                                    .train_limit = config.train_limit,
                                    .test_limit = config.test_limit,
                                    .normalise = config.normalise,
                                    .ignore_label = config.ignore_label,
                                    .augmentation = data::parse_augmentation(config.augment)});
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
  setup.model = model::load_model(config.model, train.sample_shape(), outputs);
  const tensor::Shape dst = model::border_shapes(setup.model).back();
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

}  // namespace plait::session
