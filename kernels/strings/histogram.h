#ifndef SLUICE_KERNELS_STRINGS_HISTOGRAM_H_
#define SLUICE_KERNELS_STRINGS_HISTOGRAM_H_

#include <string>
#include <vector>

namespace sluice {

// How often values fall into TensorFlow's buckets: about 10 % wide, from 1e-12 to 1e20 on both sides of zero. A value;
// not thread-safe.
class Histogram {
 public:
  Histogram();

  // REQUIRES: finite.
  void Add(double value);
  // As a HistogramProto; runs of empty buckets become one.
  std::string Encode() const;

 private:
  std::vector<double> counts_;
  double min_, max_;
  double num_ = 0, sum_ = 0, sum_of_squares_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_HISTOGRAM_H_
