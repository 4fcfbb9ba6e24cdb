// Compares layers two by two by the stored tensors they read, then tells what remains apart.
#include "onnx/shared.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "checkpoint/shown.hpp"

namespace plait::onnx {

namespace {

/// BatchNorm's running statistics follow the weights and are never shared.
std::size_t trained_count(const ImportedLayer& layer) {
  const bool bn = std::holds_alternative<ops::BatchNorm>(layer.layer);
  return bn ? std::min<std::size_t>(2, layer.parameters.size()) : layer.parameters.size();
}

const StoredTensor& stored(const ImportedLayer& layer, std::size_t i) {
  static const StoredTensor none;
  return i < layer.stored.size() ? layer.stored[i] : none;
}

bool varies(const tensor::Tensor& tensor) {
  const std::span<const float> values = tensor.floats();
  return std::ranges::any_of(values, [&](float x) { return x != values.front(); });
}

bool equal_bits(const tensor::Tensor& a, const tensor::Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// A bias that neither has in the file is the same as well.
bool same_tensor(const ImportedLayer& a, const ImportedLayer& b, std::size_t i) {
  if (i > 0 && i >= a.stored.size() && i >= b.stored.size()) return true;
  return !stored(a, i).name.empty() && stored(a, i).name == stored(b, i).name;
}

bool is_transpose(const tensor::Tensor& a, const tensor::Tensor& b) {
  const auto rows = static_cast<std::size_t>(a.shape()[0]);
  const auto columns = static_cast<std::size_t>(a.shape()[1]);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      if (a.floats()[i * columns + j] != b.floats()[j * rows + i]) return false;
    }
  }
  return true;
}

/// The file itself makes them one: not merely stored once because they are equal.
bool surely_same(const ImportedLayer& a, const ImportedLayer& b, std::size_t i) {
  const bool merged = stored(a, i).merged || stored(b, i).merged;
  return same_tensor(a, b, i) && (!merged || stored(a, i).read == stored(b, i).read);
}

enum class Sharing {
  none,
  said,      ///< by the file
  constant,  ///< the same, but their values are all equal, as exporters merge them as well
  by_value   ///< found by equal values
};

/// Two matrices in the file that are one: a transpose that was folded, of a matrix or, with the
/// same bias behind it, a second time.
bool folded_apart(const ImportedLayer& a, const ImportedLayer& b) {
  if (a.parameters[0].shape().rank() != 2 || same_tensor(a, b, 0)) return false;
  const bool transposed = stored(a, 0).turned != stored(b, 0).turned;
  return transposed || (stored(a, 0).turned && trained_count(a) == 2 && surely_same(a, b, 1));
}

Sharing sharing_of(const ImportedLayer& a, const ImportedLayer& b) {
  const std::size_t count = trained_count(a);
  if (count != trained_count(b)) return Sharing::none;
  for (std::size_t i = 0; i < count; ++i) {
    if (!equal_bits(a.parameters[i], b.parameters[i])) return Sharing::none;
    if (i > 0 && !same_tensor(a, b, i)) return Sharing::none;
  }
  if (folded_apart(a, b)) return varies(a.parameters[0]) ? Sharing::by_value : Sharing::none;
  if (!same_tensor(a, b, 0) || stored(a, 0).turned != stored(b, 0).turned) return Sharing::none;
  bool said = true;
  for (std::size_t i = 0; i < count; ++i) said = said && surely_same(a, b, i);
  const bool differ = varies(a.parameters[0]);
  if (said) return differ ? Sharing::said : Sharing::constant;
  return differ ? Sharing::by_value : Sharing::none;
}

/// Why two layers that read one tensor train it apart.
std::string_view reason(const ImportedLayer& a, const ImportedLayer& b, bool weight) {
  if (!weight) return "they share only a bias";
  if (same_tensor(a, b, 0) && stored(a, 0).turned != stored(b, 0).turned) {
    return "one of them reads it transposed";
  }
  if (trained_count(a) != trained_count(b)) return "only one of them has a bias";
  if (trained_count(a) > 1 && !same_tensor(a, b, 1)) return "their biases differ";
  return same_tensor(a, b, 0) ? "they read it in different ways"
                              : "the file stores it once for each";
}

class Finder {
 public:
  explicit Finder(const std::vector<NamedLayer>& layers)
      : layers_(layers), result_{.owners = decltype(SharedWeights::owners)(layers.size())} {}

  SharedWeights run() {
    std::map<std::string, std::vector<std::size_t>> owners;  // by the shape of the weights
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (trained_count(at(i)) == 0) continue;
      find_owner(i, owners[at(i).parameters[0].shape().to_string()]);
    }
    for (const auto& [found, users] : told_) {
      const auto [owner, sharing] = found;
      result_.notes.push_back(fmt::format("{} {} the weights of '{}', because {}", listed(users),
                                          users.size() == 1 ? "uses" : "use", layers_[owner].name,
                                          sharing == Sharing::by_value
                                              ? "their values are equal in the file"
                                              : "they read the same tensors"));
    }
    tell_tensors();
    tell_matrices();
    return std::move(result_);
  }

 private:
  const ImportedLayer& at(std::size_t i) const { return *layers_[i].layer; }
  std::size_t root(std::size_t i) const { return result_.owners[i].value_or(i); }

  void find_owner(std::size_t user, std::vector<std::size_t>& owners) {
    for (const std::size_t owner : owners) {
      const Sharing sharing = sharing_of(at(owner), at(user));
      if (sharing == Sharing::none) continue;
      result_.owners[user] = owner;
      if (sharing != Sharing::said) told_[{owner, sharing}].push_back(user);
      return;
    }
    owners.push_back(user);
  }

  std::string listed(const std::vector<std::size_t>& some) const {
    std::string text = fmt::format("'{}'", layers_[some[0]].name);
    for (std::size_t i = 1; i < some.size() && i < 3; ++i) {
      text += fmt::format("{}'{}'", i + 1 == some.size() ? " and " : ", ", layers_[some[i]].name);
    }
    return some.size() > 3 ? fmt::format("{} and {} more", text, some.size() - 3) : text;
  }

  /// Tensors with several readers that are not all one in the model.
  void tell_tensors() {
    struct Readers {
      std::vector<std::size_t> roots;
      bool weight = true;
    };
    std::map<std::string, Readers> tensors;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      for (std::size_t k = 0; k < trained_count(at(i)); ++k) {
        const StoredTensor& one = stored(at(i), k);
        if (one.name.empty() || (one.merged && !varies(at(i).parameters[k]))) continue;
        Readers& readers = tensors[one.name];
        readers.weight = readers.weight && k == 0;
        const auto known = std::ranges::find(readers.roots, root(i));
        if (known == readers.roots.end()) readers.roots.push_back(root(i));
      }
    }
    for (const auto& [name, readers] : tensors) {
      if (readers.roots.size() < 2) continue;
      result_.notes.push_back(
          fmt::format("{} read the same tensor {}; they are trained apart, because plait shares "
                      "all weights of a layer or none, and {}",
                      listed(readers.roots), checkpoint::shown(name),
                      reason(at(readers.roots[0]), at(readers.roots[1]), readers.weight)));
    }
  }

  /// Matrices that a folded transpose has made two of, and that remain two.
  void tell_matrices() {
    std::map<std::string, std::vector<std::size_t>> known;  // by their shapes
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (result_.owners[i] || trained_count(at(i)) == 0) continue;
      const tensor::Shape& shape = at(i).parameters[0].shape();
      if (shape.rank() != 2) continue;
      const std::string other = tensor::Shape{shape[1], shape[0]}.to_string();
      if (!tell_matrix(i, known[shape.to_string()], false)) tell_matrix(i, known[other], true);
      known[shape.to_string()].push_back(i);
    }
  }
  bool tell_matrix(std::size_t user, const std::vector<std::size_t>& earlier, bool transposed) {
    const ImportedLayer& b = at(user);
    for (const std::size_t one : earlier) {
      const ImportedLayer& a = at(one);
      // Two copies of a layer have equal weights as well, but not transposed ones.
      const bool folded = transposed || stored(a, 0).turned || stored(b, 0).turned;
      if (!folded || same_tensor(a, b, 0) || !varies(a.parameters[0])) continue;
      if (!(transposed ? is_transpose(a.parameters[0], b.parameters[0])
                       : equal_bits(a.parameters[0], b.parameters[0]))) {
        continue;
      }
      result_.notes.push_back(
          fmt::format("{} have equal weights, {} and {}; they are trained apart, because {}",
                      listed({one, user}), checkpoint::shown(stored(a, 0).name),
                      checkpoint::shown(stored(b, 0).name),
                      transposed ? "one of them has them transposed" : reason(a, b, true)));
      return true;
    }
    return false;
  }

  const std::vector<NamedLayer>& layers_;
  SharedWeights result_;
  std::map<std::pair<std::size_t, Sharing>, std::vector<std::size_t>> told_;  ///< users by owner
};

}  // namespace

SharedWeights shared_weights(const std::vector<NamedLayer>& layers) { return Finder(layers).run(); }

}  // namespace plait::onnx
