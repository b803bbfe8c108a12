// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/runner/compare.h"

#include <algorithm>
#include <cassert>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace weft::runner {

namespace {

template <typename T>
T read(const std::byte *bytes)
{
   T value;
   std::memcpy(&value, bytes, sizeof(T));
   return value;
}

double read_float(uint32_t bytes, const std::byte *at)
{
   return bytes == 2   ? double(read<_Float16>(at))
          : bytes == 4 ? double(read<float>(at))
                       : read<double>(at);
}

uint64_t read_integer(uint32_t bytes, const std::byte *at)
{
   uint64_t value = 0;
   std::memcpy(&value, at, bytes);
   return value;
}

bool is_float(const Scalar &scalar)
{
   return scalar.kind == ScalarKind::floating && scalar.bytes > 1;
}

bool same(const Scalar &scalar, const std::byte *a, const std::byte *b, double tolerance)
{
   if (!std::memcmp(a, b, scalar.bytes))
      return true;
   if (!is_float(scalar))
      return false;
   const double x = read_float(scalar.bytes, a), y = read_float(scalar.bytes, b);
   if (std::isnan(x) || std::isnan(y))
      return std::isnan(x) && std::isnan(y);
   // The tolerance would be infinite near infinity, so infinity equals only itself.
   return x == y || (std::isfinite(x) && std::isfinite(y) &&
                     std::abs(x - y) <= tolerance * std::max(std::abs(x), std::abs(y)));
}

} // namespace

std::string value_text(const Scalar &scalar, const std::byte *at)
{
   char text[64];
   if (is_float(scalar)) {
      std::snprintf(text, sizeof(text), "%.*g",
                    scalar.bytes == 8   ? 17
                    : scalar.bytes == 4 ? 9
                                        : 5,
                    read_float(scalar.bytes, at));
   } else if (scalar.kind == ScalarKind::signed_integer) {
      const unsigned shift = 64 - 8 * scalar.bytes;
      std::snprintf(text, sizeof(text), "%" PRId64,
                    int64_t(read_integer(scalar.bytes, at) << shift) >> shift);
   } else {
      std::snprintf(text, sizeof(text), "%" PRIu64, read_integer(scalar.bytes, at));
   }
   return text;
}

const MemoryType *type_of(const ShaderInterface &interface, const BufferPlace &place)
{
   for (const DeclaredBuffer &declared : interface.buffers) {
      if (declared.set == place.set && declared.binding == place.binding)
         return &declared.type;
   }
   return nullptr;
}

std::optional<Difference> compare(std::span<const Buffer> expected, std::span<const Buffer> found,
                                  const ShaderInterface &interface, double tolerance)
{
   assert(expected.size() == found.size());
   std::optional<Difference> first;
   for (size_t i = 0; i < expected.size(); i++) {
      const std::vector<std::byte> &a = expected[i].bytes, &b = found[i].bytes;
      assert(a.size() == b.size());
      if (a.empty() || !std::memcmp(a.data(), b.data(), a.size()))
         continue;
      const MemoryType *type = type_of(interface, expected[i].place);
      for (uint64_t at = 0; at < a.size();) {
         if (a[at] == b[at]) {
            at++;
            continue;
         }
         Scalar scalar = {ScalarKind::integer, 1, at};
         if (const auto known = type ? type->scalar_at(at) : std::nullopt;
             known && known->offset + known->bytes <= a.size())
            scalar = *known;
         const std::byte *in_a = a.data() + scalar.offset, *in_b = b.data() + scalar.offset;
         if (!same(scalar, in_a, in_b, tolerance)) {
            if (!first)
               first = {i, scalar, value_text(scalar, in_a), value_text(scalar, in_b), 0};
            first->count++;
         }
         at = scalar.offset + scalar.bytes;
      }
   }
   return first;
}

} // namespace weft::runner
