// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Ordinary compute shaders: one source and one target buffer, and a body per invocation. The
/// result is compared with a function of C++ that computes one invocation after the other.

#pragma once

#include "tests/e2e/cases.h"

#include <array>
#include <cstring>
#include <vector>

namespace weft::e2e {

struct ComputeShader {
   std::string source_type, target_type; ///< element types of `source.data` and `target.data`
   std::string declarations;
   /// `id` is the global invocation's number, `push` a uvec4 of push constants.
   std::string body;
   uint32_t local_size = 64;
   uint32_t groups = 4;
   uint32_t subgroup_size = 0; ///< required, 0 for any
   std::array<uint32_t, 4> push = {};
   Words words = {};
   std::vector<SpecConstant> spec_constants = {};
};

/// The target buffer afterwards; it is poisoned before and has `target_bytes`. `source_after`, of
/// the source's size, gets the source's contents afterwards.
std::vector<std::byte> run_compute(Device &, const ComputeShader &,
                                   std::span<const std::byte> source, size_t target_bytes,
                                   std::span<std::byte> source_after = {});

template <typename Target, typename Source>
std::vector<Target> run_compute(Device &device, const ComputeShader &shader,
                                const std::vector<Source> &source, size_t targets,
                                std::vector<Source> *source_after = nullptr)
{
   std::span<std::byte> after;
   if (source_after) {
      source_after->resize(source.size());
      after = std::as_writable_bytes(std::span(*source_after));
   }
   const std::vector<std::byte> bytes = run_compute(
      device, shader, std::as_bytes(std::span(source)), targets * sizeof(Target), after);
   std::vector<Target> result(targets);
   memcpy(result.data(), bytes.data(), bytes.size());
   return result;
}

} // namespace weft::e2e
