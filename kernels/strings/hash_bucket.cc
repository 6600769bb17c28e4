// Strings to numbers of buckets: StringToHashBucket, StringToHashBucketFast, StringToHashBucketStrong.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/farmhash64.h"
#include "kernels/strings/string_hash.h"

namespace sluice {
namespace {

constexpr double kNsPerString = 20;

absl::StatusOr<uint64_t> BucketCount(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, construction.Get<int64_t>("num_buckets"));
  if (count >= 1) return static_cast<uint64_t>(count);
  return AttrError("num_buckets", count, "at least 1");
}

absl::Status PutInBuckets(KernelContext& context, uint64_t num_buckets,
                          absl::FunctionRef<uint64_t(absl::string_view)> hash) {
  const Tensor& input = context.input(0);
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, input.shape()));
  const TString* const texts = input.flat<TString>().data();
  int64_t* const buckets = out->flat<int64_t>().data();
  context.ParallelFor(input.num_elements(), kNsPerString, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) buckets[i] = static_cast<int64_t>(hash(texts[i].view()) % num_buckets);
  });
  return absl::OkStatus();
}

// The remainder of a hash that has no key.
template <uint64_t (*kHash)(absl::string_view text)>
class HashBucketKernel : public Kernel {
 public:
  explicit HashBucketKernel(uint64_t num_buckets) : num_buckets_(num_buckets) {}
  absl::Status Compute(KernelContext& context) const override { return PutInBuckets(context, num_buckets_, kHash); }

 private:
  const uint64_t num_buckets_;
};

// The remainder of a keyed hash, which cannot be predicted without the key.
class StrongHashBucketKernel : public Kernel {
 public:
  StrongHashBucketKernel(uint64_t num_buckets, uint64_t key0, uint64_t key1)
      : num_buckets_(num_buckets), key0_(key0), key1_(key1) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const uint64_t count, BucketCount(construction));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> key, construction.Get<std::vector<int64_t>>("key"));
    if (key.size() != 2) return AttrError("key", absl::StrCat(key.size(), " numbers"), "two");
    return std::make_unique<StrongHashBucketKernel>(count, static_cast<uint64_t>(key[0]),
                                                    static_cast<uint64_t>(key[1]));
  }

  absl::Status Compute(KernelContext& context) const override {
    return PutInBuckets(context, num_buckets_, [this](absl::string_view text) { return SipHash(text, key0_, key1_); });
  }

 private:
  const uint64_t num_buckets_, key0_, key1_;
};

constexpr KernelRow kRows[] = {
    KernelRow("StringToHashBucket", &NewWith<HashBucketKernel<&MurmurHash>, &BucketCount>),
    KernelRow("StringToHashBucketFast", &NewWith<HashBucketKernel<&FarmHash64>, &BucketCount>),
    KernelRow("StringToHashBucketStrong", &New<StrongHashBucketKernel>),
};

}  // namespace

absl::Span<const KernelRow> HashBucketKernels() { return kRows; }

}  // namespace sluice
