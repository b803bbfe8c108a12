// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What earlier processes compiled, on disk.  An entry is a file, named by its key in hexadecimal:
///
///     BLAKE3 of all that follows (32 bytes) | key (32 bytes) | payload
///
/// Any number of processes use the folder at once, without locks.  An entry is written under another
/// name and then renamed, so whenever its writer dies there is a whole entry or none; and what does
/// not have its hash was damaged since, and is none either.  The hash is there for accidents: whoever
/// can write to the folder can run code, which is why one that is not the user's alone is not used.
///
/// Nothing fails here: with a folder that is read-only, full or missing the cache remembers less.

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

/// May be used by several threads at once.
class DiskCache {
public:
   /// The folder is made when there is something to write, readable for the user alone.  Its files
   /// take about `limit` bytes at most: those that were not used for longest go.
   DiskCache(std::string folder, uint64_t limit);

   std::optional<std::vector<std::byte>> read(const CacheKey &) const;
   void write(const CacheKey &, std::span<const std::byte> payload);

private:
   const std::string folder;
   const uint64_t limit;
   /// Bytes written since somebody last looked at the size of the whole.
   std::atomic<uint64_t> unaccounted;
};

/// The cache that docs/settings.md describes, by the environment at the first call; null if it is
/// switched off.
DiskCache *shader_cache();

} // namespace weft
