// Operation: any of the operations of this room, and what can be asked of each. A new one is a file
// pair here and its name in this list.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/activation.hpp"
#include "ops/adaptive_average_pool.hpp"
#include "ops/add.hpp"
#include "ops/batch_norm.hpp"
#include "ops/channel_shuffle.hpp"
#include "ops/concat.hpp"
#include "ops/convolution.hpp"
#include "ops/convolution_1d.hpp"
#include "ops/dropout.hpp"
#include "ops/embedding.hpp"
#include "ops/flatten.hpp"
#include "ops/global_average_pool.hpp"
#include "ops/layer_norm.hpp"
#include "ops/linear.hpp"
#include "ops/multiply.hpp"
#include "ops/pool.hpp"
#include "ops/slice.hpp"
#include "ops/sparse_linear.hpp"
#include "ops/subtract.hpp"
#include "ops/transposed_convolution.hpp"
#include "ops/upsample.hpp"

namespace plait::ops {

/// X(Convolution) X(Linear) ...: for what every operation has elsewhere, such as kernels.
// clang-format off: a line each
#define PLAIT_OPERATIONS(X) \
  X(Convolution)            \
  X(Linear)                 \
  X(SparseLinear)           \
  X(BatchNorm)              \
  X(Activation)             \
  X(Pool)                   \
  X(GlobalAveragePool)      \
  X(Dropout)                \
  X(Flatten)                \
  X(Add)                    \
  X(Concat)                 \
  X(Multiply)               \
  X(Subtract)               \
  X(Upsample)               \
  X(Slice)                  \
  X(ChannelShuffle)         \
  X(LayerNorm)              \
  X(AdaptiveAveragePool)    \
  X(TransposedConvolution)  \
  X(Convolution1d)          \
  X(Embedding)
// clang-format on

template <class, class... Ops>
struct OperationList {
  using Variant = std::variant<Ops...>;
};
#define PLAIT_OPERATION_BEHIND(Op) , Op
using Operation = OperationList<void PLAIT_OPERATIONS(PLAIT_OPERATION_BEHIND)>::Variant;
#undef PLAIT_OPERATION_BEHIND

/// "convolution", "linear", "relu", ...: the words of model files, plan documents and messages.
std::string_view name_of(const Operation& operation);
/// Short, for tables: "conv3x3 64/2".
std::string text_of(const Operation& operation);

Inputs inputs_of(const Operation& operation);
/// Of an operation that reads integers: they are below this. 0: it reads floats.
std::int64_t id_limit(const Operation& operation);
/// None where fast kernels compute it.
std::optional<PlainOnly> plain_only(const Operation& operation);
/// None where it is no sum.
std::optional<Sum> sum_of(const Operation& operation);

/// Shape of the result for one sample; `where` ("block 'conv1', layer 'relu'") opens the message of
/// a UserError.
tensor::Shape result_shape(const Operation& operation, std::span<const tensor::Shape> srcs,
                           const std::string& where);

/// In fixed order: weight, bias, then what is not trained.
std::vector<ParameterSpec> parameters_of(const Operation& operation, const tensor::Shape& src);

/// Multiply-adds for one sample.
std::int64_t macs_of(const Operation& operation, const tensor::Shape& src,
                     const tensor::Shape& dst);

/// Extents of the weights that are multiplied: out, then what is summed over. Empty where nothing
/// is.
std::vector<std::int64_t> weight_extents(const Operation& operation, const tensor::Shape& src);

/// UserError for numbers with which shapes could not be counted in 64 bits.
void check_numbers(const Operation& operation, const std::string& where);

}  // namespace plait::ops
