#include "cli/json.hpp"

#include <nlohmann/json.hpp>

namespace plait {

namespace {

using Json = nlohmann::ordered_json;

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

/// Names may come from files in any encoding; a result must come out all the same.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const TrainResult& result, int threads) {
  return dump({{"model", result.model},
               {"strategy", result.strategy},
               {"workers", result.workers},
               {"threads", threads},
               {"epochs", result.epochs},
               {"steps", result.steps},
               {"train_loss", result.train_loss},
               {"test_loss", result.test_loss},
               {"test_accuracy", optional(result.test_accuracy)},
               {"seconds", result.seconds},
               {"images_per_second", result.images_per_second},
               {"bytes_sent", result.bytes_sent},
               {"messages_sent", result.messages_sent},
               {"peak_memory_bytes", result.peak_memory_bytes},
               {"weights_hash", result.weights_hash},
               {"staleness_max", result.staleness_max},
               {"utilisation", result.utilisation},
               {"run_dir", result.run_dir},
               {"interrupted", result.interrupted}});
}

std::string to_json(const Profile& profile, const ProfileConfig& config) {
  Json blocks = Json::array();
  for (const BlockProfile& block : profile.blocks) {
    blocks.push_back({{"name", block.name},
                      {"forward_ms", block.forward_ms},
                      {"backward_data_ms", block.backward_data_ms},
                      {"backward_weights_ms", block.backward_weights_ms},
                      {"update_ms", block.update_ms},
                      {"macs", block.macs},
                      {"parameters", block.parameters},
                      {"dst_bytes", block.dst_bytes}});
  }
  return dump({{"model", config.model},
               {"data_shape", config.data_shape.to_string()},
               {"classes", config.classes},
               {"batch", config.batch},
               {"threads", config.threads},
               {"steps", config.steps},
               {"blocks", std::move(blocks)},
               {"loss_ms", profile.loss_ms},
               {"sum_ms", profile.sum_ms},
               {"step_ms", profile.step_ms}});
}

std::string to_json(const EvalResult& result) {
  return dump({{"model", result.model},
               {"data", result.data},
               {"weights", result.weights},
               {"samples", result.evaluation.samples},
               {"test_loss", result.evaluation.loss},
               {"test_accuracy", optional(result.evaluation.accuracy)}});
}

}  // namespace plait
