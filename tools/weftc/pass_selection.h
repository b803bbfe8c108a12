// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Selects the optional passes that run: --stop-after, --skip, --pass-limit.

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
      uint32_t occurrence = 0; ///< 0: every occurrence; in stop_after, the first

      bool matches(const PassApplication &) const;
   };

   std::optional<Name> stop_after;
   std::vector<Name> skip;
   uint32_t limit = UINT32_MAX; ///< applications of optional passes

   bool is_default() const { return !stop_after && skip.empty() && limit == UINT32_MAX; }
};

/// "nir_opt_cse" or "nir_opt_cse#3"
Result<PassSelection::Name> parse_pass_name(const std::string &text);

/// The PassControl of a compilation with a selection.
class SelectedPasses {
public:
   explicit SelectedPasses(const PassSelection &);

   PassControl control;
   bool stopped() const { return has_stopped; }

   /// An Error that names selected passes that never ran.
   Result<bool> check() const;

private:
   const PassSelection selection;
   bool has_stopped = false;
   std::vector<bool> seen; ///< by index in selection.skip
};

} // namespace weft::weftc
