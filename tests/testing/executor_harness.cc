#include "tests/testing/executor_harness.h"

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/state/families.h"
#include "tests/testing/plain_kernels.h"

namespace sluice {
namespace {

const std::string& DeviceText() {
  static const std::string& text = *new std::string(absl::StrCat(kLocalTask, "/device:CPU:0"));
  return text;
}

}  // namespace

ExecutorHarness::ExecutorHarness() : device_(DeviceText(), 1) {
  AddPlainKernels(registry_);
  AddStateKernels(registry_);
}

Executor::Args ExecutorHarness::args() {
  Executor::Args args;
  args.step_id = StepId(1);
  args.rendezvous = rendezvous_.get();
  return args;
}

absl::Status ExecutorHarness::Build(Graph graph, absl::string_view kind, Driver driver) {
  LocalExecutorParams params;
  params.device = &device_;
  params.registry = &registry_;
  params.edges = &edges_;
  params.driver = driver;
  SLUICE_ASSIGN_OR_RETURN(executor_, NewExecutor(kind, params, std::move(graph)));
  return absl::OkStatus();
}

std::vector<std::pair<std::string, AttrValue>> ExecutorHarness::TransferAttrs(const std::string& name) {
  return {{"tensor_name", name},
          {"send_device", DeviceText()},
          {"send_device_incarnation", int64_t{1}},
          {"recv_device", DeviceText()}};
}

RendezvousKey ExecutorHarness::Key(const std::string& name) {
  return RendezvousKey{edges_.Number(EdgeText(DeviceText(), 1, DeviceText(), name)), 0, 0};
}

absl::Status ExecutorHarness::Send(const std::string& name, Tensor value, bool is_dead) {
  return rendezvous_->Send(Key(name), {}, RendezvousValue{std::move(value), is_dead});
}

absl::StatusOr<RendezvousValue> ExecutorHarness::Recv(const std::string& name) {
  Notification came;
  absl::Status status;
  RendezvousValue received;
  rendezvous_->RecvAsync(Key(name), {}, nullptr,
                         [&](absl::Status s, RendezvousValue value, const TransferArgs&, const TransferArgs&) {
                           status = std::move(s);
                           received = std::move(value);
                           came.Notify();
                         });
  came.WaitForNotification();
  SLUICE_RETURN_IF_ERROR(status);
  return received;
}

}  // namespace sluice
