// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares every ALU operation that reaches the translator with NIR's own constant folding, at
/// every bit size and subgroup size, on varying and on uniform values. The translator knows no
/// other operation.

#include "backend/cpu/codegen/nir_to_llvm.h"
#include "backend/cpu/codegen/passes/validate_final_form.h"
#include "backend/cpu/passes.h"
#include "tests/backend/cpu/nir_harness.h"

extern "C" {
#include "compiler/nir/nir_constant_expressions.h"
}

#include <gtest/gtest.h>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <span>

namespace weft::cpu::test {

namespace {

struct Case {
   nir_op op;
   unsigned bits; ///< the size that the operation leaves open
   bool operator==(const Case &) const = default;
};

unsigned size_of(nir_alu_type type, unsigned bits)
{
   const unsigned fixed = nir_alu_type_get_type_size(type);
   return fixed ? fixed : bits;
}

bool is_float(nir_alu_type type)
{
   return nir_alu_type_get_base_type(type) == nir_type_float;
}

/// Operations on vectors of more than four components: their code is the same for each component.
bool is_wide(nir_op op)
{
   return nir_op_infos[op].num_inputs > 4;
}

int64_t sign_extend(uint64_t v, unsigned bits)
{
   return int64_t(v << (64 - bits)) >> (64 - bits);
}

uint64_t bits_of_double(double v, unsigned bits)
{
   if (bits == 64)
      return std::bit_cast<uint64_t>(v);
   if (bits == 32)
      return std::bit_cast<uint32_t>(float(v));
   return _mesa_float_to_half(float(v));
}

double double_of_bits(uint64_t v, unsigned bits)
{
   if (bits == 64)
      return std::bit_cast<double>(v);
   if (bits == 32)
      return std::bit_cast<float>(uint32_t(v));
   return _mesa_half_to_float(uint16_t(v));
}

/// Conversions whose results are defined for every input.
bool is_saturating_conversion(nir_op op)
{
   return op == nir_op_f2u32 || op == nir_op_f2u64;
}

/// The expected value where NIR's folding is wrong. It computes signed sums in C, where they
/// overflow or are widened, and functions of doubles in single precision.
std::optional<uint64_t> own_oracle(Case c, uint64_t x, uint64_t y)
{
   if (c.bits == 64 && c.op == nir_op_fexp2)
      return std::bit_cast<uint64_t>(std::exp2(std::bit_cast<double>(x)));
   if (c.bits == 64 && c.op == nir_op_flog2)
      return std::bit_cast<uint64_t>(std::log2(std::bit_cast<double>(x)));
   if (is_saturating_conversion(c.op)) {
      const unsigned bits = nir_alu_type_get_type_size(nir_op_infos[c.op].output_type);
      const double v = double_of_bits(x, c.bits), limit = std::ldexp(1.0, int(bits));
      if (!(v > 0))
         return 0;
      return v < limit ? uint64_t(v) : ~uint64_t(0) >> (64 - bits);
   }
   const uint64_t ones = c.bits == 64 ? ~uint64_t(0) : (uint64_t(1) << c.bits) - 1;
   if (c.op == nir_op_uadd_sat)
      return ((x + y) & ones) < x ? ones : x + y;
   if (c.op != nir_op_iadd_sat && c.op != nir_op_isub_sat)
      return std::nullopt;
   const __int128 a = sign_extend(x, c.bits), b = sign_extend(y, c.bits),
                  sum = c.op == nir_op_iadd_sat ? a + b : a - b;
   const __int128 most = (__int128(1) << (c.bits - 1)) - 1;
   const uint64_t clamped = uint64_t(std::clamp(sum, -most - 1, most));
   return clamped & ones;
}

std::vector<Case> all_cases()
{
   std::vector<Case> cases;
   for (unsigned op = 0; op < nir_num_opcodes; op++) {
      const nir_op_info &info = nir_op_infos[op];
      bool open = nir_alu_type_get_type_size(info.output_type) == 0,
           any_float = is_float(info.output_type) && open;
      bool any_bool = false;
      for (unsigned i = 0; i < info.num_inputs; i++) {
         const bool input_open = nir_alu_type_get_type_size(info.input_types[i]) == 0;
         open |= input_open;
         any_float |= input_open && is_float(info.input_types[i]);
         any_bool |= input_open && nir_alu_type_get_base_type(info.input_types[i]) == nir_type_bool;
      }
      const bool logic = op == nir_op_iand || op == nir_op_ior || op == nir_op_ixor ||
                         op == nir_op_inot || op == nir_op_ieq || op == nir_op_ine ||
                         op == nir_op_bcsel || op == nir_op_mov;
      for (unsigned bits : {0u, 1u, 8u, 16u, 32u, 64u}) {
         if (open != (bits != 0))
            continue;
         if (bits == 1 && !logic && !any_bool)
            continue;
         // Booleans have one bit, but in memory 32.
         if (any_bool && bits != (op == nir_op_b2b1 ? 32 : 1))
            continue;
         if (any_float && bits < 16)
            continue;
         // The error of NIR's validator.
         if (op == nir_op_ufind_msb && bits < 32)
            continue;
         if (!is_wide(nir_op(op)) && is_in_final_form(nir_op(op), size_of(info.output_type, bits)))
            cases.push_back({nir_op(op), bits});
      }
   }
   return cases;
}

class Inputs {
public:
   explicit Inputs(uint64_t seed) : random(seed) {}

   uint64_t operator()(Case c, unsigned input)
   {
      const nir_alu_type type = nir_op_infos[c.op].input_types[input];
      const unsigned bits = size_of(type, c.bits);
      if (bits == 1)
         return random() & 1;
      const uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
      const std::string name = nir_op_infos[c.op].name;
      if (nir_alu_type_get_base_type(type) == nir_type_bool)
         return random() % 2 ? mask : 0;
      if (name.starts_with("f2f16") && bits == 64) // folding turns large numbers into NaN
         return bits_of_double(std::ldexp(double(int64_t(random())), -int(random() % 90) - 47), 64);
      if (name.starts_with("udot") && name.ends_with("_sat") &&
          input == 2) // folded as a signed number
         return random() & INT32_MAX;
      if (!is_float(type))
         return integer(bits) & mask;
      const bool anything = is_saturating_conversion(c.op) && random() % 2;
      if (!anything && (name.starts_with("f2i") || name.starts_with("f2u")))
         return bits_of_double(in_range(c, name[2] == 'i'), bits);
      if (name.starts_with("fsin") || name.starts_with("fcos"))
         return bits_of_double(double(int64_t(random() % 20001) - 10000) / 1000.0, bits);
      // Some results are subnormal or too large; other inputs are infinities and NaN.
      if (name.starts_with("fexp2") && random() % 4)
         return bits_of_double(double(int64_t(random() % 32001) - 16000) / 100.0, bits);
      if (random() % 4)
         return bits_of_double(double(int64_t(random() % 200001) - 100000) / 1000.0, bits);
      static const double special[] = {0.0, -0.0,    1.0,  -1.0,  0.5,  INFINITY, -INFINITY,
                                       NAN, 65504.0, 1e-7, 1e-40, 1e30, 2.5,      3.5};
      if (random() % 2)
         return bits_of_double(special[random() % std::size(special)], bits);
      return random() & mask;
   }

private:
   uint64_t integer(unsigned bits)
   {
      switch (random() % 4) {
      case 0:
         return random() % 8;
      case 1:
         return ~uint64_t(0) - random() % 8;
      case 2:
         return (uint64_t(1) << (bits - 1)) + random() % 3 - 1;
      default:
         return random() >> (random() % bits);
      }
   }
   double in_range(Case c, bool is_signed)
   {
      const unsigned to = nir_alu_type_get_type_size(nir_op_infos[c.op].output_type);
      const unsigned to_bits = to ? to : 16;
      double limit = std::ldexp(1.0, int(to_bits) - (is_signed ? 1 : 0)) * 0.99;
      limit = std::min(limit, c.bits == 16 ? 65000.0 : 1e18);
      const double v = limit * std::pow(2.0, -double(random() % 40) / 2);
      return is_signed && random() % 2 ? -v : v;
   }

   std::mt19937_64 random;
};

/// The allowed error in units of the last place of the result's type: the bounds of glibc's vector
/// functions, and 0 for other operations.
double tolerance(Case c)
{
   switch (c.op) {
   case nir_op_fsin:
   case nir_op_fcos:
   case nir_op_fexp2:
   case nir_op_flog2:
      return 4;
   default:
      return 0;
   }
}

bool matches(Case c, uint64_t expected, uint64_t got, unsigned bits)
{
   if (expected == got)
      return true;
   const nir_alu_type type = nir_op_infos[c.op].output_type;
   if (!is_float(type))
      return false;
   const double e = double_of_bits(expected, bits), g = double_of_bits(got, bits);
   if (std::isnan(e) || std::isnan(g))
      return std::isnan(e) && std::isnan(g);
   if (e == g) // zeros of both signs, which NIR's passes distinguish where necessary
      return c.op == nir_op_fmin || c.op == nir_op_fmax;
   const int mantissa = bits == 16 ? 10 : bits == 32 ? 23 : 52;
   const int exponent = std::max(std::ilogb(e), bits == 16 ? -14 : bits == 32 ? -126 : -1022);
   return std::fabs(e - g) <= tolerance(c) * std::ldexp(1.0, exponent - mantissa);
}

constexpr unsigned sets = 128; ///< input sets per operation

/// Memory has no 1-bit values.
unsigned memory_bits(unsigned bits)
{
   return bits == 1 ? 8 : bits;
}

class Sweep {
public:
   Sweep(uint32_t W, bool uniform) : W(W), uniform(uniform) {}

   void run(std::span<const Case> cases, uint64_t seed)
   {
      NirShader shader(W, W);
      nir_builder *b = &shader.b;
      nir_def *group = shader.workgroup();
      nir_def *index =
         uniform ? group : nir_iadd(b, nir_imul_imm(b, group, W), shader.local_index());
      std::vector<Bytes> buffers(2);
      Inputs inputs(seed);
      for (const Case &c : cases)
         add(shader, index, c, buffers, inputs);
      auto program = shader.compile();
      ASSERT_TRUE(program) << program.error().message;
      test::run(**program, buffers, uniform ? sets : sets / W);
      for (const Case &c : cases)
         check(c, buffers);
   }

private:
   struct Place {
      uint32_t offset, stride;
   };

   nir_def *address(nir_builder *b, nir_def *index, Place p)
   {
      return nir_iadd_imm(b, nir_imul_imm(b, index, p.stride), p.offset);
   }

   Place reserve(Bytes &bytes, unsigned components, unsigned bits)
   {
      const uint32_t stride = components * memory_bits(bits) / 8;
      const Place p{uint32_t(bytes.size()), stride};
      bytes.resize(bytes.size() + stride * sets);
      return p;
   }

   /// The bit that makes a NaN of these bits a quiet one; 0 for numbers.
   static uint64_t quiet_bit(unsigned bits, uint64_t v)
   {
      const unsigned mantissa = bits == 16 ? 10 : bits == 32 ? 23 : 52;
      const uint64_t infinity = ((uint64_t(1) << (bits - 1 - mantissa)) - 1) << mantissa;
      const uint64_t magnitude = v & ((uint64_t(1) << (bits - 1)) - 1);
      return magnitude > infinity ? uint64_t(1) << (mantissa - 1) : 0;
   }

   void add(NirShader &shader, nir_def *index, Case c, std::vector<Bytes> &buffers, Inputs &inputs)
   {
      nir_builder *b = &shader.b;
      const nir_op_info &info = nir_op_infos[c.op];
      nir_def *operands[4] = {};
      Used used{};
      for (unsigned i = 0; i < info.num_inputs; i++) {
         const unsigned bits = size_of(info.input_types[i], c.bits),
                        n = std::max<unsigned>(1, info.input_sizes[i]);
         used.inputs[i] = reserve(buffers[0], n, bits);
         for (unsigned s = 0; s < sets; s++) {
            for (unsigned k = 0; k < n; k++) {
               uint64_t v = inputs(c, i);
               if ((c.op == nir_op_idiv || c.op == nir_op_irem || c.op == nir_op_imod) && i == 1 &&
                   v == (bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1))
                  v = 3; // the least integer divided by -1 traps in folding
               if (c.op == nir_op_fmin || c.op == nir_op_fmax)
                  v |= quiet_bit(bits, v); // a signalling NaN may or may not count as a number
               write(buffers[0], used.inputs[i], s, k, bits, v);
            }
         }
         operands[i] = shader.load(0, address(b, index, used.inputs[i]), n, memory_bits(bits));
         if (bits == 1)
            operands[i] = nir_ine_imm(b, operands[i], 0);
      }
      nir_def *result = nir_build_alu(b, c.op, operands[0], operands[1], operands[2], operands[3]);
      used.bits = result->bit_size;
      used.components = result->num_components;
      used.output = reserve(buffers[1], result->num_components, result->bit_size);
      if (result->bit_size == 1)
         result = nir_b2i8(b, result);
      shader.store(1, address(b, index, used.output), result);
      places.push_back(used);
   }

   void check(Case c, const std::vector<Bytes> &buffers)
   {
      const nir_op_info &info = nir_op_infos[c.op];
      const Used used = places[checked++];
      for (unsigned s = 0; s < sets; s++) {
         nir_const_value operands[4][4] = {}, *pointers[4] = {}, expected[4] = {};
         std::string text;
         for (unsigned i = 0; i < info.num_inputs; i++) {
            const unsigned bits = size_of(info.input_types[i], c.bits),
                           n = std::max<unsigned>(1, info.input_sizes[i]);
            for (unsigned k = 0; k < n; k++) {
               const uint64_t v = read(buffers[0], used.inputs[i], s, k, bits);
               operands[i][k] = bits == 1 ? nir_const_value_for_bool(v, 1)
                                          : nir_const_value_for_raw_uint(v, bits);
               char number[64];
               std::snprintf(number, sizeof(number), " %#llx", static_cast<unsigned long long>(v));
               text += number;
            }
            pointers[i] = operands[i];
         }
         const unsigned fold_bits = c.bits ? c.bits : 32;
         nir_eval_const_opcode(c.op, expected, used.components, fold_bits, pointers, 0);
         for (unsigned k = 0; k < used.components; k++) {
            uint64_t e =
               used.bits == 1 ? expected[k].b : nir_const_value_as_uint(expected[k], used.bits);
            if (info.num_inputs <= 2 && c.bits)
               e = own_oracle(c, read(buffers[0], used.inputs[0], s, 0, c.bits),
                              info.num_inputs == 2 ? read(buffers[0], used.inputs[1], s, 0,
                                                          size_of(info.input_types[1], c.bits))
                                                   : 0)
                      .value_or(e);
            const uint64_t g = read(buffers[1], used.output, s, k, used.bits);
            if (!matches(c, e, g, used.bits)) {
               ADD_FAILURE() << info.name << " of " << c.bits << " bits, W=" << W
                             << (uniform ? ", uniform" : "") << ":" << text << std::hex << " gives "
                             << g << ", not " << e;
               return;
            }
         }
      }
   }

   static void write(Bytes &bytes, Place p, unsigned set, unsigned component, unsigned bits,
                     uint64_t v)
   {
      const unsigned n = memory_bits(bits) / 8;
      std::memcpy(&bytes[p.offset + set * p.stride + component * n], &v, n);
   }
   static uint64_t read(const Bytes &bytes, Place p, unsigned set, unsigned component,
                        unsigned bits)
   {
      const unsigned n = memory_bits(bits) / 8;
      uint64_t v = 0;
      std::memcpy(&v, &bytes[p.offset + set * p.stride + component * n], n);
      return v;
   }

   struct Used {
      Place inputs[4], output;
      unsigned bits, components;
   };
   const uint32_t W;
   const bool uniform;
   std::vector<Used> places;
   size_t checked = 0;
};

class AluSweep : public testing::TestWithParam<std::tuple<uint32_t, bool>> {};

TEST_P(AluSweep, MatchesConstantFolding)
{
   const auto [W, uniform] = GetParam();
   const std::vector<Case> cases = all_cases();
   EXPECT_GT(cases.size(), 200u);
   constexpr size_t batch = 32;
   for (size_t i = 0; i < cases.size(); i += batch) {
      Sweep sweep(W, uniform);
      sweep.run(std::span(cases).subspan(i, std::min(batch, cases.size() - i)), test_seed() + i);
   }
}

/// The translator has no code for operations that the validator refuses, because no shader could
/// test it.
TEST(Alu, NothingElseIsTranslated)
{
   for (unsigned i = 0; i < nir_num_opcodes; i++) {
      const auto op = nir_op(i);
      const nir_op_info &info = nir_op_infos[op];
      bool comes = false;
      for (unsigned bits : {1u, 8u, 16u, 32u, 64u})
         comes |= is_in_final_form(op, bits);
      if (comes || is_wide(op))
         continue;
      const std::span sizes(info.input_sizes, info.num_inputs);
      if (info.output_size == 0 && std::ranges::count(sizes, 0) == 0)
         continue; // NIR's builder cannot build it: the number of the result's components is
                   // undefined
      NirShader shader(8, 8);
      nir_def *operands[4] = {};
      for (unsigned k = 0; k < info.num_inputs; k++) {
         const nir_alu_type type = info.input_types[k];
         const bool boolean = nir_alu_type_get_base_type(type) == nir_type_bool;
         operands[k] = nir_undef(&shader.b, std::max<unsigned>(1, info.input_sizes[k]),
                                 size_of(type, boolean ? 1 : 32));
      }
      nir_def *result =
         nir_build_alu(&shader.b, op, operands[0], operands[1], operands[2], operands[3]);
      if (!nir_num_components_valid(result->num_components))
         continue; // NIR's builder cannot build it either
      PassRunner passes(shader.b.shader, {});
      find_uniform_values(passes, 8);
      llvm::LLVMContext context;
      auto translation = nir_to_llvm(shader.b.shader, {8, {.vector_bits = 256}, true}, context);
      ASSERT_FALSE(translation) << info.name;
      EXPECT_EQ(translation.error().message,
                std::string("the CPU back end does not support the NIR operation ") + info.name);
   }
}

INSTANTIATE_TEST_SUITE_P(, AluSweep,
                         testing::Combine(testing::Values(8u, 16u, 32u, 64u), testing::Bool()));

} // namespace

} // namespace weft::cpu::test
