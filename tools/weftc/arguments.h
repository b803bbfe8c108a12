// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The command line of weftc.

#pragma once

#include "nir_passes/result.h"
#include "tools/runner/path.h"
#include "tools/runner/runner.h"
#include "tools/weftc/pass_selection.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::weftc {

enum class Command { emit, statistics, run, bisect };

enum class Emit {
   nir,
   passes,
   accesses,
   llvm,
   assembly,
   spirv,
   spirv_text,
   map,
   register_map,
   plan
};

/// A specialization constant's value as 8 little-endian bytes, of which its type uses the first
/// ones.
struct SpecArgument {
   uint32_t id;
   uint64_t bits;
};

/// --buffer SET.BINDING[.ELEMENT]=CONTENTS
struct BufferArgument {
   runner::BufferPlace place;
   enum class Contents { file, random, zero } contents;
   std::string file;
   uint64_t size;
};

/// --save SET.BINDING[.ELEMENT]=FILE
struct SaveArgument {
   runner::BufferPlace place;
   std::string file;
};

struct Arguments {
   std::string input;  ///< "-": standard input; empty for --emit=plan
   std::string output; ///< empty: standard output
   std::string entry = "main";
   Command command = Command::emit;
   Emit emit = Emit::nir;
   std::vector<SpecArgument> constants;
   bool help = false, version = false;

   // The compilation's target.
   uint32_t subgroup_size = 0; ///< 0: the default of the machine or driver
   bool registers = false;     ///< matrices to registers instead of the back end's tiles
   std::optional<cpu::InstructionSet> instruction_set;
   bool layer = false; ///< for nir, passes, statistics: uses the layer's compiler
   std::optional<bool> robust;
   std::string driver = "full";
   std::optional<uint32_t> spirv_version;
   /// Shapes (M, N, K) of the matrices that the driver below has.
   std::vector<std::array<uint32_t, 3>> native_shapes;
   PassSelection passes;

   // --run
   std::vector<BufferArgument> buffers;
   std::vector<SaveArgument> saves;
   std::string push_constants; ///< as given: values separated by commas; empty: random
   std::array<uint32_t, 3> workgroups = {1, 1, 1};
   std::optional<uint64_t> seed;
   std::optional<runner::Path> path;      ///< --path
   std::vector<runner::Path> compared;    ///< --compare
   bool compare_all = false;              ///< --compare all
   std::optional<runner::Path> reference; ///< --reference
   double tolerance = 0;
   uint32_t timeout_ms = 60000;
};

/// The text of --help.
std::string usage();

/// An Error says which option or value is wrong, or which options exclude each other.
Result<Arguments> parse_arguments(int argc, char **argv);

/// "16", "0x10", "-1", "true", "1.5", "1.5d": the bits as in SpecArgument, and the value's size, 4
/// or 8 bytes.
struct ParsedValue {
   uint64_t bits;
   uint32_t bytes;
};
std::optional<ParsedValue> parse_value(const std::string &text);

} // namespace weft::weftc
