// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The instruction sets of x86-64.

#pragma once

#include <cstdint>

/// A function that preserves all registers (lane_memory.h). Calls need the attribute too
/// (preserve_registers()).
#define WEFT_PRESERVES_REGISTERS [[gnu::no_caller_saved_registers]]

namespace weft::cpu {

/// The levels of generated code. Extensions beyond a level (VNNI, …) are KernelFeatures.
enum class InstructionSet : uint8_t {
   none,   ///< less than AVX2: nothing of Weft's CPU back end runs here
   avx2,   ///< x86-64-v3: AVX2, FMA, F16C, BMI2
   avx512, ///< x86-64-v4: and AVX-512 F, BW, CD, DQ, VL
};

/// How much of the CPU's instructions Weft uses. Each limit includes the limits before it, as far
/// as the CPU has their instructions. isa_words() has the words of WEFT_ISA.
enum class IsaLimit : uint8_t {
   none,
   avx2,        ///< InstructionSet::avx2 alone
   avx_vnni,    ///< and products of bytes in 256 bits
   avx512f,     ///< InstructionSet::avx512
   avx512_vnni, ///< and products of bytes
   avx512,      ///< and products of bfloat16
   amx,         ///< and products of tiles
};

constexpr IsaLimit highest_isa_limit = IsaLimit::amx;

/// Extensions beyond the level that tile kernels use.
struct KernelFeatures {
   bool avx_vnni = false, avx512_vnni = false;
   bool avx512_bf16 = false; ///< the CPU has it, and it is faster than f32's FMAs
   bool amx = false;         ///< AMX-INT8 and AMX-BF16, and this process may use them
};

} // namespace weft::cpu
