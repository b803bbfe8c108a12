// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/backend/spirv/compiled.h"

#include "backend/spirv/words/spirv_text.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>
namespace weft::test {

namespace {

std::string compiled(const ShaderSource &source, const spirv::Driver &driver,
                     uint32_t subgroup_size)
{
   const auto module = spirv::compile(source, options_for(driver, subgroup_size));
   if (!module)
      return module.error().message;
   const Result<bool> valid = spirv::validate(module->words);
   EXPECT_TRUE(valid) << valid.error().message << spirv::disassemble(module->words);
   return spirv::disassemble(module->words);
}

} // namespace

spirv::CompileOptions options_for(const spirv::Driver &driver, uint32_t subgroup_size)
{
   return {.driver = driver,
           .subgroup_size = subgroup_size,
           .operations = spirv::supported_operations(driver, subgroup_size),
           .dump = {}};
}

std::string compiled(const std::string &glsl, const spirv::Driver &driver, uint32_t subgroup_size)
{
   const Source source = compile(glsl);
   return compiled(source.shader_source(), driver, subgroup_size);
}

std::string compiled_assembly(const std::string &text, const spirv::Driver &driver)
{
   const std::vector<uint32_t> words = assemble(text, 0x00010300);
   return compiled(ShaderSource{words, "main", {}}, driver, 32);
}

} // namespace weft::test
