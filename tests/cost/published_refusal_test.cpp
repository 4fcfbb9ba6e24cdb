// A table of published profiles that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/cost_testing.hpp"
#include "cost/published.hpp"
#include "cost/published_testing.hpp"

namespace plait::cost {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct BadPublished {
  std::string name;
  std::string text;
  std::string message;
};

class BadPublishedFiles : public testing::TestWithParam<BadPublished> {};

TEST_P(BadPublishedFiles, AreRefusedInOneLineWithTheFilesName) {
  const std::string message = refusal([] { parse_published(GetParam().text, "dir/p.txt"); });
  EXPECT_THAT(message, StartsWith("dir/p.txt:"));
  EXPECT_THAT(message, HasSubstr(GetParam().message));
  EXPECT_THAT(message, testing::Not(HasSubstr("\n")));
}

const std::string kGood = measures(1, 1, 512, 0);
const std::string kInput = node(1, "Input", kGood);

INSTANTIATE_TEST_SUITE_P(
    PublishedProfile, BadPublishedFiles,
    testing::Values(
        BadPublished{"Empty", "", "contains no nodes"},
        BadPublished{"OtherText", kInput + "loss 3\n", "p.txt:2: 'loss 3' is neither"},
        BadPublished{"BadName", "layer1 -- ReLU -- " + kGood, "'layer1' is not the name of a node"},
        BadPublished{"NoNumber", "node -- ReLU -- " + kGood, "'node' is not the name"},
        BadPublished{"HugeNumber", "node99999999999 -- ReLU -- " + kGood, "is not the name"},
        BadPublished{"NoEquals", node(1, "Input", "forward"),
                     "'forward' is not of the form key=number"},
        BadPublished{"UnknownKey", node(1, "Input", kGood + ", colour=3"), "unknown key 'colour'"},
        BadPublished{"KeyTwice", node(1, "Input", kGood + ", parameter_size=3"),
                     "parameter_size occurs twice"},
        BadPublished{"KeyMissing", node(1, "Input", "forward_compute_time=1"),
                     "backward_compute_time is missing"},
        BadPublished{"Negative", node(1, "Input", measures(-1, 1, 1, 1)),
                     "forward_compute_time is -1"},
        BadPublished{"Nan",
                     node(1, "Input",
                          "forward_compute_time=nan, backward_compute_time=1, activation_size=1, "
                          "parameter_size=1"),
                     "forward_compute_time is nan"},
        BadPublished{"Huge", node(1, "Input", measures(1, 1, 1e15, 1)),
                     "activation_size is 1000000000000000;"},
        BadPublished{
            "NoNumberAtAll",
            node(1, "Input",
                 "forward_compute_time=1, backward_compute_time=1, activation_size=[1; 2; x], "
                 "parameter_size=1"),
            "activation_size is 'x', not a number"},
        BadPublished{
            "HugeSum",
            node(1, "Input",
                 "forward_compute_time=1, backward_compute_time=1, activation_size=[9e12; 9e12], "
                 "parameter_size=1"),
            "activation_size is 18000000000000 in all;"},
        BadPublished{"ListWithoutEnd",
                     node(1, "Input",
                          "forward_compute_time=1, backward_compute_time=1, activation_size=[1; 2, "
                          "parameter_size=1"),
                     "activation_size is '[1; 2', not a number"},
        BadPublished{"NodeTwice", kInput + kInput, "p.txt:2: node1 occurs twice"},
        BadPublished{"UnknownEdge", kInput + "\tnode1 -- node7\n",
                     "p.txt:2: an edge of node7, which has no line"},
        BadPublished{"OnlyInput", kInput, "contains only an Input"},
        BadPublished{"NoTimes",
                     kInput + node(2, "ReLU", measures(0, 0, 512, 64)) + "\tnode1 -- node2\n",
                     "all times are 0"},
        BadPublished{"NoInput", node(1, "ReLU", kGood), "node1 has no incoming edge"},
        BadPublished{"TwoEnds",
                     kInput + node(2, "ReLU", kGood) + node(3, "ReLU", kGood) +
                         "\tnode1 -- node2\n\tnode1 -- node3\n",
                     "node2 and node3"},
        BadPublished{"Circle",
                     kInput + node(2, "ReLU", kGood) + node(3, "ReLU", kGood) +
                         node(4, "ReLU", kGood) +
                         "\tnode1 -- node2\n\tnode2 -- node3\n\tnode3 -- node2\n\tnode3 -- node4\n",
                     "cycle through node2"},
        BadPublished{"AllCircle",
                     node(2, "ReLU", kGood) + node(3, "ReLU", kGood) +
                         "\tnode2 -- node3\n\tnode3 -- node2\n",
                     "there is no Input node"},
        BadPublished{"IntoInput",
                     kInput + node(2, "ReLU", kGood) + "\tnode1 -- node2\n\tnode2 -- node1\n",
                     "node1 is an Input but has an incoming edge"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace plait::cost
