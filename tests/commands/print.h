// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A case as text: its objects, then a line for each step and command.

#pragma once

#include "tests/commands/program.h"

namespace weft::commands {

std::string to_text(const Case &);
std::string to_text(const Step &);

} // namespace weft::commands
