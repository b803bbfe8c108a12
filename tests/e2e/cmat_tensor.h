// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads and stores through tensor layouts and views: random ones, and a shader for them. A shader
/// has one number of dimensions, clamp mode and kind of view. Its other numbers are constants, or
/// come from a buffer with many sets for one shader.

#pragma once

#include "tests/e2e/cmat.h"
#include "tests/e2e/memory_access.h"
#include "tests/oracle/tensor.h"

#include <array>
#include <span>
#include <string>

namespace weft::e2e::tensor {

using oracle::Clamp;
using oracle::Numbers;
using oracle::TensorLayout;
using oracle::TensorView;

enum class Kind { load, store, decode };
enum class Views { none, of_span, of_dimensions };

/// The block that a decode function reads, and its value, in GLSL and in C++.
struct BlockFormat {
   const char *members;
   const char *read; ///< an expression of the reference b and a number x
   uint32_t bytes, align;
   uint32_t (*value)(const uint8_t *block, uint32_t x);
};

/// The third and fourth round the size of a block up, or read the block as another type.
std::span<const BlockFormat> block_formats();

struct Variant {
   MatrixType matrix;
   Kind kind;
   uint32_t dim;
   Clamp clamp;
   Views views;
   uint32_t view_dim;
   Numbers permutation;
   Storage storage;
   bool wide_pointee; ///< the array pointed to is of uvec4
   const BlockFormat *format;
   bool literal; ///< all numbers are constants
   bool blocks;  ///< of more than one element
   uint32_t subgroup_size;
   uint32_t vector = 0;    ///< components of the vector decode function's result, or 0
   bool marks = false;     ///< the vector function's values differ by vector_mark
   uint32_t workgroup = 0; ///< of a matrix of workgroup scope

   uint32_t unit() const { return format ? format->bytes : matrix.component_bytes(); }
   std::string pointee() const
   {
      if (format)
         return "uint";
      return wide_pointee ? "uvec4" : oracle::format(matrix.type).glsl;
   }
   uint32_t pointee_bytes() const
   {
      if (format)
         return 4;
      return wide_pointee ? 16 : matrix.component_bytes();
   }
   uint32_t invocations() const { return workgroup ? workgroup : subgroup_size; }
   std::string glsl_type() const
   {
      std::string type = matrix.glsl();
      const std::string scope = "gl_ScopeSubgroup";
      if (workgroup)
         type.replace(type.find(scope), scope.size(), "gl_ScopeWorkgroup");
      return type;
   }
   std::string name() const;
};

/// Added to the values of a vector function that `marks`.
constexpr uint32_t vector_mark = 85;

/// The places of a case's numbers in the buffer.
enum Place : uint32_t {
   at_block = 0,
   at_dimension = 5,
   at_stride = 10,
   at_offset = 15,
   at_span = 20,
   at_second_offset = 25,
   at_second_span = 30,
   at_view_dimension = 35,
   at_view_stride = 40,
   at_clip = 45,
   at_clamp_value = 49,
   at_sets_stride = 50,
   at_slices_twice = 51,
   at_sets_view_stride = 52,
   at_sets_clip = 53,
   case_words = 64,
};

/// Bytes of memory for each case: all elements of any layout lie in them.
constexpr uint32_t region_bytes = 16384;

struct Case {
   TensorLayout layout;
   TensorView view;
   std::array<uint32_t, case_words> numbers = {};
};

inline uint32_t between(oracle::Random &random, uint32_t first, uint32_t last)
{
   return first + oracle::draw(random, last - first + 1);
}

Case draw_case(oracle::Random &, const Variant &);

/// The shader's text; with the numbers of the case, if the variant's numbers are literal.
std::string shader_text(const Variant &, const Case &);

} // namespace weft::e2e::tensor
