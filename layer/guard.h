// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include <new>
#include <utility>

namespace weft::layer {

/// Runs the body of an entry point; the standard library's exceptions end here.
template <typename Body>
VkResult guarded(Body &&body) noexcept
{
   try {
      return body();
   } catch (const std::bad_alloc &) {
      return VK_ERROR_OUT_OF_HOST_MEMORY;
   } catch (...) {
      return VK_ERROR_UNKNOWN;
   }
}

/// Calls a function at the end of the scope, unless succeeded() was called.
template <typename F>
class OnFailure {
public:
   explicit OnFailure(F undo) : undo(std::move(undo)) {}
   ~OnFailure()
   {
      if (armed)
         undo();
   }
   OnFailure(const OnFailure &) = delete;
   OnFailure &operator=(const OnFailure &) = delete;
   void succeeded() { armed = false; }

private:
   F undo;
   bool armed = true;
};

} // namespace weft::layer
