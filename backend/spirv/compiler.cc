// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/compiler.h"

#include "backend/spirv/nir_to_spirv.h"
#include "backend/spirv/spirv_text.h"

#include "nir_passes/pipeline.h"
#include "nir_passes/spirv_to_nir.h"
#include "nir_passes/validate_cmat.h"

namespace weft::spirv {

bool needs_lowering(const ShaderSource &source, uint32_t subgroup_size,
                    const std::vector<MatrixOperation> &operations,
                    const std::vector<MatrixOperation> &native_operations)
{
   Target target = {
      .subgroup_size = subgroup_size,
      .operations = operations,
      .native_tiles = false,
      .form = FinalForm::spirv,
   };
   Result<Shader> shader = spirv_to_nir(source, target);
   if (!shader || !validate_cmat(shader->get(), target))
      return false;
   target.operations = native_operations;
   return !validate_cmat(shader->get(), target);
}

Result<std::vector<uint32_t>> compile(const ShaderSource &source, const CompileOptions &options)
{
   const uint32_t W = options.subgroup_size;
   if (W < 4 || W > 128 || (W & (W - 1)) != 0)
      return Error{"the subgroup size " + std::to_string(W) + " is no power of two from 4 to 128"};

   // SPIR-V to NIR, all of NIR's passes.
   const Target target = {
      .subgroup_size = W,
      .operations = options.operations,
      .native_tiles = false,
      .form = FinalForm::spirv,
      .native_operations = options.native_operations,
      .small_subgroup_operands = options.driver.subgroup_extended_types,
      .robust_access = options.robust_access,
      .dot_product_4x8 = options.driver.integer_dot_product,
   };
   PipelineOptions pipeline;
   pipeline.dump = options.dump;
   Result<Shader> shader = spirv_to_target(source, target, pipeline);
   if (!shader)
      return shader.error();
   if (options.dump)
      options.dump("nir", shader_text(shader->get()));

   // NIR to SPIR-V.
   Result<std::vector<uint32_t>> module = nir_to_spirv(shader->get(), options.driver, source);
   if (module && options.dump)
      options.dump("spirv", disassemble(*module));
   return module;
}

} // namespace weft::spirv
