// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A stand-in for backend/spirv: it lowers nothing, and records its calls.

#pragma once

#include "backend/spirv/compiler.h"

#include <mutex>

namespace weft::layer_test {

struct FakeCompiler {
   FakeCompiler();
   ~FakeCompiler();

   std::vector<MatrixOperation> operations; ///< of supported_operations()
   uint32_t size_without_last = 0;          ///< the subgroup size at which the last operation is
                                            ///< missing
   uint32_t local_size[3] = {64, 1, 1};     ///< of compile()'s result

   struct Seen {
      std::vector<uint32_t> words;
      std::string entry_point;
      std::vector<std::pair<uint32_t, uint32_t>> spec_constants;
      spirv::CompileOptions options;
   };
   std::vector<Seen> seen;
   std::mutex mutex;
};

/// A module with matrices. Above a driver with matrices, it multiplies with a K of `payload`.
/// Compiling its entry point "fail" is an error. Its entry point "plain" has no matrices, and
/// "broken" cannot be parsed.
std::vector<uint32_t> matrix_module(uint32_t payload = 0);
/// The payload of a module whose component types the driver lacks.
constexpr uint32_t foreign_k = 88;
/// A module without matrices.
std::vector<uint32_t> plain_module(uint32_t payload = 0);
/// compile()'s result: without matrices, and marked by the subgroup size that it was compiled for.
bool is_lowered(const std::vector<uint32_t> &words, uint32_t subgroup_size);

} // namespace weft::layer_test
