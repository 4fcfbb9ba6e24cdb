// Models whose input are token ids: read, written, and refused where layers do not fit it.
#include "graph/input_type.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "graph/macs.hpp"
#include "graph/model_file.hpp"
#include "graph/model_hash.hpp"
#include "graph/parameters.hpp"
#include "graph/shapes.hpp"
#include "graph/summary.hpp"
#include "temp_folder.hpp"
#include "token_files.hpp"

namespace plait::graph {
namespace {

using testing::HasSubstr;

ModelSpec parse_tokens(const std::string& text) { return parse_model(text, "net.toml", {}, 4); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string token_refusal(const std::string& text) {
  try {
    parse_tokens(text);
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return error.what();
  }
  return "no error";
}

TEST(InputType, IsReadAndWritten) {
  const ModelSpec model = parse_tokens(kTokenModel);
  EXPECT_EQ(model.input_type, tensor::DType::i32);
  const std::vector<tensor::Shape> borders = border_shapes(model);
  EXPECT_EQ(borders[1], (tensor::Shape{6, 8}));
  EXPECT_EQ(borders[2], (tensor::Shape{6, 8}));
  EXPECT_EQ(parse_tokens(write_model(model)), model);
  EXPECT_THAT(write_model(model), HasSubstr("input = [6]\ninput_type = \"int32\"\n"));
  EXPECT_THAT(summary(model), HasSubstr("token ids"));
  // 20 x 8; 8 x 12 + 12 + 12 x 8 + 8; 8 + 8; 48 x 4 + 4
  EXPECT_EQ(parameter_count(model), 160 + 212 + 16 + 196);
  EXPECT_EQ(block_costs(model)[1].macs, 6 * (8 * 12 + 12 * 8));
  EXPECT_EQ(id_limit(model).limit, 20);
  EXPECT_EQ(id_limit(model).block, "embedding");
  ModelSpec wider = model;
  wider.blocks[0].nodes[0].layer = ops::Embedding{.vocabulary = 21, .width = 8};
  EXPECT_NE(model_hash(wider), model_hash(model));
}

TEST(InputType, OnlyEmbeddingsReadIds) {
  const std::string floats = replaced(kTokenModel, "input_type = \"int32\"\n", "");
  EXPECT_THAT(token_refusal(floats),
              HasSubstr("block 'embedding', layer 'embedding': an embedding reads token ids"));
  const std::string flat =
      replaced(kTokenModel, R"({type = "embedding", vocabulary = 20, width = 8})",
               R"({type = "linear", out = 8})");
  EXPECT_THAT(token_refusal(flat),
              HasSubstr("linear reads floats, but the model's input are token"));
  const std::string twice = replaced(kTokenModel, R"({type = "linear", out = 12})",
                                     R"({type = "embedding", vocabulary = 2, width = 3})");
  EXPECT_THAT(token_refusal(twice), HasSubstr("an embedding reads token ids"));
  EXPECT_THAT(token_refusal(replaced(kTokenModel, "int32", "int23")),
              HasSubstr("input_type is 'int23' (did you mean 'int32'?)"));
  EXPECT_THAT(token_refusal(replaced(kTokenModel, "\"int32\"", "7")), HasSubstr("input_type"));
  EXPECT_THAT(token_refusal(replaced(kTokenModel, "vocabulary = 20", "vocabulary = 0")),
              HasSubstr("vocabulary"));
  EXPECT_THAT(token_refusal(replaced(kTokenModel, "vocabulary = 20", "vocabulary = 2147483648")),
              Not(HasSubstr("parameters")));
  EXPECT_THAT(token_refusal(replaced(kTokenModel, "vocabulary = 20, width = 8",
                                     "vocabulary = 2147483648, width = 2147483648")),
              HasSubstr("2^40"));
}

TEST(InputType, EmbeddingsBeginNormal) {
  const ops::ParameterSpec weight =
      ops::parameters_of(ops::Embedding{.vocabulary = 200, .width = 50}, {6})[0];
  const tensor::Tensor value = initial_value(weight, 1, "e.weight");
  double sum = 0;
  double squares = 0;
  for (const float x : value.floats()) {
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  EXPECT_NEAR(sum / 1e4, 0, 0.05);
  EXPECT_NEAR(squares / 1e4, 1, 0.05);
}

TEST(InputType, SequencesAreWhatTheFileSays) {
  const TempFolder folder;
  const std::string path = (folder.path() / "net.toml").string();
  const auto reads = [&](const std::string& head, const std::string& layer) {
    std::ofstream(path) << head << "[[block]]\nlayers = [" << layer << "]\n";
    return reads_sequences(path);
  };
  const std::string relu = R"({type = "relu"})";
  EXPECT_TRUE(reads("input = [3, 6]\n", relu));
  EXPECT_EQ(declared_input(path), (tensor::Shape{3, 6}));
  EXPECT_FALSE(reads("input = [1, 3, 6]\n", relu));
  EXPECT_FALSE(reads("input = [3]\n", relu));
  EXPECT_FALSE(reads("", relu));
  EXPECT_EQ(declared_input(path), std::nullopt);
  EXPECT_TRUE(reads("", R"({type = "convolution_1d", out = 4, kernel = 3})"));
  EXPECT_TRUE(reads("", R"({type = "linear", out = 4}, {type = "flatten"})"));
  EXPECT_FALSE(reads("", R"({type = "flatten"}, {type = "linear", out = 4})"));
  EXPECT_FALSE(reads("input = [3, 6]\ninput_type = \"int32\"\n", relu));
  EXPECT_FALSE(reads_sequences("lenet"));
  EXPECT_EQ(declared_input("lenet"), std::nullopt);
}

}  // namespace
}  // namespace plait::graph
