// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Makes a failing program small: statements are dropped, expressions and sizes simplified, as long
/// as the program stays valid and still fails.

#pragma once

#include "tests/fuzz/interpret.h"

#include <chrono>
#include <functional>

namespace weft::fuzz {

/// Whether a valid program still shows the fault.
using StillFails = std::function<bool(const Program &, const Expected &)>;

Program shrink(const Program &, const StillFails &, std::chrono::seconds limit);

} // namespace weft::fuzz
