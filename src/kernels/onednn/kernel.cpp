// Memory descriptors of our layouts and back, and the execution of a primitive with its reorders.
#include "kernels/onednn/kernel.hpp"

#include <algorithm>

#include "base/rounding.hpp"

namespace plait::kernels::onednn {

namespace {

using Tag = dnnl::memory::format_tag;

Tag tag_of(const tensor::TensorDesc& desc) {
  if (desc.shape.rank() == 2) return Tag::ab;
  if (desc.shape.rank() == 3) return Tag::abc;
  switch (desc.layout) {
    case tensor::Layout::plain: return Tag::abcd;
    case tensor::Layout::blocked8: return Tag::aBcd8b;
    case tensor::Layout::blocked16: return Tag::aBcd16b;
    case tensor::Layout::panels: break;  // sparse layers' own
  }
  return Tag::abcd;
}

dnnl::memory::dims dims_of(const tensor::Shape& shape) {
  return {shape.dims().begin(), shape.dims().end()};
}

/// oneDNN writes the zero padding of a blocked memory whenever its handle changes; skip what is
/// equal.
void point(dnnl::memory& memory, const void* data) {
  void* handle = const_cast<void*>(data);
  if (memory.get_data_handle() != handle) memory.set_data_handle(handle);
}

}  // namespace

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

Md to_md(const tensor::TensorDesc& desc) {
  return {dims_of(desc.shape), dnnl::memory::data_type::f32, tag_of(desc)};
}

std::optional<tensor::TensorDesc> from_md(const Md& md) {
  const auto dims = md.dims();
  const tensor::Shape shape(std::vector<std::int64_t>(dims.begin(), dims.end()));
  for (tensor::Layout layout :
       {tensor::Layout::plain, tensor::Layout::blocked8, tensor::Layout::blocked16}) {
    const tensor::TensorDesc desc{.shape = shape, .layout = layout};
    if (to_md(desc) == md) return desc;
  }
  return std::nullopt;
}

Md plain_md(const tensor::Shape& shape) {
  static constexpr Tag tags[] = {Tag::a, Tag::a, Tag::ab, Tag::abc, Tag::abcd, Tag::abcde};
  return {dims_of(shape), dnnl::memory::data_type::f32, tags[shape.rank()]};
}

std::int64_t float_count(const Md& md) {
  return static_cast<std::int64_t>(md.get_size() / sizeof(float));
}

dnnl::primitive_attr user_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void reorder_once(const Md& from, const float* src, const Md& to, float* dst) {
  const dnnl::engine& engine = cpu();
  dnnl::memory a(from, engine, const_cast<float*>(src));
  dnnl::memory b(to, engine, dst);
  dnnl::stream stream(engine);
  dnnl::reorder(a, b).execute(stream, a, b);
  stream.wait();
}

Kernel::Kernel(dnnl::primitive primitive, const Md& scratchpad)
    : primitive_(std::move(primitive)),
      stream_(cpu()),
      scratchpad_(scratchpad, cpu(), DNNL_MEMORY_NONE),
      scratch_bytes_(cache_lines(scratchpad.get_size())) {
  args_[DNNL_ARG_SCRATCHPAD] = scratchpad_;
}

void Kernel::input(int arg, const Md& outside, const Md& inside) {
  add_border(arg, outside, inside, false);
}

void Kernel::output(int arg, const Md& outside, const Md& inside) {
  add_border(arg, outside, inside, true);
}

void Kernel::add_border(int arg, const Md& outside, const Md& inside, bool is_output) {
  const dnnl::engine& engine = cpu();
  Border border;
  border.arg = arg;
  border.is_output = is_output;
  border.inside = dnnl::memory(inside, engine, DNNL_MEMORY_NONE);
  if (outside != inside) {
    border.outside = dnnl::memory(outside, engine, DNNL_MEMORY_NONE);
    border.scratch_offset = scratch_bytes_;
    scratch_bytes_ += cache_lines(inside.get_size());
    const auto attributes = user_scratch();
    border.reorder = is_output ? dnnl::reorder({engine, inside, engine, outside, attributes})
                               : dnnl::reorder({engine, outside, engine, inside, attributes});
  }
  args_[arg] = border.inside;
  borders_.push_back(std::move(border));
}

void Kernel::run(std::initializer_list<Operand> operands, std::byte* scratch) {
  for (Border& border : borders_) {
    const auto* operand = std::ranges::find(operands, border.arg, &Operand::arg);
    if (!border.reorder) {
      point(border.inside, operand->data);
      continue;
    }
    point(border.outside, operand->data);
    border.inside.set_data_handle(scratch + border.scratch_offset);
    if (!border.is_output) border.reorder->execute(stream_, border.outside, border.inside);
  }
  point(scratchpad_, scratch);
  primitive_->execute(stream_, args_);
  for (Border& border : borders_) {
    if (border.reorder && border.is_output) {
      border.reorder->execute(stream_, border.inside, border.outside);
    }
  }
  stream_.wait();
}

}  // namespace plait::kernels::onednn
