#include "kernels/random/class_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"

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
      return Error(ErrorCode::kOpAttr)
          .Attr("vocab_file")
          .Found(absl::StrCat("line ", weights.size() + 1, " without a weight"))
          .Expected("a number after the last comma");
    }
    weights.push_back(weight);
  }
  return weights;
}

absl::Status BadAttr(absl::string_view attr, const std::string& found, absl::string_view expected) {
  return Error(ErrorCode::kOpAttr).Attr(attr).Found(found).Expected(expected);
}

// Which of the classes belong to this sampler.
struct Shards {
  int64_t count = 1;
  int64_t shard = 0;
};

absl::StatusOr<Shards> ReadShards(const KernelConstruction& construction) {
  Shards shards;
  SLUICE_ASSIGN_OR_RETURN(shards.count, construction.Get<int64_t>("num_shards"));
  SLUICE_ASSIGN_OR_RETURN(shards.shard, construction.Get<int64_t>("shard"));
  if (shards.count < 1) return BadAttr("num_shards", absl::StrCat(shards.count), "1 or more");
  if (shards.shard < 0 || shards.shard >= shards.count) {
    return BadAttr("shard", absl::StrCat(shards.shard), absl::StrCat("0 to ", shards.count - 1));
  }
  return shards;
}

}  // namespace

absl::StatusOr<std::vector<float>> ReadClassWeights(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t range, construction.Get<int64_t>("range_max"));
  SLUICE_ASSIGN_OR_RETURN(const float distortion, construction.Get<float>("distortion"));
  SLUICE_ASSIGN_OR_RETURN(const int64_t reserved, construction.Get<int64_t>("num_reserved_ids"));
  SLUICE_ASSIGN_OR_RETURN(const std::string file, construction.Get<std::string>("vocab_file"));
  SLUICE_ASSIGN_OR_RETURN(std::vector<float> listed, construction.Get<std::vector<float>>("unigrams"));
  SLUICE_ASSIGN_OR_RETURN(const Shards shards, ReadShards(construction));
  if (file.empty() == listed.empty()) {
    return BadAttr("vocab_file", file.empty() ? "no weights" : "weights in unigrams, too",
                   "either a file or a list of weights");
  }
  if (!file.empty()) {
    SLUICE_ASSIGN_OR_RETURN(listed, ReadVocabulary(file));
  }
  // Before a list as long as a wrong attr says is made.
  const int64_t own_reserved = reserved <= shards.shard ? 0 : (reserved - shards.shard - 1) / shards.count + 1;
  if (reserved < 0 || own_reserved > std::min(range, kMaxReserved)) {
    return BadAttr("num_reserved_ids", absl::StrCat(reserved), absl::StrCat("0 to ", std::min(range, kMaxReserved)));
  }
  std::vector<float> weights(static_cast<size_t>(own_reserved), 0.0f);
  for (size_t i = 0; i < listed.size(); ++i) {
    const int64_t word = own_reserved + static_cast<int64_t>(i);  // TensorFlow counts on from its own ones, too.
    if (word % shards.count == shards.shard) weights.push_back(std::pow(listed[i], distortion));
  }
  if (static_cast<int64_t>(weights.size()) != range) {
    return BadAttr("range_max", absl::StrCat(range), absl::StrCat(weights.size(), ", the number of weights"));
  }
  return weights;
}

}  // namespace sluice
