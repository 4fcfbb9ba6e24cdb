// Profiles as JSON: how a profile is written.
#include <nlohmann/json.hpp>

#include "base/out_file.hpp"
#include "cost/profile_file.hpp"

namespace plait::cost {

namespace {

using nlohmann::ordered_json;

ordered_json blocks_json(const std::vector<ProfileBlock>& list) {
  ordered_json blocks = ordered_json::array();
  for (const ProfileBlock& block : list) {
    blocks.push_back({{"name", block.name},
                      {"forward_ms", block.forward_ms},
                      {"backward_data_ms", block.backward_data_ms},
                      {"backward_weights_ms", block.backward_weights_ms},
                      {"update_ms", block.update_ms},
                      {"macs", block.macs},
                      {"parameters", block.parameters},
                      {"dst_bytes", block.dst_bytes}});
  }
  return blocks;
}

ordered_json point_json(const ProfilePoint& point) {
  ordered_json all{{"batch", point.batch}, {"blocks", blocks_json(point.blocks)}};
  if (!point.added.empty()) all["added"] = blocks_json(point.added);
  all["loss_ms"] = point.loss_ms;
  all["load_ms"] = point.load_ms;
  all["step_ms"] = point.step_ms;
  return all;
}

double sum_ms(const ProfilePoint& point) {
  double sum = point.loss_ms;
  for (const auto list : {&ProfilePoint::blocks, &ProfilePoint::added}) {
    for (const ProfileBlock& block : point.*list) {
      sum +=
          block.forward_ms + block.backward_data_ms + block.backward_weights_ms + block.update_ms;
    }
  }
  return sum;
}

}  // namespace

std::string print_profile(const ProfileFile& profile) {
  const ProfilePoint& main = profile.points.front();
  ordered_json root = {{"format", kProfileFormat},
                       {"model", profile.model},
                       {"network_hash", profile.network_hash},
                       {"data_shape", profile.data_shape},
                       {"classes", profile.classes},
                       {"threads", profile.threads},
                       {"steps", profile.steps}};
  root.update(point_json(main));
  root["sum_ms"] = sum_ms(main);
  ordered_json points = ordered_json::array();
  for (std::size_t i = 1; i < profile.points.size(); ++i) {
    points.push_back(point_json(profile.points[i]));
  }
  root["points"] = std::move(points);
  root["contention"] = {{"workers", profile.contention.workers},
                        {"factor", profile.contention.factor}};
  root["sum_bytes_per_second"] = profile.sum_bytes_per_second;
  if (!profile.machine.empty()) root["machine"] = profile.machine;
  if (!profile.measured.empty()) root["measured"] = profile.measured;
  root["noise"] = profile.noise;
  // Names may come from files in any encoding; a result must come out all the same.
  return root.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

void write_profile(const ProfileFile& profile, const std::string& path) {
  write_out_file(path, print_profile(profile) + '\n');
}

}  // namespace plait::cost
