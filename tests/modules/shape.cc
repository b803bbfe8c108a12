// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/modules/shape.h"

#include "tests/oracle/component.h"

namespace weft::modules {

namespace {

constexpr const char *khr_declarations = "OpCapability CooperativeMatrixKHR\n"
                                         "OpExtension \"SPV_KHR_cooperative_matrix\"\n";

const Shape matrix = {Shape::Form::matrix, {}}, number = {Shape::Form::number, {}},
            vector = {Shape::Form::vector, {}};

Shape array(const Shape &element, size_t length = 2)
{
   return {Shape::Form::array, std::vector<Shape>(length, element)};
}

Shape structure(const std::vector<Shape> &members)
{
   return {Shape::Form::structure, members};
}

std::string indices(const std::vector<uint32_t> &path)
{
   std::string text;
   for (const uint32_t index : path)
      text += " " + std::to_string(index);
   return text;
}

void add_leaves(const Shape &shape, const std::vector<uint32_t> &path, uint32_t &matrices,
                uint32_t &words, std::vector<Leaf> &list)
{
   for (uint32_t i = 0; i < shape.parts.size(); i++) {
      std::vector<uint32_t> to_part = path;
      to_part.push_back(i);
      add_leaves(shape.parts[i], to_part, matrices, words, list);
   }
   switch (shape.form) {
   case Shape::Form::matrix:
      list.push_back({path, shape.form, matrices++});
      break;
   case Shape::Form::number:
      list.push_back({path, shape.form, words++});
      break;
   case Shape::Form::vector:
      list.push_back({path, shape.form, words});
      words += 2;
      break;
   default:
      break;
   }
}

uint32_t count(const Shape &shape, bool of_matrices)
{
   uint32_t matrices = 0, words = 0;
   std::vector<Leaf> list;
   add_leaves(shape, {}, matrices, words, list);
   return of_matrices ? matrices : words;
}

} // namespace

const std::vector<Kind> kinds = {
   {"f32_accumulator", ComponentType::f32, 16, 16, "OpTypeFloat 32",
    "OpTypeCooperativeMatrixKHR %component %subgroup %rows %cols %u2", khr_declarations},
   {"f16_a", ComponentType::f16, 16, 16, "OpTypeFloat 16",
    "OpTypeCooperativeMatrixKHR %component %subgroup %rows %cols %u0",
    "OpCapability Float16\nOpCapability StorageBuffer16BitAccess\n"
    "OpCapability CooperativeMatrixKHR\nOpExtension \"SPV_KHR_cooperative_matrix\"\n"},
   {"s8_b", ComponentType::s8, 16, 16, "OpTypeInt 8 1",
    "OpTypeCooperativeMatrixKHR %component %subgroup %rows %cols %u1",
    "OpCapability Int8\nOpCapability StorageBuffer8BitAccess\nOpCapability CooperativeMatrixKHR\n"
    "OpExtension \"SPV_KHR_cooperative_matrix\"\n",
    false, "OpIAdd"},
   {"nv_f32", ComponentType::f32, 16, 16, "OpTypeFloat 32",
    "OpTypeCooperativeMatrixNV %component %subgroup %rows %cols",
    "OpCapability CooperativeMatrixNV\nOpExtension \"SPV_NV_cooperative_matrix\"\n", true},
   {"workgroup_f32", ComponentType::f32, 32, 32, "OpTypeFloat 32",
    "OpTypeCooperativeMatrixKHR %component %u2 %rows %cols %u2", khr_declarations, false, "OpFAdd",
    128},
   {"bf16_a", ComponentType::bf16, 16, 16, "OpTypeFloat 16 BFloat16KHR",
    "OpTypeCooperativeMatrixKHR %component %subgroup %rows %cols %u0",
    "OpCapability BFloat16TypeKHR\nOpCapability BFloat16CooperativeMatrixKHR\n"
    "OpCapability StorageBuffer16BitAccess\nOpCapability CooperativeMatrixKHR\n"
    "OpExtension \"SPV_KHR_cooperative_matrix\"\nOpExtension \"SPV_KHR_bfloat16\"\n",
    false, nullptr, 64, "0x4040"},
};

const std::vector<NamedShape> shapes = {
   {"matrix", matrix},
   {"array", array(matrix)},
   {"struct", structure({number, matrix})},
   {"struct_of_array", structure({array(matrix), vector, matrix})},
   {"array_of_struct", array(structure({matrix, number, array(number)}))},
   {"array_of_array", array(array(matrix))},
   {"deep",
    structure({array(structure({vector, structure({matrix}), number})), structure({}), matrix})},
};

const Shape &Shape::at(const std::vector<uint32_t> &path) const
{
   const Shape *shape = this;
   for (const uint32_t index : path)
      shape = &shape->parts[index];
   return *shape;
}

std::vector<Leaf> leaves(const Shape &shape)
{
   uint32_t matrices = 0, words = 0;
   std::vector<Leaf> list;
   add_leaves(shape, {}, matrices, words, list);
   return list;
}

std::string Assembly::emit(const std::string &instruction)
{
   const std::string id = "%v" + std::to_string(next++);
   body += "  " + id + " = " + instruction + "\n";
   return id;
}

std::string Assembly::label()
{
   return "%block" + std::to_string(next++);
}

std::string Assembly::declare(const std::string &instruction)
{
   const auto found = known.find(instruction);
   if (found != known.end())
      return found->second;
   const std::string id = "%d" + std::to_string(next++);
   types += id + " = " + instruction + "\n";
   return known[instruction] = id;
}

std::string Assembly::type(const Shape &shape, bool twin)
{
   switch (shape.form) {
   case Shape::Form::matrix:
      return "%Matrix";
   case Shape::Form::number:
      return "%uint";
   case Shape::Form::vector:
      return "%uvec2";
   default:
      break;
   }
   std::string parts;
   for (const Shape &part : shape.parts) {
      parts += " " + type(part, twin);
      if (shape.form == Shape::Form::array)
         break;
   }
   const std::string instruction =
      shape.form == Shape::Form::array
         ? "OpTypeArray" + parts + " " + uint(uint32_t(shape.parts.size()))
         : "OpTypeStruct" + parts;
   if (!twin)
      return declare(instruction);
   /* One more blank makes the text a new instruction for declare(). A name makes a new type for
    * compilers that distinguish structs by members and names. */
   const std::string id = declare(instruction + " ");
   if (shape.form == Shape::Form::structure)
      names[id] = "Twin" + id.substr(1);
   return id;
}

std::string Assembly::pointer(const Shape &shape, const char *storage)
{
   return declare(std::string("OpTypePointer ") + storage + " " + type(shape));
}

std::string Assembly::uint(uint32_t value)
{
   return value < 4 ? "%u" + std::to_string(value)
                    : declare("OpConstant %uint " + std::to_string(value));
}

std::string Assembly::constant(const Shape &shape)
{
   std::string parts;
   switch (shape.form) {
   case Shape::Form::matrix:
      parts = " " + declare(std::string("OpConstant %component ") + kind.three);
      break;
   case Shape::Form::number:
      return uint(3);
   case Shape::Form::vector:
      parts = " %u3 %u3";
      break;
   default:
      for (const Shape &part : shape.parts)
         parts += " " + constant(part);
   }
   return declare("OpConstantComposite " + type(shape) + parts);
}

std::string Assembly::null(const Shape &shape)
{
   return declare("OpConstantNull " + type(shape));
}

std::string Assembly::variable(const Shape &shape, const std::string &initializer)
{
   const std::string id = "%v" + std::to_string(next++);
   variables += "  " + id + " = OpVariable " + pointer(shape) + " Function " + initializer + "\n";
   return id;
}

std::string Assembly::element_pointer(const char *buffer, const char *pointer, uint32_t index)
{
   return emit(std::string("OpAccessChain %ptr_") + pointer + " %" + buffer + " %u0 " +
               uint(index));
}

std::string Assembly::load(const Shape &shape, uint32_t set)
{
   const uint32_t matrices = count(shape, true), words = count(shape, false);
   uint32_t matrix_number = set * matrices, word = set * words;
   const auto build = [&](const auto &self, const Shape &s) -> std::string {
      if (s.form == Shape::Form::matrix) {
         const std::string from =
            element_pointer("matrices", "component", matrix_number++ * kind.elements());
         return kind.is_nv ? emit("OpCooperativeMatrixLoadNV %Matrix " + from + " %cols %false")
                           : emit("OpCooperativeMatrixLoadKHR %Matrix " + from + " %u0 %cols");
      }
      if (s.form == Shape::Form::number)
         return emit("OpLoad %uint " + element_pointer("words", "uint", word++));
      std::string parts;
      if (s.form == Shape::Form::vector) {
         parts = " " + self(self, number);
         parts += " " + self(self, number);
      }
      for (const Shape &part : s.parts)
         parts += " " + self(self, part);
      return emit("OpCompositeConstruct " + type(s) + parts);
   };
   return build(build, shape);
}

void Assembly::store(const Shape &shape, const std::string &value, uint32_t set)
{
   const uint32_t matrices = count(shape, true), words = count(shape, false);
   for (const Leaf &leaf : leaves(shape)) {
      const std::string part = extract(shape, value, leaf.path);
      if (leaf.form == Shape::Form::matrix) {
         const std::string to = element_pointer("matrices_out", "component",
                                                (set * matrices + leaf.number) * kind.elements());
         act(kind.is_nv ? "OpCooperativeMatrixStoreNV " + to + " " + part + " %cols %false"
                        : "OpCooperativeMatrixStoreKHR " + to + " " + part + " %u0 %cols");
         continue;
      }
      const uint32_t length = leaf.form == Shape::Form::vector ? 2 : 1;
      for (uint32_t i = 0; i < length; i++) {
         const std::string word =
            length == 1 ? part : emit("OpCompositeExtract %uint " + part + " " + std::to_string(i));
         const std::string first = uint((set * words + leaf.number + i) * kind.invocations);
         const std::string index = emit("OpIAdd %uint %self " + first);
         act("OpStore " + emit("OpAccessChain %ptr_uint %words_out %u0 " + index) + " " + word);
      }
   }
}

std::string Assembly::extract(const Shape &shape, const std::string &value,
                              const std::vector<uint32_t> &path)
{
   if (path.empty())
      return value;
   return emit("OpCompositeExtract " + type(shape.at(path)) + " " + value + indices(path));
}

std::string Assembly::insert(const Shape &shape, const std::string &value, const std::string &part,
                             const std::vector<uint32_t> &path)
{
   if (path.empty())
      return part;
   return emit("OpCompositeInsert " + type(shape) + " " + part + " " + value + indices(path));
}

std::string Assembly::access(const Shape &shape, const std::string &base, const char *storage,
                             const std::vector<uint32_t> &path)
{
   if (path.empty())
      return base;
   std::string chain;
   for (const uint32_t index : path)
      chain += " " + uint(index);
   return emit("OpAccessChain " + pointer(shape.at(path), storage) + " " + base + chain);
}

void Assembly::store_component(const std::string &value, const char *buffer, uint32_t matrix)
{
   const std::string index = emit("OpIAdd %uint %self " + uint(matrix * kind.invocations));
   act("OpStore " + emit(std::string("OpAccessChain %ptr_component %") + buffer + " %u0 " + index) +
       " " + value);
}

void Assembly::begin_function()
{
   outer_variables.swap(variables);
   outer_body.swap(body);
}

std::string Assembly::end_function(const std::string &head)
{
   const std::string id = "%f" + std::to_string(next++);
   const size_t block = body.find("OpLabel\n") + 8;
   functions += id + " = " + head + "\n" + body.substr(0, block) + variables + body.substr(block) +
                "OpFunctionEnd\n";
   variables.clear();
   body.clear();
   outer_variables.swap(variables);
   outer_body.swap(body);
   return id;
}

std::string Assembly::text() const
{
   const std::string declarations = kind.declarations;
   const size_t extensions = declarations.find("OpExtension");
   const std::string bytes = std::to_string(oracle::format(kind.type).bytes);
   std::string text = "OpCapability Shader\nOpCapability VulkanMemoryModel\n" +
                      declarations.substr(0, extensions) + declarations.substr(extensions) +
                      "OpMemoryModel Logical Vulkan\n"
                      "OpEntryPoint GLCompute %main \"main\" %matrices %words %flags %matrices_out "
                      "%words_out %got %want %invocation" +
                      globals +
                      "\n"
                      "OpExecutionMode %main LocalSize " +
                      std::to_string(kind.invocations) +
                      " 1 1\n"
                      "OpDecorate %invocation BuiltIn LocalInvocationIndex\n"
                      "OpDecorate %Components Block\n"
                      "OpMemberDecorate %Components 0 Offset 0\n"
                      "OpDecorate %Words Block\n"
                      "OpMemberDecorate %Words 0 Offset 0\n"
                      "OpDecorate %array_of_words ArrayStride 4\n"
                      "OpDecorate %array_of_components ArrayStride " +
                      bytes + "\n";
   constexpr const char *buffers[] = {"matrices",  "words", "flags", "matrices_out",
                                      "words_out", "got",   "want"};
   uint32_t binding = 0;
   for (const char *buffer : buffers) {
      text += std::string("OpDecorate %") + buffer + " DescriptorSet 0\nOpDecorate %" + buffer +
              " Binding " + std::to_string(binding++) + "\n";
   }
   for (const auto &[id, name] : names)
      text.insert(text.find("OpDecorate"), "OpName " + id + " \"" + name + "\"\n");
   text += "%void = OpTypeVoid\n%plain = OpTypeFunction %void\n%bool = OpTypeBool\n"
           "%false = OpConstantFalse %bool\n%uint = OpTypeInt 32 0\n%uvec2 = OpTypeVector %uint 2\n"
           "%u0 = OpConstant %uint 0\n%u1 = OpConstant %uint 1\n%u2 = OpConstant %uint 2\n"
           "%u3 = OpConstant %uint 3\n%subgroup = OpConstant %uint 3\n%rows = OpConstant %uint " +
           std::to_string(kind.rows) + "\n%cols = OpConstant %uint " + std::to_string(kind.cols) +
           "\n%component = " + kind.component + "\n%Matrix = " + kind.matrix +
           "\n%array_of_components = OpTypeRuntimeArray %component\n"
           "%Components = OpTypeStruct %array_of_components\n"
           "%array_of_words = OpTypeRuntimeArray %uint\n%Words = OpTypeStruct %array_of_words\n"
           "%ptr_Components = OpTypePointer StorageBuffer %Components\n"
           "%ptr_Words = OpTypePointer StorageBuffer %Words\n"
           "%ptr_component = OpTypePointer StorageBuffer %component\n"
           "%ptr_uint = OpTypePointer StorageBuffer %uint\n"
           "%ptr_input = OpTypePointer Input %uint\n"
           "%invocation = OpVariable %ptr_input Input\n";
   for (const char *buffer : buffers) {
      const bool words = std::string(buffer).starts_with("words") || buffer == buffers[2];
      text += std::string("%") + buffer + " = OpVariable %ptr_" + (words ? "Words" : "Components") +
              " StorageBuffer\n";
   }
   return text + types + "%main = OpFunction %void None %plain\n%entry = OpLabel\n" + variables +
          "  %self = OpLoad %uint %invocation\n" + body + "OpReturn\nOpFunctionEnd\n" + functions;
}

} // namespace weft::modules
