#include "kernels/checkpoint/bundle_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/checkpoint/bundle_replacement.h"
#include "kernels/checkpoint/crc32c.h"
#include "kernels/checkpoint/string_form.h"

namespace sluice {
namespace {

// The bytes written at a time: few enough to be still in the processor's cache when their checksum is taken.
constexpr size_t kChunkBytes = 1 << 20;

absl::Status Twice(absl::string_view name) { return BadBundleEntry(name, "is written twice"); }

}  // namespace

BundleWriter::BundleWriter(std::string prefix, int32_t num_shards, std::unique_ptr<NewFile> data)
    : prefix_(std::move(prefix)), num_shards_(num_shards), data_(std::move(data)) {}

absl::StatusOr<std::unique_ptr<BundleWriter>> BundleWriter::Create(const std::string& prefix) {
  SLUICE_RETURN_IF_ERROR(MakeDirectoryOf(prefix));
  const int32_t num_shards = ShardsBeside(prefix, 1);
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<NewFile> data, NewFile::Create(BundleShardFile(prefix, 0, num_shards)));
  return std::unique_ptr<BundleWriter>(new BundleWriter(prefix, num_shards, std::move(data)));
}

absl::Status BundleWriter::Add(absl::string_view name, const Tensor& value) {
  if (name.empty()) return BadBundleEntry(name, "has no name");
  if (name.front() == '\0') return BadBundleEntry(name, "has a name like those of slices");
  if (entries_.find(name) != entries_.end()) return Twice(name);
  BundleEntry entry;
  SLUICE_RETURN_IF_ERROR(WriteValue(name, value, &entry));
  entries_.emplace(std::string(name), std::move(entry));
  return absl::OkStatus();
}

absl::Status BundleWriter::AddSlice(absl::string_view name, const Shape& full, const TensorSlice& slice,
                                    const Tensor& value) {
  if (value.shape() == full) return Add(name, value);
  if (name.empty()) return BadBundleEntry(name, "has no name");
  const auto whole = entries_.find(name);
  if (whole != entries_.end()) {
    const BundleEntry& before = whole->second;
    if (!before.is_sliced) return Twice(name);
    if (before.dtype != value.dtype() || before.shape != full) {
      return BadBundleEntry(name, absl::StrCat("has slices of ", DTypeName(before.dtype), before.shape.ToString(),
                                               " and of ", DTypeName(value.dtype()), full.ToString()));
    }
  }
  std::string key = SliceKey(name, slice);
  if (entries_.find(key) != entries_.end()) return Twice(name);
  BundleEntry entry;
  SLUICE_RETURN_IF_ERROR(WriteValue(name, value, &entry));
  entries_.emplace(std::move(key), std::move(entry));
  BundleEntry& all = entries_[std::string(name)];
  all.dtype = value.dtype();
  all.shape = full;
  all.is_sliced = true;
  all.slices.push_back(slice);
  return absl::OkStatus();
}

absl::Status BundleWriter::WriteValue(absl::string_view name, const Tensor& value, BundleEntry* entry) {
  entry->dtype = value.dtype();
  entry->shape = value.shape();
  entry->offset = static_cast<int64_t>(data_->size());
  uint32_t crc = 0;
  if (value.dtype() == DType::kString) {
    SLUICE_RETURN_IF_ERROR(data_->Append(StringFormHead(value.flat<TString>(), &crc)));
    for (const TString& text : value.flat<TString>()) {
      crc = Crc32c(text.view(), crc);
      SLUICE_RETURN_IF_ERROR(data_->Append(text.view()));
    }
  } else if (IsTrivial(value.dtype())) {
    for (absl::string_view rest = value.bytes(); !rest.empty();
         rest.remove_prefix(std::min(kChunkBytes, rest.size()))) {
      crc = Crc32c(rest.substr(0, kChunkBytes), crc);
      SLUICE_RETURN_IF_ERROR(data_->Append(rest.substr(0, kChunkBytes)));
    }
  } else {
    return BadBundleEntry(name, absl::StrCat("is of ", DTypeName(value.dtype()), ", which no checkpoint holds"));
  }
  entry->size = static_cast<int64_t>(data_->size()) - entry->offset;
  entry->masked_crc = MaskCrc(crc);
  return absl::OkStatus();
}

absl::Status BundleWriter::Finish() {
  SLUICE_RETURN_IF_ERROR(data_->Commit());
  SLUICE_RETURN_IF_ERROR(WriteEmptyShards(prefix_, 1, num_shards_));
  BundleHeader header;
  header.num_shards = num_shards_;
  return ReplaceIndex(prefix_, header, entries_);
}

}  // namespace sluice
