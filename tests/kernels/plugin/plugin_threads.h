#ifndef SLUICE_TESTS_KERNELS_PLUGIN_PLUGIN_THREADS_H_
#define SLUICE_TESTS_KERNELS_PLUGIN_PLUGIN_THREADS_H_

#include <mutex>
#include <thread>
#include <utility>
#include <vector>

// Threads of a plug-in, which the end of the process waits for: a leak checker that meets one on its way out may fail.
class PluginThreads {
 public:
  ~PluginThreads() {
    for (std::thread& thread : threads_) thread.join();
  }
  template <typename Work>
  void Start(Work work) {
    const std::lock_guard<std::mutex> lock(mu_);
    threads_.emplace_back(std::move(work));
  }

 private:
  std::mutex mu_;
  std::vector<std::thread> threads_;
};

#endif  // SLUICE_TESTS_KERNELS_PLUGIN_PLUGIN_THREADS_H_
