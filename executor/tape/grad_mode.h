#ifndef SLUICE_EXECUTOR_TAPE_GRAD_MODE_H_
#define SLUICE_EXECUTOR_TAPE_GRAD_MODE_H_

namespace sluice {

// Whether this thread records what it computes; true at first.
bool IsRecording();

// While it lives, this thread records or does not. One thread's, on the stack.
//
//   const NoGradScope no_grad;
class GradModeScope {
 public:
  explicit GradModeScope(bool records);
  GradModeScope(const GradModeScope&) = delete;
  GradModeScope& operator=(const GradModeScope&) = delete;
  ~GradModeScope();

 private:
  const bool before_;
};

// Nothing is recorded: results require no gradient, and leaves may be assigned to.
class NoGradScope : public GradModeScope {
 public:
  NoGradScope() : GradModeScope(false) {}
};

// While it lives, this thread notes where ops are recorded (the names of the scopes below and the op), and passes that
// it begins look for NaN in what each node computes: errors then say where the node was recorded.
class AnomalyScope {
 public:
  // `checks_nan` false: errors say where, but NaN is not looked for.
  explicit AnomalyScope(bool checks_nan = true);
  AnomalyScope(const AnomalyScope&) = delete;
  AnomalyScope& operator=(const AnomalyScope&) = delete;
  ~AnomalyScope();

 private:
  const bool before_, checked_before_;
};
bool DetectsAnomalies();
bool ChecksNan();

// While it lives, `name` is part of the place that anomaly detection notes. `name` must live as long.
class PlaceScope {
 public:
  explicit PlaceScope(const char* name);
  PlaceScope(const PlaceScope&) = delete;
  PlaceScope& operator=(const PlaceScope&) = delete;
  ~PlaceScope();

  // "encoder/layer1" for the innermost scope.
  static const PlaceScope* Innermost();
  const char* name() const { return name_; }
  const PlaceScope* outer() const { return outer_; }

 private:
  const char* const name_;
  const PlaceScope* const outer_;
};

// While it lives, this thread is in the places of another thread, which waits; `innermost` is the last (null: none).
class PlacesScope {
 public:
  explicit PlacesScope(const PlaceScope* innermost);
  PlacesScope(const PlacesScope&) = delete;
  PlacesScope& operator=(const PlacesScope&) = delete;
  ~PlacesScope();

 private:
  const PlaceScope* const before_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_GRAD_MODE_H_
