// Reading whole files, and inflating gzip with zlib. Both stop at a limit, so that a small file
// cannot fill the memory.
#include "data/bytes.hpp"

#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "base/error.hpp"

namespace plait::data {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 16;

class Inflater {
 public:
  explicit Inflater(const std::string& name) {
    // 15 window bits, +16: gzip header and checksum required.
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) fail("{}: zlib cannot be initialised", name);
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

}  // namespace

bool looks_like_gzip(ByteView bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B;
}

Bytes read_file(const std::filesystem::path& path, std::size_t limit) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) user_error("{}: no such file", path.string());
  if (!std::filesystem::is_regular_file(status)) {
    user_error("{}: not a regular file", path.string());
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) user_error("{}: cannot be read ({})", path.string(), error.message());
  if (size > limit) {
    user_error("{}: {} bytes, more than the {} expected at most", path.string(), size, limit);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) user_error("{}: cannot be opened; check its permissions", path.string());
  Bytes bytes(static_cast<std::size_t>(size));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (static_cast<std::uintmax_t>(file.gcount()) != size) {
    fail("{}: read {} of {} bytes", path.string(), file.gcount(), size);
  }
  return bytes;
}

Bytes gunzip(ByteView bytes, const std::string& name, std::size_t limit) {
  Inflater inflater(name);
  z_stream& stream = inflater.stream();
  Bytes out;
  std::size_t consumed = 0;
  std::size_t produced = 0;
  while (true) {
    if (produced == out.size()) {
      if (produced > limit) {
        user_error("{}: unpacks to more than the {} bytes expected at most", name, limit);
      }
      // One byte beyond the limit tells "full" from "too much".
      out.resize(std::min(std::max(out.size() * 2, kChunk), limit == SIZE_MAX ? limit : limit + 1));
    }
    constexpr std::size_t max_step = std::numeric_limits<uInt>::max();
    stream.next_in = const_cast<Bytef*>(bytes.data() + consumed);
    stream.avail_in = static_cast<uInt>(std::min(bytes.size() - consumed, max_step));
    stream.next_out = out.data() + produced;
    stream.avail_out = static_cast<uInt>(std::min(out.size() - produced, max_step));
    const uInt in_before = stream.avail_in;
    const uInt out_before = stream.avail_out;
    const int status = inflate(&stream, Z_NO_FLUSH);
    consumed += in_before - stream.avail_in;
    produced += out_before - stream.avail_out;
    if (status == Z_STREAM_END) {
      if (consumed == bytes.size()) break;
      if (!looks_like_gzip(bytes.subspan(consumed))) {
        user_error("{}: {} bytes after the end of the gzip data", name, bytes.size() - consumed);
      }
      inflateReset(&stream);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      user_error("{}: damaged gzip data at byte {} ({})", name, consumed,
                 stream.msg != nullptr ? stream.msg : "unknown reason");
    } else if (consumed == bytes.size() && stream.avail_out != 0) {
      user_error("{}: gzip data ends early, after {} bytes; fetch the file again", name, consumed);
    }
  }
  if (produced > limit) {
    user_error("{}: unpacks to more than the {} bytes expected at most", name, limit);
  }
  out.resize(produced);
  return out;
}

Bytes read_content(const std::filesystem::path& path, std::size_t limit) {
  Bytes bytes = read_file(path, limit == SIZE_MAX ? limit : limit + kChunk);
  if (looks_like_gzip(bytes)) return gunzip(bytes, path.string(), limit);
  if (bytes.size() > limit) {
    user_error("{}: {} bytes, more than the {} expected at most", path.string(), bytes.size(),
               limit);
  }
  return bytes;
}

}  // namespace plait::data
