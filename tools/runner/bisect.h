// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Finds the pass that breaks a shader.

#pragma once

#include "nir_passes/result.h"

#include <cstdint>
#include <functional>
#include <string>

namespace weft::runner {

/// A compilation with the first `limit` applications of optional passes and no others.
struct Trial {
   bool good;
   uint32_t optional_passes;       ///< IsolatedRun::optional_passes
   std::string last_optional_pass; ///< the last one within the limit
};

struct Culprit {
   uint32_t number;  ///< PassApplication::number
   std::string pass; ///< "nir_opt_cse#3"
};

/// Finds the application that turns a good shader bad, with all earlier ones applied. Returns an
/// Error if the shader is good with all of them, or bad with none.
Result<Culprit> bisect(const std::function<Trial(uint32_t limit)> &);

} // namespace weft::runner
