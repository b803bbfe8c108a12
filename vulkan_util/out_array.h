// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Vulkan's way of returning arrays: the caller passes a capacity and a pointer, or requests the
/// count with a null pointer. If the capacity is too small, the status is VK_INCOMPLETE.

#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

namespace weft {

template <typename T>
class OutArray {
public:
   OutArray(T *data, uint32_t *count) : data(data), count(count), capacity(data ? *count : 0)
   {
      *count = 0;
   }

   /// The next element to fill in; null if only the count is requested or the array is full.
   T *append()
   {
      wanted++;
      if (!data) {
         (*count)++;
         return nullptr;
      }
      return *count < capacity ? &data[(*count)++] : nullptr;
   }

   VkResult status() const { return *count < wanted ? VK_INCOMPLETE : VK_SUCCESS; }

private:
   T *data;
   uint32_t *count;
   uint32_t capacity;
   uint32_t wanted = 0;
};

} // namespace weft
