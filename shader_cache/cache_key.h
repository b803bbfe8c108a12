// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Keys of the shader cache's entries.

#pragma once

#include "util/mesa-blake3.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace weft {

/// A hash (BLAKE3) of everything that the entry depends on.
using CacheKey = std::array<uint8_t, BLAKE3_OUT_LEN>;

/// Hashes one value after the other. Values of variable length are hashed with their length, so
/// that different sequences never hash the same bytes.
class KeyBuilder {
public:
   /// The key is for this kind of entry, made by this exact build of Weft.
   explicit KeyBuilder(std::string_view kind);

   /// Adds numbers, enumerators and booleans. A struct is added member by member, which keeps its
   /// padding out of the key.
   template <typename... T>
      requires((std::is_integral_v<T> || std::is_enum_v<T>) && ...)
   void add(T... values)
   {
      const uint64_t words[] = {uint64_t(values)...};
      update(words, sizeof(words));
   }
   void add(std::string_view text) { add_bytes(std::as_bytes(std::span(text))); }
   void add_bytes(std::span<const std::byte> bytes)
   {
      add(bytes.size());
      update(bytes.data(), bytes.size());
   }

   CacheKey finish();

private:
   void update(const void *bytes, size_t size) { _mesa_blake3_update(&hasher, bytes, size); }

   mesa_blake3 hasher;
};

/// Identifies the exact build of the program or library that contains an address.
std::string build_name(const void *address);

} // namespace weft
