// Sparse matrices in a plan's document: named by hash, pieces as rows x columns of the whole.
#include "plan/json_sparse.hpp"

#include <algorithm>
#include <unordered_map>

#include "plan/json_layer.hpp"

namespace plait::plan {

namespace {

constexpr std::size_t kMostLists = 1 << 20;
constexpr std::size_t kMostIndices = 1 << 24;  ///< of one list
constexpr std::int64_t kMostWork = std::int64_t{1} << 30;

/// Where an element of a whole weight is.
struct Place {
  std::int32_t row = 0;
  std::int32_t column = 0;
};

Place place_of(const ops::ParameterSpec& whole, std::int64_t position) {
  if (whole.pattern == nullptr) {  // dense: rows of the same length
    const std::int64_t columns = whole.shape[1];
    return {static_cast<std::int32_t>(position / columns),
            static_cast<std::int32_t>(position % columns)};
  }
  const std::vector<std::int64_t>& begin = whole.pattern->row_begin;
  const auto next = std::ranges::upper_bound(begin, position);
  return {static_cast<std::int32_t>(next - begin.begin() - 1),
          whole.pattern->column[static_cast<std::size_t>(position)]};
}

/// The columns of the whole that those of a piece are; -1 where it has no element in one.
std::vector<std::int32_t> columns_of(const ops::SparseLinear& sparse) {
  const ops::ParameterPart& part = *sparse.piece->weight;
  std::vector<std::int32_t> columns(static_cast<std::size_t>(sparse.pattern->columns), -1);
  for (std::size_t k = 0; k < part.positions.size(); ++k) {
    columns[static_cast<std::size_t>(sparse.pattern->column[k])] =
        place_of(part.whole, part.positions[k]).column;
  }
  return columns;
}

/// Known ones ascend: then so do the columns of every row of the piece.
bool ascends(const std::vector<std::int32_t>& list) {
  std::int32_t last = -1;
  for (const std::int32_t index : list) {
    if (index < 0) continue;
    if (index <= last) return false;
    last = index;
  }
  return true;
}

}  // namespace

SparseWriter::SparseWriter(const Network& network) {
  for (const NetworkBlock& block : network.blocks) note_rows(block);
}

void SparseWriter::note_rows(const NetworkBlock& block) {
  for (const graph::Node& node : block.spec.nodes) {
    const auto* sparse = std::get_if<ops::SparseLinear>(&node.layer);
    if (sparse == nullptr || sparse->piece == nullptr) continue;
    std::vector<std::int32_t>& rows = rows_[block.dst];
    rows.resize(static_cast<std::size_t>(sparse->pattern->rows), -1);
    const ops::ParameterPart& weight = *sparse->piece->weight;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto first = static_cast<std::size_t>(sparse->pattern->row_begin[i]);
      const bool empty = sparse->pattern->row_begin[i + 1] == sparse->pattern->row_begin[i];
      if (!empty) rows[i] = place_of(weight.whole, weight.positions[first]).row;
      if (sparse->bias) rows[i] = static_cast<std::int32_t>(sparse->piece->bias->positions[i]);
    }
  }
}

int SparseWriter::number_of(const std::vector<std::int32_t>& list) {
  const auto [found, is_new] = numbers_.try_emplace(list, static_cast<int>(numbers_.size()));
  if (is_new) lists_.push_back(list);
  return found->second;
}

const std::string& SparseWriter::hash_of(const ops::ParameterSpec& whole) {
  const void* key = whole.pattern != nullptr ? static_cast<const void*>(whole.pattern.get())
                                             : static_cast<const void*>(&whole);
  std::string& hash = hashes_[key];
  if (hash.empty()) {
    hash = whole.pattern != nullptr ? matrix_hash(*whole.pattern, whole.values.get())
                                    : dense_hash(whole.shape);
  }
  return hash;
}

Json SparseWriter::layer(const ops::SparseLinear& sparse, int dst) {
  Json json{{"type", "sparse_linear"}, {"bias", sparse.bias}};
  if (sparse.piece == nullptr) {
    json["matrix"] = matrix_hash(*sparse.pattern, sparse.values.get());
    json["initial_bias"] = sparse.initial_bias;
    return json;
  }
  const ops::ParameterPart& weight = *sparse.piece->weight;
  const std::string suffix = ".weight";
  json["piece_of"] = weight.name.substr(0, weight.name.size() - suffix.size());
  json["matrix"] = hash_of(weight.whole);
  json["rows"] = number_of(rows_.at(dst));
  json["columns"] = number_of(columns_of(sparse));
  if (sparse.ends_in) json["ends_in"] = layer_json(*sparse.ends_in);
  return json;
}

SparseReader::SparseReader(const graph::ModelSpec* model, const JsonField& lists) : wholes_(model) {
  for (const JsonField& one : lists.list(kMostLists)) {
    lists_.push_back(one.numbers_as<std::int32_t>(kMostIndices, {-1, INT32_MAX}));
    if (!ascends(lists_.back())) one.refuse("must ascend, -1 left aside");
  }
}

ops::SparseLinear SparseReader::layer(const JsonField& field) {
  if (field.has("piece_of")) return piece(field);
  const tensor::SparseMatrix matrix = wholes_.matrix(field.at("matrix"));
  return {.pattern = matrix.pattern,
          .bias = field.at("bias").flag(),
          .values = matrix.values,
          .initial_bias = field.at("initial_bias").real(-1e30, 1e30)};
}

const std::vector<std::int32_t>& SparseReader::list(const JsonField& field, std::int64_t end) {
  const auto& list = lists_[static_cast<std::size_t>(
      field.number({0, static_cast<std::int64_t>(lists_.size()) - 1}))];
  if (list.empty() || std::ranges::max(list) >= end) {
    field.refuse(
        fmt::format("names a list that is empty or goes beyond the {} of its matrix", end));
  }
  work_ += std::ssize(list);
  return list;
}

ops::SparseLinear SparseReader::piece(const JsonField& field) {
  const JsonField name = field.at("piece_of");
  const WholeLayer& whole = wholes_.named(name);
  if (const JsonField matrix = field.at("matrix"); matrix.text() != whole.hash) {
    matrix.refuse(
        fmt::format("is '{}', but the model's layer '{}' has '{}': the plan is of "
                    "another model",
                    matrix.text(), name.text(), whole.hash));
  }
  const std::vector<std::int32_t>& rows = list(field.at("rows"), whole.pattern->rows);
  const std::vector<std::int32_t>& columns = list(field.at("columns"), whole.pattern->columns);
  std::unordered_map<std::int32_t, std::int32_t> local;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] >= 0) local.emplace(columns[i], static_cast<std::int32_t>(i));
  }
  tensor::SparsePattern pattern{
      .rows = std::ssize(rows), .columns = std::ssize(columns), .column = {}};
  ops::ParameterPart weight{
      .name = name.text() + ".weight", .whole = whole.weight, .positions = {}};
  for (const std::int32_t row : rows) {
    if (row >= 0) {
      std::int64_t position = whole.pattern->row_begin[static_cast<std::size_t>(row)];
      for (const std::int32_t column : whole.pattern->row(row)) {
        if (const auto found = local.find(column); found != local.end()) {
          pattern.column.push_back(found->second);
          weight.positions.push_back(position);
        }
        ++position;
      }
      work_ += std::ssize(whole.pattern->row(row));
    }
    if (work_ > kMostWork) field.refuse("is one piece too many: the plan is too large");
    pattern.row_begin.push_back(pattern.size());
  }
  auto piece = std::make_shared<ops::LinearPiece>();
  piece->weight = std::make_shared<const ops::ParameterPart>(std::move(weight));
  const bool bias = field.at("bias").flag();
  if (bias) {
    if (!whole.bias || std::ranges::find(rows, -1) != rows.end()) {
      field.at("bias").refuse("is true, but the layer has no bias, or not all rows are named");
    }
    piece->bias = std::make_shared<const ops::ParameterPart>(
        ops::ParameterPart{.name = name.text() + ".bias",
                           .whole = *whole.bias,
                           .positions = {rows.begin(), rows.end()}});
  }
  std::optional<ops::Activation> ends_in;
  if (field.has("ends_in")) {
    const JsonField end = field.at("ends_in");
    const ops::Operation read = read_layer(end);
    if (!std::holds_alternative<ops::Activation>(read)) end.refuse("is no activation");
    ends_in = std::get<ops::Activation>(read);
  }
  return {.pattern = std::make_shared<const tensor::SparsePattern>(std::move(pattern)),
          .bias = bias,
          .piece = std::move(piece),
          .ends_in = ends_in};
}

}  // namespace plait::plan
