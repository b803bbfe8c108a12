// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Runs a case on a device and compares it with what the model says.

#pragma once

#include "tests/commands/interpret.h"
#include "tests/commands/machine.h"

namespace weft::commands {

/// What differs.  After that the queue may wait for ever: the process has to end.
std::optional<std::string> execute(Machine &, const Case &, const Interpretation &expected);

} // namespace weft::commands
