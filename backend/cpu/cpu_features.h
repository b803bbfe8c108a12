// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The features of the CPU, and how much of them Weft uses. The folder of the CPU family detects
/// them (host/x86/cpu_features.cc).

#pragma once

#include "backend/cpu/host/host_target.h"
#include "backend/cpu/host/isa.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft::cpu {

struct CpuFeatures : KernelFeatures {
   InstructionSet instruction_set = InstructionSet::none;
   HostTarget target;
   std::string brand; ///< "AMD EPYC 9354 32-Core Processor"
};

/// A level of generated code.
struct IsaLevel {
   InstructionSet instruction_set;
   IsaLimit limit;        ///< the level without extensions
   std::string_view word; ///< of paths and of weftc's --isa: "avx512"
   std::string_view name; ///< "AVX-512"
};

/// All levels, the lowest first.
std::span<const IsaLevel> isa_levels();

struct IsaWord {
   std::string_view word;
   IsaLimit limit;
};

/// The words of WEFT_ISA, the lowest limit first.
std::span<const IsaWord> isa_words();

/// The features of this machine, narrowed by WEFT_ISA.
const CpuFeatures &host_features();

/// The features of this machine, up to a limit. The first call with `highest_isa_limit` may request
/// the system's permission to use AMX's registers.
CpuFeatures detect_features(IsaLimit at_most);

/// Whether the calling thread has a shadow stack (Intel CET, ARM GCS): the CPU then checks returns
/// against it, and returns on the stack of a fiber fail.
bool has_shadow_stack();

/// The reason for which no code of the back end runs: the CPU's missing instructions, or shadow
/// stacks of the process. Nothing if the code runs.
std::optional<std::string> missing_instructions(const CpuFeatures &, bool shadow_stack = false);

/// The CPU's name and the instructions that matrices use: "AMD EPYC ... (AVX-512, VNNI, BF16)".
std::string describe(const CpuFeatures &);

} // namespace weft::cpu
