// A plan's network as JSON, both ways: blocks, tensors and who shares what.
#include "plan/json_network.hpp"

#include "graph/check.hpp"
#include "graph/input_type.hpp"
#include "plan/json_layer.hpp"
#include "plan/json_sparse.hpp"

namespace plait::plan {

namespace {

constexpr Limits kElements{0, graph::kMaxElements};
constexpr std::size_t kMostBlocks = graph::kMaxLayers;
constexpr std::size_t kMostTensors = 4 * kMostBlocks;
constexpr std::size_t kMostInputs = 64;  ///< of one layer
constexpr std::size_t kMostExtents = 8;

Json node_json(const graph::Node& node, int dst, SparseWriter& sparse) {
  const auto* matrix = std::get_if<ops::SparseLinear>(&node.layer);
  Json json = matrix != nullptr ? sparse.layer(*matrix, dst) : layer_json(node.layer);
  json["name"] = node.name;
  json["inputs"] = node.inputs;
  if (!node.weights.empty()) json["weights"] = node.weights;
  return json;
}

Json block_json(const NetworkBlock& block, int late, SparseWriter& sparse) {
  Json json{{"name", block.name},
            {"srcs", block.srcs},
            {"dst", block.dst},
            {"parameters", block.parameters},
            {"state", block.state},
            {"macs", block.macs},
            {"inner_elements", block.inner_elements},
            {"staleness", late}};
  const NetworkBlock usual{};
  if (block.whole != usual.whole) {
    json["whole"] = block.whole;
    json["whole_name"] = block.whole_name;
  }
  if (block.share != usual.share) json["share"] = block.share;
  if (block.added) json["added"] = true;
  if (block.piece != usual.piece) json["piece"] = block.piece;
  if (block.weights_of != usual.weights_of) json["weights_of"] = block.weights_of;
  if (block.state_sets != usual.state_sets) json["state_sets"] = block.state_sets;
  if (block.state_set != usual.state_set) json["state_set"] = block.state_set;
  if (block.spec == graph::BlockSpec{}) return json;
  json["layers_name"] = block.spec.name;
  json["layers"] = Json::array();
  for (const graph::Node& node : block.spec.nodes) {
    json["layers"].push_back(node_json(node, block.dst, sparse));
  }
  return json;
}

graph::Node read_node(const JsonField& field, const Limits& inputs, SparseReader& sparse) {
  const bool matrix = field.at("type").text() == "sparse_linear";
  graph::Node node{.name = field.at("name").text(),
                   .layer = matrix ? ops::Operation(sparse.layer(field)) : read_layer(field),
                   .inputs = field.at("inputs").numbers_as<int>(kMostInputs, inputs)};
  if (node.inputs.empty()) field.at("inputs").refuse("is empty: a layer reads something");
  if (field.has("weights")) node.weights = field.at("weights").text();
  return node;
}

graph::BlockSpec read_spec(const JsonField& field, std::size_t inputs, SparseReader& sparse) {
  graph::BlockSpec spec;
  if (!field.has("layers")) return spec;
  spec.name = field.at("layers_name").text();
  for (const JsonField& node : field.at("layers").list(kMostBlocks)) {
    const Limits earlier{-static_cast<std::int64_t>(inputs), std::ssize(spec.nodes) - 1};
    spec.nodes.push_back(read_node(node, earlier, sparse));
  }
  return spec;
}

NetworkBlock read_block(const JsonField& field, const Network& so_far, SparseReader& sparse) {
  const NetworkBlock usual{};
  const Limits tensors{0, std::ssize(so_far.tensors) - 1};
  const auto index = [&](const char* key, std::int64_t most) {
    return field.small_or(key, -1, {-1, most});
  };
  std::vector<int> srcs = field.at("srcs").numbers_as<int>(kMostInputs, tensors);
  if (srcs.empty()) field.at("srcs").refuse("is empty: a block reads something");
  const std::size_t inputs = srcs.size();
  NetworkBlock block{
      .name = field.at("name").text(),
      .srcs = std::move(srcs),
      .dst = field.at("dst").small(tensors),
      .parameters = field.at("parameters").number(kElements),
      .state = field.at("state").number(kElements),
      .macs = field.at("macs").number({0, graph::kMaxMacs}),
      .inner_elements = field.at("inner_elements").number(kElements),
      .spec = read_spec(field, inputs, sparse),
      .whole = index("whole", graph::kMaxLayers),
      .whole_name = field.has("whole") ? field.at("whole_name").text() : "",
      .share = field.has("share") ? field.at("share").real(0, 1) : usual.share,
      .added = field.flag_or("added", false),
      .piece = index("piece", graph::kMaxLayers),
      .weights_of = index("weights_of", so_far.size() - 1),
      .state_sets = field.small_or("state_sets", usual.state_sets, {1, graph::kMaxLayers}),
      .state_set = field.small_or("state_set", usual.state_set, {0, graph::kMaxLayers})};
  return block;
}

}  // namespace

Json network_json(const Network& network, const std::vector<int>& late) {
  SparseWriter sparse(network);
  Json blocks = Json::array();
  for (std::size_t i = 0; i < network.blocks.size(); ++i) {
    blocks.push_back(block_json(network.blocks[i], late[i], sparse));
  }
  Json json{{"name", network.name},
            {"hash", network_hash(network)},
            {"input", network.input.dims()},
            {"tensor_elements", network.tensors},
            {"index_lists", sparse.take_lists()},
            {"blocks", std::move(blocks)}};
  if (network.input_type != Network{}.input_type) {
    json["input_type"] = graph::word_of(network.input_type);
  }
  return json;
}

Network read_network(const JsonField& field, const graph::ModelSpec* model) {
  const JsonField tensors = field.at("tensor_elements");
  Network network{
      .name = field.at("name").text(),
      .blocks = {},
      .tensors = tensors.numbers(kMostTensors, {1, graph::kMaxElements}),
      .input = tensor::Shape(field.at("input").numbers(kMostExtents, {1, graph::kMaxElements}))};
  if (network.tensors.empty()) tensors.refuse("is empty");
  if (field.has("input_type")) {
    network.input_type = graph::parse_input_type(field.at("input_type").text(), "the network's ");
  }
  SparseReader sparse(model, field.at("index_lists"));
  for (const JsonField& block : field.at("blocks").list(kMostBlocks)) {
    network.blocks.push_back(read_block(block, network, sparse));
  }
  check_layers(network, field);
  complete(network);
  if (const JsonField hash = field.at("hash"); hash.text() != network_hash(network)) {
    hash.refuse(fmt::format("is {}, but that of the blocks is {}: the document is damaged",
                            hash.text(), network_hash(network)));
  }
  if (model != nullptr) check_is_of_model(network, *model, field);
  return network;
}

}  // namespace plait::plan
