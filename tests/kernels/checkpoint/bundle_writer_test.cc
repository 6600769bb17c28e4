#include "kernels/checkpoint/bundle_writer.h"

#include <unistd.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "kernels/checkpoint/byte_order.h"
#include "kernels/checkpoint/crc32c.h"
#include "tests/kernels/checkpoint/bundle_values.h"
#include "tests/kernels/checkpoint/table_bytes.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}
void WriteBytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

Tensor Floats(std::vector<float> values) { return Tensor::Vector<float>(values); }

class BundleWriterTest : public ::testing::Test {
 protected:
  BundleWriterTest() {
    directory_ = ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  // The names of all files, those of writers that were killed apart.
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& file : fs::directory_iterator(directory_)) names.push_back(file.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string directory_;
};

TEST_F(BundleWriterTest, WhatIsWrittenIsRead) {
  FuzzRandom random(7);
  BundleValues values;
  for (int number = 1; number <= 23; ++number) {
    const DType dtype = static_cast<DType>(number);
    if (!IsTrivial(dtype) && dtype != DType::kString) continue;
    for (const ElementKind kind : kElementKinds) {
      for (const Shape& shape : {Shape(), Shape::Of({0}), Shape::Of({3, 0, 2}), Shape::Of({5}), Shape::Of({2, 3, 4})}) {
        const std::string name = "v" + std::to_string(values.size());
        values[name] = HostileTensor(dtype, shape, kind, random);
      }
    }
  }
  ASSERT_OK(WriteBundle(Path("a"), values));
  ASSERT_OK_AND_ASSIGN(const BundleValues read, ReadBundle(Path("a")));
  ASSERT_EQ(read.size(), values.size());
  for (const auto& [name, value] : values) EXPECT_TRUE(AreEqual(read.at(name), value)) << name << value.ToString();
  EXPECT_EQ(Files(), (std::vector<std::string>{"a.data-00000-of-00001", "a.index"}));
}

TEST_F(BundleWriterTest, TensorsOfManyPiecesHaveOneChecksum) {
  Tensor large = Tensor::Make(DType::kInt32, Shape::Of({3, (1 << 20) + 1})).value();
  uint32_t next = 1;
  for (int32_t& value : large.flat<int32_t>()) value = static_cast<int32_t>(next = next * 1664525 + 1013904223);
  ASSERT_OK(WriteBundle(Path("a"), {{"large", large}, {"text", Tensor::String(std::string(5 << 20, 'x'))}}));
  ASSERT_OK_AND_ASSIGN(const BundleValues read, ReadBundle(Path("a")));
  EXPECT_TRUE(AreEqual(read.at("large"), large));
  EXPECT_EQ(read.at("text").flat<TString>()[0].size(), size_t{5} << 20);
  // A byte of the last piece.
  std::string data = ReadBytes(Path("a.data-00000-of-00001"));
  data[3 * ((1 << 20) + 1) * 4 - 1] ^= 1;
  WriteBytes(Path("a.data-00000-of-00001"), data);
  EXPECT_THAT(ReadBundle(Path("a")), IsError(ErrorCode::kCheckpointDamaged, "'large'"));
}

TEST_F(BundleWriterTest, ChecksumsCanBeJoined) {
  const std::string text = "any text, cut anywhere";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(JoinCrc32c(Crc32c(text.substr(0, cut)), Crc32c(text.substr(cut)), text.size() - cut), Crc32c(text));
  }
}

TEST_F(BundleWriterTest, NothingChangesBeforeTheEnd) {
  ASSERT_OK(WriteBundle(Path("a"), {{"x", Floats({1})}}));
  const std::vector<std::string> before = Files();
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<BundleWriter> writer, BundleWriter::Create(Path("a")));
    ASSERT_OK(writer->Add("x", Floats({2})));
    EXPECT_EQ(ReadBundle(Path("a"))->at("x").flat<float>()[0], 1);
  }
  EXPECT_EQ(Files(), before);
}

TEST_F(BundleWriterTest, ACheckpointIsReplacedWithoutTouchingItsFiles) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK(WriteBundle(Path("a"), {{"x", Tensor::Scalar(i)}}));
    EXPECT_EQ(ReadBundle(Path("a"))->at("x").flat<int32_t>()[0], i);
    // One shard, or a second, empty one, in turns.
    EXPECT_EQ(Files().size(), i % 2 == 0 ? 2u : 3u) << i;
  }
}

TEST_F(BundleWriterTest, WhatCannotBeWrittenIsRefused) {
  EXPECT_THAT(BundleWriter::Create(Path("no/such/a")), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<BundleWriter> writer, BundleWriter::Create(Path("a")));
  ASSERT_OK(writer->Add("x", Floats({1})));
  EXPECT_THAT(writer->Add("x", Floats({1})), IsError(ErrorCode::kCheckpointEntry, "twice"));
  EXPECT_THAT(writer->Add("", Floats({1})), IsError(ErrorCode::kCheckpointEntry));
  EXPECT_THAT(writer->Add("r", Tensor::Make(DType::kResource, Shape()).value()), IsError(ErrorCode::kCheckpointEntry));
  EXPECT_THAT(writer->Add("v", Tensor::Make(DType::kVariant, Shape()).value()), IsError(ErrorCode::kCheckpointEntry));
  const Shape full = Shape::Of({4});
  EXPECT_THAT(writer->AddSlice("x", full, {{0, 1}}, Floats({1})), IsError(ErrorCode::kCheckpointEntry, "twice"));
  ASSERT_OK(writer->AddSlice("s", full, {{0, 1}}, Floats({1})));
  EXPECT_THAT(writer->AddSlice("s", full, {{0, 1}}, Floats({1})), IsError(ErrorCode::kCheckpointEntry, "twice"));
  EXPECT_THAT(writer->AddSlice("s", Shape::Of({5}), {{1, 1}}, Floats({1})), IsError(ErrorCode::kCheckpointEntry));
  EXPECT_THAT(writer->AddSlice("s", full, {{1, 1}}, Tensor::Vector<int32_t>({1})),
              IsError(ErrorCode::kCheckpointEntry));
  EXPECT_THAT(writer->AddSlice("r", full, {{0, 1}}, Tensor::Make(DType::kResource, Shape::Of({1})).value()),
              IsError(ErrorCode::kCheckpointEntry));
}

TEST_F(BundleWriterTest, CheckpointsAreMerged) {
  fs::create_directories(Path("old"));
  ASSERT_OK(WriteBundle(Path("old/a"), {{"x", Floats({1, 2})}}));
  ASSERT_OK(WriteBundle(Path("old/b"), {{"y", Floats({3})}}));
  for (int i = 0; i < 2; ++i) {  // The second time in the place of the first.
    ASSERT_OK(WriteBundle(Path("old/c"), {{"z", Tensor::Scalar(i)}}));
    const std::vector<std::string> prefixes =
        i == 0 ? std::vector<std::string>{Path("old/a"), Path("old/b"), Path("old/c")}
               : std::vector<std::string>{Path("old/c")};
    ASSERT_OK(MergeBundles(prefixes, Path("m"), /*allow_missing=*/false));
    ASSERT_OK_AND_ASSIGN(const BundleValues read, ReadBundle(Path("m")));
    EXPECT_EQ(read.at("z").flat<int32_t>()[0], i);
    EXPECT_EQ(read.size(), i == 0 ? 3u : 1u);
    EXPECT_TRUE(fs::is_empty(Path("old")));
  }
  ASSERT_OK(WriteBundle(Path("a"), {{"x", Floats({1})}}));
  ASSERT_OK(WriteBundle(Path("b"), {{"x", Floats({2})}}));
  EXPECT_THAT(MergeBundles({Path("a"), Path("b")}, Path("n"), false), IsError(ErrorCode::kOpValue, "'x'"));
  EXPECT_THAT(MergeBundles({Path("a"), Path("no")}, Path("n"), false), IsError(ErrorCode::kOpValue, "missing"));
  EXPECT_THAT(MergeBundles({Path("no")}, Path("n"), true), IsError(ErrorCode::kOpValue, "none"));
  EXPECT_EQ(ReadBundle(Path("a"))->size(), 1u);
  ASSERT_OK(MergeBundles({Path("a"), Path("no")}, directory_ + "/./a", true)) << "with itself";
  EXPECT_EQ(ReadBundle(Path("a"))->at("x").flat<float>()[0], 1);
}

// Other byte order: our writer does not produce it, so the files are made by hand.
TEST_F(BundleWriterTest, CheckpointsOfTheOtherByteOrderAreRead) {
  std::string data;
  const auto entry = [&data](DType dtype, const Shape& shape, const std::string& bytes, uint32_t crc) {
    BundleEntry made;
    made.dtype = dtype;
    made.shape = shape;
    made.offset = static_cast<int64_t>(data.size());
    made.size = static_cast<int64_t>(bytes.size());
    made.masked_crc = MaskCrc(crc);
    data += bytes;
    return WriteBundleEntry(made);
  };
  const std::string floats("\x3f\x80\0\0\x40\0\0\0", 8), complex("\x40\x40\0\0\xbf\x80\0\0", 8);
  const std::string ab_length("\0\0\0\2", 4);
  const uint32_t of_lengths = MaskCrc(Crc32c(ab_length));
  std::string masked(reinterpret_cast<const char*>(&of_lengths), 4);
  SwapByteOrder(DType::kUInt32, masked.data(), 4);
  const std::string text = "\2" + masked + "ab";
  BundleHeader header;
  header.num_shards = 1;
  header.is_big_endian = true;
  WriteBytes(Path("a.index"),
             TableBytes({{"", WriteBundleHeader(header)},
                         {"c", entry(DType::kComplex64, Shape(), complex, Crc32c(complex))},
                         {"f", entry(DType::kFloat, Shape::Of({2}), floats, Crc32c(floats))},
                         {"t", entry(DType::kString, Shape(), text, Crc32c("ab", Crc32c(masked, Crc32c(ab_length))))}},
                        8));
  WriteBytes(Path("a.data-00000-of-00001"), data);
  ASSERT_OK_AND_ASSIGN(const BundleValues read, ReadBundle(Path("a")));
  EXPECT_TRUE(AreEqual(read.at("f"), Floats({1, 2})));
  EXPECT_EQ(read.at("c").flat<std::complex<float>>()[0], std::complex<float>(3, -1));
  EXPECT_EQ(read.at("t").flat<TString>()[0].view(), "ab");
}

// Wherever a file is cut or a bit of it is flipped: an error, or the right answer.
TEST_F(BundleWriterTest, DamagedFilesGiveAnErrorOrTheRightAnswer) {
  const BundleValues values = {{"floats", Floats({1, 2, 3})},
                               {"empty", Tensor::Make(DType::kInt64, Shape::Of({0, 2})).value()},
                               {"text", Tensor::Strings({"", "words", "a longer text than fits"})}};
  ASSERT_OK(WriteBundle(Path("a"), values));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<BundleWriter> slices, BundleWriter::Create(Path("s")));
  ASSERT_OK(slices->AddSlice("w", Shape::Of({4}), {{0, 2}}, Floats({1, 2})));
  ASSERT_OK(slices->AddSlice("w", Shape::Of({4}), {{2, 2}}, Floats({3, 4})));
  ASSERT_OK(slices->Finish());
  const BundleValues sliced = {{"w", Floats({1, 2, 3, 4})}};
  int good = 0, bad = 0;
  for (const auto& [prefix, want] : {std::make_pair(Path("a"), values), std::make_pair(Path("s"), sliced)}) {
    for (const std::string& file : {prefix + ".index", prefix + ".data-00000-of-00001"}) {
      const std::string whole = ReadBytes(file);
      for (size_t at = 0; at < 2 * whole.size() && at < 5000; ++at) {
        std::string damaged = at < whole.size() ? whole.substr(0, at) : whole;
        if (at >= whole.size()) damaged[at - whole.size()] ^= static_cast<char>(1 << (at % 8));
        WriteBytes(file, damaged);
        const absl::StatusOr<BundleValues> read = ReadBundle(prefix);
        ++(read.ok() ? good : bad);
        if (!read.ok()) continue;
        for (const auto& [name, value] : *read) EXPECT_TRUE(AreEqual(value, want.at(name))) << file << " at " << at;
      }
      WriteBytes(file, whole);
    }
  }
  EXPECT_GT(bad, 500);
  EXPECT_GT(good, 0);
}

// Entries that no writer makes, whose blocks have the right checksums.
TEST_F(BundleWriterTest, EntriesThatContradictEachOtherAreRefused) {
  const auto read = [this](const BundleEntry& entry, const std::vector<std::pair<std::string, BundleEntry>>& slices) {
    BundleHeader header;
    header.num_shards = 1;
    std::vector<std::pair<std::string, std::string>> entries = {{"", WriteBundleHeader(header)}};
    for (const auto& slice : slices) entries.emplace_back(slice.first, WriteBundleEntry(slice.second));
    entries.emplace_back("w", WriteBundleEntry(entry));
    WriteBytes(Path("a.index"), TableBytes(entries, 8));
    WriteBytes(Path("a.data-00000-of-00001"), std::string(64, '\0'));
    return ReadBundle(Path("a")).status();
  };
  BundleEntry part;
  part.dtype = DType::kFloat;
  part.shape = Shape::Of({2});
  part.size = 8;
  part.masked_crc = MaskCrc(Crc32c(std::string(8, '\0')));
  BundleEntry all = part;
  all.shape = Shape::Of({4});
  all.is_sliced = true;
  const TensorSlice first = {{0, 2}}, second = {{2, 2}}, middle = {{1, 2}}, beyond = {{3, 2}};
  const std::string first_key = SliceKey("w", first), second_key = SliceKey("w", second);
  all.slices = {first, second};
  EXPECT_OK(read(all, {{first_key, part}, {second_key, part}}));
  EXPECT_THAT(read(all, {{first_key, part}}), IsError(ErrorCode::kCheckpointDamaged, "lacks"));
  BundleEntry other = part;
  other.dtype = DType::kInt32;
  EXPECT_THAT(read(all, {{first_key, part}, {second_key, other}}), IsError(ErrorCode::kCheckpointEntry));
  all.slices = {first, middle};
  EXPECT_THAT(read(all, {{first_key, part}, {SliceKey("w", middle), part}}), StatusIs(absl::StatusCode::kInternal));
  all.slices = {first, beyond};
  EXPECT_THAT(read(all, {{first_key, part}, {SliceKey("w", beyond), part}}), StatusIs(absl::StatusCode::kInternal));
  all.slices = {first};
  EXPECT_THAT(read(all, {{first_key, part}}), IsError(ErrorCode::kCheckpointSlice));
  BundleEntry text = part;
  text.dtype = DType::kString;
  text.shape = Shape::Of({int64_t{1} << 40});
  EXPECT_THAT(read(text, {}), IsError(ErrorCode::kCheckpointEntry)) << "before memory is taken";
}

TEST_F(BundleWriterTest, TheDirectoryIsMadeAsTensorFlowDoes) {
  ASSERT_OK(WriteBundle(Path("new/ckpt"), {{"v", Floats({1})}}));
  EXPECT_TRUE(fs::exists(Path("new/ckpt.index")));
  EXPECT_THAT(WriteBundle(Path("a/b/ckpt"), {{"v", Floats({1})}}), StatusIs(absl::StatusCode::kNotFound));
}

// A process that was killed has left them, and this one has its number: in a container that is likely.
TEST_F(BundleWriterTest, FilesThatAKilledProcessLeftAreNoHindrance) {
  ASSERT_OK(WriteBundle(Path("first"), {{"v", Floats({1})}}));
  for (int number = 0; number < 200; ++number) {
    for (const char* file : {"ckpt.index", "ckpt.data-00000-of-00001", "ckpt.data-00000-of-00002"}) {
      WriteBytes(Path(file) + "." + std::to_string(::getpid()) + "." + std::to_string(number) + ".tmp", "left");
    }
  }
  ASSERT_OK(WriteBundle(Path("ckpt"), {{"v", Floats({2})}}));
  ASSERT_OK(MergeBundles({Path("first")}, Path("ckpt"), false));
}

TEST_F(BundleWriterTest, BoolsAreZeroOrOneWhateverTheFileHolds) {
  Tensor odd = Tensor::Vector<bool>({true, false, true});
  const char bytes[] = {7, 0, -1};
  std::memcpy(odd.mutable_raw_data(), bytes, sizeof(bytes));
  ASSERT_OK(WriteBundle(Path("ckpt"), {{"v", odd}}));
  ASSERT_OK_AND_ASSIGN(const BundleValues read, ReadBundle(Path("ckpt")));
  EXPECT_EQ(read.at("v").bytes(), absl::string_view("\1\0\1", 3));
}

}  // namespace
}  // namespace sluice
