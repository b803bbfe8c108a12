// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The driver below the layer as --driver, --native and --spirv-version describe it.  docs/weftc.md
/// has the form of its files.

#pragma once

#include "backend/spirv/compiler.h"
#include "nir_passes/result.h"
#include "tools/weftc/arguments.h"

#include <string>
#include <vector>

namespace weft::weftc {

struct DescribedDriver {
   spirv::Driver driver;
   uint32_t subgroup_size = 0; ///< 0: not said
   std::vector<MatrixOperation> native_operations;

   /// What a program may use above it: what can be lowered, and its own.
   std::vector<MatrixOperation> operations(uint32_t subgroup_size) const;
   std::vector<FlexibleOperation> flexible(uint32_t subgroup_size) const;
};

Result<DescribedDriver> describe_driver(const Arguments &);

/// A file's text; errors name its lines.
Result<DescribedDriver> parse_driver(const std::string &text);

} // namespace weft::weftc
