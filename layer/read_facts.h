// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "layer/plan/driver_facts.h"

namespace weft::layer {

struct Instance;

/// Queries the next layer or driver.
VkResult read_facts(const Instance &, VkPhysicalDevice, DriverFacts &out);

} // namespace weft::layer
