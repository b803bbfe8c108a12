// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/compiler.h"

#include "backend/spirv/nir_to_spirv.h"
#include "backend/spirv/passes.h"
#include "backend/spirv/spirv_text.h"

#include "nir_passes/shader_text.h"
#include "nir_passes/stages.h"
#include "nir_passes/validate_cmat.h"

namespace weft::spirv {

MatrixOwner matrix_owner(const ShaderSource &source, uint32_t subgroup_size,
                         const MatrixSupport &support,
                         const std::vector<MatrixOperation> &native_operations)
{
   Result<Shader> shader = read_shader(source, Consumer::driver, subgroup_size);
   if (!shader || !validate_cmat(shader->get(), support))
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
   Result<Shader> shader = lower_for_driver(
      source, {.target = {.subgroup_size = W,
                          .form = options.native_operations.empty() ? MatrixForm::registers
                                                                    : MatrixForm::driver_tiles,
                          .native = options.native_operations,
                          .robust_access = options.robust_access,
                          .staging_bytes = options.staging_bytes,
                          .dot_product_4x8 = options.driver.integer_dot_product},
               .matrices = {options.operations, options.flexible},
               .driver = options.driver,
               .observe = show_text(options.dump),
               .control = options.control});
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
