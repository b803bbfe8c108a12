// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/runner/bisect.h"

namespace weft::runner {

Result<Culprit> bisect(const std::function<Trial(uint32_t limit)> &attempt)
{
   Trial bad = attempt(UINT32_MAX);
   if (bad.good)
      return Error{"the shader is right with all passes"};
   if (!attempt(0).good)
      return Error{"the shader is wrong even without optional passes: look at the passes that "
                   "lower, and at the back end"};
   uint32_t good_limit = 0, bad_limit = bad.optional_passes;
   while (bad_limit - good_limit > 1) {
      const uint32_t middle = good_limit + (bad_limit - good_limit) / 2;
      Trial trial = attempt(middle);
      if (trial.good) {
         good_limit = middle;
      } else {
         bad_limit = middle;
         bad = std::move(trial);
      }
   }
   return Culprit{bad_limit, bad.last_optional_pass};
}

} // namespace weft::runner
