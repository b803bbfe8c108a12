// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/creation_threads.h"

#include "backend/cpu/runtime/executor.h"
#include "icd/device.h"
#include "threads/blocked_signals.h"

#include "vk_alloc.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace weft {

bool may_use_threads(const Device *device, const VkAllocationCallbacks *allocator)
{
   return !allocator && device->vk.alloc.pfnAllocation == vk_default_allocator()->pfnAllocation;
}

void create_on_threads(size_t count, const std::function<void(size_t i)> &create)
{
   std::atomic<size_t> next = 0;
   const auto work = [&] {
      for (size_t i = next++; i < count; i = next++)
         create(i);
   };
   std::vector<std::jthread> helpers;
   {
      const BlockedSignals inherited;
      try {
         for (size_t i = 1; i < std::min<size_t>(count, cpu::default_threads()); i++)
            helpers.emplace_back(work);
      } catch (const std::exception &) {
         // Fewer threads suffice.
      }
   }
   work();
}

} // namespace weft
