// The header of an NPY file: magic, version, length, then a Python dictionary literal of three
// keys.
#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "data/npy.hpp"

namespace plait::data {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = 65536;

/// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } and nothing else.
class DictReader {
 public:
  DictReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void read() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        descr = quoted();
      } else if (key == "fortran_order") {
        fortran_order = boolean();
      } else if (key == "shape") {
        shape = tuple();
      } else {
        user_error("{}: unknown key '{}' in the NPY header", name_, printable(key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) damaged();
    if (!descr || !fortran_order || !shape) {
      user_error("{}: the NPY header lacks descr, fortran_order or shape", name_);
    }
  }

  static std::string printable(std::string_view text) {
    std::string out;
    for (char c : text.substr(0, 40)) out += c >= ' ' && c <= '~' ? c : '?';
    return out;
  }

  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;

 private:
  [[noreturn]] void damaged() const {
    user_error("{}: NPY header cannot be read at byte {} (structured types are not supported)",
               name_, at_);
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) damaged();
  }

  std::string_view quoted() {
    skip_space();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) damaged();
    const std::size_t begin = at_ + 1;
    const std::size_t end = text_.find(text_[at_], begin);
    if (end == std::string_view::npos) damaged();
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  bool boolean() {
    skip_space();
    for (const auto& [word, value] :
         {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    damaged();
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> dims;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t dim = 0;
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), dim);
      if (error != std::errc() || dim < 0 || dims.size() == 8) damaged();
      at_ += static_cast<std::size_t>(end - begin);
      dims.push_back(dim);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return dims;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

/// Bytes of one element of a descr such as "<f4"; UserError for other byte orders and types.
std::int64_t element_bytes(std::string_view descr, const std::string& name) {
  if (descr.size() == 3 && descr[0] == '>') {
    user_error(
        "{}: big-endian values ({}); save it little endian, for example with"
        " array.astype('<f4')",
        name, DictReader::printable(descr));
  }
  const bool known = descr.size() == 3 && (descr[0] == '<' || descr[0] == '|') &&
                     std::string_view("fiu").find(descr[1]) != std::string_view::npos &&
                     std::string_view("1248").find(descr[2]) != std::string_view::npos;
  if (!known) {
    user_error(
        "{}: values of type '{}'; only floats and integers are supported, for example <f4 or |u1",
        name, DictReader::printable(descr));
  }
  return descr[2] - '0';
}

}  // namespace

NpyHeader parse_npy_header(ByteView bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < 10 || !text.starts_with(kMagic)) user_error("{}: not an NPY file", name);
  const int major = bytes[6];
  const int minor = bytes[7];
  if ((major != 1 && major != 2) || minor != 0) {
    user_error("{}: NPY version {}.{}; only 1.0 and 2.0 are supported", name, major, minor);
  }
  const std::size_t prefix = major == 1 ? 10 : 12;
  if (bytes.size() < prefix) user_error("{}: cut off within the NPY header", name);
  std::size_t length = bytes[8] + std::size_t{256} * bytes[9];
  if (major == 2) length += (std::size_t{bytes[10]} << 16) + (std::size_t{bytes[11]} << 24);
  if (length > kMaxHeader || length > bytes.size() - prefix) {
    user_error("{}: NPY header of {} bytes in a file of {}; damaged or cut off", name, length,
               bytes.size());
  }
  DictReader dict(text.substr(prefix, length), name);
  dict.read();
  if (*dict.fortran_order) {
    user_error("{}: Fortran order; save it in C order with numpy.ascontiguousarray", name);
  }
  const std::int64_t item = element_bytes(*dict.descr, name);
  const auto present = static_cast<std::int64_t>(bytes.size() - prefix - length);
  std::int64_t elements = 1;
  for (const std::int64_t dim : *dict.shape) {
    if (dim < 1) user_error("{}: array with an empty axis (extent {})", name, dim);
    if (dim > present / item / elements) {
      user_error("{}: NPY header declares extent {}, the file holds {} bytes; damaged or cut off",
                 name, dim, present);
    }
    elements *= dim;
  }
  if (elements * item != present) {
    user_error("{}: NPY header declares {} bytes of values, the file holds {}", name,
               elements * item, present);
  }
  return {.descr = std::string(*dict.descr),
          .shape = tensor::Shape(*dict.shape),
          .size = prefix + length};
}

}  // namespace plait::data
