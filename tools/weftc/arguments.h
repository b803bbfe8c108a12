// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The command line of weftc.

#pragma once

#include "nir_passes/result.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::weftc {

enum class Emit { nir, passes, llvm, assembly, spirv, map };

/// A specialization constant's value, as 8 little-endian bytes of which its type uses the first
/// ones.
struct SpecArgument {
   uint32_t id;
   uint64_t bits;
};

struct Arguments {
   std::string input;  ///< "-": standard input
   std::string output; ///< empty: standard output
   std::string entry = "main";
   Emit emit = Emit::nir;
   std::vector<SpecArgument> constants;
   uint32_t subgroup_size = 0; ///< 0: the machine's default
   bool registers = false;     ///< matrices to registers instead of the back end's tiles
   /// Shapes (M, N, K) that the driver below has matrices for.
   std::vector<std::array<uint32_t, 3>> native_shapes;
   bool help = false;
};

extern const char *const usage;

Result<Arguments> parse_arguments(int argc, char **argv);

} // namespace weft::weftc
