// The .safetensors file around its header: length, order and bytes of the tensors, read from memory
// or a file.
#include "checkpoint/safetensors.hpp"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "base/in_file.hpp"
#include "base/nearest.hpp"
#include "checkpoint/safetensors_header.hpp"
#include "checkpoint/shown.hpp"

namespace plait::checkpoint {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

namespace {

constexpr std::size_t kLengthBytes = 8;

/// Bytes in order, and how many there are in all.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  /// Never asked beyond size().
  virtual void read(void* to, std::size_t bytes) = 0;
};

class SpanSource : public ByteSource {
 public:
  explicit SpanSource(std::span<const std::byte> bytes) : size_(bytes.size()), rest_(bytes) {}
  std::uint64_t size() const override { return size_; }
  void read(void* to, std::size_t bytes) override {
    if (bytes != 0) std::memcpy(to, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
  }

 private:
  std::uint64_t size_;
  std::span<const std::byte> rest_;
};

class FileSource : public ByteSource {
 public:
  FileSource(const std::filesystem::path& path, Hash* hash) : name_(path.string()), hash_(hash) {
    check_input_file(path);
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) user_error("cannot open '{}': {}", name_, std::strerror(errno));
    struct stat info {};
    const bool regular = fstat(fd_, &info) == 0 && S_ISREG(info.st_mode);
    if (!regular) {
      ::close(fd_);
      user_error("'{}' is not a file; give a .safetensors one", name_);
    }
    size_ = static_cast<std::uint64_t>(info.st_size);
  }
  ~FileSource() override { ::close(fd_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::uint64_t size() const override { return size_; }
  void read(void* to, std::size_t bytes) override {
    char* at = static_cast<char*>(to);
    for (std::size_t left = bytes; left > 0;) {
      const ssize_t got = ::read(fd_, at, left);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("cannot read '{}': {}", name_, std::strerror(errno));
      if (got == 0) fail("'{}' became shorter while it was read", name_);
      at += got;
      left -= static_cast<std::size_t>(got);
    }
    if (hash_ != nullptr) hash_->add(to, bytes);
  }

 private:
  std::string name_;
  Hash* hash_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

SafetensorsFile read_from(ByteSource& bytes, const std::string& source) {
  if (bytes.size() < kLengthBytes) {
    user_error("{}: {} bytes are too few for a .safetensors file", source, bytes.size());
  }
  std::uint64_t header_bytes = 0;
  bytes.read(&header_bytes, kLengthBytes);
  const std::uint64_t rest = bytes.size() - kLengthBytes;
  if (header_bytes > rest) {
    user_error(
        "{}: a header of {} bytes is announced, but only {} bytes follow; the file was cut "
        "short or is not a .safetensors file",
        source, header_bytes, rest);
  }
  if (header_bytes > kMaxHeaderBytes) {
    user_error("{}: a header of {} bytes is announced; the format allows {}", source, header_bytes,
               kMaxHeaderBytes);
  }
  std::string text(header_bytes, ' ');
  bytes.read(text.data(), text.size());
  SafetensorsHeader header = parse_safetensors_header(text, rest - header_bytes, source);

  SafetensorsFile file{.metadata = std::move(header.metadata), .tensors = {}, .source = source};
  file.tensors.resize(header.entries.size());
  for (const std::size_t index : header.file_order) {
    SafetensorsEntry& entry = header.entries[index];
    tensor::Tensor tensor(std::move(entry.desc));
    bytes.read(tensor.data(), tensor.bytes());
    file.tensors[index] = {std::move(entry.name), std::move(tensor)};
  }
  return file;
}

std::string quoted_json(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    user_error("{} is not UTF-8 text and cannot be written into a .safetensors file", shown(text));
  }
}

}  // namespace

const tensor::Tensor& SafetensorsFile::at(const std::string& name) const {
  for (const NamedTensor& named : tensors) {
    if (named.name == name) return named.tensor;
  }
  std::vector<std::string> names;
  for (const NamedTensor& named : tensors) names.push_back(named.name);
  user_error("{}: holds no tensor {}{}", source, shown(name), did_you_mean(name, names));
}

SafetensorsWriter::SafetensorsWriter(std::span<const NamedTensor> tensors, const Metadata& metadata)
    : tensors_(tensors), file_order_(tensors.size()) {
  std::iota(file_order_.begin(), file_order_.end(), std::size_t{0});
  std::stable_sort(file_order_.begin(), file_order_.end(), [&](std::size_t a, std::size_t b) {
    return tensor::size_of(tensors[a].tensor.desc().dtype) >
           tensor::size_of(tensors[b].tensor.desc().dtype);
  });
  std::vector<std::uint64_t> begin(tensors.size());
  std::uint64_t data_bytes = 0;
  for (const std::size_t index : file_order_) {
    begin[index] = data_bytes;
    data_bytes += tensors[index].tensor.bytes();
  }

  std::string text = "{";
  if (!metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      text += fmt::format("{}:{},", quoted_json(key), quoted_json(value));
    }
    text.back() = '}';
    text += ',';
  }
  std::set<std::string_view> names{"__metadata__"};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const NamedTensor& named = tensors[i];
    const tensor::TensorDesc& desc = named.tensor.desc();
    if (!names.insert(named.name).second) {
      fail("tensor {} cannot be written: its name is taken", shown(named.name));
    }
    if (desc.layout != tensor::Layout::plain || named.tensor.empty()) {
      fail(
          "tensor {} of shape {} and layout {} cannot be written: only plain tensors with data can",
          shown(named.name), desc.shape, tensor::name_of(desc.layout));
    }
    text += fmt::format(R"({}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}},)",
                        quoted_json(named.name), safetensors_name_of(desc.dtype),
                        nlohmann::json(desc.shape.dims()).dump(), begin[i],
                        begin[i] + named.tensor.bytes());
  }
  if (text.back() == ',') text.pop_back();
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');

  const std::uint64_t header_bytes = text.size();
  if (header_bytes > kMaxHeaderBytes) {
    fail("{} tensors need a header of {} bytes; the format allows {}", tensors.size(), header_bytes,
         kMaxHeaderBytes);
  }
  header_.assign(reinterpret_cast<const char*>(&header_bytes), kLengthBytes);
  header_ += text;
  bytes_ = header_.size() + data_bytes;
}

void SafetensorsWriter::write(FileSink& sink) const {
  sink.write(header_);
  for (const std::size_t index : file_order_) {
    const tensor::Tensor& tensor = tensors_[index].tensor;
    sink.write(tensor.data(), tensor.bytes());
  }
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata) {
  const SafetensorsWriter writer(tensors, metadata);
  AtomicFile file(path, writer.bytes());
  writer.write(file.sink());
  file.commit();
}

SafetensorsFile read_safetensors(const std::filesystem::path& path, Hash* hash) {
  FileSource source(path, hash);
  return read_from(source, path.string());
}

SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const std::string& source) {
  SpanSource span(bytes);
  return read_from(span, source);
}

}  // namespace plait::checkpoint
