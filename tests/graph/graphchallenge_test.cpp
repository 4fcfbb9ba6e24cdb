// The GraphChallenge's files: what is read, what is refused, and the real network with its truth.
#include "graph/graphchallenge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "graph/radix_structure.hpp"
#include "graph/radixnet.hpp"
#include "temp_folder.hpp"

namespace plait::graph {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

template <class Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return error.what();
  }
  return "no error";
}

class GraphChallengeFolder : public testing::Test {
 protected:
  void add(const std::string& name, const std::string& text = "1\t1\t0.5\n") const {
    write_text(folder_.path() / name, text);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  GraphChallenge read() const { return read_graphchallenge(folder_.path().string()); }
  std::string refusal() const {
    return refusal_of([&] { read(); });
  }

  TempFolder folder_;
};

TEST_F(GraphChallengeFolder, ColumnsOfTheFileAreOutputs) {
  add("n4-l1.tsv", "1\t3\t6.25e-02\n2\t3\t-1\n4\t1\t2\n");
  const GraphChallenge network = read();
  EXPECT_EQ(network.neurons, 4);
  EXPECT_EQ(network.bias, -0.3F);
  ASSERT_THAT(network.layers, SizeIs(1));
  const tensor::SparsePattern& pattern = *network.layers[0].pattern;
  EXPECT_THAT(pattern.row_begin, ElementsAre(0, 1, 1, 3, 3));
  EXPECT_THAT(pattern.column, ElementsAre(3, 0, 1));
  EXPECT_THAT(*network.layers[0].values, ElementsAre(2, 0.0625F, -1));
}

TEST_F(GraphChallengeFolder, LayersAreInTheOrderOfTheirNumbers) {
  for (int layer = 1; layer <= 11; ++layer) {
    add("n4096-l" + std::to_string(layer) + ".tsv", "1\t1\t" + std::to_string(layer) + "\n");
  }
  const GraphChallenge network = read();
  EXPECT_EQ(network.bias, -0.35F);
  ASSERT_THAT(network.layers, SizeIs(11));
  for (std::size_t i = 0; i < 11; ++i) {
    EXPECT_THAT(*network.layers[i].values, ElementsAre(static_cast<float>(i + 1)));
  }
}

TEST_F(GraphChallengeFolder, OtherFilesAreLeftAlone) {
  add("n4-l1.tsv");
  for (const char* name : {"neuron4-l120-categories.tsv", "n4-l1.tsv.gz", "n4-l02.tsv", "n4-l.tsv",
                           "n-4-l3.tsv", "n4-l-2.tsv", "readme.txt", "xn4-l2.tsv"}) {
    add(name, "?");
  }
  EXPECT_THAT(read().layers, SizeIs(1));
}

TEST_F(GraphChallengeFolder, AGapIsRefused) {
  add("n4-l1.tsv");
  add("n4-l3.tsv");
  EXPECT_THAT(refusal(), HasSubstr("n4-l2.tsv is missing but layer 3 exists"));
}

TEST_F(GraphChallengeFolder, TheFirstLayerMustBeThere) {
  add("n4-l2.tsv");
  EXPECT_THAT(refusal(), HasSubstr("n4-l1.tsv is missing"));
}

TEST_F(GraphChallengeFolder, MixedSizesAreRefused) {
  add("n4-l1.tsv");
  add("n4-l2.tsv");
  add("n8-l2.tsv");
  EXPECT_THAT(refusal(), HasSubstr("layers of 4 and of 8 neurons; keep one network in a folder"));
}

TEST_F(GraphChallengeFolder, WithoutLayersOrAtAllIsRefused) {
  EXPECT_THAT(refusal(), HasSubstr("no layer n<NEURONS>-l<K>.tsv in this folder; unpack"));
  add("file.tar");
  EXPECT_THAT(refusal_of([&] { read_graphchallenge(path("file.tar")); }),
              AllOf(HasSubstr("file.tar: is not a folder"), HasSubstr("unpack")));
  EXPECT_THAT(refusal_of([&] { read_graphchallenge(path("none")); }), HasSubstr("is not a folder"));
}

TEST_F(GraphChallengeFolder, TooManyNeuronsAreRefused) {
  add("n99999999-l1.tsv");
  EXPECT_THAT(refusal(), HasSubstr("99999999 neurons are more than the limit"));
}

TEST_F(GraphChallengeFolder, ABadLayerIsNamedWithFileAndLine) {
  add("n4-l1.tsv");
  add("n4-l2.tsv", "1\t1\t1\n1\tx\t1\n");
  EXPECT_THAT(refusal(), HasSubstr(path("n4-l2.tsv") + ":2: the column must be a whole number"));
}

TEST(BadGraphChallengeLayer, IsRefusedWithItsLine) {
  const auto refusal = [](const std::string& text) {
    return refusal_of([&] { parse_graphchallenge_layer(text, 4, "l"); });
  };
  const std::string good = "1\t1\t1\n";
  EXPECT_EQ(refusal(good), "no error");
  EXPECT_THAT(refusal(good + "0\t1\t1\n"), HasSubstr("l:2: row 0 is not within 1 and 4"));
  EXPECT_THAT(refusal(good + "5\t1\t1\n"), HasSubstr("l:2: row 5 is not within 1 and 4"));
  EXPECT_THAT(refusal(good + "\n1\t5\t1\n"), HasSubstr("l:3: column 5 is not within 1 and 4"));
  EXPECT_THAT(refusal(good + "2\t3\tnan\n"), HasSubstr("l:2: the weight must be a finite"));
  EXPECT_THAT(refusal(good + "2\t3\tinf\n"), HasSubstr("l:2: the weight must be a finite"));
  EXPECT_THAT(refusal(good + "2\t3\n"), HasSubstr("l:2: the line ends before the weight"));
  EXPECT_THAT(refusal(good + "2\t3\t1\t1\n"), HasSubstr("l:2: '1' is not expected"));
  EXPECT_THAT(refusal(good + "2,3,1\n"), HasSubstr("l:2: the row must be a whole number"));
  EXPECT_THAT(refusal(good + "2\t1\t1\n1\t1\t2\n"),
              HasSubstr("l:3: the same element as in line 1"));
  EXPECT_THAT(refusal(""), HasSubstr("l: no connection"));
}

TEST_F(GraphChallengeFolder, ReadsImages) {
  add("images.tsv", "3\t1\t1\n1\t4\t1\n3\t3\t1\n1\t2\t1\n");
  const tensor::SparsePattern images = read_sparse_images(path("images.tsv"), 4);
  EXPECT_EQ(images.rows, 3);
  EXPECT_EQ(images.columns, 4);
  EXPECT_THAT(images.row(0), ElementsAre(1, 3));
  EXPECT_THAT(images.row(1), IsEmpty());
  EXPECT_THAT(images.row(2), ElementsAre(0, 2));
}

TEST_F(GraphChallengeFolder, RefusesBadImages) {
  const auto refusal = [&](const std::string& text) {
    add("i.tsv", text);
    return refusal_of([&] { read_sparse_images(path("i.tsv"), 4); });
  };
  EXPECT_THAT(refusal("1\t1\t1\n1\t5\t1\n"), HasSubstr("i.tsv:2: pixel 5 is not within 1 and 4"));
  EXPECT_THAT(refusal("0\t1\t1\n"), HasSubstr("i.tsv:1: image 0"));
  EXPECT_THAT(refusal("99999999999\t1\t1\n"), HasSubstr("i.tsv:1: image 99999999999"));
  EXPECT_THAT(refusal("1\t1\t2\n"), HasSubstr("i.tsv:1: the value of a pixel must be 1"));
  EXPECT_THAT(refusal("1\t1\t1\n1\t1\t1\n"), HasSubstr("i.tsv:2: the same element as in line 1"));
  EXPECT_THAT(refusal("1\t1\n"), HasSubstr("i.tsv:1: the line ends"));
  EXPECT_THAT(refusal(""), HasSubstr("no pixel"));
}

TEST_F(GraphChallengeFolder, ReadsCategories) {
  add("c.tsv", "3\n17\n18");
  EXPECT_THAT(read_categories(path("c.tsv")), ElementsAre(3, 17, 18));
  add("none.tsv", "");
  EXPECT_THAT(read_categories(path("none.tsv")), IsEmpty());
  for (const auto& [text, wanted] : std::vector<std::pair<std::string, std::string>>{
           {"3\n0\n", "c.tsv:2: image 0 is not within"},
           {"3\n3\n", "c.tsv:2: the images must be in ascending order"},
           {"3\n2\n", "c.tsv:2: the images must be in ascending order"},
           {"3 4\n", "c.tsv:1: '4' is not expected"},
           {"x\n", "c.tsv:1: the image must be a whole number"}}) {
    add("c.tsv", text);
    EXPECT_THAT(refusal_of([&] { read_categories(path("c.tsv")); }), HasSubstr(wanted));
  }
}

/// The official rule, in a plain loop: the images (from 1) that have an output.
std::vector<std::int64_t> alive(const GraphChallenge& network, const tensor::SparsePattern& images,
                                std::size_t count) {
  const auto neurons = static_cast<std::size_t>(network.neurons);
  std::vector<float> y(neurons * count), z(neurons * count);
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::int32_t pixel : images.row(static_cast<std::int64_t>(i))) {
      y[static_cast<std::size_t>(pixel) * count + i] = 1;
    }
  }
  for (const tensor::SparseMatrix& layer : network.layers) {
    std::ranges::fill(z, 0.0F);
    const float* weight = layer.values->data();
    for (std::int64_t out = 0; out < network.neurons; ++out) {
      float* const to = &z[static_cast<std::size_t>(out) * count];
      for (const std::int32_t in : layer.pattern->row(out)) {
        const float* const from = &y[static_cast<std::size_t>(in) * count];
        for (std::size_t i = 0; i < count; ++i) to[i] += *weight * from[i];
        ++weight;
      }
    }
    for (float& value : z) {
      value = std::clamp(value == 0 ? 0 : value + network.bias, 0.0F, kRadixNetClip);
    }
    std::swap(y, z);
  }
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < count; ++i) {
    bool any = false;
    for (std::size_t neuron = 0; neuron < neurons; ++neuron) any |= y[neuron * count + i] != 0;
    if (any) found.push_back(static_cast<std::int64_t>(i) + 1);
  }
  return found;
}

TEST(RealGraphChallenge, HasTheStructureAndTheTruth) {
  const std::string data = PLAIT_SOURCE_DIR "/../shared/data/graphchallenge/";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "skipped: data not there";
  const TempFolder temp;
  const std::string folder = temp.path().string();
  const std::string unpack = "tar -xf '" + data + "neuron1024.tar.xz' -C '" + folder +
                             "' && xz -dc '" + data + "sparse-images-1024-first1200.tsv.xz' > '" +
                             folder + "/images.tsv'";
  if (std::system(unpack.c_str()) != 0) GTEST_SKIP() << "skipped: data cannot be unpacked";

  const GraphChallenge network = read_graphchallenge(folder + "/neuron1024");
  ASSERT_EQ(network.neurons, 1024);
  ASSERT_THAT(network.layers, SizeIs(120));
  for (const tensor::SparseMatrix& layer : network.layers) {
    ASSERT_THAT(*layer.values, Each(kRadixNetWeight));
  }
  expect_radix_structure(1024, 120, [&](std::int64_t layer) -> const tensor::SparsePattern& {
    return *network.layers[static_cast<std::size_t>(layer)].pattern;
  });
  // The first layers are not permuted: the generator makes them bit for bit.
  const auto made = make_radixnet({1024, 6}, 1);
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_EQ(*made[i], *network.layers[i].pattern);

  const tensor::SparsePattern images = read_sparse_images(folder + "/images.tsv", 1024);
  EXPECT_EQ(images.rows, 1200);
  EXPECT_EQ(images.size(), 122713);
  // Read the other way round, images 83 and 214 would have an output too.
  std::vector<std::int64_t> truth =
      read_categories(data + "neuron1024-l120-categories-first1200.tsv");
  ASSERT_THAT(truth, SizeIs(19));
  std::erase_if(truth, [](std::int64_t image) { return image > 300; });
  EXPECT_EQ(alive(network, images, 300), truth);
}

}  // namespace
}  // namespace plait::graph
