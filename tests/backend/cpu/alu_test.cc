// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Every ALU operation that the translator knows, at every bit size and subgroup size, on varying and on uniform
/// values, against NIR's own constant folding.

#include "tests/backend/cpu/nir_harness.h"

extern "C" {
#include "compiler/nir/nir_constant_expressions.h"
}

#include <gtest/gtest.h>

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
   unsigned bits; ///< of what the operation leaves open
   bool operator==(const Case &) const = default;
};

unsigned size_of(nir_alu_type type, unsigned bits)
{
   const unsigned fixed = nir_alu_type_get_type_size(type);
   return fixed ? fixed : bits;
}

bool is_float(nir_alu_type type) { return nir_alu_type_get_base_type(type) == nir_type_float; }

/// Operations of other GPUs, of no interest to a shader of Vulkan, or lowered by NIR before.
bool is_foreign(nir_op op)
{
   const std::string name = nir_op_infos[op].name;
   for (const char *part : {"_amd", "_ir3", "_agx", "_nv", "_mdg", "_pan", "_zink", "_r600", "_bcm", "_v3d", "_vc4",
                            "snorm", "unorm", "mqsad", "msad", "fdph", "_replicated", "all_equal", "any_nequal",
                            "umul_low", "imad24", "umad24", "imul24", "umul24", "u24", "i24", "pack_uint", "pack_sint",
                            "pack_uvec", "i32csel", "b8all", "b8any", "b16all", "b16any", "b32all", "b32any", "iadd3",
                            "umul_16x16", "imul_16x16", "isub_sat_16", "lea", "interleave", "uclz64", "bfdot", "e5m2",
                            "e4m3", "bf16", "fisnormal", "fisfinite", "sad_u8", "bitnz8", "bitnz16", "bitnz32", "bitz8",
                            "bitz16", "bitz32", "f2i1", "f2u1", "fclamp_pos", "_dxil", "fsat_signed", "imadsh"}) {
      if (name.find(part) != std::string::npos)
         return true;
   }
   // Wide vectors.
   for (unsigned i = 0; i < nir_op_infos[op].num_inputs; i++) {
      if (nir_op_infos[op].input_sizes[i] > 4)
         return true;
   }
   return nir_op_infos[op].num_inputs > 4;
}

/// Where constant folding is no oracle: undefined in C, or folded in another precision.
bool has_oracle(Case c)
{
   switch (c.op) {
   case nir_op_fmod:
   case nir_op_frem:
   case nir_op_fexp2:
   case nir_op_flog2: return c.bits != 64; // folded in f32
   case nir_op_fquantize2f16:
   case nir_op_ufind_msb_rev: return c.bits == 32;
   default: return true;
   }
}

int64_t sign_extend(uint64_t v, unsigned bits) { return int64_t(v << (64 - bits)) >> (64 - bits); }

/// NIR folds these with signed sums that overflow, which C leaves undefined, or with narrow ones that C makes wider.
std::optional<uint64_t> own_oracle(Case c, uint64_t x, uint64_t y)
{
   const uint64_t ones = c.bits == 64 ? ~uint64_t(0) : (uint64_t(1) << c.bits) - 1;
   const bool carry = ((x + y) & ones) < x;
   if (c.op == nir_op_uadd_carry)
      return carry;
   if (c.op == nir_op_uadd_sat)
      return carry ? ones : x + y;
   if (c.op != nir_op_iadd_sat && c.op != nir_op_isub_sat)
      return std::nullopt;
   const __int128 a = sign_extend(x, c.bits), b = sign_extend(y, c.bits), sum = c.op == nir_op_iadd_sat ? a + b : a - b;
   const __int128 most = (__int128(1) << (c.bits - 1)) - 1;
   const uint64_t clamped = uint64_t(std::clamp(sum, -most - 1, most));
   return clamped & ones;
}

std::vector<Case> all_cases()
{
   std::vector<Case> cases;
   for (unsigned op = 0; op < nir_num_opcodes; op++) {
      const nir_op_info &info = nir_op_infos[op];
      if (is_foreign(nir_op(op)))
         continue;
      bool open = nir_alu_type_get_type_size(info.output_type) == 0, any_float = is_float(info.output_type) && open;
      bool any_bool = false, logic = true;
      for (unsigned i = 0; i < info.num_inputs; i++) {
         const bool input_open = nir_alu_type_get_type_size(info.input_types[i]) == 0;
         open |= input_open;
         any_float |= input_open && is_float(info.input_types[i]);
         any_bool |= input_open && nir_alu_type_get_base_type(info.input_types[i]) == nir_type_bool;
      }
      logic = op == nir_op_iand || op == nir_op_ior || op == nir_op_ixor || op == nir_op_inot || op == nir_op_ieq ||
              op == nir_op_ine || op == nir_op_bcsel || op == nir_op_mov;
      if (!open) {
         cases.push_back({nir_op(op), 0});
         continue;
      }
      for (unsigned bits : {1u, 8u, 16u, 32u, 64u}) {
         if (bits == 1 && !logic && !any_bool)
            continue;
         if (any_bool && bits != 1)
            continue;
         if (any_float && bits < 16)
            continue;
         const Case c{nir_op(op), bits};
         if (has_oracle(c))
            cases.push_back(c);
      }
   }
   return cases;
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
      if (name.starts_with("extract_") || name.starts_with("insert_"))
         return input == 1 ? random() % std::max(1u, bits / (name.ends_with("8") ? 8 : 16)) : random() & mask;
      if (name.find("bitfield_extract") != std::string::npos && input > 0)
         return random() % (input == 1 ? 20 : 13);
      if (name == "bitfield_insert" && input > 1)
         return random() % (input == 2 ? 20 : 13);
      if (name.starts_with("f2f16") && bits == 64) // folding makes NaN of large numbers
         return bits_of_double(std::ldexp(double(int64_t(random())), -int(random() % 90) - 47), 64);
      if (name.starts_with("udot") && name.ends_with("_sat") && input == 2) // folded as a signed number
         return random() & INT32_MAX;
      if (name == "ldexp" && input == 1)
         return uint64_t(int64_t(random() % 20) - 10) & mask;
      if (!is_float(type))
         return integer(bits) & mask;
      if (name.starts_with("f2i") || name.starts_with("f2u"))
         return bits_of_double(in_range(c, name[2] == 'i'), bits);
      if (name.starts_with("fsin") || name.starts_with("fcos"))
         return bits_of_double(double(int64_t(random() % 20001) - 10000) / 1000.0, bits);
      if (name.starts_with("fexp2"))
         return bits_of_double(double(int64_t(random() % 20001) - 10000) / (bits == 16 ? 800.0 : 100.0), bits);
      if (name == "fpow")
         return bits_of_double(double(1 + random() % 4000) / (input ? 500.0 : 1000.0), bits);
      if (name == "ldexp" || random() % 4)
         return bits_of_double(double(int64_t(random() % 200001) - 100000) / 1000.0, bits);
      static const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5, INFINITY, -INFINITY, NAN, 65504.0, 1e-7, 1e-40, 1e30, 2.5, 3.5};
      if (random() % 2)
         return bits_of_double(special[random() % std::size(special)], bits);
      return random() & mask;
   }

private:
   uint64_t integer(unsigned bits)
   {
      switch (random() % 4) {
      case 0: return random() % 8;
      case 1: return ~uint64_t(0) - random() % 8;
      case 2: return (uint64_t(1) << (bits - 1)) + random() % 3 - 1;
      default: return random() >> (random() % bits);
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

/// In units of the last place of the result's type.
double tolerance(Case c)
{
   switch (c.op) {
   case nir_op_fsin:
   case nir_op_fcos: return -1; // absolute
   case nir_op_fexp2:
   case nir_op_flog2: return 4;
   case nir_op_fpow: return 16;
   case nir_op_ffma: return c.bits == 16 ? 1 : 0;
   case nir_op_frsq: return 1;
   case nir_op_fdot2:
   case nir_op_fdot3:
   case nir_op_fdot4:
   case nir_op_fsum2:
   case nir_op_fsum3:
   case nir_op_fsum4: return c.bits == 16 ? -2 : 0; // folded without rounding in between
   case nir_op_fmod:
   case nir_op_frem: return 1;
   default: return 0;
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
   const double allowed = tolerance(c);
   if (allowed == -2 && (!std::isfinite(e) || !std::isfinite(g)))
      return true;
   if (std::isnan(e) || std::isnan(g))
      return std::isnan(e) && std::isnan(g);
   if (e == g)
      return c.op == nir_op_fmin || c.op == nir_op_fmax || c.op == nir_op_fsat || tolerance(c) != 0;
   if (allowed == -1)
      return std::fabs(e - g) < 1e-3;
   if (c.op == nir_op_ldexp)
      return std::fabs(e - g) < 1e-4; // may keep denormals
   if (allowed == -2)
      return std::fabs(e - g) <= 4 + std::fabs(e) * 0.05;
   const int mantissa = bits == 16 ? 10 : bits == 32 ? 23 : 52;
   return std::fabs(e - g) <= allowed * std::ldexp(std::max(std::fabs(e), 1e-30), -mantissa);
}

constexpr unsigned sets = 128; ///< input sets per operation

/// Memory has no 1-bit values.
unsigned memory_bits(unsigned bits) { return bits == 1 ? 8 : bits; }

class Sweep {
public:
   Sweep(uint32_t W, bool uniform) : W(W), uniform(uniform) {}

   void run(std::span<const Case> cases, uint64_t seed)
   {
      NirShader shader(W, W);
      nir_builder *b = &shader.b;
      nir_def *group = shader.workgroup();
      nir_def *index = uniform ? group : nir_iadd(b, nir_imul_imm(b, group, W), shader.local_index());
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
         const unsigned bits = size_of(info.input_types[i], c.bits), n = std::max<unsigned>(1, info.input_sizes[i]);
         used.inputs[i] = reserve(buffers[0], n, bits);
         for (unsigned s = 0; s < sets; s++) {
            for (unsigned k = 0; k < n; k++) {
               uint64_t v = inputs(c, i);
               if ((c.op == nir_op_idiv || c.op == nir_op_irem || c.op == nir_op_imod) && i == 1 &&
                   v == (bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1))
                  v = 3; // the least integer by -1 ends a C program
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
            const unsigned bits = size_of(info.input_types[i], c.bits), n = std::max<unsigned>(1, info.input_sizes[i]);
            for (unsigned k = 0; k < n; k++) {
               const uint64_t v = read(buffers[0], used.inputs[i], s, k, bits);
               operands[i][k] = bits == 1 ? nir_const_value_for_bool(v, 1) : nir_const_value_for_raw_uint(v, bits);
               char number[64];
               std::snprintf(number, sizeof(number), " %#llx", static_cast<unsigned long long>(v));
               text += number;
            }
            pointers[i] = operands[i];
         }
         const unsigned fold_bits = c.bits ? c.bits : 32;
         nir_eval_const_opcode(c.op, expected, used.components, fold_bits, pointers, 0);
         for (unsigned k = 0; k < used.components; k++) {
            uint64_t e = used.bits == 1 ? expected[k].b : nir_const_value_as_uint(expected[k], used.bits);
            if (info.num_inputs == 2 && c.bits)
               e = own_oracle(c, nir_const_value_as_uint(operands[0][0], c.bits),
                              nir_const_value_as_uint(operands[1][0], size_of(info.input_types[1], c.bits))).value_or(e);
            const uint64_t g = read(buffers[1], used.output, s, k, used.bits);
            if (!matches(c, e, g, used.bits)) {
               ADD_FAILURE() << info.name << " of " << c.bits << " bits, W=" << W << (uniform ? ", uniform" : "") << ":"
                             << text << std::hex << " gives " << g << ", not " << e;
               return;
            }
         }
      }
   }

   static void write(Bytes &bytes, Place p, unsigned set, unsigned component, unsigned bits, uint64_t v)
   {
      const unsigned n = memory_bits(bits) / 8;
      std::memcpy(&bytes[p.offset + set * p.stride + component * n], &v, n);
   }
   static uint64_t read(const Bytes &bytes, Place p, unsigned set, unsigned component, unsigned bits)
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
   EXPECT_GT(cases.size(), 500u);
   constexpr size_t batch = 32;
   for (size_t i = 0; i < cases.size(); i += batch) {
      Sweep sweep(W, uniform);
      sweep.run(std::span(cases).subspan(i, std::min(batch, cases.size() - i)), test_seed() + i);
   }
}

INSTANTIATE_TEST_SUITE_P(, AluSweep,
                         testing::Combine(testing::Values(8u, 16u, 32u, 64u), testing::Bool()));

} // namespace

} // namespace weft::cpu::test
