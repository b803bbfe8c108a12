// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What driver_bench measures through the Vulkan loader, a file for each kind.

#pragma once

#include "tests/e2e/cmat.h"

#include <benchmark/benchmark.h>

#include <string>

namespace weft::bench {

/// gemm/TYPES/WHO/SIZE: products of square matrices: "Weft" with gemm_shader(), "direct" with a kernel for
/// CPUs, without shared memory; and by the CPU's libraries.
void register_gemms(e2e::Device &);
/// What it costs to have something done, whatever it is; copying.
void register_commands(e2e::Device &);
/// Creating the GEMM's pipelines, and what they keep.
void register_pipelines(e2e::Device &);

/// A plain kernel as applications ship it: workgroups of four subgroups of 32 compute 128×128
/// elements; A and B go through shared memory, 16 bytes at a time.  A is row-major (m×k), B
/// column-major.  A number that is not used makes modules different, constant 0.
std::string gemm_shader(const MatrixOperation &);
constexpr uint32_t gemm_block = 128, gemm_subgroup = 32;
struct GemmPush {
   uint32_t m, n, k;
};

/// A counter: seconds of each of so many things in an iteration.
inline benchmark::Counter time_of_each(uint32_t count)
{
   return benchmark::Counter(count, benchmark::Counter::kIsIterationInvariantRate |
                                       benchmark::Counter::kInvert);
}

} // namespace weft::bench
