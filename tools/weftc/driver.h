// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The driver below the layer that --driver, --native and --spirv-version describe. docs/weftc.md
/// defines the file format.

#pragma once

#include "backend/spirv/compiler.h"
#include "nir_passes/result.h"
#include "tools/weftc/arguments.h"

#include <string>
#include <vector>

namespace weft::weftc {

struct DescribedDriver {
   spirv::Driver driver;
   uint32_t subgroup_size = 0; ///< 0: unspecified
   std::vector<MatrixOperation> native_operations;

   /// The operations that a program may use above the driver: those that can be lowered, and the
   /// driver's own.
   std::vector<MatrixOperation> operations(uint32_t subgroup_size) const;
   std::vector<FlexibleOperation> flexible(uint32_t subgroup_size) const;
};

Result<DescribedDriver> describe_driver(const Arguments &);

/// Parses a file's text; errors name its lines.
Result<DescribedDriver> parse_driver(const std::string &text);

} // namespace weft::weftc
