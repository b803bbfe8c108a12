// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Runs a case on a device and compares it with the model.

#pragma once

#include "tests/commands/interpret.h"
#include "tests/commands/machine.h"

namespace weft::commands {

/// Returns the difference. After a difference the queue may wait for ever, so the process must end.
std::optional<std::string> execute(Machine &, const Case &, const Interpretation &expected);

} // namespace weft::commands
