// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/device_pages.h"

#include "util/u_math.h"

#include "icd/never_destroyed.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <sys/mman.h>
#include <utility>

namespace weft {
namespace {

constexpr uint64_t huge_page_size = 2 << 20;
/// Blocks are aligned to their size, so an address determines its block.
constexpr uint64_t block_size = 32 << 20;

struct Range {
   uintptr_t start;
   uint64_t size;

   uintptr_t end() const { return start + size; }
};

bool unmap(Range range)
{
   return munmap(reinterpret_cast<void *>(range.start), range.size) == 0;
}

/// Mapped addresses without pages, indexed by size and by start.
class FreeRanges {
public:
   /// The range, joined with all free ranges directly before and after it, within `bounds`.
   Range joined(Range range, Range bounds) const
   {
      auto next = by_start.lower_bound(range.start);
      if (next != by_start.end() && next->first == range.end() && next->first < bounds.end())
         range.size += next->second;
      if (next != by_start.begin()) {
         const auto before = std::prev(next);
         if (before->first + before->second == range.start && before->first >= bounds.start)
            range = {before->first, before->second + range.size};
      }
      return range;
   }

   /// Removes all ranges within the range.
   void remove(Range range)
   {
      auto at = by_start.lower_bound(range.start);
      while (at != by_start.end() && at->first < range.end()) {
         by_size.erase({at->second, at->first});
         at = by_start.erase(at);
      }
   }

   void add(Range range)
   {
      if (range.size == 0)
         return;
      const auto by_size_place = by_size.insert({range.size, range.start}).first;
      try {
         by_start.emplace(range.start, range.size);
      } catch (...) {
         by_size.erase(by_size_place);
         throw;
      }
   }

   /// Takes memory from the smallest range that contains `size` bytes at a multiple of `alignment`;
   /// 0 if there is none.
   uintptr_t take(uint64_t size, uint64_t alignment)
   {
      for (auto at = by_size.lower_bound({size, 0}); at != by_size.end(); ++at) {
         const Range whole = {at->second, at->first};
         const Range taken = {align_uintptr(whole.start, alignment), size};
         if (taken.end() > whole.end())
            continue;
         // If there is no memory to record a range, only its addresses are lost.
         remove(whole);
         add({whole.start, taken.start - whole.start});
         add({taken.end(), whole.end() - taken.end()});
         return taken.start;
      }
      return 0;
   }

private:
   std::map<uintptr_t, uint64_t> by_start;
   std::set<std::pair<uint64_t, uintptr_t>> by_size;
};

class Pages {
public:
   explicit Pages(Sharing sharing) : sharing(sharing) {}

   uintptr_t allocate(uint64_t size)
   {
      const std::lock_guard lock(mutex);
      if (size == 0)
         return 0;
      if (size >= huge_page_size)
         return allocate_large(size);
      if (const uintptr_t start = allocate_small(size))
         return start;
      return map_anywhere(size);
   }

   void release(Range range)
   {
      const std::lock_guard lock(mutex);
      const auto block = blocks.find(block_of(range.start).start);
      if (range.size >= huge_page_size || block == blocks.end()) {
         give_back(range);
         return;
      }
      block->second -= range.size;
      const Range whole = {block->first, block_size};
      if (block->second == 0) {
         blocks.erase(block);
         parts.remove(whole);
         give_back(whole);
         return;
      }
      drop_pages(range);
      replace(parts, parts.joined(range, whole));
   }

private:
   uintptr_t map_anywhere(uint64_t size) const
   {
      void *map = mmap(nullptr, size, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
      return map == MAP_FAILED ? 0 : uintptr_t(map);
   }

   /// Returns the pages to the system but keeps the addresses. Pages that the program has locked in
   /// memory (mlockall) stay, and are zeroed.
   void drop_pages(Range range) const
   {
      auto *start = reinterpret_cast<void *>(range.start);
      const int advice = sharing == MAP_SHARED ? MADV_REMOVE : MADV_DONTNEED;
      if (madvise(start, range.size, advice) != 0)
         memset(start, 0, range.size);
   }

   static Range block_of(uintptr_t address)
   {
      return {address / block_size * block_size, block_size};
   }

   /// Maps at a multiple of `alignment`, which is a multiple of the page size.
   uintptr_t map_aligned(uint64_t size, uint64_t alignment)
   {
      const uintptr_t map = map_anywhere(size + alignment);
      if (!map)
         return 0;
      const uintptr_t start = align_uintptr(map, alignment);
      if (start > map)
         give_back({map, start - map});
      if (start - map < alignment)
         give_back({start + size, alignment - (start - map)});
      return start;
   }

   uintptr_t allocate_large(uint64_t size)
   {
      if (const uintptr_t start = kept.take(size, huge_page_size))
         return start;
      const uintptr_t start = map_aligned(size, huge_page_size);
      if (start)
         madvise(reinterpret_cast<void *>(start), size, MADV_HUGEPAGE);
      return start;
   }

   uintptr_t allocate_small(uint64_t size)
   {
      uintptr_t start = parts.take(size, page_size);
      if (!start) {
         const uintptr_t block = map_aligned(block_size, block_size);
         if (!block)
            return 0;
         // Blocks return single pages, so they use no huge pages.
         madvise(reinterpret_cast<void *>(block), block_size, MADV_NOHUGEPAGE);
         try {
            parts.add({block + size, block_size - size});
            blocks.emplace(block, 0);
         } catch (...) {
            parts.remove({block, block_size});
            give_back({block, block_size});
            throw;
         }
         start = block;
      }
      blocks.find(block_of(start).start)->second += size;
      return start;
   }

   /// Unmaps the range, together with neighbours that could not be unmapped before.
   void give_back(Range range)
   {
      const Range all = kept.joined(range, {0, UINTPTR_MAX});
      if (unmap(all)) {
         kept.remove(all);
         return;
      }
      drop_pages(range);
      // Shared mappings that are neighbours are not one mapping, so an allocation cannot have parts
      // of both. These addresses are lost.
      if (sharing == MAP_PRIVATE)
         replace(kept, all);
   }

   /// Adds a range that was joined with its neighbours. Without memory to record it, its addresses
   /// are lost for allocations; it has no pages any more.
   static void replace(FreeRanges &ranges, Range all)
   {
      ranges.remove(all);
      try {
         ranges.add(all);
      } catch (const std::bad_alloc &) {
      }
   }

   const Sharing sharing;
   std::mutex mutex;
   std::map<uintptr_t, uint64_t> blocks; ///< allocated bytes per block, by address
   FreeRanges parts;                     ///< free parts of blocks
   FreeRanges kept;                      ///< ranges that the kernel refused to unmap
};

Pages &pages(Sharing sharing)
{
   static NeverDestroyed<Pages> own(MAP_PRIVATE), shared(MAP_SHARED);
   return sharing == MAP_SHARED ? shared.get() : own.get();
}

/// Maps pages at the address, or null if it is not free. Null as the address stands for any.
uint8_t *map_at(uint64_t address, uint64_t size, Sharing sharing)
{
   void *const place = reinterpret_cast<void *>(uintptr_t(address));
   void *const map =
      mmap(place, size, PROT_READ | PROT_WRITE,
           sharing | MAP_ANONYMOUS | MAP_NORESERVE | (place ? MAP_FIXED_NOREPLACE : 0), -1, 0);
   if (map == MAP_FAILED)
      return nullptr;
   if (!place || map == place)
      return static_cast<uint8_t *>(map);
   munmap(map, size); // a Linux before 4.17 takes the address for a hint
   return nullptr;
}

/// Maps pages whose address a later process can probably have again. Linux does not choose this
/// range by itself, so other mappings of a replaying process are elsewhere.
uint8_t *map_to_capture(uint64_t size, Sharing sharing)
{
   constexpr uint64_t first_address = uint64_t(1) << 38, last_address = uint64_t(1) << 40;
   static std::atomic<uint64_t> next_address = first_address;
   for (int attempt = 0; attempt < 16; attempt++) {
      const uint64_t address = next_address.fetch_add(size + page_size);
      if (address >= last_address - size)
         break;
      if (uint8_t *map = map_at(address, size, sharing))
         return map;
   }
   return map_at(0, size, sharing);
}

} // namespace

uint8_t *allocate_pages(uint64_t size, Sharing sharing)
{
   return reinterpret_cast<uint8_t *>(pages(sharing).allocate(size));
}

uint8_t *map_replayable(uint64_t captured, uint64_t size, Sharing sharing)
{
   return captured ? map_at(captured, size, sharing) : map_to_capture(size, sharing);
}

void free_pages(uint8_t *start, uint64_t size, Sharing sharing)
{
   pages(sharing).release({uintptr_t(start), size});
}

} // namespace weft
