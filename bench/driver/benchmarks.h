// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The benchmarks of driver_bench, through the Vulkan loader, one file per kind.

#pragma once

#include "tests/e2e/cmat.h"

#include <benchmark/benchmark.h>

#include <string>

namespace weft::bench {

/// gemm/TYPES/NAME/SIZE: products of square matrices. NAME is "Weft" (gemm_shader()), "direct" (a
/// kernel for CPUs, without shared memory) or a library for CPUs.
void register_gemms(e2e::Device &);
/// The cost of commands, independent of their work; copies.
void register_commands(e2e::Device &);
/// The time to create the GEMM's pipelines, and their memory.
void register_pipelines(e2e::Device &);

/// A plain kernel as applications ship it: workgroups of four subgroups of 32 compute 128×128
/// elements; A and B go through shared memory, 16 bytes at a time. A is row-major (m×k), B
/// column-major. Specialization constant 0 is unused; its value makes modules differ.
std::string gemm_shader(const MatrixOperation &);
constexpr uint32_t gemm_block = 128, gemm_subgroup = 32;
struct GemmPush {
   uint32_t m, n, k;
};

/// A counter: seconds per item, for `count` items per iteration.
inline benchmark::Counter time_of_each(uint32_t count)
{
   return benchmark::Counter(count, benchmark::Counter::kIsIterationInvariantRate |
                                       benchmark::Counter::kInvert);
}

} // namespace weft::bench
