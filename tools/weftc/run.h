// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// --run, --compare and --bisect.

#pragma once

#include "nir_passes/result.h"
#include "tools/weftc/arguments.h"

#include <cstdint>
#include <span>
#include <string>

namespace weft::weftc {

/// weftc's exit status.
enum class Status { success = 0, failure = 1, usage = 2, disagreement = 3 };

struct Outcome {
   Status status;
   std::string report; ///< for the standard output
};

/// Runs the SPIR-V module `words` and compares the paths. An Error if the shader cannot be
/// prepared, the first path fails or a buffer cannot be saved. Another path's failure is in the
/// report.
Result<Outcome> run_shader(const Arguments &, std::span<const uint32_t> words);
/// Finds the optional pass that first changes the result. An Error if the reference fails, or no
/// pass can be the cause.
Result<Outcome> bisect_shader(const Arguments &, std::span<const uint32_t> words);

} // namespace weft::weftc
