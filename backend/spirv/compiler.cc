// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/compiler.h"

#include "backend/spirv/nir_to_spirv.h"
#include "backend/spirv/spirv_text.h"

#include "nir_passes/pipeline.h"
#include "nir_passes/spirv_to_nir.h"
#include "nir_passes/validate_cmat.h"

namespace weft::spirv {

MatrixOwner matrix_owner(const ShaderSource &source, uint32_t subgroup_size,
                         const std::vector<MatrixOperation> &operations,
                         const std::vector<MatrixOperation> &native_operations)
{
   const Target target = {
      .subgroup_size = subgroup_size,
      .matrices = {operations},
      .lowering = {},
      .form = FinalForm::spirv,
   };
   Result<Shader> shader = spirv_to_nir(source, target);
   if (!shader || !validate_cmat(shader->get(), target.matrices))
      return MatrixOwner::unknown;
   return validate_cmat(shader->get(), {native_operations}) ? MatrixOwner::driver
                                                            : MatrixOwner::layer;
}

Result<CompiledModule> compile(const ShaderSource &source, const CompileOptions &options)
{
   const uint32_t W = options.subgroup_size;
   if (W < 4 || W > 128 || (W & (W - 1)) != 0)
      return Error{"the subgroup size " + std::to_string(W) + " is no power of two from 4 to 128"};

   // SPIR-V to NIR, all of NIR's passes.
   const Target target = {
      .subgroup_size = W,
      .matrices = {options.operations},
      .lowering = {.form = options.native_operations.empty() ? MatrixForm::registers
                                                             : MatrixForm::driver_tiles,
                   .native = options.native_operations,
                   .robust_access = options.robust_access,
                   .dot_product_4x8 = options.driver.integer_dot_product},
      .form = FinalForm::spirv,
      .spirv = {.small_subgroup_operands = options.driver.subgroup_extended_types,
                .subgroup_arithmetic_with_matrices =
                   options.driver.subgroup_arithmetic_with_matrices,
                .scalar_bounds = options.driver.robust_buffer_access_2},
   };
   PipelineOptions pipeline;
   pipeline.dump = options.dump;
   pipeline.control = options.control;
   Result<Shader> shader = spirv_to_target(source, target, pipeline);
   if (!shader)
      return shader.error();
   if (options.dump)
      options.dump("nir", shader_text(shader->get()));

   // NIR to SPIR-V.
   const shader_info &info = shader->get()->info;
   Result<std::vector<uint32_t>> words = nir_to_spirv(shader->get(), options.driver, source);
   if (!words)
      return words.error();
   if (options.dump)
      options.dump("spirv", disassemble(*words));
   const uint16_t *size = info.workgroup_size;
   return CompiledModule{.words = std::move(*words),
                         .local_size = {size[0], size[1], size[2]},
                         .needs_full_subgroups = info.cs.has_cooperative_matrix};
}

} // namespace weft::spirv
