// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "shader_cache/cache_key.h"

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <set>

namespace weft {
namespace {

CacheKey key_of(const std::function<void(KeyBuilder &)> &add, const char *kind = "test")
{
   KeyBuilder builder(kind);
   add(builder);
   return builder.finish();
}

TEST(CacheKey, IsTheSameForTheSame)
{
   const auto add = [](KeyBuilder &b) {
      b.add(1u, true, int8_t(-1));
      b.add("text");
   };
   EXPECT_EQ(key_of(add), key_of(add));
}

TEST(CacheKey, TellsApartWhatCouldLookAlike)
{
   const std::set<CacheKey> keys = {
      key_of([](KeyBuilder &) {}),
      key_of([](KeyBuilder &) {}, "test "),
      key_of([](KeyBuilder &b) { b.add(""); }),
      key_of([](KeyBuilder &b) { b.add("ab"), b.add("c"); }),
      key_of([](KeyBuilder &b) { b.add("a"), b.add("bc"); }),
      key_of([](KeyBuilder &b) { b.add("abc"); }),
      key_of([](KeyBuilder &b) { b.add(1, 0); }),
      key_of([](KeyBuilder &b) { b.add(0, 1); }),
      key_of([](KeyBuilder &b) { b.add(1); }),
   };
   EXPECT_EQ(keys.size(), 9u);
}

/// Computed another way: the kind, the build and the added texts, each behind its length.
TEST(CacheKey, HasKindAndBuild)
{
   const std::string build = build_name(reinterpret_cast<const void *>(&build_name));
   std::string bytes;
   const auto add_number = [&](uint64_t number) {
      bytes.append(reinterpret_cast<const char *>(&number), sizeof(number));
   };
   for (const std::string &text : {std::string("test"), build}) {
      add_number(text.size());
      bytes += text;
   }
   add_number(7);
   CacheKey expected;
   _mesa_blake3_compute(bytes.data(), bytes.size(), expected.data());
   EXPECT_EQ(key_of([](KeyBuilder &b) { b.add(7); }), expected);
}

TEST(CacheKey, NamesBuilds)
{
   const std::string own = build_name(reinterpret_cast<const void *>(&build_name)),
                     library = build_name(reinterpret_cast<const void *>(&std::terminate));
   EXPECT_EQ(own, build_name(reinterpret_cast<const void *>(&key_of)));
   EXPECT_FALSE(own.empty());
   EXPECT_FALSE(library.empty());
   EXPECT_NE(own, library);
   // Where nothing is, nothing has a name to be found by.
   EXPECT_NE(build_name(nullptr), build_name(nullptr));
}

} // namespace
} // namespace weft
