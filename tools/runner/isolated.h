// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Runs a shader in a separate process: a crash of compiler or shader, or a shader that does not
/// end, is an ordinary Error.

#pragma once

#include "tools/runner/runner.h"

#include <chrono>
#include <string>

namespace weft::runner {

struct IsolatedRun {
   Result<std::vector<Buffer>> buffers; ///< the result of run()
   uint32_t optional_passes = 0;        ///< number of applications, including applications not
                                        ///< allowed to run
   std::string last_optional_pass;      ///< the last that ran
};

/// The calling process should have no other threads. The other process calls
/// CompileOptions::control's functions; this process's copy of its counters does not change.
IsolatedRun run_isolated(const Dispatch &, const Path &, const CompileOptions & = {},
                         std::chrono::milliseconds limit = std::chrono::seconds(60));

} // namespace weft::runner
