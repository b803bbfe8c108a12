// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The table of driver bugs and deviations from the specification.

#pragma once

#include "backend/spirv/compiler.h"

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>
#include <vector>

namespace weft::spirv {

/// A construct that modules for a matching driver avoid.
enum class Quirk : uint8_t {
   partial_barriers,                ///< Driver::partial_barriers
   subgroup_arithmetic_in_matrices, ///< Driver::subgroup_arithmetic_with_matrices
   own_matrices,                    ///< Driver::own_matrices
};

struct DriverQuirk {
   VkDriverId driver;
   /// VkPhysicalDeviceProperties::driverVersion, in the driver's own encoding.
   uint32_t first_version, last_version;
   Quirk quirk;
   /// The log says "shaders have `what`: `why`". `test` names the GoogleTest of such a module.
   const char *what, *why, *test;
};

std::span<const DriverQuirk> driver_quirks();

/// The rows of the table for a driver.
std::vector<const DriverQuirk *> find_driver_quirks(VkDriverId, uint32_t driver_version);

/// Removes features from `Driver` that this driver is known to get wrong.
void apply_driver_quirks(Driver &, VkDriverId, uint32_t driver_version);

} // namespace weft::spirv
