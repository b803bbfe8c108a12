// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The CPU for which code is generated, as plain data: the properties that decide the translator's
/// choices, and LLVM's names for the CPU. The folder of the CPU family fills it in
/// (x86/cpu_features.cc).

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft::cpu {

struct HostTarget {
   uint32_t vector_bits = 0; ///< width of the widest registers in use
   /// One instruction takes any elements of 16 bits or more from two registers.
   bool shuffles_two_registers = false;
   /// Masked loads and stores exist for elements of any size and are as fast as others. Otherwise
   /// they exist for elements of 32 and 64 bits, and stores are slow.
   bool masks_any_element = false;
   /// add_products_of_bytes() is one instruction for a register (instructions.h).
   bool byte_dots = false;
   /// Instructions compute with numbers of f16: AVX512-FP16.
   bool half_arithmetic = false;
   /// An instruction that gathers or scatters elements of 32 or 64 bits is faster than a load or
   /// store of each.
   bool fast_gathers_and_scatters = false;

   // For LLVM.
   std::string_view triple = {};
   std::string llvm_cpu = {};      ///< "x86-64-v4"
   std::string llvm_features = {}; ///< "+avx512vnni,…"
   /// Passes of the code generator that cost more than they gain, by their names.
   std::span<const std::string_view> dropped_passes = {};
};

} // namespace weft::cpu
