// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Modules in SPIR-V assembly that say in their header comment what they compute:
///
///    ; Replaces a component of a matrix by itself.
///    ; buffer 0: in, 256 of f32
///    ; buffer 1: flags, 2 of u32 = 1, 0
///    ; buffer 2: out, 256 of f32, written
///    ; out[i] = in[i]
///
/// Buffers are bindings 0, 1, … of set 0.  One that is not written holds the numbers that are
/// listed, or small random ones, and has to keep them.  One that is written is poisoned before;
/// each of its elements has to be written, and has the value of the formula, which may also name
/// other buffers that are written (formula.h).  The entry point is main, and one workgroup runs.  A
/// module that is not supported says, in place of a formula:
///
///    ; refused: a part of the compiler's message

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

/// For Vulkan 1.3.  Throws std::runtime_error with the assembler's message.
std::vector<uint32_t> assemble(const Module &);

Contents initial_contents(const Module &, oracle::Random &);
/// What is wrong with the buffers, or nothing.
std::optional<std::string> find_difference(const Module &, const Contents &before,
                                           const Contents &after);

} // namespace weft::modules
