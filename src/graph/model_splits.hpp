// Splits in model files: {type = "split", axis = 1, sizes = [8, 8, 8]} cuts what is before it into
// outputs that others name "split.0", "split.1", ... Inside plait there are only slices, one for
// each output that somebody reads. Inside this room only.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/model_layers.hpp"

namespace plait::graph {

/// A slice that was made of a split: its input must be as long as all sizes together.
struct SplitSlice {
  std::string block;  ///< or the name of repeated ones, without their numbers
  std::string node;
  std::int64_t whole = 0;
  std::string where;  ///< of the split; opens messages
};

class ModelSplits {
 public:
  explicit ModelSplits(ModelSpec& model) : model_(model) {}

  /// Replaces splits among the layers of a block by the slices that later layers read. One at the
  /// end is the block's (finish), and is taken off.
  void expand(std::vector<FileLayer>& layers, const std::string& block, const TomlReader& reader);
  bool at_end() const { return end_.has_value(); }
  /// The block whose layers were expanded last ends in a split of the result of block `source`.
  void finish(const std::string& block, int source);

  /// The block that makes output "qkv.0" of a block that ends in a split, appended to the model
  /// where it is not there yet; none where no block of such a name does.
  std::optional<int> output(const std::string& name, const std::string& where);
  /// Refused where a block has the name of a split's output. `where` opens the message.
  void refuse_shadow(const std::string& block, const std::string& where) const;
  /// Refused where a block without inputs follows one that ends in a split.
  void refuse_silent_reader(const std::string& where) const;

  /// Splits that nobody reads are refused.
  void check_read() const;
  /// Of every layer of the model: refuses a slice whose split does not fit its input.
  void check_slice(const BlockSpec& block, const Node& node, const tensor::Shape& src) const;

 private:
  struct Ended {
    FileSplit split;
    std::string name;
    std::string where;
    int source = 0;
    std::map<std::int64_t, int> blocks{};  ///< by output
  };

  ModelSpec& model_;
  std::optional<Ended> end_;
  std::map<std::string, Ended> ended_;  ///< by block
  std::string last_;                    ///< the block read last, if it ends in a split
  std::vector<SplitSlice> slices_;
};

}  // namespace plait::graph
