// Helpers of the layer tests: memory that notices trespassers, and a Rig that plays the three tasks
// of one layer on plain vectors. The Rig hands a task exactly what the Layer contract names;
// everything else is NaN, so that a dishonest trait shows in the numbers.
#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "kernels/layer.hpp"
#include "kernels/layouts.hpp"

namespace plait::kernels::layer_testing {

inline Floats random_floats(std::size_t size, std::uint64_t stream) {
  Rng rng(20211, Purpose::test, stream);
  Floats values(size);
  for (float& x : values) x = rng.uniform(-1.0F, 1.0F);
  return values;
}

/// Difference relative to the largest expected value; NaN never passes.
inline void expect_close(const Floats& actual, const Floats& expected, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 0;
  for (float x : expected) largest = std::max(largest, std::abs(static_cast<double>(x)));
  const double allowed = tolerance * largest + 1e-30;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(static_cast<double>(actual[i]) - expected[i]);
    if (difference <= allowed) continue;
    if (++wrong > 3) break;
    ADD_FAILURE() << what << "[" << i << "] is " << actual[i] << ", expected " << expected[i]
                  << " (allowed difference " << allowed << ")";
  }
}

/// Bytes that are all-ones (NaN as floats) at first, followed by a fence.
class Memory {
 public:
  explicit Memory(std::size_t bytes = 0)
      : bytes_(bytes), data_(tensor::allocate_bytes(bytes + kFence)) {
    poison();
    std::memset(data_.get() + bytes_, kMark, kFence);
  }
  explicit Memory(const Floats& values) : Memory(values.size() * sizeof(float)) {
    if (!values.empty()) std::memcpy(data_.get(), values.data(), bytes_);
  }
  void poison() { std::memset(data_.get(), 0xFF, bytes_); }
  std::byte* data() { return data_.get(); }
  float* floats() { return reinterpret_cast<float*>(data_.get()); }
  void expect_intact(const std::string& what) const {
    const std::byte* fence = data_.get() + bytes_;
    EXPECT_TRUE(
        std::all_of(fence, fence + kFence, [](std::byte b) { return b == std::byte{kMark}; }))
        << "somebody wrote behind " << what;
  }

 private:
  static constexpr std::size_t kFence = 256;
  static constexpr unsigned char kMark = 0x5A;
  std::size_t bytes_;
  std::shared_ptr<std::byte> data_;
};

struct RigOptions {
  bool training = true;
  bool updates_state = true;
  bool in_place = false;    ///< forward and backward_data, where the traits allow it
  bool adds_there = false;  ///< the addend of backward_data lies where its sum is to be
  Randomness randomness{.seed = 7, .step = 3, .first_sample = 2};
};

/// One layer with its memory. Tensors and parameters go in and come out plain.
class Rig {
 public:
  Rig(LayerRequest request, Backend backend) : request_(std::move(request)) {
    omp_set_num_threads(request_.threads);  // a layer is built and run with one pool size
    layer_ = make_layer(request_, backend);
    std::int64_t sizes[2] = {0, 0};
    for (const ParameterSlot& slot : layer_->parameter_slots()) {
      std::int64_t& size = sizes[slot.spec.trainable ? 0 : 1];
      size = std::max(size, slot.offset + slot.physical_size);
    }
    weights_ = tensor::Tensor(tensor::Shape{sizes[0]});
    state_ = tensor::Tensor(tensor::Shape{sizes[1]});
  }

  RigOptions options;

  Layer& layer() { return *layer_; }
  const LayerRequest& request() const { return request_; }

  void set_parameter(std::size_t index, const Floats& plain) {
    const ParameterSlot slot = layer_->parameter_slots()[index];
    auto home = (slot.spec.trainable ? weights_ : state_).floats();
    layer_->pack_parameter(index, plain.data(), home.data() + slot.offset);
  }
  Floats parameter(std::size_t index) const {
    const ParameterSlot slot = layer_->parameter_slots()[index];
    const auto home = (slot.spec.trainable ? weights_ : state_).floats();
    Floats plain(count(slot.spec.shape));
    layer_->unpack_parameter(index, home.data() + slot.offset, plain.data());
    return plain;
  }
  /// Deterministic values; variances positive, scales away from zero.
  void set_random_parameters(std::uint64_t stream) {
    const std::vector<ParameterSlot> slots = layer_->parameter_slots();
    for (std::size_t i = 0; i < slots.size(); ++i) {
      Floats values = random_floats(count(slots[i].spec.shape), stream + i);
      const bool positive = slots[i].spec.value == 1;
      for (float& x : values) x = positive ? 1.0F + 0.5F * x : 0.5F * x;
      set_parameter(i, values);
    }
  }

  Floats forward(const std::vector<Floats>& srcs) {
    srcs_.clear();
    for (std::size_t k = 0; k < srcs.size(); ++k) {
      srcs_.emplace_back(to_physical(request_.srcs[k], srcs[k], Padding::activation));
    }
    const tensor::TensorDesc& dst_desc = layer_->dst_desc();
    dst_ = Memory(dst_desc.bytes());
    if (options.training) saved_ = Memory(layer_->saved_bytes());
    Memory unsaved(layer_->saved_bytes());
    LayerArgs args = base_args();
    args.saved = options.training ? saved_.data() : unsaved.data();
    for (std::size_t k = 0; k < srcs.size(); ++k) {
      args.src.emplace_back(srcs_[k].data(), request_.srcs[k]);
    }
    args.dst = {dst_.data(), dst_desc};
    if (options.in_place && layer_->traits().forward_in_place) {
      std::memcpy(dst_.data(), srcs_[0].data(), dst_desc.bytes());
      args.src[0] = args.dst;
    }
    run(Pass::forward, args);
    dst_.expect_intact("dst");
    unsaved.expect_intact("saved");
    return to_plain(dst_desc, dst_.floats(), Padding::activation);
  }

  /// `addend` only where the traits allow it. Fills what gradients() returns for BatchNorm.
  Floats backward_data(const Floats& diff_dst, const Floats& addend = {}) {
    const tensor::TensorDesc& src_desc = request_.srcs[0];
    Memory gradient(to_physical(layer_->dst_desc(), diff_dst));
    Memory diff_src(src_desc.bytes());
    Memory added(to_physical(src_desc, addend));
    diff_weights_ = Memory(weights_.bytes());
    LayerArgs args =
        backward_args(layer_->traits().data_reads_src, layer_->traits().data_reads_dst);
    args.diff_dst = {gradient.data(), layer_->dst_desc()};
    args.diff_srcs = {{diff_src.data(), src_desc}};
    if (options.in_place && layer_->traits().diff_in_place) {
      args.diff_srcs = {{gradient.data(), src_desc}};
    }
    if (!addend.empty()) args.diff_addend = {added.data(), src_desc};
    if (!addend.empty() && options.adds_there) {
      std::memcpy(diff_src.data(), added.data(), src_desc.bytes());
      args.diff_addend = args.diff_srcs[0];
    }
    run(Pass::backward_data, args);
    gradient.expect_intact("diff_dst");
    diff_src.expect_intact("diff_src");
    return to_plain(src_desc, args.diff_src());
  }

  /// Gradients of the trainable parameters; after backward_data, which writes BatchNorm's.
  std::vector<Floats> gradients(const Floats& diff_dst) {
    if (layer_->traits().weights_reads_src) {
      Memory gradient(to_physical(layer_->dst_desc(), diff_dst));
      diff_weights_ = Memory(weights_.bytes());
      LayerArgs args = backward_args(true, false);
      args.diff_dst = {gradient.data(), layer_->dst_desc()};
      run(Pass::backward_weights, args);
    }
    return unpack_gradients();
  }

 private:
  LayerArgs base_args() {
    LayerArgs args;
    args.weights = weights_.floats().data();
    args.state = options.training && !options.updates_state ? nullptr : state_.floats().data();
    args.saved = saved_.data();
    args.training = options.training;
    args.randomness = options.randomness;
    return args;
  }

  LayerArgs backward_args(bool reads_src, bool reads_dst) {
    LayerArgs args = base_args();
    for (std::size_t k = 0; k < srcs_.size(); ++k) {
      unreadable_.emplace_back(request_.srcs[k].bytes());
      Memory& src = reads_src ? srcs_[k] : unreadable_.back();
      args.src.emplace_back(src.data(), request_.srcs[k]);
    }
    unreadable_.emplace_back(layer_->dst_desc().bytes());
    args.dst = {(reads_dst ? dst_ : unreadable_.back()).data(), layer_->dst_desc()};
    args.diff_weights = diff_weights_.floats();
    return args;
  }

  void run(Pass pass, LayerArgs& args) {
    Memory scratch(layer_->scratch_bytes(pass));
    args.scratch = scratch.data();
    omp_set_num_threads(request_.threads);
    if (pass == Pass::forward) layer_->forward(args);
    if (pass == Pass::backward_data) layer_->backward_data(args);
    if (pass == Pass::backward_weights) layer_->backward_weights(args);
    scratch.expect_intact("scratch");
    saved_.expect_intact("saved");
    diff_weights_.expect_intact("diff_weights");
    unreadable_.clear();
  }

  std::vector<Floats> unpack_gradients() {
    std::vector<Floats> all;
    const std::vector<ParameterSlot> slots = layer_->parameter_slots();
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (!slots[i].spec.trainable) continue;
      const float* physical = diff_weights_.floats() + slots[i].offset;
      Floats plain(count(slots[i].spec.shape));
      layer_->unpack_parameter(i, physical, plain.data());
      // The optimizer sees padding too: it must be what pack_parameter makes of it (zeros).
      Floats packed(static_cast<std::size_t>(slots[i].physical_size), 0.0F);
      layer_->pack_parameter(i, plain.data(), packed.data());
      EXPECT_EQ(packed, Floats(physical, physical + slots[i].physical_size))
          << "padding in the gradient of " << slots[i].spec.name;
      all.push_back(std::move(plain));
    }
    return all;
  }

  LayerRequest request_;
  std::unique_ptr<Layer> layer_;
  tensor::Tensor weights_;
  tensor::Tensor state_;
  std::vector<Memory> srcs_;
  std::vector<Memory> unreadable_;
  Memory dst_;
  Memory saved_;
  Memory diff_weights_;
};

inline double dot(const Floats& a, const Floats& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

/// x + by * direction.
inline Floats moved(Floats x, const Floats& direction, double by) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += static_cast<float>(by) * direction[i];
  return x;
}

}  // namespace plait::kernels::layer_testing
