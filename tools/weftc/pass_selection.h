// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Which of the optional passes run: --stop-after, --skip, --pass-limit.

#pragma once

#include "nir_passes/pass_control.h"
#include "nir_passes/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::weftc {

struct PassSelection {
   struct Name {
      std::string pass;
      uint32_t occurrence = 0; ///< 0: every one; of stop_after the first

      bool matches(const PassApplication &) const;
   };

   std::optional<Name> stop_after;
   std::vector<Name> skip;
   uint32_t limit = UINT32_MAX; ///< applications of optional passes

   bool is_default() const { return !stop_after && skip.empty() && limit == UINT32_MAX; }
};

/// "nir_opt_cse" or "nir_opt_cse#3"
Result<PassSelection::Name> parse_pass_name(const std::string &text);

/// What a compilation with such a selection gets.
class SelectedPasses {
public:
   explicit SelectedPasses(const PassSelection &);

   PassControl control;
   bool stopped() const { return has_stopped; }

   /// An Error that names what was selected and never ran.
   Result<bool> check() const;

private:
   const PassSelection selection;
   bool has_stopped = false;
   std::vector<bool> seen; ///< of selection.skip
};

} // namespace weft::weftc
