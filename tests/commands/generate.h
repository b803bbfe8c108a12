// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Random cases. A case is generated with some care for validity, then interpreted; commands and
/// steps that the model refuses are removed.

#pragma once

#include "tests/commands/interpret.h"

namespace weft::commands {

struct GeneratedCase {
   Case c;
   Interpretation expected;
};

/// The same case for the same seed.
GeneratedCase generate(uint64_t seed);

} // namespace weft::commands
