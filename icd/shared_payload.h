// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The payload of a semaphore or a fence that devices and processes share
/// (VK_KHR_external_semaphore_fd, VK_KHR_external_fence_fd): a page of a memory file, to which its
/// opaque file descriptors refer.
///
///    signal: value, changes + 1, wake the futex ──► each device's watcher ──► Progress::update()

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

namespace weft {

struct Progress;

enum class PayloadKind : uint32_t { timeline, binary };

/// The page; its layout is the same in all processes.
struct PayloadPage {
   uint64_t magic;
   PayloadKind kind;
   std::atomic<uint32_t> changes; ///< of the values; the futex of the watchers
   std::atomic<uint64_t> value, pending;
   std::atomic<uint64_t> point; ///< of a binary payload: the value that counts as signaled
};

class SharedPayload {
public:
   /// A new payload; null without memory or file descriptors.
   static std::shared_ptr<SharedPayload> create(PayloadKind, uint64_t value, uint64_t pending,
                                                uint64_t point);
   /// The payload of a file; null if it is no payload of this kind. The caller keeps the file.
   static std::shared_ptr<SharedPayload> open(int fd, PayloadKind);
   ~SharedPayload();
   SharedPayload(const SharedPayload &) = delete;
   SharedPayload &operator=(const SharedPayload &) = delete;

   PayloadPage &page() { return *mapped; }
   /// A new file descriptor; negative if the process has too many.
   int duplicate_file() const;
   /// Wakes the watchers of all devices, after a change of the page.
   void tell();
   /// Starts the watcher that wakes a device's waits. Throws std::system_error without threads.
   void watch(Progress &);

private:
   SharedPayload(int fd, PayloadPage *page) : file(fd), mapped(page) {}
   static std::shared_ptr<SharedPayload> map(int fd);

   int file;
   PayloadPage *mapped;
   std::atomic<bool> ends = false;
   std::thread watcher;
};

/// Sets a number to at least `value`.
inline void raise(std::atomic<uint64_t> &number, uint64_t value)
{
   uint64_t old = number;
   while (old < value && !number.compare_exchange_weak(old, value))
      ;
}

} // namespace weft
