// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Modules in SPIR-V assembly with their results in a header comment:
///
///     ; Replaces a component of a matrix by itself.
///     ; buffer 0: in, 256 of f32
///     ; buffer 1: flags, 2 of u32 = 1, 0
///     ; buffer 2: out, 256 of f32, written
///     ; out[i] = in[i]
///
/// Buffers are bindings 0, 1, … of set 0. A buffer that is not written holds the listed numbers, or
/// small random ones, and has to keep them. A written buffer is poisoned before. Each of its
/// elements has to be written, and has the value of the formula, which may also name other written
/// buffers (formula.h). The entry point is main, and one workgroup runs. A module that is not
/// supported has, in place of a formula:
///
///     ; refused: a part of the compiler's message

#pragma once

#include "tests/oracle/random.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::modules {

struct ModuleBuffer {
   std::string name;
   ComponentType type;
   uint32_t count;
   std::vector<double> given;
   bool written;
};

struct Statement {
   size_t buffer;
   std::string formula;
};

struct Module {
   std::string name, text;
   std::vector<ModuleBuffer> buffers;
   std::vector<Statement> statements;
   std::string refusal; ///< of the compiler, in place of statements
};

using Contents = std::vector<std::vector<std::byte>>;

/// Throws std::runtime_error for a header that says something else.
Module parse_module(const std::string &name, const std::string &text);
/// The files of this folder.
std::vector<Module> written_modules();

Contents initial_contents(const Module &, oracle::Random &);
/// The fault of the buffers, or nothing.
std::optional<std::string> find_difference(const Module &, const Contents &before,
                                           const Contents &after);

} // namespace weft::modules
