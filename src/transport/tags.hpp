// Who uses which tags of a group.
#pragma once

namespace plait {

constexpr int kFirstCollectiveTag = 1 << 20;  ///< messages lie below
constexpr int kTags = 1 << 21;

}  // namespace plait
