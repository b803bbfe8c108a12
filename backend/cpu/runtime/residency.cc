// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/residency.h"

#include <bit>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <shared_mutex>

namespace weft::cpu {

namespace {

/// Ranges that do not overlap.
class UnboundRanges {
public:
   bool replace(uint64_t start, uint64_t end, bool is_unbound)
   {
      const std::unique_lock lock(mutex);
      try {
         cut(start, end);
         if (is_unbound)
            ends.emplace(start, end);
         return true;
      } catch (const std::bad_alloc &) {
         return false;
      }
   }

   /// Keeps the ranges as they are.
   std::shared_lock<std::shared_mutex> hold() const { return std::shared_lock(mutex); }

   /// While the ranges are held.
   bool overlaps(uint64_t start, uint64_t end) const
   {
      const auto behind = ends.lower_bound(end);
      return behind != ends.begin() && std::prev(behind)->second > start;
   }

private:
   void cut(uint64_t start, uint64_t end)
   {
      auto at = ends.lower_bound(start);
      if (at != ends.begin()) {
         const auto before = std::prev(at);
         if (before->second > end)
            ends.emplace(end, before->second);
         if (before->second > start)
            before->second = start;
      }
      while (at != ends.end() && at->first < end) {
         if (at->second > end)
            ends.emplace(end, at->second);
         at = ends.erase(at);
      }
   }

   mutable std::shared_mutex mutex;
   std::map<uint64_t, uint64_t> ends; ///< by start
};

/// Threads may use it until the process ends, so it has no destructor.
UnboundRanges &unbound()
{
   static auto *const ranges = new UnboundRanges;
   return *ranges;
}

} // namespace

bool mark_unbound(uint64_t start, uint64_t size)
{
   return unbound().replace(start, start + size, true);
}

bool mark_bound(uint64_t start, uint64_t size)
{
   return unbound().replace(start, start + size, false);
}

void find_residency(uint64_t active, uint32_t lanes, const uint32_t *operands, uint32_t *results)
{
   const UnboundRanges &ranges = unbound();
   const auto held = ranges.hold();
   for (; active; active &= active - 1) {
      const auto lane = uint32_t(std::countr_zero(active));
      const auto operand = [&](uint32_t number) { return operands[number * lanes + lane]; };
      const uint64_t start = operand(0) | uint64_t(operand(1)) << 32;
      results[lane] = !ranges.overlaps(start, start + operand(2));
   }
}

} // namespace weft::cpu
