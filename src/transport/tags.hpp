// The tags of a group: which part of the program uses which.
#pragma once

namespace plait::transport {

constexpr int kFirstCollectiveTag = 1 << 20;  ///< messages lie below
constexpr int kTags = 1 << 21;

}  // namespace plait::transport
