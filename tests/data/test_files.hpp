// Small data files in a temporary folder, for tests of readers.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "data/bytes.hpp"
#include "temp_folder.hpp"

namespace plait::data::test {

class DataFolder : public TempFolder {
 public:
  std::string str() const { return path(); }
  std::filesystem::path write(const std::string& name, const Bytes& bytes) const {
    const auto path = this->path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }
};

inline Bytes to_bytes(const std::string& text) { return Bytes(text.begin(), text.end()); }

inline Bytes gzip(const Bytes& content) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  Bytes out(deflateBound(&stream, content.size()) + 64);
  stream.next_in = const_cast<Bytef*>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// An IDX array whose values count up from `first`, modulo `modulus`.
inline Bytes idx_file(const std::vector<std::uint32_t>& dims, int first, int modulus) {
  Bytes bytes{0, 0, 8, static_cast<std::uint8_t>(dims.size())};
  std::size_t elements = 1;
  for (const std::uint32_t dim : dims) {
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<std::uint8_t>(dim >> shift));
    elements *= dim;
  }
  for (std::size_t i = 0; i < elements; ++i) {
    bytes.push_back(static_cast<std::uint8_t>((static_cast<std::size_t>(first) + i) %
                                              static_cast<std::size_t>(modulus)));
  }
  return bytes;
}

/// `count` records; record i has the last label byte i % classes and pixels (i + position) % 256.
inline Bytes cifar_file(int count, int labels, int classes) {
  Bytes bytes;
  for (int i = 0; i < count; ++i) {
    for (int l = 1; l < labels; ++l) bytes.push_back(0);
    bytes.push_back(static_cast<std::uint8_t>(i % classes));
    for (int p = 0; p < 3072; ++p) bytes.push_back(static_cast<std::uint8_t>((i + p) % 256));
  }
  return bytes;
}

/// An NPY file (version 1 or 2) with this dictionary and these values.
template <class T>
Bytes npy_file(const std::string& dict, const std::vector<T>& values, int version = 1) {
  std::string header = dict;
  while ((header.size() + 1 + (version == 1 ? 10 : 12)) % 64 != 0) header += ' ';
  header += '\n';
  Bytes bytes = to_bytes("\x93NUMPY");
  bytes.push_back(static_cast<std::uint8_t>(version));
  bytes.push_back(0);
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    bytes.push_back(static_cast<std::uint8_t>(header.size() >> (8 * i)));
  }
  bytes.insert(bytes.end(), header.begin(), header.end());
  const auto* raw = reinterpret_cast<const std::uint8_t*>(values.data());
  bytes.insert(bytes.end(), raw, raw + values.size() * sizeof(T));
  return bytes;
}

inline std::string npy_dict(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

/// The message of the UserError that `action` must throw.
template <class Action>
std::string user_error_of(Action action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no UserError";
  return "";
}

}  // namespace plait::data::test
