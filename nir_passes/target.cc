// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/target.h"

#include <algorithm>

namespace weft {

const char *component_type_name(ComponentType type)
{
   switch (type) {
   case ComponentType::f16:
      return "f16";
   case ComponentType::f32:
      return "f32";
   case ComponentType::f64:
      return "f64";
   case ComponentType::s8:
      return "s8";
   case ComponentType::s16:
      return "s16";
   case ComponentType::s32:
      return "s32";
   case ComponentType::s64:
      return "s64";
   case ComponentType::u8:
      return "u8";
   case ComponentType::u16:
      return "u16";
   case ComponentType::u32:
      return "u32";
   case ComponentType::u64:
      return "u64";
   }
   return "unknown";
}

unsigned component_bits(ComponentType type)
{
   using enum ComponentType;
   switch (type) {
   case s8:
   case u8:
      return 8;
   case f16:
   case s16:
   case u16:
      return 16;
   case f32:
   case s32:
   case u32:
      return 32;
   case f64:
   case s64:
   case u64:
      return 64;
   }
   return 0;
}

void prefer_small_tiles(std::vector<MatrixOperation> &operations, uint32_t subgroup_size)
{
   std::ranges::stable_partition(operations,
                                 [&](const MatrixOperation &op) { return op.m <= subgroup_size; });
}

} // namespace weft
