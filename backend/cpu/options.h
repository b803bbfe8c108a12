// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The environment variables of the CPU back end, parsed once. icd/settings.h has the driver's
/// variables; docs/settings.md lists all for users.

#pragma once

#include "backend/cpu/cpu_features.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cpu {

struct Options {
   /// WEFT_DEBUG: comma-separated words. "log": errors on stderr; "nir", "llvm", "asm": these
   /// phases of every shader on stderr; "perf": /tmp/perf-PID.map for perf(1); "registers":
   /// matrices as registers instead of tiles; "times": phase_log.h.
   std::vector<std::string> debug;
   uint32_t threads = 0;             ///< WEFT_THREADS: the executor's threads; 0: one per CPU
   uint32_t order = 0;               ///< WEFT_ORDER: a seed; 0: ascending order
   IsaLimit isa = highest_isa_limit; ///< WEFT_ISA: the largest instruction set to use

   bool has_debug(std::string_view word) const;
};

/// The options by the environment at the first call, which reports unknown words and values on
/// stderr.
const Options &options();

/// The options by a lookup function like getenv. Appends complaints to `problems`.
Options parse_options(const char *(*lookup)(const char *name), std::vector<std::string> &problems);

} // namespace weft::cpu
