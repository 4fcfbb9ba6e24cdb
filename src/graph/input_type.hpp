// What the numbers of a model's input are: floats, or integers (token ids) that only embeddings
// read. Every other tensor holds floats.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/spec.hpp"
#include "graph/toml_value.hpp"

namespace plait::graph {

/// "float32", "int32": NumPy's words, in model files and plan documents.
std::string_view word_of(tensor::DType dtype);
/// Of such a word; UserError, which `where` opens, for another.
tensor::DType parse_input_type(const std::string& word, const std::string& where);

/// `input_type` of a model file; float32 where it says nothing.
tensor::DType read_input_type(const TomlReader& reader);
/// The same before the model is made: the data are opened for it. Networks of the zoo read floats.
tensor::DType input_type_of(const std::string& name_or_file);

/// `input` of a model file, before the model is made; empty where it says nothing, and for networks
/// of the zoo.
std::optional<tensor::Shape> declared_input(const std::string& name_or_file);
std::optional<tensor::Shape> declared_input(const TomlReader& model);
/// Whether the model reads sequences CxL: its file says input = [C, L], or says nothing and begins
/// with a layer that takes no image (convolution_1d, linear).
bool reads_sequences(const std::string& name_or_file);

/// UserError where a layer of the block reads ids that is not an embedding, or the other way round.
/// `ids` says by input of the block whether it holds them.
void check_input_types(const BlockSpec& block, const std::vector<bool>& ids,
                       const std::string& where);

/// The smallest vocabulary among the blocks that read ids: these must be below `limit`.
struct IdLimit {
  std::int64_t limit = 0;  ///< 0: nobody reads ids
  std::string block{};
  /// Of one more block.
  void add(const BlockSpec& spec);
};
IdLimit id_limit(const ModelSpec& model);

}  // namespace plait::graph
