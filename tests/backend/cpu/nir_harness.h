// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Builds small NIR shaders, compiles them and runs them without a driver.

#pragma once

#include "backend/cpu/compiler.h"
#include "nir_passes/shader.h"
#include "tests/backend/cpu/seed.h"

#include "compiler/nir/nir_builder.h"

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace weft::cpu::test {

using Bytes = std::vector<uint8_t>;

/// A shader under construction.  Buffer i is the descriptor at 16 * i of set 0.
class NirShader {
public:
   NirShader(uint32_t subgroup_size, uint32_t workgroup_size);

   nir_builder b;
   const uint32_t W;

   nir_def *buffer(uint32_t i) { return nir_imm_ivec2(&b, 0, int(16 * i)); }
   nir_def *load(uint32_t buffer_number, nir_def *offset, unsigned components, unsigned bits);
   void store(uint32_t buffer_number, nir_def *offset, nir_def *value);
   nir_def *load_shared(nir_def *offset, unsigned components, unsigned bits);
   void store_shared(nir_def *offset, nir_def *value);
   void barrier(); ///< of the workgroup
   /// local_invocation_index, computed as the passes compute it.
   nir_def *local_index();
   nir_def *workgroup() { return nir_channel(&b, nir_load_workgroup_id(&b), 0); }

   void use_shared(uint32_t bytes) { shader->info.shared_size = bytes; }

   /// Call it once: it consumes the shader.
   Result<std::shared_ptr<const Program>> compile(bool robust = true,
                                                  const CpuFeatures & = host_features());

private:
   Shader shader;
};

/// The machine's features, with HostTarget::fast_gathers_and_scatters or without, on any machine.
const CpuFeatures &features_with_gathers(bool);

/// Runs workgroups 0 … groups - 1 of a program; buffers[i] is buffer i; an access behind its end
/// crashes. A plain program has to write the same.
void run(const Program &, std::vector<Bytes> &buffers, uint32_t groups);

Bytes random_bytes(std::mt19937_64 &, size_t count);
/// A buffer with one number.
Bytes uniform_buffer(uint32_t);

} // namespace weft::cpu::test
