// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/fiber_stacks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace weft::cpu {

namespace {

/// Stack tops are staggered by multiples of stagger_bytes, modulo stagger_count.
constexpr size_t stagger_bytes = 256, stagger_count = 16;

/// Guard pages that the process may still create. Each splits a mapping, which adds two mappings.
/// Linux allows a process 65,530 mappings (vm.max_map_count), the application's own included: 256
/// threads with 128 fibers each would need them all.
std::atomic<int64_t> guards_left = 8192;

/// Reserves up to `wanted` guard pages; returns how many.
uint32_t take_guards(uint32_t wanted)
{
   const int64_t left = guards_left.fetch_sub(wanted, std::memory_order_relaxed);
   const int64_t given = std::clamp<int64_t>(left, 0, wanted);
   guards_left.fetch_add(wanted - given, std::memory_order_relaxed);
   return given;
}

size_t page_bytes()
{
   static const size_t bytes = sysconf(_SC_PAGESIZE);
   return bytes;
}

/// The size of a stack with `bytes` usable bytes, without its guard page.
size_t whole_bytes(size_t bytes)
{
   const size_t page = page_bytes();
   return (bytes + stagger_bytes * stagger_count + page - 1) / page * page;
}

} // namespace

FiberStacks::~FiberStacks()
{
   release();
}

FiberStacks::FiberStacks(FiberStacks &&other) noexcept
{
   *this = std::move(other);
}

FiberStacks &FiberStacks::operator=(FiberStacks &&other) noexcept
{
   std::swap(mapping, other.mapping);
   std::swap(mapping_bytes, other.mapping_bytes);
   std::swap(stack_count, other.stack_count);
   std::swap(guards, other.guards);
   std::swap(bytes, other.bytes);
   return *this;
}

void FiberStacks::release()
{
   if (mapping)
      munmap(mapping, mapping_bytes);
   guards_left.fetch_add(guards, std::memory_order_relaxed);
   mapping = nullptr;
   mapping_bytes = 0;
   guards = 0;
   stack_count = 0;
   bytes = 0;
}

size_t FiberStacks::mapped(uint32_t count, size_t bytes)
{
   return count * (page_bytes() + whole_bytes(bytes));
}

bool FiberStacks::hold(uint32_t wanted_count, size_t wanted_bytes) const
{
   return wanted_count <= stack_count && whole_bytes(wanted_bytes) <= bytes;
}

size_t FiberStacks::usable_bytes() const
{
   return bytes - stagger_bytes * stagger_count;
}

bool FiberStacks::allocate(uint32_t wanted_count, size_t wanted_bytes)
{
   release();
   const size_t page = page_bytes(), size = mapped(wanted_count, wanted_bytes);
   // Pages get memory when they are first touched.
   void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
   if (memory == MAP_FAILED)
      return false;
   mapping = static_cast<std::byte *>(memory);
   mapping_bytes = size;
   stack_count = wanted_count;
   bytes = whole_bytes(wanted_bytes);
   guards = take_guards(stack_count);
   for (uint32_t i = 0; i < guards; i++) {
      // A stack also works without its guard page; the application may have used up the mappings.
      if (mprotect(bottom(i) - page, page, PROT_NONE)) {
         guards_left.fetch_add(guards - i, std::memory_order_relaxed);
         guards = i;
      }
   }
   return true;
}

std::byte *FiberStacks::bottom(uint32_t stack) const
{
   const size_t page = page_bytes();
   return mapping + stack * (page + bytes) + page;
}

std::byte *FiberStacks::top(uint32_t stack) const
{
   return bottom(stack) + bytes - stack % stagger_count * stagger_bytes;
}

size_t FiberStacks::size(uint32_t stack) const
{
   return top(stack) - bottom(stack);
}

} // namespace weft::cpu
