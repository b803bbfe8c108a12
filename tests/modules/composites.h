// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Modules that hold matrices in composites as SSA values: every instruction that creates, moves or
/// changes these values, on arrays and structs of every depth, for every kind of matrix.

#pragma once

#include "tests/modules/module.h"

namespace weft::modules {

/// Each operation on each shape, with the kinds of matrices one after the other, from number `turn`
/// on.
std::vector<Module> composite_modules(uint32_t turn);

} // namespace weft::modules
