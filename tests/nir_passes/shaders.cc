// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/nir_passes/shaders.h"

#include "nir_passes/compiler_options.h"
#include "nir_passes/shader_text.h"

#include <gtest/gtest.h>

#include <sstream>
#include <utility>

namespace weft::test {

std::vector<MatrixOperation> operations()
{
   using enum ComponentType;
   return {
      {16, 16, 16, f16, f16, f32, f32, false},
      {8, 8, 8, f16, f16, f16, f16, false},
      {16, 16, 32, s8, s8, s32, s32, false},
      {16, 16, 32, s8, s8, s32, s32, true},
   };
}

Target target(uint32_t subgroup_size, bool native_tiles)
{
   return {
      .subgroup_size = subgroup_size,
      .form = native_tiles ? MatrixForm::private_tiles : MatrixForm::registers,
      .native = operations(),
   };
}

ShaderSource Source::shader_source() const
{
   ShaderSource source = {spirv, "main", {}};
   for (size_t i = 0; i < constant_ids.size(); ++i)
      source.spec_constants.push_back(
         {constant_ids[i], std::as_bytes(std::span(&constant_values[i], 1))});
   return source;
}

Source compile(const std::string &glsl)
{
   const std::string text =
      std::string(e2e::glsl_header) + "layout(local_size_x = 64) in;\n" + glsl;
   return {e2e::compile_glsl(text), {}, {}};
}

Shader translate(const std::string &glsl, Consumer consumer, uint32_t subgroup_size)
{
   Result<Shader> shader = read_shader(compile(glsl).shader_source(), consumer, subgroup_size);
   EXPECT_TRUE(shader) << (shader ? "" : shader.error().message);
   nir_lower_vars_to_ssa(shader->get());
   nir_copy_prop(shader->get());
   nir_opt_constant_folding(shader->get());
   nir_opt_cse(shader->get());
   nir_opt_dce(shader->get());
   return std::move(*shader);
}

void tidy(nir_shader *nir)
{
   nir_opt_constant_folding(nir);
   nir_copy_prop(nir);
   nir_opt_algebraic(nir);
   nir_opt_constant_folding(nir);
   nir_opt_cse(nir);
   nir_remove_dead_variables(nir, nir_var_function_temp, nullptr);
   nir_opt_dce(nir);
   nir_validate_shader(nir, "the pass under test");
}

std::string before_lower_cmat(const Source &source)
{
   std::string text;
   bool whole = true;
   const PassObserver observe = [&](const char *pass, nir_shader *nir) {
      whole &= std::string(pass) != "lower_cmat";
      if (whole) {
         nir_validate_shader(nir, pass);
         text = body(nir);
      }
   };
   Result<Shader> shader =
      read_shader(source.shader_source(), Consumer::driver, 32, observe, nullptr);
   if (!shader) {
      ADD_FAILURE() << shader.error().message;
      return "";
   }
   PassRunner run(shader->get(), observe, nullptr);
   lower_matrices(run, target(32, false));
   EXPECT_FALSE(run.refused());
   return text;
}

std::string body(nir_shader *nir)
{
   nir_index_ssa_defs(nir_shader_get_entrypoint(nir));
   std::istringstream text(shader_text(nir));
   std::string line, result;
   bool inside = false;
   while (std::getline(text, line)) {
      inside |= line.starts_with("impl ");
      line = line.substr(0, line.find("//"));
      if (!inside)
         continue;
      std::istringstream words(line);
      std::string word, tidy;
      while (words >> word)
         tidy += (tidy.empty() ? "" : " ") + word;
      if (!tidy.empty() && !tidy.starts_with("block "))
         result += tidy + "\n";
   }
   return result;
}

Built::Built()
    : b(nir_builder_init_simple_shader(MESA_SHADER_COMPUTE, &llvm_compiler_options, "test")),
      shader(b.shader)
{
   b.shader->info.workgroup_size[0] = 64;
   b.shader->info.workgroup_size[1] = 1;
   b.shader->info.workgroup_size[2] = 1;
}

unsigned count(const std::string &text, const std::string &part)
{
   unsigned n = 0;
   for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++n;
   return n;
}

bool has(const std::string &text, const std::string &part)
{
   return text.find(part) != std::string::npos;
}

} // namespace weft::test
