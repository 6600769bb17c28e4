#include "tools/cli/numpy/npz.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "tools/cli/numpy/npy.h"

namespace sluice {
namespace {

constexpr absl::string_view kSuffix = ".npy";

// Says which array an error is about.
absl::Status WithArray(const absl::Status& status, absl::string_view name) {
  std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value()) return status;
  info->text = absl::StrCat("array '", PrintableName(name), "': ", info->text);
  return MakeError(*info);
}

}  // namespace

NpzReader::NpzReader(ZipReader zip, const LoadLimits& limits, std::shared_ptr<const void> owner)
    : zip_(std::move(zip)), limits_(limits), owner_(std::move(owner)) {
  for (const ZipReader::Member& member : zip_.members()) {
    if (absl::EndsWith(member.name, kSuffix)) names_.emplace_back(absl::StripSuffix(member.name, kSuffix));
  }
}

absl::StatusOr<NpzReader> NpzReader::Open(absl::string_view bytes, const LoadLimits& limits,
                                          std::shared_ptr<const void> owner) {
  SLUICE_ASSIGN_OR_RETURN(ZipReader zip, ZipReader::Open(bytes, limits));
  return NpzReader(std::move(zip), limits, std::move(owner));
}

std::string NpzReader::NamesText() const {
  constexpr size_t kMaxNames = 10;
  std::string text;
  for (size_t i = 0; i < std::min(names_.size(), kMaxNames); ++i) {
    absl::StrAppend(&text, text.empty() ? "'" : ", '", PrintableName(names_[i]), "'");
  }
  if (names_.size() > kMaxNames) absl::StrAppend(&text, " and ", names_.size() - kMaxNames, " more");
  return text.empty() ? "no arrays" : text;
}

absl::StatusOr<Tensor> NpzReader::Read(absl::string_view name) const {
  const ZipReader::Member* member = zip_.Find(absl::StrCat(name, kSuffix));
  if (member == nullptr && absl::EndsWith(name, kSuffix)) member = zip_.Find(name);
  if (member == nullptr) {
    return Error(ErrorCode::kNumpy)
        .Text(absl::StrCat("the archive has no array '", PrintableName(name), "'"))
        .Found(NamesText());
  }
  ReadNpyOptions options;
  options.limits = limits_;
  absl::StatusOr<Tensor> tensor = Tensor();
  if (member->deflated) {
    SLUICE_ASSIGN_OR_RETURN(std::string unpacked, ZipReader::Unpack(*member));
    const auto owner = std::make_shared<const std::string>(std::move(unpacked));
    options.owner = owner;
    tensor = ReadNpy(*owner, options);
  } else {
    SLUICE_RETURN_IF_ERROR(ZipReader::CheckStored(*member));
    options.owner = owner_;
    tensor = ReadNpy(member->stored, options);
  }
  if (!tensor.ok()) return WithArray(tensor.status(), name);
  return tensor;
}

absl::StatusOr<std::string> WriteNpz(absl::Span<const NamedTensor> tensors) {
  ZipWriter writer;
  HashSet<absl::string_view> names;
  for (const auto& [name, tensor] : tensors) {
    if (!names.insert(name).second || name.size() > 60000) {
      return Error(ErrorCode::kNumpy)
          .Text(absl::StrCat("array name '", PrintableName(name), "' is repeated or too long"));
    }
    absl::StatusOr<std::string> npy = WriteNpy(tensor);
    if (!npy.ok()) return WithArray(npy.status(), name);
    writer.Add(absl::StrCat(name, kSuffix), *npy);
  }
  return writer.Finish();
}

}  // namespace sluice
