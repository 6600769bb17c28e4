#include "executor/tape/grad_mode.h"

namespace sluice {
namespace {

// The modes of one thread.
struct Modes {
  bool records = true;
  bool detects_anomalies = false;
  bool checks_nan = false;
  const PlaceScope* place = nullptr;
};

Modes& ThisThreads() {
  thread_local Modes modes;
  return modes;
}

}  // namespace

bool IsRecording() { return ThisThreads().records; }
GradModeScope::GradModeScope(bool records) : before_(IsRecording()) { ThisThreads().records = records; }
GradModeScope::~GradModeScope() { ThisThreads().records = before_; }

bool DetectsAnomalies() { return ThisThreads().detects_anomalies; }
bool ChecksNan() { return ThisThreads().checks_nan; }
AnomalyScope::AnomalyScope(bool checks_nan) : before_(DetectsAnomalies()), checked_before_(ChecksNan()) {
  ThisThreads().detects_anomalies = true;
  ThisThreads().checks_nan = checks_nan;
}
AnomalyScope::~AnomalyScope() {
  ThisThreads().detects_anomalies = before_;
  ThisThreads().checks_nan = checked_before_;
}

const PlaceScope* PlaceScope::Innermost() { return ThisThreads().place; }
PlaceScope::PlaceScope(const char* name) : name_(name), outer_(Innermost()) { ThisThreads().place = this; }
PlaceScope::~PlaceScope() { ThisThreads().place = outer_; }

PlacesScope::PlacesScope(const PlaceScope* innermost) : before_(PlaceScope::Innermost()) {
  ThisThreads().place = innermost;
}
PlacesScope::~PlacesScope() { ThisThreads().place = before_; }

}  // namespace sluice
