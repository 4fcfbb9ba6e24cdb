// BlockRig: a block of a model with one input, the parameters of all its layers by name.
#pragma once

#include <utility>

#include "kernels/graph_of_blocks.hpp"

namespace plait::kernels::layer_testing {

class BlockRig {
 public:
  struct Parameter {
    std::string name;
    ops::ParameterSpec spec;
    GraphOfBlocks::Part* part = nullptr;
    BlockParameter own{};
  };

  BlockRig(const graph::BlockSpec& spec, const tensor::TensorDesc& src, const BlockOptions& options)
      : graph(spec, {src}, options), name(spec.name) {
    for (const auto& part : graph.parts()) {
      for (const BlockParameter& one : part->block.parameters()) {
        parameters_.push_back({one.name, one.spec, part.get(), one});
      }
    }
  }

  GraphOfBlocks graph;
  std::string name;
  bool& training = graph.training;

  const tensor::TensorDesc& dst_desc() const { return graph.dst_desc(); }
  const std::vector<Parameter>& parameters() const { return parameters_; }

  static void set_parameter(const Parameter& parameter, const Floats& plain) {
    parameter.part->block.pack_parameter(parameter.own, plain.data(), home(parameter));
  }
  static Floats parameter(const Parameter& parameter) {
    return unpacked(parameter, home(parameter));
  }
  static Floats gradient(const Parameter& parameter) {
    return unpacked(parameter, parameter.part->gradient.floats() + parameter.own.offset);
  }

  /// src and the result are physical, in their descs.
  const Floats& forward(const Floats& src) {
    dst_ = graph.forward({src});
    return dst_;
  }
  /// The gradient of src, physical.
  Floats backward(const Floats& diff_dst) { return graph.backward(diff_dst).front(); }

 private:
  static float* home(const Parameter& parameter) {
    Floats& all = parameter.spec.trainable ? parameter.part->weights : parameter.part->state;
    return all.data() + parameter.own.offset;
  }
  static Floats unpacked(const Parameter& parameter, const float* home) {
    Floats plain(count(parameter.spec.shape));
    parameter.part->block.unpack_parameter(parameter.own, home, plain.data());
    return plain;
  }

  std::vector<Parameter> parameters_;
  Floats dst_;
};

}  // namespace plait::kernels::layer_testing
