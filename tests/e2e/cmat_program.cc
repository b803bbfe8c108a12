// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/cmat_program.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weft::e2e {

static const char *const text = R"(
layout(local_size_x = $SIZE) in;
layout(push_constant, std430) uniform Push { uvec4 value; } push_block;
#define push push_block.value
$BLOCKS
$DECLARATIONS
void main()
{
$LOADS
$BODY
$STORES
}
)";

static std::string program_text(const MatrixProgram &program)
{
   Words words = program.words;
   std::string blocks, loads, stores;
   uint32_t binding = 0;
   const auto add = [&](const MatrixType &type, const char *letter, uint32_t index) {
      const std::string number = std::to_string(index), name = letter + number;
      blocks += buffer_block(binding++, oracle::format(type.type).glsl, name + "_data");
      return name;
   };
   for (uint32_t i = 0; i < program.inputs.size(); i++) {
      const MatrixType &type = program.inputs[i];
      const std::string name = add(type, "m", i);
      words["M" + std::to_string(i)] = type.glsl();
      words["T" + std::to_string(i)] = oracle::format(type.type).glsl;
      loads += "   " + type.glsl() + " " + name + ";\n   coopMatLoad(" + name + ", " + name +
               "_data.data, 0, " + std::to_string(type.cols) +
               ", gl_CooperativeMatrixLayoutRowMajor);\n";
   }
   for (uint32_t i = 0; i < program.outputs.size(); i++) {
      const MatrixType &type = program.outputs[i];
      const std::string name = add(type, "r", i);
      words["R" + std::to_string(i)] = type.glsl();
      loads += "   " + type.glsl() + " " + name + ";\n";
      stores += "   coopMatStore(" + name + ", " + name + "_data.data, 0, " +
                std::to_string(type.cols) + ", gl_CooperativeMatrixLayoutRowMajor);\n";
   }
   if (program.side_words)
      blocks += buffer_block(binding++, "uint", "side_block") + "#define side side_block.data\n";
   words["SIZE"] = std::to_string(program.subgroup_size);
   words["BLOCKS"] = blocks;
   words["DECLARATIONS"] = program.declarations;
   words["LOADS"] = loads;
   words["BODY"] = program.body;
   words["STORES"] = stores;
   return std::string(glsl_header) + "#pragma use_vulkan_memory_model\n" + expand(text, words);
}

ProgramResult run_program(Device &device, const MatrixProgram &program,
                          const std::vector<oracle::Matrix> &inputs)
{
   std::vector<uint32_t> spirv = compile_glsl(program_text(program));
   if (program.edit)
      program.edit(spirv);

   std::vector<std::unique_ptr<Buffer>> buffers;
   std::vector<BufferRange> ranges;
   const auto add_buffer = [&](size_t bytes) -> std::span<std::byte> {
      buffers.push_back(std::make_unique<Buffer>(device, bytes));
      ranges.push_back(*buffers.back());
      oracle::fill_poison(buffers.back()->bytes());
      return buffers.back()->bytes();
   };
   for (const oracle::Matrix &matrix : inputs) {
      const std::span<std::byte> bytes = add_buffer(matrix.data.size());
      memcpy(bytes.data(), matrix.data.data(), matrix.data.size());
   }
   for (const MatrixType &type : program.outputs)
      add_buffer(size_t(type.rows) * type.cols * type.component_bytes());
   if (program.side_words)
      add_buffer(program.side_words * sizeof(uint32_t));

   Pipeline pipeline(device, spirv,
                     {.bindings = std::vector<uint32_t>(ranges.size(), 1),
                      .push_bytes = sizeof(program.push),
                      .subgroup_size = program.subgroup_size,
                      .spec_constants = program.spec_constants});
   pipeline.dispatch(ranges, {}, program.push);
   count_case();

   ProgramResult result;
   for (uint32_t i = 0; i < program.outputs.size(); i++) {
      const MatrixType &type = program.outputs[i];
      const Placement tight = {
         .column_major = false, .offset = 0, .stride = line_bytes(type, false)};
      result.outputs.push_back(pick(type, tight, buffers[inputs.size() + i]->bytes()));
   }
   if (program.side_words) {
      const std::span<uint32_t> side = buffers.back()->as<uint32_t>();
      result.side.assign(side.begin(), side.end());
   }
   return result;
}

std::string missing_features(const Device &device, const std::vector<MatrixType> &types)
{
   for (const MatrixType &type : types) {
      if (const std::string missing = missing_feature(device, type.type); !missing.empty())
         return missing;
   }
   return "";
}

bool is_bit_cast(ComponentType from, ComponentType to)
{
   const oracle::Format &x = oracle::format(from), &y = oracle::format(to);
   return !x.is_float && !y.is_float && x.bytes == y.bytes && from != to;
}

std::vector<MatrixType> types_beside(const Device &device, const MatrixType &type,
                                     const std::function<bool(const MatrixType &)> &suits)
{
   std::vector<MatrixType> found = matrix_types(device);
   std::erase_if(found, [&](const MatrixType &other) {
      return !suits(other) || !missing_features(device, {other}).empty() ||
             !inexpressible(type.glsl() + other.glsl()).empty();
   });
   return found;
}

void for_each_matrix_type(Device &device, oracle::Random &random, const MatrixBody &body)
{
   for_each_matrix_type(device, random, [](const MatrixType &, uint32_t) { return true; }, body);
}

void for_each_matrix_type(Device &device, oracle::Random &random, const MatrixFilter &fits,
                          const MatrixBody &body)
{
   const std::vector<MatrixType> types = matrix_types(device);
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   if (types.empty())
      GTEST_SKIP() << "no cooperative matrices";
   uint32_t turn = oracle::draw(random, uint32_t(sizes.size()));
   bool has_fitting = false;
   for (const MatrixType &type : types) {
      const uint32_t size = sizes[turn++ % sizes.size()];
      if (const std::string missing = missing_features(device, {type}); !missing.empty()) {
         skip_case("needs " + missing);
         continue;
      }
      if (!fits(type, size))
         continue;
      has_fitting = true;
      // LLVM takes many times as long for 64-bit integers, above all for their quotients.
      const bool is_slow = type.component_bytes() == 8 && !oracle::format(type.type).is_float;
      if (!selected(random, is_slow ? 16 : 4))
         continue;
      SCOPED_TRACE(type.name() + ", subgroup size " + std::to_string(size));
      body(type, size);
      if (testing::Test::HasFailure())
         return;
   }
   if (!has_fitting && has_drawn_shapes())
      skip_case("needs types that the drawn matrices do not have");
}

bool compiles_each_component(const Device &device, uint32_t components, uint32_t at_most)
{
   return !strstr(device.properties.deviceName, "LLVM 15") || components <= at_most;
}

bool keeps_subnormals(const Device &device, ComponentType type)
{
   if (!device.is_weft)
      return false;
   switch (oracle::format(type).bytes) {
   case 2:
      return device.properties12.shaderDenormPreserveFloat16;
   case 4:
      return device.properties12.shaderDenormPreserveFloat32;
   default:
      return device.properties12.shaderDenormPreserveFloat64;
   }
}

oracle::Expectation rounded(const Device &device, ComponentType type, uint32_t rows, uint32_t cols,
                            const std::function<double(uint32_t row, uint32_t col)> &exact,
                            double ulps)
{
   oracle::Expectation expected{oracle::Matrix(type, rows, cols)};
   const double tiny = keeps_subnormals(device, type) ? oracle::smallest_positive(type)
                                                      : oracle::smallest_normal(type);
   const double roundings = device.is_weft ? std::min(1.0, 2 * ulps) : 2 * ulps;
   for (uint32_t row = 0; row < rows; row++) {
      for (uint32_t col = 0; col < cols; col++) {
         const double value = exact(row, col);
         expected.value[size_t(row) * cols + col] = value;
         expected.bound[size_t(row) * cols + col] =
            std::isfinite(value) ? roundings * oracle::unit_roundoff(type) * std::fabs(value) + tiny
                                 : 0;
      }
   }
   return expected;
}

oracle::Expectation
exact_integers(ComponentType type, uint32_t rows, uint32_t cols,
               const std::function<oracle::Integer(uint32_t row, uint32_t col)> &exact)
{
   oracle::Matrix matrix(type, rows, cols);
   for (uint32_t row = 0; row < rows; row++) {
      for (uint32_t col = 0; col < cols; col++)
         oracle::encode_int(type, exact(row, col), matrix.at(row, col));
   }
   return oracle::Expectation(matrix);
}

} // namespace weft::e2e
