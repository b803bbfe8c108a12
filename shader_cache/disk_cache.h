// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A cache on disk of the results of earlier compilations. An entry is a file, named by its key in
/// hexadecimal:
///
///    BLAKE3 of all that follows (32 bytes) | key (32 bytes) | payload
///
/// Any number of processes use the folder at once, without locks. An entry is written under another
/// name and then renamed, so the folder never contains part of an entry, whenever its writer dies.
/// An entry whose hash does not match was damaged later and is ignored. The hash detects accidents
/// only: any user with write access to the folder can run code in the process. Therefore a folder
/// that other users can write to is not used.
///
/// The cache reports no errors: with a folder that is read-only, full or missing, it stores less.

#pragma once

#include "shader_cache/cache_key.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// Thread-safe.
class DiskCache {
public:
   /// The first write creates the folder, which only the user can read. Its files take about
   /// `limit` bytes at most: the least recently used ones are removed.
   DiskCache(std::string folder, uint64_t limit);

   std::optional<std::vector<std::byte>> read(const CacheKey &) const;
   void write(const CacheKey &, std::span<const std::byte> payload);
   /// Whether any process has stored anything. It may be damaged.
   bool has_entries() const noexcept;

private:
   const std::string folder;
   const uint64_t limit;
   /// Bytes written since the last check of the folder's size.
   std::atomic<uint64_t> unaccounted;
};

/// The cache of docs/settings.md, by the environment at the first call; null if it is disabled.
DiskCache *shader_cache();

} // namespace weft
