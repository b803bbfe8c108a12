// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The environment variables of the CPU back end, parsed once; icd/settings.h has those of the
/// driver.  docs/settings.md lists all for users.

#pragma once

#include "backend/cpu/cpu_features.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cpu {

struct Options {
   /// WEFT_DEBUG: comma-separated words.  "log": errors on stderr; "nir", "llvm", "asm": those
   /// phases of every shader on stderr; "perf": /tmp/perf-PID.map for perf(1); "registers":
   /// matrices as registers instead of tiles.
   std::vector<std::string> debug;
   uint32_t threads = 0;         ///< WEFT_THREADS: of the executor; 0: one per CPU
   uint32_t order = 0;           ///< WEFT_ORDER: a seed; 0: workgroups and subgroups in turn
   IsaLimit isa = IsaLimit::amx; ///< WEFT_ISA: the most to use

   bool has_debug(std::string_view word) const;
};

/// From the environment as it was at the first call.  A word or value that is not known is reported
/// on stderr, once.
const Options &options();

/// From a lookup function like getenv; complaints are appended to `problems`.
Options parse_options(const char *(*lookup)(const char *name), std::vector<std::string> &problems);

} // namespace weft::cpu
