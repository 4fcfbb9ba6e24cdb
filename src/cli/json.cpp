// The JSON of train and eval.
#include "cli/json.hpp"

#include <nlohmann/json.hpp>

namespace plait::cli {

namespace {

using Json = nlohmann::ordered_json;

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json residuals_json(const std::vector<run::Residual>& residuals) {
  Json json = Json::object();
  for (const run::Residual& one : residuals) json[one.name] = one.value;
  return json;
}

}  // namespace

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json to_json(const session::TrainResult& result,
             const std::optional<report::Straggler>& straggler) {
  Json shares = Json::array();
  for (std::size_t worker = 0; worker < result.shares.size(); ++worker) {
    const trace::Shares& one = result.shares[worker];
    shares.push_back({{"worker", worker},
                      {"busy", one.busy},
                      {"communication", one.communication},
                      {"wait", one.wait},
                      {"memory_bytes", result.memory[worker]}});
  }
  Json slow = nullptr;
  if (straggler) {
    slow = {{"worker", straggler->worker},
            {"compute", straggler->compute},
            {"others", straggler->others},
            {"cost", straggler->cost()}};
  }
  Json json{{"model", result.model},
            {"strategy", result.strategy},
            {"workers", result.workers},
            {"nodes", result.plan.machine.nodes},
            {"threads", result.threads},
            {"epochs", result.epochs},
            {"steps", result.steps},
            {"train_loss", result.train_loss},
            {"test_loss", result.test_loss},
            {"test_accuracy", optional(result.test_accuracy)},
            {"seconds", result.seconds},
            {"images_per_second", result.images_per_second},
            {"step_seconds", result.step_seconds},
            {"bytes_sent", result.bytes_sent},
            {"messages_sent", result.messages_sent},
            {"peak_memory_bytes", result.peak_memory_bytes},
            {"exchanges", result.exchanges},
            {"exchange_seconds", result.exchange_seconds},
            {"exchange_waited_seconds", result.exchange_waited_seconds},
            {"straggler", std::move(slow)},
            {"weights_hash", result.weights_hash},
            {"staleness_max", result.staleness_max},
            {"utilisation", result.utilisation},
            {"shares", std::move(shares)},
            {"residuals", residuals_json(result.residuals)},
            {"run_dir", result.run_dir},
            {"interrupted", result.interrupted}};
  if (result.test_top5) json["test_top5"] = *result.test_top5;
  if (result.test_miou) json["test_miou"] = *result.test_miou;
  return json;
}

Json to_json(const EvalResult& result) {
  Json json{{"model", result.model},
            {"data", result.data},
            {"weights", result.weights},
            {"samples", result.evaluation.samples},
            {"test_loss", result.evaluation.loss},
            {"test_accuracy", optional(result.evaluation.accuracy)},
            {"residuals", residuals_json(result.evaluation.residuals)}};
  if (result.evaluation.top5) json["test_top5"] = *result.evaluation.top5;
  if (result.evaluation.miou) json["test_miou"] = *result.evaluation.miou;
  return json;
}

}  // namespace plait::cli
