#include "kernels/random/class_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{1} << 31;
// Reserved classes take memory though nothing lists them.
constexpr int64_t kMaxReserved = int64_t{1} << 24;

absl::StatusOr<std::vector<float>> ReadVocabulary(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  std::vector<float> weights;
  absl::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    absl::string_view line = rest.substr(0, end);
    rest = end == absl::string_view::npos ? absl::string_view() : rest.substr(end + 1);
    const size_t comma = line.rfind(',');
    if (comma != absl::string_view::npos) line.remove_prefix(comma + 1);
    float weight;
    if (!absl::SimpleAtof(line, &weight)) {
      return AttrError("vocab_file", absl::StrCat("line ", weights.size() + 1, " without a weight"),
                       "a number after the last comma");
    }
    weights.push_back(weight);
  }
  return weights;
}

absl::Status BadAttr(absl::string_view attr, const std::string& found, absl::string_view expected) {
  return AttrError(attr, found, expected);
}

absl::Status CheckShards(const ClassWeightAttrs& attrs) {
  if (attrs.num_shards < 1) return BadAttr("num_shards", absl::StrCat(attrs.num_shards), "1 or more");
  if (attrs.shard >= 0 && attrs.shard < attrs.num_shards) return absl::OkStatus();
  return BadAttr("shard", absl::StrCat(attrs.shard), absl::StrCat("0 to ", attrs.num_shards - 1));
}

}  // namespace

absl::StatusOr<ClassWeightAttrs> ReadClassWeightAttrs(const KernelConstruction& construction) {
  ClassWeightAttrs attrs;
  SLUICE_ASSIGN_OR_RETURN(attrs.range, construction.Get<int64_t>("range_max"));
  SLUICE_ASSIGN_OR_RETURN(attrs.distortion, construction.Get<float>("distortion"));
  SLUICE_ASSIGN_OR_RETURN(attrs.reserved, construction.Get<int64_t>("num_reserved_ids"));
  SLUICE_ASSIGN_OR_RETURN(attrs.file, construction.Get<std::string>("vocab_file"));
  SLUICE_ASSIGN_OR_RETURN(attrs.unigrams, construction.Get<std::vector<float>>("unigrams"));
  SLUICE_ASSIGN_OR_RETURN(attrs.num_shards, construction.Get<int64_t>("num_shards"));
  SLUICE_ASSIGN_OR_RETURN(attrs.shard, construction.Get<int64_t>("shard"));
  SLUICE_RETURN_IF_ERROR(CheckShards(attrs));
  if (attrs.file.empty() != attrs.unigrams.empty()) return attrs;
  return BadAttr("vocab_file", attrs.file.empty() ? "no weights" : "weights in unigrams, too",
                 "either a file or a list of weights");
}

absl::StatusOr<std::vector<float>> ClassWeights(const ClassWeightAttrs& attrs) {
  std::vector<float> listed = attrs.unigrams;
  if (!attrs.file.empty()) {
    SLUICE_ASSIGN_OR_RETURN(listed, ReadVocabulary(attrs.file));
  }
  // Before a list as long as a wrong attr says is made.
  const int64_t own_reserved =
      attrs.reserved <= attrs.shard ? 0 : (attrs.reserved - attrs.shard - 1) / attrs.num_shards + 1;
  const int64_t most = std::min(attrs.range, kMaxReserved);
  if (attrs.reserved < 0 || own_reserved > most) {
    return BadAttr("num_reserved_ids", absl::StrCat(attrs.reserved), absl::StrCat("0 to ", most));
  }
  std::vector<float> weights(static_cast<size_t>(own_reserved), 0.0f);
  for (size_t i = 0; i < listed.size(); ++i) {
    const int64_t word = own_reserved + static_cast<int64_t>(i);  // TensorFlow counts on from its own ones, too.
    if (word % attrs.num_shards == attrs.shard) weights.push_back(std::pow(listed[i], attrs.distortion));
  }
  if (static_cast<int64_t>(weights.size()) != attrs.range) {
    return BadAttr("range_max", absl::StrCat(attrs.range), absl::StrCat(weights.size(), ", the number of weights"));
  }
  return weights;
}

}  // namespace sluice
