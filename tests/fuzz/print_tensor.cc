// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
/// Loads and stores through tensor layouts and views.

#include "tests/fuzz/printer.h"

namespace weft::fuzz {

std::string Printer::numbers(const Tensor &t, std::initializer_list<oracle::Numbers> lists)
{
   std::string text;
   for (size_t i = 0; i < lists.begin()->size(); i++) {
      for (const oracle::Numbers &list : lists) {
         const uint32_t word = i % push_words;
         text += ", ";
         text += t.literal ? std::to_string(list[i]) + "u"
                           : "push.word[" + std::to_string(word) + "] + " +
                                std::to_string(list[i] - program.push[word]) + "u";
      }
   }
   return text;
}

void Printer::print_tensor(const Stmt &s)
{
   const Tensor &tensor = *s.tensor;
   const oracle::TensorLayout &t = tensor.layout;
   const std::string number = std::to_string(tensor_count++), layout = "t" + number;
   const std::string arguments = std::to_string(t.dim) + ", " + std::to_string(int(t.clamp));
   const auto set = [&](const std::string &variable, const char *what,
                        std::initializer_list<oracle::Numbers> values) {
      line(variable + " = " + what + "NV(" + variable + numbers(tensor, values) + ");");
   };
   line("tensorLayoutNV<" + arguments + "> " + layout + " = createTensorLayoutNV(" + arguments +
        ");");
   if (t.block_size != oracle::Numbers(t.dim, 1))
      set(layout, "setTensorLayoutBlockSize", {t.block_size});
   set(layout, "setTensorLayoutDimension", {t.dimension});
   oracle::TensorLayout dense = t;
   dense.set_dimension(t.dimension);
   if (t.stride != dense.stride)
      set(layout, "setTensorLayoutStride", {t.stride});
   oracle::Numbers offset(t.offset.begin(), t.offset.end());
   if (tensor.sliced_twice) {
      set(layout, "sliceTensorLayout", {oracle::Numbers(t.dim, 1), t.dimension});
      for (uint32_t &o : offset)
         o--;
   }
   set(layout, "sliceTensorLayout", {offset, t.span});
   if (t.clamp_value)
      set(layout, "setTensorLayoutClampValue", {{t.clamp_value}});
   std::string more = layout + (tensor.view ? ", " + print_view(tensor, "w" + number) : "");
   if (function_result(s))
      more += ", " + decode_function(s, number);
   if (tensor.vector)
      call_vector_function(s, number);
   const std::string rest = ", " + memory_data(s) + ", " + expr(s.exprs[0]) + ", " + more + ");";
   const std::string matrix = place(s.places[0]), copy = "m" + number;
   const Variable &v = function->variables[s.places[0].variable];
   if (s.kind == Kind::tensor_store)
      return line("coopMatStoreTensorNV(" + matrix + rest);
   if (!v.array && !v.structure)
      return line("coopMatLoadTensorNV(" + matrix + rest);
   // glslang crashes when it loads to anything but a variable.
   line(type_name(v) + " " + copy + " = " + matrix + ";");
   line("coopMatLoadTensorNV(" + copy + rest);
   line(matrix + " = " + copy + ";");
}

std::string Printer::print_view(const Tensor &tensor, const std::string &view)
{
   const oracle::TensorView &v = *tensor.view;
   std::string arguments = std::to_string(v.dim) + (v.has_dimensions ? ", true" : ", false");
   for (uint32_t p : v.permutation)
      arguments += ", " + std::to_string(p);
   line("tensorViewNV<" + arguments + "> " + view + " = createTensorViewNV(" + arguments + ");");
   const auto set = [&](const char *what, const oracle::Numbers &values) {
      line(view + " = setTensorView" + what + "NV(" + view + numbers(tensor, {values}) + ");");
   };
   if (v.has_dimensions) {
      set("Dimensions", v.dimension);
      oracle::TensorView dense = v;
      dense.set_dimension(v.dimension);
      if (v.stride != dense.stride)
         set("Stride", v.stride);
   }
   const oracle::Numbers clip = {v.clip_row_offset, v.clip_row_span, v.clip_col_offset,
                                 v.clip_col_span};
   if (clip != oracle::Numbers{0, ~0u, 0, ~0u})
      set("Clip", clip);
   return view;
}

std::string Printer::decode_function(const Stmt &s, const std::string &number)
{
   const Memory &memory = program.memories[s.target];
   const std::string reference = "Block_" + number, name = "decode" + number,
                     dim = std::to_string(s.tensor->layout.dim);
   element_functions += "layout(buffer_reference, scalar, buffer_reference_align = " +
                        std::to_string(memory.component_bytes()) + ") buffer " + reference + " { " +
                        glsl_name(memory.type) + " q[" + std::to_string(s.tensor->block) +
                        "]; };\n" + glsl_name(component_of(s.places[0])) + " " + name +
                        "(const in " + reference + " b, const in uint block[" + dim +
                        "], const in uint in_block[" + dim + "])\n{\n   return " +
                        expr(s.exprs[1]) + ";\n}\n";
   if (s.tensor->vector)
      print_vector_function(s, name, reference);
   return name;
}

void Printer::print_vector_function(const Stmt &s, const std::string &name,
                                    const std::string &reference)
{
   const uint32_t dim = s.tensor->layout.dim, size = s.tensor->vector;
   const std::string element = glsl_name(component_of(s.places[0])),
                     result = "Vector" + std::to_string(size) + "_" + element;
   std::string members, values;
   for (uint32_t i = 0; i < size; i++) {
      members += " " + element + " v" + std::to_string(i) + ";";
      std::string place;
      for (uint32_t d = 0; d < dim; d++)
         place += (d ? ", in_block[" : "in_block[") + std::to_string(d) +
                  (d + 1 == dim ? "] + " + std::to_string(i) + "u" : "]");
      values += std::string(i ? ",\n      " : "") + name + "(b, block, uint[" +
                std::to_string(dim) + "](" + place + "))";
   }
   const std::string declaration = "struct " + result + " {" + members + " };\n";
   if (element_functions.find(declaration) == std::string::npos)
      element_functions += declaration;
   element_functions += result + " " + name + "_vector(const in " + reference +
                        " b, const in uint block[" + std::to_string(dim) +
                        "], const in uint in_block[" + std::to_string(dim) + "])\n{\n   return " +
                        result + "(" + values + ");\n}\n";
}

void Printer::call_vector_function(const Stmt &s, const std::string &number)
{
   const std::string dim = std::to_string(s.tensor->layout.dim);
   std::string zeros = "0u";
   for (uint32_t d = 1; d < s.tensor->layout.dim; d++)
      zeros += ", 0u";
   zeros = "uint[" + dim + "](" + zeros + ")";
   line("if (never)");
   line("   decode" + number + "_vector(Block_" + number + "(uvec2(0u)), " + zeros + ", " + zeros +
        ");");
}

} // namespace weft::fuzz
