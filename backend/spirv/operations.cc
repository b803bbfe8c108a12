// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/compiler.h"

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <iterator>

namespace weft::spirv {

namespace {

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
   std::vector<MatrixOperation> list;
   if (has_matrices(driver, subgroup_size)) {
      std::ranges::copy_if(matrix_operations(), std::back_inserter(list),
                           [&](const MatrixOperation &op) {
                              return has_components(driver, op.a) && has_components(driver, op.b) &&
                                     has_components(driver, op.c);
                           });
   }
   return list;
}

} // namespace weft::spirv
