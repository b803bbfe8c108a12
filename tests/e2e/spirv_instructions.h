// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Walks over the instructions of a SPIR-V module, and the opcodes that the tests look for.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::e2e {

constexpr size_t header_words = 5;
constexpr uint16_t op_capability = 17, op_type_int = 21, op_type_float = 22, op_type_vector = 23,
                   op_type_array = 28, op_type_runtime_array = 29, op_type_struct = 30,
                   op_constant = 43, op_spec_constant = 50, op_decorate = 71,
                   op_member_decorate = 72, op_type_cooperative_matrix = 4456;

/// Calls the body with each instruction's opcode, words and number of words.
template <typename Body>
void for_each_instruction(const std::vector<uint32_t> &spirv, Body body)
{
   for (size_t at = header_words; at < spirv.size();) {
      const size_t count = std::clamp<size_t>(spirv[at] >> 16, 1, spirv.size() - at);
      body(uint16_t(spirv[at]), &spirv[at], count);
      at += count;
   }
}

} // namespace weft::e2e
