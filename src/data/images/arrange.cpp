// From the names of image files to classes and splits.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "data/images/image_files.hpp"

namespace plait::data {

namespace {

constexpr std::array<std::string_view, 4> kTestFolders{"test", "val", "valid", "validation"};

std::string_view first_folder(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash == std::string_view::npos ? std::string_view{} : name.substr(0, slash);
}

bool is_split(std::string_view folder) {
  return folder == "train" || std::ranges::find(kTestFolders, folder) != kTestFolders.end();
}

/// How many characters of folders all names share, those of a split aside. A single class is not
/// one of them: below it there must be folders.
std::size_t shared_prefix(const std::vector<std::string>& names) {
  std::size_t shared = 0;
  while (true) {
    const std::string_view first = first_folder(std::string_view(names.front()).substr(shared));
    if (first.empty() || is_split(first)) return shared;
    const std::size_t next = shared + first.size() + 1;
    const bool all = std::ranges::all_of(names, [&](const std::string& name) {
      return name.compare(0, next, names.front(), 0, next) == 0 &&
             !first_folder(std::string_view(name).substr(next)).empty();
    });
    if (!all) return shared;
    shared = next;
  }
}

struct Named {
  std::size_t number = 0;
  std::string_view below;  ///< "CLASS/..."
};

std::vector<Named> below(const std::vector<std::string>& names, std::size_t shared,
                         std::string_view folder) {
  std::vector<Named> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string_view rest = std::string_view(names[i]).substr(shared);
    if (!folder.empty()) {
      if (first_folder(rest) != folder) continue;
      rest.remove_prefix(folder.size() + 1);
    }
    found.push_back({i, rest});
  }
  return found;
}

std::uint64_t hash_of_name(std::string_view name) {
  Hash hash;
  hash.add(name);
  return hash.value();
}

/// In an order that has nothing to do with classes: the first ones are a fair sample.
std::vector<LabelledImage> labelled(std::vector<Named> images,
                                    const std::vector<std::string>& classes) {
  std::ranges::sort(images, {},
                    [](const Named& one) { return std::pair(hash_of_name(one.below), one.below); });
  std::vector<LabelledImage> all;
  for (const Named& image : images) {
    const auto found = std::ranges::lower_bound(classes, first_folder(image.below));
    all.push_back({image.number, static_cast<int>(found - classes.begin())});
  }
  return all;
}

}  // namespace

ImageSplits arrange_images(const std::vector<std::string>& names, const std::string& place) {
  const std::size_t shared = shared_prefix(names);
  std::vector<Named> train = below(names, shared, "train");
  std::vector<Named> test;
  for (const std::string_view folder : kTestFolders) {
    if (test.empty()) test = below(names, shared, folder);
  }
  if (train.empty() && !test.empty()) {
    user_error("{}: there is {} but no train folder with classes beside it", place,
               first_folder(std::string_view(names[test.front().number]).substr(shared)));
  }
  if (train.empty()) train = below(names, shared, "");
  if (test.empty()) {  // a tenth, whatever the others are called
    const auto later = std::stable_partition(train.begin(), train.end(), [](const Named& one) {
      return hash_of_name(one.below) % 10 != 0;
    });
    test.assign(later, train.end());
    train.erase(later, train.end());
  }
  ImageSplits splits;
  std::set<std::string_view> classes;
  for (const Named& image : train) {
    if (first_folder(image.below).empty()) {
      user_error("{}: {} lies in no folder of a class; images lie in train/CLASS/ and test/CLASS/",
                 place, names[image.number]);
    }
    classes.insert(first_folder(image.below));
  }
  splits.classes.assign(classes.begin(), classes.end());
  for (const Named& image : test) {
    if (!classes.contains(first_folder(image.below))) {
      user_error("{}: {} is of a class without training images", place, names[image.number]);
    }
  }
  if (splits.classes.size() < 2 || test.empty()) {
    user_error(
        "{}: {} class(es), {} training and {} test images; at least 2 classes and a test "
        "image are needed",
        place, splits.classes.size(), train.size(), test.size());
  }
  splits.train = labelled(train, splits.classes);
  splits.test = labelled(test, splits.classes);
  return splits;
}

}  // namespace plait::data
