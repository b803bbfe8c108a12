// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Limits of a shader's demands, beyond which compiling would take unbounded memory or time. A
/// device advertises these or lower limits (icd/device_properties.cc).

#pragma once

#include <cstdint>

namespace weft::limits {

constexpr uint32_t workgroup_invocations = 2048;
constexpr uint32_t push_constant_bytes = 256;
constexpr uint32_t shared_bytes = 256 * 1024;
/// Private memory of one invocation that does not become values: enough for several matrices of the
/// largest size in subgroups of 8, with their copies.
constexpr uint32_t scratch_bytes = 4 * 1024 * 1024;
/// Components of a private variable. Mesa's front end keeps values scalar by scalar. With Weft's
/// patch (vtn-huge-values) it refuses a larger variable once a value of the whole variable is read
/// or written.
constexpr uint64_t private_components = 64 * 1024;
/// Components of a variable in shared memory.
constexpr uint64_t shared_components = 128 * 1024;
/// The size of a buffer. Masked accesses of the CPU's subgroups compute addresses of inactive
/// lanes, up to lane_reach below the first byte, modulo 2^32 (strided_access.cc).
constexpr uint32_t lane_reach = 64 * 64 * 1024;
constexpr uint32_t buffer_range = UINT32_MAX - lane_reach;
/// Functions of a module, and different calls between them: the validator follows the calls from
/// each function.
constexpr uint64_t functions = 4096;
constexpr uint64_t calls = 16 * 1024;
/// The depth of nested calls: the inliner copies the innermost function once per level, and
/// recurses on the stack.
constexpr uint64_t call_depth = 512;
/// Instructions of the entry point after inlining, and of all functions of a module.
constexpr uint64_t instructions = 1 << 20;
constexpr uint64_t module_instructions = 4 * instructions;

} // namespace weft::limits
