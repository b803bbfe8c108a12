// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What a program computes.  All invocations of a workgroup step together, statement by statement
/// under masks; a matrix is a value of the whole subgroup.  What Vulkan does not define, leaves to
/// the implementation or lets it round makes a program invalid; matrix arithmetic alone may round,
/// and then carries the bound of tests/oracle with it.

#pragma once

#include "tests/fuzz/memory.h"

#include <variant>

namespace weft::fuzz {

/// Where a program is not valid: an expression or else a statement of it.
struct Invalid {
   const Expr *expr;
   const Stmt *stmt;
   std::string why;
};

std::variant<Expected, Invalid> interpret(const Program &);

} // namespace weft::fuzz
