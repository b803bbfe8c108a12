// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What drivers do otherwise than Vulkan says: the one table of it.

#pragma once

#include "backend/spirv/compiler.h"

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>

namespace weft::spirv {

/// What is then not written.
enum class Quirk : uint8_t {
   partial_barriers,                ///< Driver::partial_barriers
   subgroup_arithmetic_in_matrices, ///< Driver::subgroup_arithmetic_with_matrices
};

struct DriverQuirk {
   VkDriverId driver;
   /// VkPhysicalDeviceProperties::driverVersion, as that driver packs it.
   uint32_t first_version, last_version;
   Quirk quirk;
   const char *what, *why, *test;
};

std::span<const DriverQuirk> driver_quirks();

/// Takes from what a shader may use all that this driver is known to get wrong.
void apply_driver_quirks(Driver &, VkDriverId, uint32_t driver_version);

} // namespace weft::spirv
