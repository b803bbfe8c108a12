// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Runs a shader in a process of its own: a crash of compiler or shader, or a shader that does not
/// end, is an Error like any other.

#pragma once

#include "tools/runner/runner.h"

#include <chrono>
#include <string>

namespace weft::runner {

struct IsolatedRun {
   Result<std::vector<Buffer>> buffers; ///< as of run()
   uint32_t optional_passes = 0;        ///< their applications, whether they might run or not
   std::string last_optional_pass;      ///< that ran
};

/// The process that calls it should have no other threads.  CompileOptions::control keeps its
/// numbers: only what its functions do is seen, and in the other process.
IsolatedRun run_isolated(const Dispatch &, const Path &, const CompileOptions & = {},
                         std::chrono::milliseconds limit = std::chrono::seconds(60));

} // namespace weft::runner
