// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/compiler.h"

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <iterator>

namespace weft::spirv {

namespace {

/// Whether matrices may have components of a type. Components of 8 and 16 bits work on every
/// driver: without arithmetic of that size, 32-bit arithmetic replaces it
/// (lower_small_arithmetic.h). Without buffer elements of that size, words hold the components
/// (lower_access_units.h).
bool has_components(const Driver &driver, ComponentType type)
{
   return component_bits(type) < 64 ||
          (driver.int64 && (driver.float64 || type != ComponentType::f64));
}

/// Matrices need only the invocation's place in its subgroup.
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
