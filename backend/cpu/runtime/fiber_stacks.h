// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Stacks for fibers: one mapping. Each stack has a guard page below it, unless the process has too
/// many guard pages. (A guard page only detects bugs: the sizes of frames that LLVM reports ensure
/// that stacks are large enough.)
///
///    | guard | stack 0 | guard | stack 1 | ...

#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::cpu {

class FiberStacks {
public:
   FiberStacks() = default;
   ~FiberStacks();
   FiberStacks(FiberStacks &&) noexcept;
   FiberStacks &operator=(FiberStacks &&) noexcept;

   /// Replaces all stacks by `count` stacks of at least `bytes` bytes each. Returns false without
   /// memory for them, and then holds no stack.
   bool allocate(uint32_t count, size_t bytes);

   bool hold(uint32_t wanted_count, size_t wanted_bytes) const;
   uint32_t count() const { return stack_count; }
   /// Bytes of each stack, before rounding.
   size_t usable_bytes() const;
   /// Bytes of address space.
   size_t mapped() const { return mapping_bytes; }
   static size_t mapped(uint32_t count, size_t bytes);

   /// The stack's start (its highest address, exclusive). Starts differ in their offset within a
   /// page, so that frames of different fibers do not compete for the same sets of the first-level
   /// cache.
   std::byte *top(uint32_t stack) const;
   /// Bytes from the guard page to top().
   size_t size(uint32_t stack) const;

private:
   std::byte *bottom(uint32_t stack) const;
   void release();

   std::byte *mapping = nullptr;
   size_t mapping_bytes = 0;
   uint32_t stack_count = 0;
   uint32_t guards = 0; ///< the lowest stacks have a guard page; their number
   size_t bytes = 0;    ///< of one stack, without its guard page
};

} // namespace weft::cpu
