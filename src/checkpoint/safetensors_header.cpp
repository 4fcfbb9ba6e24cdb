// A SAX reader of the JSON header, so that nothing is built from a hostile one; checks that the
// tensors fill the data without gaps or overlaps.
#include "checkpoint/safetensors_header.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "base/error.hpp"
#include "checkpoint/shown.hpp"

namespace plait::checkpoint {

namespace {

constexpr std::size_t kMaxRank = 32;
constexpr tensor::DType kDTypes[] = {tensor::DType::f32, tensor::DType::bf16, tensor::DType::u8,
                                     tensor::DType::i32, tensor::DType::i64};

/// Takes the header's events one by one, so that neither deep nesting nor a long header builds
/// anything but entries.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& source) : source_(source) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { refuse_value("null"); }
  bool boolean(bool) override { refuse_value("a truth value"); }
  bool number_integer(number_integer_t value) override { refuse_value(fmt::format("{}", value)); }
  bool number_float(number_float_t, const string_t& text) override { refuse_value(shown(text)); }
  bool binary(binary_t&) override { refuse_value("binary"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (where_ == Where::shape) {
      if (shape_.size() == kMaxRank) refuse("has more than {} dimensions", kMaxRank);
      if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
        refuse("has extent {} in its shape, beyond 64 bits", value);
      }
      shape_.push_back(static_cast<std::int64_t>(value));
    } else if (where_ == Where::offsets && offsets_.size() < 2) {
      offsets_.push_back(value);
    } else {
      refuse_value(fmt::format("{}", value));
    }
    return true;
  }

  bool string(string_t& value) override {
    if (where_ == Where::metadata) {
      header_.metadata[field_] = value;
    } else if (where_ == Where::entry && field_ == "dtype") {
      const auto* known =
          std::find_if(std::begin(kDTypes), std::end(kDTypes),
                       [&](tensor::DType dtype) { return value == safetensors_name_of(dtype); });
      if (known == std::end(kDTypes)) {
        refuse("has dtype {}; plait reads F32, BF16, U8, I32 and I64", shown(value));
      }
      dtype_ = *known;
    } else {
      refuse_value(shown(value));
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (where_ == Where::outside) {
      where_ = Where::top;
    } else if (where_ == Where::top && tensor_ == "__metadata__") {
      where_ = Where::metadata;
    } else if (where_ == Where::top) {
      where_ = Where::entry;
    } else {
      refuse_value("an object");
    }
    return true;
  }

  bool key(string_t& key) override {
    if (where_ == Where::top) {
      tensor_ = key;
      field_.clear();
      if (!names_.insert(key).second) refuse("occurs twice in the header");
    } else if (where_ == Where::metadata) {
      field_ = key;
      if (header_.metadata.contains(key)) refuse("has the key {} twice", shown(key));
    } else {
      field_ = key;
      const bool twice = (key == "dtype" && dtype_) || (key == "shape" && has_shape_) ||
                         (key == "data_offsets" && !offsets_.empty());
      if (twice) refuse("has the key {} twice", shown(key));
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        refuse("has the key {}; the format knows dtype, shape and data_offsets", shown(key));
      }
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (where_ == Where::entry && field_ == "shape") {
      where_ = Where::shape;
      has_shape_ = true;
    } else if (where_ == Where::entry && field_ == "data_offsets") {
      where_ = Where::offsets;
    } else {
      refuse_value("an array");
    }
    return true;
  }

  bool end_array() override {
    if (where_ == Where::offsets && offsets_.size() != 2) {
      refuse("has {} data_offsets instead of begin and end", offsets_.size());
    }
    where_ = Where::entry;
    return true;
  }

  bool end_object() override {
    if (where_ == Where::entry) finish_entry();
    where_ = where_ == Where::top ? Where::outside : Where::top;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    user_error("{}: the header is not valid JSON at its byte {}; the file is damaged", source_,
               position);
  }

 private:
  enum class Where { outside, top, metadata, entry, shape, offsets };

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    user_error("{}: tensor {} {}", source_, shown(tensor_),
               fmt::format(format, std::forward<Args>(args)...));
  }

  [[noreturn]] void refuse_value(const std::string& seen) const {
    if (where_ == Where::outside) user_error("{}: the header is {}, not an object", source_, seen);
    if (field_.empty()) refuse("is {} in the header, not an object", seen);
    refuse("has {} under the key {}, where the format has something else", seen, shown(field_));
  }

  void finish_entry() {
    if (!dtype_ || !has_shape_ || offsets_.empty()) {
      refuse("needs all of dtype, shape and data_offsets in the header");
    }
    tensor::TensorDesc desc{tensor::Shape(std::move(shape_)), *dtype_};
    std::int64_t bytes = 1;
    bool overflow = false;
    for (const std::int64_t dim : desc.shape.dims()) {
      overflow = overflow || __builtin_mul_overflow(bytes, dim, &bytes);
    }
    const auto width = static_cast<std::int64_t>(tensor::size_of(*dtype_));
    overflow = overflow || __builtin_mul_overflow(bytes, width, &bytes);
    if (overflow) refuse("has shape {}, too large for 64 bits", desc.shape);
    const std::uint64_t begin = offsets_[0];
    const std::uint64_t end = offsets_[1];
    if (end < begin) refuse("ends at byte {} before it begins at byte {}", end, begin);
    if (end - begin != static_cast<std::uint64_t>(bytes)) {
      refuse("of shape {} and dtype {} takes {} bytes, but its data_offsets {} to {} hold {}",
             desc.shape, safetensors_name_of(*dtype_), bytes, begin, end, end - begin);
    }
    header_.entries.push_back({tensor_, std::move(desc), begin, end});
    dtype_.reset();
    has_shape_ = false;
    shape_.clear();
    offsets_.clear();
  }

  const std::string& source_;
  SafetensorsHeader header_;
  Where where_ = Where::outside;
  std::unordered_set<std::string> names_;
  std::string tensor_, field_;
  // of the entry being read
  std::optional<tensor::DType> dtype_;
  bool has_shape_ = false;
  std::vector<std::int64_t> shape_;
  std::vector<std::uint64_t> offsets_;
};

void check_tiling(SafetensorsHeader& header, std::uint64_t data_bytes, const std::string& source) {
  const auto& entries = header.entries;
  header.file_order.resize(entries.size());
  std::iota(header.file_order.begin(), header.file_order.end(), std::size_t{0});
  std::stable_sort(header.file_order.begin(), header.file_order.end(),
                   [&](std::size_t a, std::size_t b) {
                     return std::pair(entries[a].begin, entries[a].end) <
                            std::pair(entries[b].begin, entries[b].end);
                   });
  std::uint64_t at = 0;
  for (const std::size_t index : header.file_order) {
    const SafetensorsEntry& entry = entries[index];
    if (entry.end > data_bytes) {
      user_error(
          "{}: tensor {} ends at byte {} of the data, but the file holds {}; it was cut short",
          source, shown(entry.name), entry.end, data_bytes);
    }
    if (entry.begin != at) {
      user_error("{}: tensor {} begins at byte {} of the data, but the one before it ends at {}",
                 source, shown(entry.name), entry.begin, at);
    }
    at = entry.end;
  }
  if (at != data_bytes) {
    user_error("{}: the tensors end at byte {} of the data, but the file holds {}", source, at,
               data_bytes);
  }
}

}  // namespace

const char* safetensors_name_of(tensor::DType dtype) {
  switch (dtype) {
    case tensor::DType::f32: return "F32";
    case tensor::DType::bf16: return "BF16";
    case tensor::DType::u8: return "U8";
    case tensor::DType::i32: return "I32";
    case tensor::DType::i64: return "I64";
  }
  return "?";
}

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes,
                                           const std::string& source) {
  // The JSON library would skip a byte order mark, and take a zero byte for the end of the text.
  if (text.empty() || text.front() != '{') {
    user_error("{}: the header does not begin with '{{'; this is not a .safetensors file", source);
  }
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    user_error("{}: the header is not valid JSON at its byte {}; the file is damaged", source,
               zero);
  }
  HeaderReader reader(source);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  SafetensorsHeader header = reader.take();
  check_tiling(header, data_bytes, source);
  return header;
}

}  // namespace plait::checkpoint
