// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include <functional>
#include <string>

namespace weft::weft_run {

/// Runs a probe in a child process, because it loads arbitrary drivers, which may crash or hang.
/// Returns its text, which may not be empty.
Result<std::string> run_in_child(const std::function<std::string()> &probe);

} // namespace weft::weft_run
