// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A physical device as the layer presents it.

#pragma once

#include "layer/plan/matrix_plan.h"

namespace weft::layer {

struct Instance;

struct PhysicalDevice : MatrixPlan {};

/// Reads the driver's facts and plans the matrices from them. An error is the driver's; `out` is
/// then unchanged.
VkResult inspect_physical_device(const Instance &, VkPhysicalDevice, PhysicalDevice &out);

} // namespace weft::layer
