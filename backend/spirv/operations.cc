// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/compiler.h"

#include <vulkan/vulkan_core.h>

namespace weft::spirv {

namespace {

struct Shape {
   uint32_t m, n, k;
};

constexpr Shape shapes[] = {{16, 16, 16}, {8, 8, 8}, {16, 8, 16}, {16, 8, 8}, {8, 16, 16}};
constexpr Shape integer_shapes[] = {{16, 16, 32}, {16, 8, 32}, {8, 16, 32}};

/// Whether components can be held, and have a type that lies in buffers.
bool has_components(const Driver &driver, ComponentType type)
{
   switch (component_bits(type)) {
   case 8:
      return driver.int8 && driver.storage_buffer_8bit;
   case 16:
      /* Arithmetic is of 32 bits where the driver has no other (lower_halves.h). */
      return driver.storage_buffer_16bit;
   case 64:
      return driver.int64 && (driver.float64 || type != ComponentType::f64);
   default:
      return true;
   }
}

/// An invocation has to know its place in the subgroup, and no more.
bool has_matrices(const Driver &driver, uint32_t subgroup_size)
{
   const bool power_of_two = (subgroup_size & (subgroup_size - 1)) == 0;
   return subgroup_size >= 4 && subgroup_size <= 128 && power_of_two &&
          (driver.subgroup_operations & VK_SUBGROUP_FEATURE_BASIC_BIT) != 0;
}

} // namespace

std::vector<MatrixOperation> supported_operations(const Driver &driver, uint32_t subgroup_size)
{
   using enum ComponentType;
   std::vector<MatrixOperation> list;
   if (!has_matrices(driver, subgroup_size))
      return list;

   const auto add = [&](ComponentType ab, ComponentType c) {
      for (const Shape &s : shapes)
         list.push_back({s.m, s.n, s.k, ab, ab, c, c, false});
   };
   if (has_components(driver, f16)) {
      add(f16, f32);
      add(f16, f16);
   }
   add(f32, f32);
   if (driver.float64 && driver.int64)
      add(f64, f64);

   /* Sums modulo 2^32 are of any signedness; u32 saturates for unsigned factors only. */
   const auto add_integers = [&](const Shape &s) {
      for (ComponentType a : {s8, u8}) {
         for (ComponentType b : {s8, u8}) {
            list.push_back({s.m, s.n, s.k, a, b, s32, s32, false});
            list.push_back({s.m, s.n, s.k, a, b, s32, s32, true});
            list.push_back({s.m, s.n, s.k, a, b, u32, u32, false});
         }
      }
      list.push_back({s.m, s.n, s.k, u8, u8, u32, u32, true});
   };
   if (driver.int8 && driver.storage_buffer_8bit) {
      for (const Shape &s : shapes)
         add_integers(s);
      for (const Shape &s : integer_shapes)
         add_integers(s);
   }
   for (const MatrixOperation &op : widened_operations()) {
      if (has_components(driver, op.a) && has_components(driver, op.b) &&
          has_components(driver, op.c))
         list.push_back(op);
   }
   return list;
}

} // namespace weft::spirv
