// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/runner/shader_interface.h"

#include "nir_passes/front_end/spirv_words.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <utility>

namespace weft::runner {

namespace {

enum Op : uint16_t {
   op_name = 5,
   op_entry_point = 15,
   op_type_bool = 20,
   op_type_int = 21,
   op_type_float = 22,
   op_type_vector = 23,
   op_type_matrix = 24,
   op_type_array = 28,
   op_type_runtime_array = 29,
   op_type_struct = 30,
   op_type_pointer = 32,
   op_constant = 43,
   op_spec_constant = 50,
   op_variable = 59,
   op_decorate = 71,
   op_member_decorate = 72,
};

enum Decoration : uint32_t {
   spec_id = 1,
   buffer_block = 3,
   row_major = 4,
   array_stride = 6,
   matrix_stride = 7,
   binding = 33,
   descriptor_set = 34,
   offset = 35,
};

enum StorageClass : uint32_t { uniform = 2, push_constant = 9, storage_buffer = 12 };

constexpr uint32_t execution_model_compute = 5;
/// Types refer to earlier types; the limit stops recursion in damaged modules.
constexpr unsigned max_depth = 16;
constexpr uint64_t max_length = 1u << 28;

struct Reader {
   using Words = std::span<const uint32_t>;

   std::map<uint32_t, std::pair<uint16_t, Words>> results; ///< types, constants and variables
   std::map<uint32_t, std::string> names;
   std::map<std::pair<uint32_t, uint32_t>, uint32_t> decorations; ///< (id, decoration) → operand
   std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, uint32_t>> member_decorations;
   std::vector<std::string> entry_points;
   const ShaderSource &source;

   explicit Reader(const ShaderSource &source) : source(source) {}

   void read()
   {
      for (const auto &[opcode, operands] : Instructions(source.spirv))
         read(uint16_t(opcode), operands);
   }

   void read(uint16_t opcode, Words operands)
   {
      const size_t n = operands.size();
      switch (opcode) {
      case op_name:
         if (n >= 2)
            names[operands[0]] = literal_string(operands.subspan(1));
         break;
      case op_entry_point:
         if (n >= 3 && operands[0] == execution_model_compute)
            entry_points.push_back(literal_string(operands.subspan(2)));
         break;
      case op_decorate:
         if (n >= 2)
            decorations[{operands[0], operands[1]}] = n >= 3 ? operands[2] : 1;
         break;
      case op_member_decorate:
         if (n >= 3)
            member_decorations[{operands[0], operands[1]}][operands[2]] = n >= 4 ? operands[3] : 1;
         break;
      case op_type_bool:
      case op_type_int:
      case op_type_float:
      case op_type_vector:
      case op_type_matrix:
      case op_type_array:
      case op_type_runtime_array:
      case op_type_struct:
      case op_type_pointer:
         if (n >= 1)
            results[operands[0]] = {opcode, operands.subspan(1)};
         break;
      case op_constant:
      case op_spec_constant:
      case op_variable:
         if (n >= 3)
            results[operands[1]] = {opcode, operands};
         break;
      default:
         break;
      }
   }

   std::optional<uint32_t> decoration(uint32_t id, Decoration d) const
   {
      const auto found = decorations.find({id, d});
      return found == decorations.end() ? std::nullopt : std::optional(found->second);
   }

   std::optional<uint32_t> decoration(uint32_t id, uint32_t member, Decoration d) const
   {
      const auto found = member_decorations.find({id, member});
      if (found == member_decorations.end())
         return std::nullopt;
      const auto of_member = found->second.find(d);
      return of_member == found->second.end() ? std::nullopt : std::optional(of_member->second);
   }

   std::optional<uint64_t> constant(uint32_t id) const
   {
      const auto found = results.find(id);
      if (found == results.end() ||
          (found->second.first != op_constant && found->second.first != op_spec_constant))
         return std::nullopt;
      uint64_t value = found->second.second[2];
      if (const std::optional<uint32_t> spec = decoration(id, spec_id)) {
         for (const SpecConstant &given : source.spec_constants) {
            if (given.id == *spec) {
               value = 0;
               std::memcpy(&value, given.value.data(), std::min<size_t>(4, given.value.size()));
            }
         }
      }
      return value;
   }

   /// An array of `count` vectors' or matrices' components, `stride` bytes apart.
   static MemoryType array_of(MemoryType element, uint64_t stride, uint64_t count)
   {
      MemoryType array;
      array.element.push_back(std::move(element));
      array.stride = stride;
      array.length = count;
      return array;
   }

   std::optional<MemoryType> type(uint32_t id, unsigned depth = 0) const
   {
      const auto found = results.find(id);
      if (found == results.end() || depth > max_depth)
         return std::nullopt;
      const auto &[opcode, w] = found->second;
      MemoryType t;
      switch (opcode) {
      case op_type_int:
      case op_type_float: {
         if (w.empty() || (w[0] != 8 && w[0] != 16 && w[0] != 32 && w[0] != 64))
            return std::nullopt;
         // The second word is an integer's signedness, or the encoding of a float outside of IEEE
         // 754, such as bfloat16. Such floats are compared and shown as integers.
         const bool is_float = opcode == op_type_float;
         t.scalar = {w.size() > 1 && w[1] && !is_float ? ScalarKind::signed_integer
                     : w.size() == 1 && is_float       ? ScalarKind::floating
                                                       : ScalarKind::integer,
                     w[0] / 8, 0};
         return t;
      }
      case op_type_vector: {
         std::optional<MemoryType> component = w.size() >= 2 ? type(w[0], depth + 1) : std::nullopt;
         if (!component || !component->scalar || w[1] < 2 || w[1] > 16)
            return std::nullopt;
         const uint64_t bytes = component->scalar->bytes;
         return array_of(std::move(*component), bytes, w[1]);
      }
      case op_type_array: {
         std::optional<MemoryType> element = w.size() >= 2 ? type(w[0], depth + 1) : std::nullopt;
         const uint64_t length = w.size() >= 2 ? constant(w[1]).value_or(0) : 0;
         const std::optional<uint32_t> stride = decoration(id, array_stride);
         if (!element || !stride || length == 0 || length > max_length)
            return std::nullopt;
         return array_of(std::move(*element), *stride, length);
      }
      case op_type_runtime_array: {
         std::optional<MemoryType> element = w.size() >= 1 ? type(w[0], depth + 1) : std::nullopt;
         const std::optional<uint32_t> stride = decoration(id, array_stride);
         if (!element || !stride || *stride == 0)
            return std::nullopt;
         return array_of(std::move(*element), *stride, 0);
      }
      case op_type_struct:
         for (uint32_t i = 0; i < w.size(); i++) {
            const std::optional<uint32_t> at = decoration(id, i, offset);
            std::optional<MemoryType> member =
               at ? member_type(id, i, w[i], depth + 1) : std::nullopt;
            if (!member)
               return std::nullopt;
            t.members.push_back({*at, {}});
            t.members.back().type.push_back(std::move(*member));
         }
         return t;
      default:
         return std::nullopt;
      }
   }

   /// The struct's member defines the layout of matrices and of arrays of matrices.
   std::optional<MemoryType> member_type(uint32_t id, uint32_t member, uint32_t member_id,
                                         unsigned depth) const
   {
      const auto found = results.find(member_id);
      if (found == results.end() || depth > max_depth)
         return std::nullopt;
      const auto &[opcode, w] = found->second;
      if (opcode == op_type_matrix && w.size() >= 2) {
         const auto column = results.find(w[0]);
         const std::optional<uint32_t> stride = decoration(id, member, matrix_stride);
         if (column == results.end() || column->second.first != op_type_vector || !stride)
            return std::nullopt;
         std::optional<MemoryType> vector = type(w[0], depth + 1);
         if (!vector || w[1] > 16)
            return std::nullopt;
         if (!decoration(id, member, row_major))
            return array_of(std::move(*vector), *stride, w[1]);
         const uint64_t rows = vector->length, bytes = vector->stride;
         return array_of(array_of(std::move(vector->element[0]), bytes, w[1]), *stride, rows);
      }
      if ((opcode == op_type_array || opcode == op_type_runtime_array) && w.size() >= 1) {
         const std::optional<uint32_t> stride = decoration(member_id, array_stride);
         std::optional<MemoryType> element = member_type(id, member, w[0], depth + 1);
         uint64_t length = 0;
         if (opcode == op_type_array) {
            length = w.size() >= 2 ? constant(w[1]).value_or(0) : 0;
            if (length == 0 || length > max_length)
               return std::nullopt;
         }
         if (!element || !stride || *stride == 0)
            return std::nullopt;
         return array_of(std::move(*element), *stride, length);
      }
      return type(member_id, depth);
   }

   void add_variable(uint32_t id, Words operands, ShaderInterface &out) const
   {
      const auto pointer = results.find(operands[0]);
      if (pointer == results.end() || pointer->second.first != op_type_pointer ||
          pointer->second.second.size() < 2)
         return;
      const uint32_t storage_class = operands[2];
      uint32_t block = pointer->second.second[1];
      if (storage_class == push_constant) {
         if (!out.push_constants)
            out.push_constants = type(block);
         return;
      }
      if (storage_class != uniform && storage_class != storage_buffer)
         return;
      uint32_t count = 1;
      const auto array = results.find(block);
      if (array != results.end() && !array->second.second.empty()) {
         const auto &[opcode, w] = array->second;
         if (opcode == op_type_array && w.size() >= 2)
            count = uint32_t(std::clamp<uint64_t>(constant(w[1]).value_or(1), 1, 1024));
         if (opcode == op_type_array || opcode == op_type_runtime_array)
            block = w[0];
      }
      const std::optional<uint32_t> at = decoration(id, binding);
      if (!at)
         return;
      const uint32_t set = decoration(id, descriptor_set).value_or(0);
      for (const DeclaredBuffer &other : out.buffers) {
         if (other.set == set && other.binding == *at)
            return;
      }
      std::string name;
      for (uint32_t named : {id, block}) {
         if (const auto found = names.find(named); name.empty() && found != names.end())
            name = found->second;
      }
      out.buffers.push_back({set, *at, count,
                             storage_class == uniform && !decoration(block, buffer_block), name,
                             type(block).value_or(MemoryType{})});
   }
};

} // namespace

std::string Scalar::name() const
{
   const char *letter = kind == ScalarKind::floating         ? "f"
                        : kind == ScalarKind::signed_integer ? "s"
                                                             : "u";
   std::string text = letter;
   return text += std::to_string(bytes * 8);
}

uint64_t MemoryType::size() const
{
   if (scalar)
      return scalar->bytes;
   if (!element.empty())
      return length ? stride * (length - 1) + element[0].size() : 0;
   uint64_t end = 0;
   for (const Member &member : members)
      end = std::max(end, member.offset + member.type[0].size());
   return end;
}

uint64_t MemoryType::runtime_stride() const
{
   if (!element.empty())
      return length ? 0 : stride;
   return members.empty() ? 0 : members.back().type[0].runtime_stride();
}

std::optional<Scalar> MemoryType::scalar_at(uint64_t byte) const
{
   if (scalar)
      return byte < scalar->bytes ? scalar : std::nullopt;
   uint64_t begin = 0;
   const MemoryType *part = nullptr;
   if (!element.empty()) {
      const uint64_t index = stride ? byte / stride : 0;
      if (length && index >= length)
         return std::nullopt;
      begin = index * stride;
      part = &element[0];
   }
   for (const Member &member : members) {
      const MemoryType &type = member.type[0];
      if (byte >= member.offset &&
          (byte < member.offset + type.size() || type.runtime_stride() > 0)) {
         begin = member.offset;
         part = &type;
      }
   }
   std::optional<Scalar> found = part ? part->scalar_at(byte - begin) : std::nullopt;
   if (found)
      found->offset += begin;
   return found;
}

ShaderInterface read_interface(const ShaderSource &source)
{
   Reader reader(source);
   reader.read();
   ShaderInterface interface;
   interface.entry_points = reader.entry_points;
   for (const auto &[id, result] : reader.results) {
      if (result.first == op_variable)
         reader.add_variable(id, result.second, interface);
   }
   std::ranges::sort(interface.buffers, {},
                     [](const DeclaredBuffer &b) { return std::pair(b.set, b.binding); });
   return interface;
}

} // namespace weft::runner
