// Images in tar archives, by libarchive.
#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "data/images/image_files.hpp"

namespace plait::data {

namespace {

struct CloseArchive {
  void operator()(archive* one) const { archive_read_free(one); }
};
using ArchivePtr = std::unique_ptr<archive, CloseArchive>;

constexpr std::size_t kReadBytes = 1 << 18;

ArchivePtr open_archive(const std::filesystem::path& file) {
  ArchivePtr opened(archive_read_new());
  archive* const one = opened.get();
  // No filter that would start another program.
  archive_read_support_filter_gzip(one);
  archive_read_support_filter_zstd(one);
  archive_read_support_filter_xz(one);
  archive_read_support_filter_bzip2(one);
  archive_read_support_format_tar(one);
  if (archive_read_open_filename(one, file.c_str(), kReadBytes) != ARCHIVE_OK) {
    user_error("{}: not a readable tar archive: {}", file.string(), archive_error_string(one));
  }
  return opened;
}

class ArchiveImages final : public ImageFiles {
 public:
  ArchiveImages(const std::filesystem::path& file, std::int64_t limit)
      : file_(file.string()), limit_(limit) {
    const ArchivePtr opened = open_archive(file);
    archive_entry* entry = nullptr;
    int status = ARCHIVE_OK;
    while ((status = archive_read_next_header(opened.get(), &entry)) == ARCHIVE_OK) {
      const char* path = archive_entry_pathname(entry);
      const std::string name = path != nullptr ? path : "";
      const bool hidden = std::filesystem::path(name).filename().string().starts_with('.');
      if (hidden || !has_image_name(name) || archive_entry_filetype(entry) != AE_IFREG) continue;
      contents_.push_back(read_entry(opened.get(), name));
      names_.push_back(name.starts_with("./") ? name.substr(2) : name);
    }
    if (status != ARCHIVE_EOF) {
      user_error("{}: damaged archive: {}", file_, archive_error_string(opened.get()));
    }
    sort_by_name();
  }

  std::string full_name(std::size_t number) const override { return file_ + ":" + names_[number]; }
  Bytes read(std::size_t number) const override { return contents_[number]; }
  std::int64_t held_bytes() const override { return held_; }

 private:
  /// Grows with what is really there, never with a size from a header.
  Bytes read_entry(archive* from, const std::string& name) {
    Bytes content;
    Bytes part(kReadBytes);
    while (true) {
      const la_ssize_t got = archive_read_data(from, part.data(), part.size());
      if (got < 0) {
        user_error("{}: {}: damaged archive: {}", file_, name, archive_error_string(from));
      }
      if (got == 0) break;
      content.insert(content.end(), part.begin(), part.begin() + got);
      held_ += got;
      if (held_ > limit_) {
        user_error(
            "{}: its images take more than `data_memory` {} MiB; unpack the archive and name the "
            "folder, or allow more",
            file_, limit_ >> 20);
      }
    }
    content.shrink_to_fit();
    return content;
  }

  void sort_by_name() {
    std::vector<std::size_t> order(names_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) -> const std::string& { return names_[i]; });
    std::vector<std::string> names;
    std::vector<Bytes> contents;
    for (const std::size_t i : order) {
      if (!names.empty() && names.back() == names_[i]) {
        user_error("{}: holds {} twice", file_, names_[i]);
      }
      names.push_back(std::move(names_[i]));
      contents.push_back(std::move(contents_[i]));
    }
    names_ = std::move(names);
    contents_ = std::move(contents);
  }

  std::string file_;
  std::int64_t limit_;
  std::int64_t held_ = 0;
  std::vector<Bytes> contents_;
};

}  // namespace

std::shared_ptr<const ImageFiles> images_in_archive(const std::filesystem::path& file,
                                                    std::int64_t limit) {
  auto files = std::make_shared<ArchiveImages>(file, limit);
  if (files->names().empty()) {
    user_error("{}: no .jpg, .jpeg or .png in it; images lie in train/CLASS/ and test/CLASS/",
               file.string());
  }
  return files;
}

}  // namespace plait::data
