// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The driver below the layer that --driver, --native and --spirv-version describe. docs/weftc.md
/// defines the two file formats: lines of changes to a known driver, and a real driver's report.

#pragma once

#include "backend/spirv/compiler.h"
#include "layer/plan/matrix_plan.h"
#include "nir_passes/result.h"
#include "tools/weftc/arguments.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::weftc {

struct DescribedDriver {
   spirv::Driver driver;
   uint32_t subgroup_size = 0; ///< 0: unspecified
   std::vector<MatrixOperation> native_operations;
   std::optional<layer::MatrixPlan> plan; ///< the layer's, if the description is a driver report

   /// The layer's options for this driver, with all operations that Weft can lower and the driver's
   /// own.
   spirv::CompileOptions compile_options(uint32_t subgroup_size) const;
};

/// An Error if the file of --driver cannot be read. If the file is wrong, the Error names the line
/// or member.
Result<DescribedDriver> describe_driver(const Arguments &);

/// --emit=plan: the layer's plan for the driver of a driver report.
Result<std::string> plan_for_driver(const Arguments &);

} // namespace weft::weftc
