// The shape of shuffled channels: that of the input.
#include "ops/channel_shuffle.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"
#include "ops/window.hpp"

namespace plait::ops {

std::string ChannelShuffle::text() const { return fmt::format("channel_shuffle {}", groups); }

tensor::Shape ChannelShuffle::result(std::span<const tensor::Shape> srcs,
                                     const std::string& where) const {
  require_image(srcs[0], "channel_shuffle", where);
  if (groups < 1 || srcs[0][0] % groups != 0) {
    user_error("{}: {} groups do not divide the {} channels", where, groups, srcs[0][0]);
  }
  return srcs[0];
}

std::vector<OperationInfo> ChannelShuffle::describe() {
  return {{.name = "channel_shuffle",
           .short_name = "shuffle",
           .torch = "ChannelShuffle",
           .usual = ChannelShuffle{},
           .fields = {field(&ChannelShuffle::groups, {.key = "groups",
                                                      .least = 1,
                                                      .most = kMaxChannels,
                                                      .required = true,
                                                      .always = true})}}};
}

}  // namespace plait::ops
