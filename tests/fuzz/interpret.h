// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The results of a program. All invocations of a workgroup step together, statement by statement
/// under masks; a matrix is a value of the whole subgroup. A program is invalid if Vulkan leaves
/// its result undefined, to the implementation, or to rounding. Only matrix arithmetic may round,
/// and then carries the bound of tests/oracle with it.

#pragma once

#include "tests/fuzz/memory.h"

#include <variant>

namespace weft::fuzz {

/// The invalid part of a program: an expression, or else a statement.
struct Invalid {
   const Expr *expr;
   const Stmt *stmt;
   std::string why;
};

std::variant<Expected, Invalid> interpret(const Program &);

} // namespace weft::fuzz
