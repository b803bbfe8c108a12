// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads and stores at random addresses that are regular, or nearly so, in the invocation's number.
/// They show errors of lane analysis, by comparison with addresses computed one by one.

#include "tests/backend/cpu/nir_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>

namespace weft::cpu::test {

namespace {

/// A chain of operations on the invocation's number; each also takes an earlier value of the chain.
struct Step {
   enum Kind {
      add,
      subtract,
      multiply,
      shift_left,
      shift_right,
      divide,
      modulo,
      bit_and,
      bit_or,
      bit_xor,
      multiply_uniform,
      add_uniform,
      add_earlier,
      select,
      narrow_widen,
      count
   } kind;
   uint32_t constant;
   unsigned earlier;
};
using Chain = std::vector<Step>;

Chain random_chain(std::mt19937_64 &random)
{
   static const uint32_t small[] = {1, 2, 3, 4, 6, 8, 12, 16, 20, 32, 36, 48, 64};
   Chain chain;
   const unsigned n = 1 + unsigned(random() % 6);
   for (unsigned i = 0; i < n; i++) {
      Step s{Step::Kind(random() % Step::count), small[random() % std::size(small)],
             unsigned(random() % (i + 1))};
      if (s.kind == Step::shift_left || s.kind == Step::shift_right)
         s.constant %= 6;
      if (s.kind == Step::bit_and && random() % 4)
         s.constant = s.constant * 2 - 1;
      chain.push_back(s);
   }
   return chain;
}

/// `uniform` is a number that the compiler does not know.
uint32_t evaluate(const Chain &chain, uint32_t invocation, uint32_t uniform)
{
   std::vector<uint32_t> values{invocation};
   for (const Step &s : chain) {
      const uint32_t x = values.back(), k = s.constant;
      uint32_t v = x;
      switch (s.kind) {
      case Step::add:
         v = x + k;
         break;
      case Step::subtract:
         v = x - k;
         break;
      case Step::multiply:
         v = x * k;
         break;
      case Step::shift_left:
         v = x << k;
         break;
      case Step::shift_right:
         v = x >> k;
         break;
      case Step::divide:
         v = x / k;
         break;
      case Step::modulo:
         v = x % k;
         break;
      case Step::bit_and:
         v = x & k;
         break;
      case Step::bit_or:
         v = x | k;
         break;
      case Step::bit_xor:
         v = x ^ k;
         break;
      case Step::multiply_uniform:
         v = x * uniform;
         break;
      case Step::add_uniform:
         v = x + uniform;
         break;
      case Step::add_earlier:
         v = x + values[s.earlier];
         break;
      case Step::select:
         v = (invocation & 8) ? x : x + k;
         break;
      case Step::narrow_widen:
         v = uint32_t(uint16_t(x)) + k;
         break;
      default:
         break;
      }
      values.push_back(v);
   }
   return values.back();
}

nir_def *build(nir_builder *b, const Chain &chain, nir_def *invocation, nir_def *uniform)
{
   std::vector<nir_def *> values{invocation};
   for (const Step &s : chain) {
      nir_def *x = values.back(), *v = x;
      const int k = int(s.constant);
      switch (s.kind) {
      case Step::add:
         v = nir_iadd(b, x, nir_imm_int(b, k));
         break;
      case Step::subtract:
         v = nir_isub(b, x, nir_imm_int(b, k));
         break;
      case Step::multiply:
         v = nir_imul(b, x, nir_imm_int(b, k));
         break;
      case Step::shift_left:
         v = nir_ishl(b, x, nir_imm_int(b, k));
         break;
      case Step::shift_right:
         v = nir_ushr(b, x, nir_imm_int(b, k));
         break;
      case Step::divide:
         v = nir_udiv(b, x, nir_imm_int(b, k));
         break;
      case Step::modulo:
         v = nir_umod(b, x, nir_imm_int(b, k));
         break;
      case Step::bit_and:
         v = nir_iand(b, x, nir_imm_int(b, k));
         break;
      case Step::bit_or:
         v = nir_ior(b, x, nir_imm_int(b, k));
         break;
      case Step::bit_xor:
         v = nir_ixor(b, x, nir_imm_int(b, k));
         break;
      case Step::multiply_uniform:
         v = nir_imul(b, x, uniform);
         break;
      case Step::add_uniform:
         v = nir_iadd(b, x, uniform);
         break;
      case Step::add_earlier:
         v = nir_iadd(b, x, values[s.earlier]);
         break;
      case Step::select:
         v = nir_bcsel(b, nir_ine_imm(b, nir_iand_imm(b, invocation, 8), 0), x,
                       nir_iadd_imm(b, x, k));
         break;
      case Step::narrow_widen:
         v = nir_iadd_imm(b, nir_u2u32(b, nir_u2u16(b, x)), k);
         break;
      default:
         break;
      }
      values.push_back(v);
   }
   return values.back();
}

/// One access per shader and kind of memory.
struct Trial {
   Chain chain;
   unsigned components, bytes;
   uint32_t gap;  ///< bytes from one element to the next
   uint32_t wrap; ///< elements: the chain's value modulo this
   bool guarded;  ///< under a divergent if
   bool shared;
   uint32_t uniform;

   uint32_t element() const { return components * bytes; }
   uint32_t stride() const { return element() + gap; }
   uint32_t memory_size() const { return wrap * stride(); }
   uint32_t offset(uint32_t invocation) const
   {
      return evaluate(chain, invocation, uniform) % wrap * stride();
   }
   bool active(uint32_t invocation) const { return !guarded || invocation % 3 != 1; }
};

Trial random_trial(std::mt19937_64 &random)
{
   Trial t;
   t.chain = random_chain(random);
   t.components = 1 + unsigned(random() % 4);
   t.bytes = 1u << random() % 4;
   static const uint32_t gaps[] = {0, 0, 2, 10};
   t.gap = gaps[random() % std::size(gaps)];
   static const uint32_t wraps[] = {7, 64, 256, 1000};
   t.wrap = wraps[random() % std::size(wraps)];
   t.guarded = random() % 3 == 0;
   t.shared = random() % 3 == 0;
   // Also multiples of the span of groups of lanes, and sums that wrap at half of all numbers or at
   // the end.
   static const uint32_t nearby[] = {0, 0, 64, 4096, INT32_MAX, UINT32_MAX};
   t.uniform = nearby[random() % std::size(nearby)] + uint32_t(random() % 2 ? 0 : random() % 9) -
               uint32_t(random() % 4 ? 0 : random() % 64);
   return t;
}

std::string describe(const Trial &t, uint32_t W)
{
   std::ostringstream text;
   text << "W=" << W << (t.shared ? " shared" : " buffer") << (t.guarded ? " guarded " : " ")
        << t.components << "x" << t.bytes << " bytes, gap " << t.gap << ", wrap " << t.wrap
        << ", uniform " << t.uniform << ", steps";
   for (const Step &s : t.chain)
      text << ' ' << s.kind << ':' << s.constant << ':' << s.earlier;
   return text.str();
}

/// Buffers: 0 memory that is addressed, 1 the plain array [invocation] of elements, 2 the uniform
/// number.
struct Built {
   NirShader shader;
   nir_builder *b = &shader.b;
   nir_def *invocation, *offset, *linear;
   uint32_t size;

   Built(uint32_t W, const Trial &t) : shader(W, 2 * W), size(2 * W)
   {
      invocation = shader.local_index();
      nir_def *uniform = shader.load(2, nir_imm_int(b, 0), 1, 32);
      nir_def *place = build(b, t.chain, invocation, uniform);
      offset = nir_imul_imm(b, nir_umod_imm(b, place, t.wrap), t.stride());
      linear = nir_imul_imm(b, invocation, t.element());
      if (t.shared)
         shader.use_shared(t.memory_size());
   }
   nir_def *active() { return nir_ine_imm(b, nir_umod_imm(b, invocation, 3), 1); }
};

/// `cut`: bytes that are missing at the end of the addressed buffer.
void check_load(const Trial &t, uint32_t W, std::mt19937_64 &random, uint32_t cut)
{
   Built s(W, t);
   nir_builder *b = s.b;
   const uint32_t memory_size = t.memory_size();
   if (t.shared) {
      // Copies the buffer to shared memory first, bytewise.
      nir_push_if(b, nir_ieq_imm(b, s.invocation, 0));
      for (uint32_t i = 0; i < memory_size; i += 4)
         s.shader.store_shared(nir_imm_int(b, int(i)),
                               s.shader.load(0, nir_imm_int(b, int(i)), 1, 32));
      nir_pop_if(b, nullptr);
      s.shader.barrier();
   }
   if (t.guarded)
      nir_push_if(b, s.active());
   nir_def *v = t.shared ? s.shader.load_shared(s.offset, t.components, t.bytes * 8)
                         : s.shader.load(0, s.offset, t.components, t.bytes * 8);
   s.shader.store(1, s.linear, v);
   if (t.guarded)
      nir_pop_if(b, nullptr);
   auto program = s.shader.compile(true, features_with_gathers(random() % 2));
   ASSERT_TRUE(program) << program.error().message;

   Bytes memory = random_bytes(random, memory_size);
   const uint32_t available = memory_size - std::min(cut, memory_size);
   Bytes visible(memory.begin(), memory.begin() + available);
   std::vector<Bytes> buffers{visible, Bytes(s.size * t.element(), 0xcd),
                              uniform_buffer(t.uniform)};
   run(**program, buffers, 1);
   for (uint32_t i = 0; i < s.size; i++) {
      for (uint32_t k = 0; k < t.element(); k++) {
         const uint32_t at = t.offset(i),
                        end = at + (k / t.bytes + 1) * t.bytes; // of the byte's component
         const uint8_t expected = !t.active(i) ? 0xcd : end <= available ? memory[at + k] : 0;
         ASSERT_EQ(buffers[1][i * t.element() + k], expected)
            << "load, " << describe(t, W) << ", cut " << cut << ", invocation " << i << ", byte "
            << k;
      }
   }
}

void check_store(const Trial &t, uint32_t W, std::mt19937_64 &random, uint32_t cut)
{
   Built s(W, t);
   nir_builder *b = s.b;
   nir_def *v = s.shader.load(1, s.linear, t.components, t.bytes * 8);
   if (t.guarded)
      nir_push_if(b, s.active());
   s.shader.store(0, s.offset, v);
   if (t.guarded)
      nir_pop_if(b, nullptr);
   auto program = s.shader.compile(true, features_with_gathers(random() % 2));
   ASSERT_TRUE(program) << program.error().message;

   const uint32_t memory_size = t.memory_size(),
                  available = memory_size - std::min(cut, memory_size);
   Bytes memory = random_bytes(random, available);
   Bytes data = random_bytes(random, s.size * t.element());
   std::vector<Bytes> buffers{memory, data, uniform_buffer(t.uniform)};
   run(**program, buffers, 1);
   // Any of the invocations that write to one place may be the last.
   std::vector<bool> is_component(available);
   for (uint32_t component = 0; component < t.wrap * t.components; component++) {
      const uint32_t part = component % t.components * t.bytes,
                     at = component / t.components * t.stride() + part;
      if (at + t.bytes > available)
         continue;
      bool written = false, matches = false;
      for (uint32_t i = 0; i < s.size; i++) {
         if (t.active(i) && t.offset(i) == at - part) {
            written = true;
            matches |= !std::memcmp(&buffers[0][at], &data[i * t.element() + part], t.bytes);
         }
      }
      if (!written)
         matches = !std::memcmp(&buffers[0][at], &memory[at], t.bytes);
      ASSERT_TRUE(matches) << "store, " << describe(t, W) << ", cut " << cut << ", offset " << at
                           << (written ? "" : " which nothing writes");
      std::fill_n(is_component.begin() + at, t.bytes, true);
   }
   for (uint32_t at = 0; at < available; at++) {
      if (!is_component[at]) {
         ASSERT_EQ(buffers[0][at], memory[at])
            << describe(t, W) << ", cut " << cut << ", gap " << at;
      }
   }
}

class Memory : public testing::TestWithParam<uint32_t> {};

TEST_P(Memory, RandomAddresses)
{
   const uint32_t W = GetParam();
   std::mt19937_64 random(test_seed() + W);
   for (unsigned i = 0; i < 800 / W && !HasFailure(); i++) {
      Trial t = random_trial(random);
      const uint32_t cut = random() % 3 ? 0 : uint32_t(random() % (t.memory_size() + 1));
      if (t.shared)
         t.wrap = (t.wrap + 3) / 4 * 4 % 128 + 4;
      check_load(t, W, random, t.shared ? 0 : cut);
      t.shared = false;
      check_store(t, W, random, cut);
   }
}

/// Addresses that come from memory, so that only the run time knows whether they lie in a row.
/// Buffers: 0 memory that is addressed, 1 the plain array [invocation] of elements, 2 each
/// invocation's address, 3 whether it accesses memory.
void check_rows(uint32_t W, std::mt19937_64 &random)
{
   const unsigned components = 1 + unsigned(random() % 4), bytes = 1u << random() % 4;
   const uint32_t element = components * bytes, size = 2 * W;
   const bool stores = random() % 2, shared = !stores && random() % 2;
   // The addresses of inactive invocations before the first active one may lie in front of the
   // memory.
   const uint32_t first = random() % 2 ? 0 : uint32_t(random() % size), spacing = 1 + random() % 2;
   std::vector<uint32_t> offsets(size), active(size, 0);
   for (uint32_t i = 0; i < size; i++) {
      active[i] = i >= first && (spacing == 1 || random() % 4);
      offsets[i] = active[i] ? (i - first) * element : uint32_t(random());
   }
   const uint32_t rows = size * element;
   if (random() % 2)
      offsets[random() % size] = rows; // a place of its own
   const uint32_t memory_size = rows + (shared || random() % 3 ? element : 0);

   NirShader shader(W, size);
   nir_builder *b = &shader.b;
   if (shared) {
      shader.use_shared(align(memory_size, 4));
      nir_push_if(b, nir_ieq_imm(b, shader.local_index(), 0));
      for (uint32_t i = 0; i < memory_size; i += 4)
         shader.store_shared(nir_imm_int(b, int(i)), shader.load(0, nir_imm_int(b, int(i)), 1, 32));
      nir_pop_if(b, nullptr);
      shader.barrier();
   }
   nir_def *invocation = shader.local_index(), *word = nir_imul_imm(b, invocation, 4),
           *linear = nir_imul_imm(b, invocation, element);
   nir_def *offset = shader.load(2, word, 1, 32);
   nir_push_if(b, nir_ine_imm(b, shader.load(3, word, 1, 32), 0));
   if (stores)
      shader.store(0, offset, shader.load(1, linear, components, bytes * 8));
   else
      shader.store(1, linear,
                   shared ? shader.load_shared(offset, components, bytes * 8)
                          : shader.load(0, offset, components, bytes * 8));
   nir_pop_if(b, nullptr);
   auto program = shader.compile(true, features_with_gathers(random() % 2));
   ASSERT_TRUE(program) << program.error().message;

   const auto words = [](const std::vector<uint32_t> &numbers) {
      Bytes result(numbers.size() * 4);
      std::memcpy(result.data(), numbers.data(), result.size());
      return result;
   };
   Bytes memory = random_bytes(random, align(memory_size, 4)), data = random_bytes(random, rows);
   if (!shared)
      memory.resize(memory_size);
   std::vector<Bytes> buffers{memory, data, words(offsets), words(active)};
   run(**program, buffers, 1);
   for (uint32_t i = 0; i < size; i++) {
      for (uint32_t k = 0; k < element && active[i]; k++) {
         const uint32_t at = offsets[i] + k;
         uint8_t &own = data[i * element + k];
         if (at >= memory_size)
            own = stores ? own : 0;
         else if (stores)
            memory[at] = own;
         else
            own = memory[at];
      }
   }
   const std::string trial = "W=" + std::to_string(W) + ", " +
                             (stores   ? "stores"
                              : shared ? "shared"
                                       : "loads") +
                             " of " + std::to_string(components) + "x" + std::to_string(bytes) +
                             " bytes, first " + std::to_string(first) + ", memory " +
                             std::to_string(memory_size);
   EXPECT_EQ(buffers[0], memory) << trial;
   EXPECT_EQ(buffers[1], data) << trial;
}

TEST_P(Memory, RowsAtRunTime)
{
   std::mt19937_64 random(test_seed() + GetParam());
   for (unsigned i = 0; i < 800 / GetParam() && !HasFailure(); i++)
      check_rows(GetParam(), random);
}

/// Lanes whose elements overlap, as a[i - 1], a[i] and a[i + 1] do together.
TEST_P(Memory, NeighboursOfAllLanes)
{
   const uint32_t W = GetParam(), size = 2 * W;
   std::mt19937_64 random(test_seed() + W);
   for (unsigned components : {2u, 3u, 4u}) {
      for (unsigned bytes : {1u, 2u, 4u, 8u}) {
         const bool guarded = random() % 2;
         const uint32_t cut = random() % 2 ? 0 : uint32_t(random() % (size * bytes));
         NirShader shader(W, size);
         nir_builder *b = &shader.b;
         nir_def *invocation = shader.local_index();
         if (guarded)
            nir_push_if(b, nir_ine_imm(b, nir_umod_imm(b, invocation, 3), 1));
         shader.store(1, nir_imul_imm(b, invocation, components * bytes),
                      shader.load(0, nir_imul_imm(b, invocation, bytes), components, bytes * 8));
         if (guarded)
            nir_pop_if(b, nullptr);
         auto program = shader.compile();
         ASSERT_TRUE(program) << program.error().message;

         const Bytes memory = random_bytes(random, (size + components - 1) * bytes - cut);
         Bytes expected(size * components * bytes, 0xcd);
         std::vector<Bytes> buffers{memory, expected};
         run(**program, buffers, 1);
         for (uint32_t i = 0; i < size; i++) {
            for (uint32_t c = 0; c < components && !(guarded && i % 3 == 1); c++) {
               uint8_t *to = &expected[(i * components + c) * bytes];
               const uint32_t at = (i + c) * bytes;
               if (at + bytes <= memory.size())
                  std::copy_n(&memory[at], bytes, to);
               else
                  std::fill_n(to, bytes, uint8_t(0));
            }
         }
         EXPECT_EQ(buffers[1], expected)
            << components << "x" << bytes << " bytes, cut " << cut << (guarded ? ", guarded" : "");
      }
   }
}

INSTANTIATE_TEST_SUITE_P(, Memory, testing::Values(8u, 16u, 32u, 64u));

} // namespace

} // namespace weft::cpu::test
