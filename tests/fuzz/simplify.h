// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Replaces parts of programs by simpler ones: to make a program valid, and to shrink it.

#pragma once

#include "tests/fuzz/interpret.h"

namespace weft::fuzz {

/// Replaces operators on literals by their result.
void fold_literals(Program &);
void remove_statement(Program &, const Stmt *);
void make_literal(Expr &);

/// Simplifies the place that the interpreter found invalid. If a number is needed, uses this word
/// of the push constants.
void repair(Program &, const Invalid &, uint32_t word);

} // namespace weft::fuzz
