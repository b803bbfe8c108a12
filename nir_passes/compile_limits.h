// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What a shader may ask for: beyond it compiling would take memory or time without bound.  A
/// device advertises these or less, and says so where it does (icd/device_properties.cc).

#pragma once

#include <cstdint>

namespace weft::limits {

constexpr uint32_t workgroup_invocations = 2048;
constexpr uint32_t push_constant_bytes = 256;
constexpr uint32_t shared_bytes = 256 * 1024;
/// Private memory of one invocation that does not become values: several matrices of the largest size
/// in subgroups of 8, with their copies.
constexpr uint32_t scratch_bytes = 4 * 1024 * 1024;
/// Components of a private variable.  Mesa's front end keeps values scalar by scalar, and with our
/// patch (vtn-huge-values) refuses larger ones as soon as one is read or written as a whole.
constexpr uint64_t private_components = 64 * 1024;
/// Components of a variable in shared memory.
constexpr uint64_t shared_components = 128 * 1024;
/// A buffer's descriptor.  Accesses of the CPU's subgroups under a mask compute where a lane would be that is not
/// active, up to this much below the first byte, modulo 2^32 (lane_pieces.cc).
constexpr uint32_t lane_reach = 64 * 64 * 1024;
constexpr uint32_t buffer_range = UINT32_MAX - lane_reach;
/// Functions of a module, and different calls between them: the validator follows the calls from
/// each function.
constexpr uint64_t functions = 4096;
constexpr uint64_t calls = 16 * 1024;
/// Functions that call each other in a row: the inliner copies the innermost as often, with a
/// function of its own on the stack for each.
constexpr uint64_t call_depth = 512;
/// Instructions of the entry point after inlining, and of all functions of a module.
constexpr uint64_t instructions = 1 << 20;
constexpr uint64_t module_instructions = 4 * instructions;

} // namespace weft::limits
