// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Finds the pass that breaks a shader.

#pragma once

#include "nir_passes/result.h"

#include <cstdint>
#include <functional>
#include <string>

namespace weft::runner {

/// The shader compiled with the first `limit` applications of optional passes and no others.
struct Trial {
   bool good;
   uint32_t optional_passes;       ///< IsolatedRun's
   std::string last_optional_pass; ///< the limit's, unless there are fewer
};

struct Culprit {
   uint32_t number;  ///< PassApplication::number
   std::string pass; ///< "nir_opt_cse#3"
};

/// The application with which a shader is bad and without which, all else before it being equal, it
/// is good.  An Error if it is good with all, or bad with none.
Result<Culprit> bisect(const std::function<Trial(uint32_t limit)> &);

} // namespace weft::runner
