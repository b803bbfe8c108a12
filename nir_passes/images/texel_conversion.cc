// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/images/texel_conversion.h"

#include "nir_passes/choose.h"

#include "compiler/nir/nir_format_convert.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>

namespace weft {

namespace {

std::optional<uint32_t> known(nir_def *value)
{
   if (value->parent_instr->type != nir_instr_type_load_const)
      return std::nullopt;
   return nir_instr_as_load_const(value->parent_instr)->value[0].u32;
}

/// The same with a comparison, which is decided here if the value is known.
template <typename Then, typename Else>
nir_def *choose(nir_builder *b, nir_def *value, uint32_t expected, Then then, Else otherwise)
{
   if (const std::optional<uint32_t> number = known(value))
      return *number == expected ? then() : otherwise();
   return weft::choose(b, nir_ieq_imm(b, value, expected), then, otherwise);
}

/// The parts of a TexelFormat.
class Format {
public:
   Format(nir_builder *b, const FormatValues &words) : b(b), words(words) {}

   nir_def *texel_bytes() { return byte(offsetof(TexelFormat, texel_bytes)); }
   nir_def *numbers() { return byte(offsetof(TexelFormat, numbers)); }
   nir_def *is_signed() { return byte(offsetof(TexelFormat, is_signed)); }
   nir_def *alpha_is_one() { return byte(offsetof(TexelFormat, alpha_is_one)); }
   nir_def *first_bit(unsigned c) { return byte(field(c)); }
   nir_def *bits(unsigned c) { return byte(field(c) + 1); }

private:
   static unsigned field(unsigned c)
   {
      return offsetof(TexelFormat, fields) + c * sizeof(TexelFormat::Field);
   }

   nir_def *byte(unsigned n)
   {
      nir_def *word = words[n / 4];
      const unsigned shift = n % 4 * 8;
      if (const std::optional<uint32_t> number = known(word))
         return nir_imm_int(b, int(*number >> shift & 0xff));
      return nir_iand_imm(b, nir_ushr_imm(b, word, shift), 0xff);
   }

   nir_builder *b;
   const FormatValues &words;
};

/// The conversion between one texel in memory and its components.
class Conversion {
public:
   Conversion(nir_builder *b, const FormatValues &words) : b(b), format(b, words)
   {
      for (unsigned c = 0; c < 4; ++c) {
         first_bit[c] = format.first_bit(c);
         bits[c] = format.bits(c);
         others[c] = nir_isub_imm(b, 32, bits[c]);
      }
      is_signed = nir_ine_imm(b, format.is_signed(), 0);
   }

   nir_def *unpack(const TexelWords &texel, bool floats)
   {
      std::array<nir_def *, 4> numbers;
      for (unsigned c = 0; c < 4; ++c)
         numbers[c] = extract(texel, c);
      return fill(floats ? to_floats(numbers, texel[0]) : nir_vec(b, numbers.data(), 4), floats);
   }

   nir_def *fill(nir_def *components, bool floats)
   {
      const uint32_t one = floats ? std::bit_cast<uint32_t>(1.0f) : 1;
      nir_def *no_alpha = nir_imul_imm(b, format.alpha_is_one(), one);
      std::array<nir_def *, 4> color;
      for (unsigned c = 0; c < 4; ++c)
         color[c] = nir_bcsel(b, is_present(c), nir_channel(b, components, c),
                              c == 3 ? no_alpha : nir_imm_int(b, 0));
      return nir_vec(b, color.data(), 4);
   }

   TexelWords pack(nir_def *color, bool floats)
   {
      nir_def *numbers = floats ? from_floats(color) : clamp_integers(color);
      TexelWords texel;
      texel.fill(nir_imm_int(b, 0));
      for (unsigned c = 0; c < 4; ++c)
         insert(texel, c, nir_channel(b, numbers, c));
      return texel;
   }

private:
   nir_def *is_present(unsigned c) { return nir_ine_imm(b, bits[c], 0); }
   nir_def *word_index(unsigned c) { return nir_ushr_imm(b, first_bit[c], 5); }
   nir_def *mask(unsigned c) { return nir_ushr(b, nir_imm_int(b, -1), others[c]); }

   /// The number in a field, with its sign.
   nir_def *extract(const TexelWords &texel, unsigned c)
   {
      nir_def *word = texel[0];
      for (unsigned k = 1; k < texel.size(); ++k)
         word = nir_bcsel(b, nir_ieq_imm(b, word_index(c), k), texel[k], word);
      /* NIR shifts by the amount modulo 32. */
      nir_def *top = nir_ishl(b, nir_ushr(b, word, nir_iand_imm(b, first_bit[c], 31)), others[c]);
      return nir_bcsel(b, is_signed, nir_ishr(b, top, others[c]), nir_ushr(b, top, others[c]));
   }

   void insert(TexelWords &texel, unsigned c, nir_def *number)
   {
      number = nir_iand(b, number, mask(c));
      number = nir_bcsel(b, is_present(c), number, nir_imm_int(b, 0));
      nir_def *placed = nir_ishl(b, number, nir_iand_imm(b, first_bit[c], 31));
      for (unsigned k = 0; k < texel.size(); ++k) {
         nir_def *own = nir_ieq_imm(b, word_index(c), k);
         texel[k] = nir_ior(b, texel[k], nir_bcsel(b, own, placed, nir_imm_int(b, 0)));
      }
   }

   template <typename F>
   nir_def *each(F convert)
   {
      std::array<nir_def *, 4> out;
      for (unsigned c = 0; c < 4; ++c)
         out[c] = convert(c);
      return nir_vec(b, out.data(), 4);
   }

   /// All components of a floating-point format have 32 bits, or all fewer.
   template <typename Whole, typename Small, typename Divided>
   nir_def *by_numbers(Whole whole, Small small, Divided divided)
   {
      return choose(
         b, format.numbers(), uint32_t(TexelNumbers::floating),
         [&] { return choose(b, bits[0], 32, whole, small); }, divided);
   }

   /// The largest normalized number, 1.0.
   nir_def *largest(unsigned c)
   {
      nir_def *magnitude = nir_isub(b, bits[c], nir_b2i32(b, is_signed));
      return nir_iadd_imm(b, nir_ishl(b, nir_imm_int(b, 1), magnitude), -1);
   }

   /// Floats of 11 and 10 bits are halves without a sign and the last bits.
   nir_def *missing_bits(unsigned c)
   {
      return nir_bcsel(b, nir_ieq_imm(b, bits[c], 16), nir_imm_int(b, 0),
                       nir_isub_imm(b, 15, bits[c]));
   }

   nir_def *to_floats(std::array<nir_def *, 4> numbers, nir_def *first_word)
   {
      return by_numbers([&] { return nir_vec(b, numbers.data(), 4); },
                        [&] {
                           return each([&](unsigned c) {
                              nir_def *half = nir_ishl(b, numbers[c], missing_bits(c));
                              return nir_f2f32(b, nir_u2u16(b, half));
                           });
                        },
                        [&] {
                           return choose(
                              b, format.numbers(), uint32_t(TexelNumbers::shared_exponent),
                              [&] { return with_exponent(numbers, first_word); },
                              [&] { return from_integers(numbers); });
                        });
   }

   nir_def *with_exponent(const std::array<nir_def *, 4> &numbers, nir_def *word)
   {
      /* The exponent of 1.0 in a float, less the format's bias and the nine bits of a number. */
      constexpr int difference = 127 - 15 - 9;
      nir_def *exponent = nir_iadd_imm(b, nir_ushr_imm(b, word, 27), difference);
      nir_def *scale = nir_ishl_imm(b, exponent, 23);
      return each([&](unsigned c) { return nir_fmul(b, nir_u2f32(b, numbers[c]), scale); });
   }

   nir_def *from_integers(const std::array<nir_def *, 4> &numbers)
   {
      nir_def *is_scaled = nir_ieq_imm(b, format.numbers(), uint32_t(TexelNumbers::scaled));
      nir_def *color = each([&](unsigned c) {
         nir_def *number = nir_i2f32(b, numbers[c]);
         nir_def *part = nir_fdiv(b, number, nir_u2f32(b, largest(c)));
         /* The least signed number is -1, too. */
         if (known(format.is_signed()) != std::optional<uint32_t>(0))
            part = nir_fmax(b, part, nir_imm_float(b, -1));
         return nir_bcsel(b, is_scaled, number, part);
      });
      return choose(
         b, format.numbers(), uint32_t(TexelNumbers::srgb),
         [&] {
            nir_def *linear = nir_format_srgb_to_linear(b, nir_trim_vector(b, color, 3));
            return nir_vec4(b, nir_channel(b, linear, 0), nir_channel(b, linear, 1),
                            nir_channel(b, linear, 2), nir_channel(b, color, 3));
         },
         [&] { return color; });
   }

   nir_def *from_floats(nir_def *color)
   {
      return by_numbers(
         [&] { return color; },
         [&] {
            return each([&](unsigned c) {
               nir_def *x = nir_channel(b, color, c);
               nir_def *half = nir_u2u32(b, nir_f2f16_rtne(b, x));
               nir_def *smaller = nir_f2f16_rtz(b, nir_fmax(b, x, nir_imm_float(b, 0)));
               smaller = nir_ushr(b, nir_u2u32(b, smaller), missing_bits(c));
               return nir_bcsel(b, nir_ieq_imm(b, bits[c], 16), half, smaller);
            });
         },
         [&] {
            nir_def *least = nir_ineg(b, nir_b2i32(b, is_signed));
            return each([&](unsigned c) {
               nir_def *x = nir_fmax(b, nir_channel(b, color, c), nir_i2f32(b, least));
               x = nir_fmul(b, nir_fmin(b, x, nir_imm_float(b, 1)), nir_u2f32(b, largest(c)));
               return nir_f2i32(b, nir_fround_even(b, x));
            });
         });
   }

   nir_def *clamp_integers(nir_def *color)
   {
      return each([&](unsigned c) {
         nir_def *x = nir_channel(b, color, c);
         nir_def *high = nir_ushr_imm(b, mask(c), 1), *low = nir_inot(b, high);
         nir_def *with_sign = nir_imin(b, nir_imax(b, x, low), high);
         return nir_bcsel(b, is_signed, with_sign, nir_umin(b, x, mask(c)));
      });
   }

   nir_builder *b;
   Format format;
   std::array<nir_def *, 4> first_bit, bits, others; ///< of each component; others: 32 - bits
   nir_def *is_signed;
};

} // namespace

FormatValues constant_format(nir_builder *b, const TexelFormat &format)
{
   const auto words = std::bit_cast<TexelFormatWords>(format);
   FormatValues values;
   std::ranges::transform(words, values.begin(),
                          [&](uint32_t word) { return nir_imm_int(b, int(word)); });
   return values;
}

nir_def *unpack_texel(nir_builder *b, const FormatValues &format, const TexelWords &texel,
                      nir_alu_type type)
{
   return Conversion(b, format).unpack(texel, nir_alu_type_get_base_type(type) == nir_type_float);
}

nir_def *fill_components(nir_builder *b, const FormatValues &format, nir_def *color,
                         nir_alu_type type)
{
   return Conversion(b, format).fill(color, nir_alu_type_get_base_type(type) == nir_type_float);
}

nir_def *is_block_format(nir_builder *b, const FormatValues &format)
{
   return nir_ieq_imm(b, Format(b, format).numbers(), unsigned(TexelNumbers::block));
}

nir_def *decode_texel(nir_builder *b, const FormatValues &format, const TexelWords &block,
                      nir_def *texel)
{
   /* The result depends on the operands alone. */
   return _nir_build_image_load(
      b, 4, 32, Format(b, format).first_bit(0),
      nir_vec(b, const_cast<nir_def **>(block.data()), block.size()), texel, nir_imm_int(b, 0),
      {._ = 0,
       .image_dim = GLSL_SAMPLER_DIM_2D,
       .image_array = false,
       .format = PIPE_FORMAT_NONE,
       .access = gl_access_qualifier(ACCESS_CAN_REORDER | ACCESS_NON_UNIFORM),
       .range_base = 0,
       .dest_type = nir_type_float32});
}

TexelWords pack_texel(nir_builder *b, const FormatValues &format, nir_def *color, nir_alu_type type)
{
   return Conversion(b, format).pack(color, nir_alu_type_get_base_type(type) == nir_type_float);
}

nir_def *for_texel_size(nir_builder *b, const FormatValues &format,
                        const std::function<nir_def *(unsigned bytes)> &emit)
{
   nir_def *bytes = Format(b, format).texel_bytes();
   if (const std::optional<uint32_t> number = known(bytes))
      return emit(*number);
   const std::function<nir_def *(unsigned)> smaller = [&](unsigned size) {
      /* A null descriptor has no texels, so any size serves. */
      if (size == 1)
         return emit(1);
      const unsigned next = size == 16 ? 12 : size == 12 ? 8 : size / 2;
      return choose(b, bytes, size, [&] { return emit(size); }, [&] { return smaller(next); });
   };
   return smaller(16);
}

} // namespace weft
