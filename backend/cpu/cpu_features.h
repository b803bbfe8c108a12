// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What the CPU can do and the operating system lets us use (CPUID and XCR0).

#pragma once

#include "nir_passes/result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace weft::cpu {

/// Code is generated for one of these levels; what lies beyond the level (VNNI, ...) is a feature of
/// its own.
enum class InstructionSet : uint8_t {
   none,   ///< less than AVX2: nothing of Weft's CPU back end runs here
   avx2,   ///< x86-64-v3: AVX2, FMA, F16C, BMI2
   avx512, ///< x86-64-v4: and AVX-512 F, BW, CD, DQ, VL
};

/// How much of what a CPU has is used: each with all before it, as far as the CPU has it.  WEFT_ISA's words.
enum class IsaLimit : uint8_t {
   none,
   avx2,        ///< InstructionSet::avx2 alone
   avx_vnni,    ///< and products of bytes in 256 bits
   avx512f,     ///< InstructionSet::avx512
   avx512_vnni, ///< and products of bytes
   avx512,      ///< and of bfloat16
   amx,         ///< and AMX's
};

struct CpuFeatures {
   InstructionSet instruction_set = InstructionSet::none;
   /// Beyond the levels, and there are kernels for it.
   bool avx_vnni = false, avx512_vnni = false;
   bool avx512_bf16 = false; ///< and it is faster than f32's FMAs
   bool amx = false;         ///< AMX-INT8 and AMX-BF16, and this process may use them
   /// For llvm::TargetMachine.
   std::string llvm_cpu;      ///< "x86-64-v3" or "x86-64-v4"
   std::string llvm_features; ///< "+avx512vnni,..."
   std::string brand;         ///< "AMD EPYC 9354 32-Core Processor"

   /// Generated code has dot products of bytes, in vectors of any width that it uses.
   bool has_byte_dots() const
   {
      return avx512_vnni || (avx_vnni && instruction_set == InstructionSet::avx2);
   }
   /// Bits of a vector register that generated code should use.
   unsigned vector_bits() const { return instruction_set == InstructionSet::avx512 ? 512 : 256; }
};

/// The features of this machine, narrowed by WEFT_ISA.
const CpuFeatures &host_features();

/// The features that the machine has, up to a limit.  With IsaLimit::amx the first call asks the
/// system for AMX.
CpuFeatures detect_features(IsaLimit at_most);

/// Whether the calling thread has a shadow stack (Intel CET): returns are then checked against it,
/// and fail on the stack of a fiber.
bool has_shadow_stack();

/// Why no code of the back end runs: what the CPU lacks, or that the process has shadow stacks;
/// none if it runs.
std::optional<std::string> missing_instructions(const CpuFeatures &, bool shadow_stack = false);

/// The CPU's name and the instructions that matrices use: "AMD EPYC ... (AVX-512, VNNI, BF16)".
std::string describe(const CpuFeatures &);

} // namespace weft::cpu
