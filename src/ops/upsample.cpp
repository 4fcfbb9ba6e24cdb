// The shape of an upsampled image.
#include "ops/upsample.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"
#include "ops/window.hpp"

namespace plait::ops {

std::string Upsample::text() const { return fmt::format("{} {}", name(), text_of(scale)); }

void Upsample::check(const std::string& where) const { check_window(scale, "scale", where); }

tensor::Shape Upsample::result(std::span<const tensor::Shape> srcs,
                               const std::string& where) const {
  require_image(srcs[0], name(), where);
  if (scale.height < 1 || scale.width < 1) user_error("{}: {} needs a scale", where, name());
  return {srcs[0][0], srcs[0][1] * scale.height, srcs[0][2] * scale.width};
}

std::vector<OperationInfo> Upsample::describe() {
  const std::vector<Field> fields{
      field(&Upsample::scale, {.key = "scale", .least = 1, .most = kMaxWindow, .always = true})};
  const auto one = [&](UpsampleKind which, std::string_view torch) {
    const Upsample usual{.kind = which};
    return OperationInfo{
        .name = usual.name(), .short_name = "up", .torch = torch, .usual = usual, .fields = fields};
  };
  return {one(UpsampleKind::nearest, "Upsample"),
          one(UpsampleKind::bilinear, "Upsample(mode=bilinear)")};
}

}  // namespace plait::ops
