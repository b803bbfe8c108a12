// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What the CPU can do and the operating system lets us use (CPUID and XCR0).

#pragma once

#include "nir_passes/result.h"

#include <cstdint>
#include <string>

namespace weft::cpu {

/// Code is generated for one of these levels; what lies beyond the level (VNNI, ...) is a feature of
/// its own.
enum class InstructionSet : uint8_t {
   none,   ///< less than AVX2: nothing of Weft's CPU back end runs here
   avx2,   ///< x86-64-v3: AVX2, FMA, F16C, BMI2
   avx512, ///< x86-64-v4: and AVX-512 F, BW, CD, DQ, VL
};

struct CpuFeatures {
   InstructionSet instruction_set = InstructionSet::none;
   /// Beyond AVX-512's base, and there are kernels for it.
   bool avx512_vnni = false;
   /// For llvm::TargetMachine.
   std::string llvm_cpu;      ///< "x86-64-v3" or "x86-64-v4"
   std::string llvm_features; ///< "+avx512vnni,..."
   std::string brand;         ///< "AMD EPYC 9354 32-Core Processor"

   /// Bits of a vector register that generated code should use.
   unsigned vector_bits() const { return instruction_set == InstructionSet::avx512 ? 512 : 256; }
};

/// The features of this machine, narrowed by WEFT_ISA.
const CpuFeatures &host_features();

/// The features that the machine has, narrowed to a level.
CpuFeatures detect_features(InstructionSet at_most);

/// The CPU's name and the instructions that matrices use: "AMD EPYC ... (AVX-512, VNNI)".
std::string describe(const CpuFeatures &);

} // namespace weft::cpu
