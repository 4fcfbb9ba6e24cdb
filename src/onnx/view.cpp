// Shapes after Reshape, Flatten, Squeeze and Unsqueeze; ranges of Slice and Split; zeros of Pad.
#include "onnx/view.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "graph/check.hpp"

namespace plait::onnx {

namespace {

std::int64_t rank_with_batch(const tensor::Shape& sample) { return std::ssize(sample.dims()) + 1; }

}  // namespace

bool is_along_channels(const NodeReader& node, const tensor::Shape& src) {
  const std::int64_t axis = node.integer("axis", 1);
  return axis == 1 || axis + rank_with_batch(src) == 1;
}

tensor::Shape reshaped(const NodeReader& node, const tensor::Shape& src, const Sizes& wanted) {
  const std::vector<double>& sizes = wanted.values;
  if (sizes.empty() || wanted.scalar) node.refuse("its shape is no list of sizes");
  std::vector<std::int64_t> dims;
  std::int64_t open = -1;
  std::int64_t product = 1;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const double size = sizes[i];
    if (size == -1 && open < 0 && sizes[0] != -1) {
      open = std::ssize(dims);
      dims.push_back(1);
      continue;
    }
    const bool copied = size == 0 && i <= src.rank();
    const double extent = copied ? static_cast<double>(src[i - 1]) : size;
    if (!(extent >= 1 && extent <= static_cast<double>(graph::kMaxElements / product))) {
      node.refuse("only the first size of a shape can be the batch, and sizes are positive");
    }
    dims.push_back(static_cast<std::int64_t>(extent));
    product *= dims.back();
  }
  if (open >= 0 && src.elements() % product == 0) {
    dims[static_cast<std::size_t>(open)] = src.elements() / product;
    product = src.elements();
  }
  if (product != src.elements()) {
    node.refuse("a sample of {} has {} elements, which its shape [{}] mixes with the batch", src,
                src.elements(), fmt::join(sizes, ", "));
  }
  return tensor::Shape(std::move(dims));
}

tensor::Shape flattened(const NodeReader& node, const tensor::Shape& src) {
  if (!is_along_channels(node, src)) {
    node.refuse("flattens from axis {} on, but plait's flatten takes whole samples, axis 1",
                node.integer("axis", 1));
  }
  return {src.elements()};
}

tensor::Shape squeezed(const NodeReader& node, const tensor::Shape& src,
                       std::vector<std::int64_t> axes) {
  const bool inserts = node.op() == "Unsqueeze";
  std::vector<std::int64_t> dims(src.dims().begin(), src.dims().end());
  const std::int64_t rank = rank_with_batch(src) + (inserts ? std::ssize(axes) : 0);
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::ranges::sort(axes);
  if (!inserts) std::ranges::reverse(axes);
  for (const std::int64_t axis : axes) {
    const std::int64_t at = axis - 1;  // without the batch
    if (at < 0 || at >= std::ssize(dims) + (inserts ? 1 : 0) || std::ssize(dims) > 8) {
      node.refuse("axis {} is not one of a sample", axis);
    }
    if (inserts) {
      dims.insert(dims.begin() + at, 1);
    } else if (dims[static_cast<std::size_t>(at)] != 1) {
      node.refuse("axis {} of {} is not 1", axis, src);
    } else {
      dims.erase(dims.begin() + at);
    }
  }
  if (axes.empty()) node.refuse("its axes are not stated");
  return tensor::Shape(std::move(dims));
}

Value padded(const NodeReader& node, const Value& src, const std::vector<std::int64_t>& pads) {
  const bool zeros = (!node.has_input(2) && node.real("value", 0) == 0) ||
                     (node.scalar(2) != nullptr && *node.scalar(2) == 0);
  if (!zeros || node.text("mode", "constant") != "constant") {
    node.refuse("only zeros around images are supported");
  }
  if (std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0; })) return src;
  if (pads.size() != 8 || src.shape.rank() != 3 || src.form != Form::whole) {
    node.refuse("only zeros around images are supported");
  }
  const auto fits = [](std::int64_t pad) { return pad >= 0 && pad <= ops::kMaxWindow; };
  if (pads[0] != 0 || pads[1] != 0 || pads[4] != 0 || pads[5] != 0 || pads[2] != pads[6] ||
      pads[3] != pads[7] || !fits(pads[2]) || !fits(pads[3])) {
    node.refuse("pads [{}] are not equal at both ends of images", fmt::join(pads, ", "));
  }
  return {.layer = src.layer,
          .shape = {src.shape[0], src.shape[1] + 2 * pads[2], src.shape[2] + 2 * pads[3]},
          .form = Form::padded,
          .padding = {pads[2], pads[3]}};
}

ChannelRange sliced_channels(const NodeReader& node, const tensor::Shape& src,
                             const SliceNumbers& numbers) {
  const std::size_t count = numbers.starts.size();
  const auto agrees = [&](const auto& list) { return list.empty() || list.size() == count; };
  if (numbers.ends.size() != count || !agrees(numbers.axes) || !agrees(numbers.steps)) {
    node.refuse("starts, ends, axes and steps are not equally many");
  }
  ChannelRange range{0, src[0]};
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t axis = numbers.axes.empty() ? static_cast<std::int64_t>(i) : numbers.axes[i];
    if (axis < 0) axis += rank_with_batch(src);
    if (axis < 0 || axis >= rank_with_batch(src)) node.refuse("there is no axis {}", axis);
    if (!numbers.steps.empty() && numbers.steps[i] != 1) {
      node.refuse("steps of {} are not supported", numbers.steps[i]);
    }
    // The number of samples is not known, but counting from the end needs it.
    const std::int64_t extent =
        axis == 0 ? graph::kMaxElements : src[static_cast<std::size_t>(axis - 1)];
    const auto bound = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + extent : at, 0, extent);
    };
    const std::int64_t first = bound(numbers.starts[i]);
    const std::int64_t last = bound(numbers.ends[i]);
    if (last <= first) node.refuse("{} .. {} of axis {} is empty", first, last, axis);
    if (last - first == extent) continue;
    if (axis == 0) node.refuse("takes some of the samples, but every sample is computed alike");
    if (range.length != src[static_cast<std::size_t>(range.axis)]) {
      node.refuse("takes {} of {} along axis {}, but plait's slice is along one axis of samples",
                  last - first, extent, axis);
    }
    range = {first, last - first, axis - 1};
  }
  return range;
}

std::vector<ChannelRange> split_ranges(const NodeReader& node, const tensor::Shape& src,
                                       std::vector<std::int64_t> said) {
  std::int64_t axis = node.integer("axis", 0);
  if (axis < 0) axis += rank_with_batch(src);
  if (axis < 1 || axis >= rank_with_batch(src)) {
    node.refuse("axis is {}, but plait splits samples of {}", node.integer("axis", 0), src);
  }
  const std::int64_t extent = src[static_cast<std::size_t>(axis - 1)];
  const std::int64_t parts = std::ssize(node.node().outputs);
  if (said.empty()) {
    const std::int64_t each = (extent + parts - 1) / parts;
    for (std::int64_t i = 0; i < parts; ++i) said.push_back(std::min(each, extent - i * each));
  }
  std::vector<ChannelRange> ranges;
  std::int64_t start = 0;
  for (const std::int64_t one : said) {
    if (one < 1 || one > extent - start) {
      node.refuse("[{}] are no parts of {}", fmt::join(said, ", "), src);
    }
    ranges.push_back({start, one, axis - 1});
    start += one;
  }
  if (std::ssize(said) != parts || start != extent) {
    node.refuse("[{}] are not {} parts of {}", fmt::join(said, ", "), parts, src);
  }
  return ranges;
}

}  // namespace plait::onnx
