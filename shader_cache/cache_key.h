// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What an entry of the shader cache is found by.

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

/// Makes a key of one thing after the other.  What varies in length goes in with its length, so that
/// different things never look alike.
class KeyBuilder {
public:
   /// The key is for this kind of entry, made by this very build of Weft.
   explicit KeyBuilder(std::string_view kind);

   /// Numbers, enumerators and booleans: a struct is given member by member, so that its padding
   /// stays out of the key.
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

/// Names the program or library that an address lies in, in this very build of it.
std::string build_name(const void *address);

} // namespace weft
