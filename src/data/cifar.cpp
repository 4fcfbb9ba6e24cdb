// The records of CIFAR's binary files, and where the files lie in an unpacked archive.
#include "data/cifar.hpp"

#include "base/error.hpp"

namespace plait::data {

namespace {

constexpr std::size_t kPixels = 3 * 32 * 32;

/// `dir` itself when it holds `file`, else the sub-folder when that does.
std::filesystem::path folder_with(const std::filesystem::path& dir, const char* sub_folder,
                                  const char* file, const char* site_file) {
  for (const auto& folder : {dir, dir / sub_folder}) {
    if (std::filesystem::exists(folder / file)) return folder;
  }
  user_error("{}: no {} (nor {}/{}); unpack {} from the CIFAR home page there", dir.string(), file,
             sub_folder, file, site_file);
}

}  // namespace

void parse_cifar(ByteView bytes, const std::string& name, CifarFormat format, CifarRecords& out) {
  const auto header = static_cast<std::size_t>(format.labels);
  const std::size_t record = header + kPixels;
  if (bytes.empty() || bytes.size() % record != 0) {
    user_error(
        "{}: {} bytes are not a whole number of CIFAR-{} records of {} bytes; damaged or cut off",
        name, bytes.size(), format.classes, record);
  }
  const std::size_t count = bytes.size() / record;
  out.pixels.reserve(out.pixels.size() + count * kPixels);
  out.labels.reserve(out.labels.size() + count);
  for (std::size_t i = 0; i < count; ++i) {
    const ByteView one = bytes.subspan(i * record, record);
    const std::uint8_t label = one[header - 1];
    if (label >= format.classes) {
      user_error("{}: label {} in record {}; expected 0 to {}", name, label, i, format.classes - 1);
    }
    out.labels.push_back(label);
    out.pixels.insert(out.pixels.end(), one.begin() + static_cast<std::ptrdiff_t>(header),
                      one.end());
  }
}

CifarFiles find_cifar10(const std::filesystem::path& dir) {
  constexpr const char* archive = "cifar-10-binary.tar.gz";
  const auto folder = folder_with(dir, "cifar-10-batches-bin", "test_batch.bin", archive);
  CifarFiles files{.train = {}, .test = {folder / "test_batch.bin"}};
  for (int i = 1; i <= 5; ++i) {
    auto path = folder / fmt::format("data_batch_{}.bin", i);
    if (std::filesystem::exists(path)) files.train.push_back(std::move(path));
  }
  if (files.train.empty()) {
    user_error(
        "{}: none of data_batch_1.bin to data_batch_5.bin; unpack {} from the CIFAR home page"
        " there",
        folder.string(), archive);
  }
  return files;
}

CifarFiles find_cifar100(const std::filesystem::path& dir) {
  constexpr const char* archive = "cifar-100-binary.tar.gz";
  const auto folder = folder_with(dir, "cifar-100-binary", "train.bin", archive);
  if (!std::filesystem::exists(folder / "test.bin")) {
    user_error("{}: no test.bin; unpack {} from the CIFAR home page there", folder.string(),
               archive);
  }
  return {.train = {folder / "train.bin"}, .test = {folder / "test.bin"}};
}

std::shared_ptr<const MemoryDataset> read_cifar(const std::vector<std::filesystem::path>& files,
                                                CifarFormat format) {
  CifarRecords records;
  for (const auto& path : files) parse_cifar(read_file(path), path.string(), format, records);
  return std::make_shared<MemoryDataset>(MemoryData{.sample_shape = {3, 32, 32},
                                                    .images = std::move(records.pixels),
                                                    .target_shape = {1},
                                                    .targets = std::move(records.labels),
                                                    .classes = format.classes});
}

}  // namespace plait::data
