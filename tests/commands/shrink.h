// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Makes a failing case small: steps, commands and parts of them are dropped, as long as the model
/// takes the rest and it still fails.

#pragma once

#include "tests/commands/interpret.h"

#include <chrono>
#include <functional>

namespace weft::commands {

/// Whether a valid case still shows the fault.
using StillFails = std::function<bool(const Case &, const Interpretation &)>;

Case shrink(const Case &, const StillFails &, std::chrono::seconds limit);

} // namespace weft::commands
