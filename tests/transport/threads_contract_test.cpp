// The contract of the transport on threads: 1 to 4 members, two nodes with a slow link, and the
// channels for control.
#include <gtest/gtest.h>

#include "transport/contract.hpp"
#include "transport/threads.hpp"

namespace plait::transport {
namespace {

struct Shape {
  std::string name;
  ThreadWorldOptions options;
  bool control = false;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (int members = 1; members <= 4; ++members) {
    all.push_back({fmt::format("Members{}", members), {.members_per_node = members}});
  }
  const LinkModel link{.bytes_per_second = 2e9, .latency_seconds = 50e-6};
  all.push_back({"TwoNodes", {.nodes = 2, .members_per_node = 2, .between_nodes = link}});
  all.push_back({"Control", {.nodes = 3, .between_nodes = {.bytes_per_second = 1}}, true});
  return all;
}

// What a failing case is called.
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

class ThreadContract : public ::testing::TestWithParam<std::tuple<Shape, contract::Case>> {};

TEST_P(ThreadContract, Holds) {
  const auto& [shape, promise] = GetParam();
  ThreadWorld world(shape.options);
  run_members(world, [&, &shape = shape, &promise = promise](int rank) {
    const std::unique_ptr<Group> group =
        shape.control ? world.control_group(rank) : world.group(rank);
    promise.check(*group);
  });
}

INSTANTIATE_TEST_SUITE_P(All, ThreadContract,
                         ::testing::Combine(::testing::ValuesIn(shapes()),
                                            ::testing::ValuesIn(contract::cases())),
                         [](const auto& named) {
                           return std::get<0>(named.param).name + std::get<1>(named.param).name;
                         });

}  // namespace
}  // namespace plait::transport
