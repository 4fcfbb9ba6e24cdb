// The graph of a model as text for Graphviz.
#include "graph/graph_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/zoo.hpp"

namespace plait::graph {
namespace {

using testing::HasSubstr;

std::size_t occurrences(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

TEST(GraphText, HasABoxPerBlockAndAnArrowPerTensorRead) {
  const ModelSpec model = make_model("unet:8", {3, 32, 32}, 4);
  const std::string text = graph_text(model);
  EXPECT_THAT(text, HasSubstr("digraph \"unet:8\" {"));
  EXPECT_THAT(text, HasSubstr("input [label=\"input\\n3x32x32\""));
  EXPECT_THAT(text, HasSubstr("b0 [label=\"down0.conv1\\nconv3x3 8, bn, relu\\n8x32x32, 232 "
                              "parameters\""));
  EXPECT_THAT(text, HasSubstr("input -> b0 [label=\" 12"));
  EXPECT_EQ(occurrences(text, " [label=\"") - occurrences(text, " -> "), model.blocks.size() + 1);
  EXPECT_EQ(occurrences(text, " -> "), model.blocks.size() + 4);
  EXPECT_THAT(text, HasSubstr("b1 -> b20 [label=\" 32"));  // the largest skip
}

TEST(GraphText, SaysTheSizeOfATensorWithManyReadersOnce) {
  const std::string text = graph_text(make_model("densenet121", {3, 32, 32}, 10));
  EXPECT_THAT(text, HasSubstr("b0 -> b1 [label="));
  EXPECT_THAT(text, HasSubstr("b0 -> b3;"));
}

TEST(GraphText, EscapesWhatItQuotes) {
  ModelSpec model = make_model("linear", {4}, 2);
  model.name = "a\"b\\c";
  EXPECT_THAT(graph_text(model), HasSubstr("digraph \"a\\\"b\\\\c\""));
}

}  // namespace
}  // namespace plait::graph
