// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Random programs.  A program is written down with some care for what is valid, then interpreted;
/// where the interpreter finds that something is not defined or not exact, that place is replaced
/// by something simpler, until the whole is valid.

#pragma once

#include "tests/fuzz/interpret.h"

namespace weft::fuzz {

struct GeneratedProgram {
   Program program;
   Expected expected;
};

/// The same program for the same seed and operations.
GeneratedProgram generate(uint64_t seed, const std::vector<MatrixOperation> &operations);

/// Puts literals in place of operators of literals alone.
void fold_literals(Program &);
/// Takes a statement out of the program that holds it, or puts a literal in an expression's place.
void remove_statement(Program &, const Stmt *);
void make_literal(Expr &);

} // namespace weft::fuzz
