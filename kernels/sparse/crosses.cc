#include "kernels/sparse/crosses.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/strings/farmhash64.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

// Makes one combination: `features` says which feature of each column.
using MakeCross = absl::FunctionRef<void(absl::Span<const int64_t> features, int64_t to)>;

uint64_t Mix(uint64_t value) { return value ^ value >> 47; }

// One fingerprint for two, as TensorFlow joins them.
uint64_t JoinFingerprints(uint64_t first, uint64_t second) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995;
  uint64_t joined = first ^ kFactor;
  joined ^= Mix(second * kFactor) * kFactor;
  joined *= kFactor;
  joined = Mix(joined) * kFactor;
  return Mix(joined);
}

// Reduces a hash to a bucket number in [0, buckets); if `buckets` is 0, to any number that is not negative.
int64_t BucketOf(uint64_t hash, int64_t buckets) {
  const uint64_t most =
      buckets > 0 ? static_cast<uint64_t>(buckets) : static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return static_cast<int64_t>(hash % most);
}

// Calls `make` with each combination of a row, in order: the last column runs fastest.
void ForEachCross(const CrossPlan& plan, int64_t row, MakeCross make) {
  std::vector<int64_t> features;
  for (const Column& column : plan.columns) features.push_back(column.begins[static_cast<size_t>(row)]);
  for (int64_t to = plan.begins[static_cast<size_t>(row)]; to < plan.begins[static_cast<size_t>(row) + 1]; ++to) {
    make(features, to);
    for (size_t c = plan.columns.size(); c-- > 0;) {
      if (++features[c] < plan.columns[c].begins[static_cast<size_t>(row) + 1]) break;
      features[c] = plan.columns[c].begins[static_cast<size_t>(row)];
    }
  }
}

// Calls `make` with the combinations of all rows, on several threads.
absl::Status MakeCrosses(const KernelContext& context, const CrossPlan& plan, MakeCross make) {
  const double crosses = static_cast<double>(plan.begins.back()) / static_cast<double>(std::max<int64_t>(plan.rows, 1));
  return ForStrings(context, plan.rows, 20 + 40 * crosses, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) ForEachCross(plan, row, make);
    return absl::OkStatus();
  });
}

// The bytes of all combinations as texts; the largest number where they cannot be counted.
int64_t TextBytes(const CrossPlan& plan, int64_t separator_bytes) {
  constexpr int64_t kNumberBytes = 20;
  const int64_t gaps = std::max<int64_t>(static_cast<int64_t>(plan.columns.size()) - 1, 0);
  double bytes = static_cast<double>(plan.begins.back()) * static_cast<double>(gaps * separator_bytes);
  for (int64_t row = 0; row < plan.rows; ++row) {
    const int64_t crosses = plan.begins[static_cast<size_t>(row) + 1] - plan.begins[static_cast<size_t>(row)];
    if (crosses == 0) continue;
    for (const Column& column : plan.columns) {
      const int64_t begin = column.begins[static_cast<size_t>(row)], count = column.count(row);
      int64_t own = 0;
      for (int64_t i = begin; i < begin + count; ++i) {
        own += column.is_text() ? static_cast<int64_t>(column.text(i).size()) : kNumberBytes;
      }
      bytes += static_cast<double>(own) * static_cast<double>(crosses / count);
    }
  }
  return bytes < 9e18 ? static_cast<int64_t>(bytes) : std::numeric_limits<int64_t>::max();
}

}  // namespace

absl::Status CountCrosses(CrossPlan* plan) {
  plan->begins[0] = 0;
  for (int64_t row = 0; row < plan->rows; ++row) {
    int64_t count = 1, end = 0;
    bool fits = true;
    for (const Column& column : plan->columns) fits = fits && CheckedMul(count, column.count(row), &count);
    if (!fits || !CheckedAdd(plan->begins[static_cast<size_t>(row)], count, &end)) {
      return Error(ErrorCode::kOpTooLarge)
          .Found(absl::StrCat("more combinations in row ", row, " than can be counted"));
    }
    plan->widest = std::max(plan->widest, count);
    plan->begins[static_cast<size_t>(row) + 1] = end;
  }
  return absl::OkStatus();
}

absl::Status OutputCrossTexts(KernelContext& context, const CrossPlan& plan, absl::string_view separator, int output) {
  SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, TextBytes(plan, static_cast<int64_t>(separator.size()))));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({plan.begins.back()}));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const values, context.AllocateOutput(output, shape));
  const absl::Span<TString> texts = values->flat<TString>();
  return MakeCrosses(context, plan, [&](absl::Span<const int64_t> features, int64_t to) {
    std::string text;
    for (size_t c = 0; c < features.size(); ++c) {
      if (c > 0) text.append(separator.data(), separator.size());
      const Column& column = plan.columns[c];
      if (column.is_text()) {
        text.append(column.text(features[c]).data(), column.text(features[c]).size());
      } else {
        absl::StrAppend(&text, column.number(features[c]));
      }
    }
    texts[static_cast<size_t>(to)].assign(text);
  });
}

uint64_t FeatureFingerprint(const Column& column, int64_t i) {
  return column.is_text() ? FarmHash64(column.text(i)) : static_cast<uint64_t>(column.number(i));
}

absl::Status OutputCrossHashes(KernelContext& context, const CrossPlan& plan, const uint64_t* seed, int64_t buckets,
                               HashFeature hash_feature, int output) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({plan.begins.back()}));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const values, context.AllocateOutput(output, shape));
  const absl::Span<int64_t> hashes = values->flat<int64_t>();
  return MakeCrosses(context, plan, [&](absl::Span<const int64_t> features, int64_t to) {
    uint64_t hash = seed != nullptr ? *seed : 0;
    for (size_t c = 0; c < features.size(); ++c) {
      const uint64_t own = hash_feature(plan.columns[c], features[c]);
      hash = c == 0 && seed == nullptr ? own : JoinFingerprints(hash, own);
    }
    hashes[static_cast<size_t>(to)] = BucketOf(hash, buckets);
  });
}

}  // namespace sluice
