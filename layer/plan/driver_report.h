// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// DriverFacts as JSON, so that a driver can be examined on a machine without it. docs/weftc.md
/// describes the members; their names and numbers are Vulkan's.

#pragma once

#include "layer/plan/driver_facts.h"
#include "nir_passes/result.h"

#include <string>
#include <string_view>

namespace weft::layer {

/// The inverse of read_driver_report().
std::string write_driver_report(const DriverFacts &);

/// An error names the member that is missing, unknown or implausible.
Result<DriverFacts> read_driver_report(std::string_view text);

} // namespace weft::layer
