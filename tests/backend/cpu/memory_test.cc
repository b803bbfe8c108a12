// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads and stores at random addresses that are regular, or nearly so, in the invocation's number:
/// every way in which lane analysis can be right or wrong, against addresses computed one by one.

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
   // Also multiples of what groups of lanes span, and what carries sums over half of all numbers or
   // over the end.
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

Bytes random_bytes(std::mt19937_64 &random, size_t n)
{
   Bytes bytes(n);
   for (uint8_t &byte : bytes)
      byte = uint8_t(random());
   return bytes;
}

Bytes uniform_buffer(uint32_t v)
{
   Bytes bytes(4);
   std::memcpy(bytes.data(), &v, 4);
   return bytes;
}

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
   auto program = s.shader.compile();
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
   auto program = s.shader.compile();
   ASSERT_TRUE(program) << program.error().message;

   const uint32_t memory_size = t.memory_size(),
                  available = memory_size - std::min(cut, memory_size);
   Bytes memory = random_bytes(random, available);
   Bytes data = random_bytes(random, s.size * t.element());
   std::vector<Bytes> buffers{memory, data, uniform_buffer(t.uniform)};
   run(**program, buffers, 1);
   // Of the invocations that write to one place any may be the last.
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
   // The first active invocations may lie where those before them would be in front of the memory.
   const uint32_t first = random() % 2 ? 0 : uint32_t(random() % size), spacing = 1 + random() % 2;
   std::vector<uint32_t> offsets(size), active(size, 0);
   for (uint32_t i = 0; i < size; i++) {
      active[i] = i >= first && (spacing == 1 || random() % 4);
      offsets[i] = active[i] ? (i - first) * element : uint32_t(random());
   }
   const uint32_t rows = size * element;
   if (random() % 2)
      offsets[random() % size] = rows; // a place that no other has
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
   auto program = shader.compile();
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

/// A field of the structs of `stride` bytes, each of which has numbers for `lanes` invocations:
/// invocation i reads at (first + further + i) / lanes * stride + begin + i % lanes * step.
struct Field {
   uint32_t begin, step, further;
   unsigned components, bytes;

   uint32_t element() const { return components * bytes; }
};

/// Several loads in one block, whose addresses are known when it begins.  Buffers: 0 the structs, 1 the
/// number `first`, 2 and on what is loaded.
void check_fields(uint32_t W, std::mt19937_64 &random)
{
   const uint32_t lanes = 1u << random() % 4, stride = 18 + 2 * uint32_t(random() % 100);
   const uint32_t iterations = 1 + uint32_t(random() % 3);
   const bool divergent = random() % 2;
   std::vector<Field> fields(2 + random() % 3);
   for (Field &f : fields) {
      f.components = 1 + unsigned(random() % 4);
      f.bytes = 1u << random() % 4;
      f.step = random() % 3 ? f.element() : 2 * uint32_t(random() % 6);
      f.further = random() % 3 ? 0 : (random() % 8 ? 16 : 3) * uint32_t(random() % 5);
      f.begin = (random() % 8 ? 2 : 1) * uint32_t(random() % 20);
   }
   // Also where sums wrap around.
   const uint32_t first =
      uint32_t(random() % 3 ? 32 * (random() % 4) : random() % 100) - (random() % 8 ? 0 : 64);

   NirShader shader(W, 2 * W);
   nir_builder *b = &shader.b;
   nir_def *invocation = shader.local_index();
   nir_def *start = nir_iadd(b, shader.load(1, nir_imm_int(b, 0), 1, 32), invocation);
   const auto runs = [&](uint32_t i, uint32_t iteration) {
      return iteration < iterations - (divergent && i % 3 == 1);
   };
   // An iteration is 2 * W invocations further on, and writes behind what the one before wrote.
   nir_variable *counter = nir_local_variable_create(b->impl, glsl_uint_type(), "iteration");
   nir_store_var(b, counter, nir_imm_int(b, 0), 1);
   nir_push_loop(b);
   nir_def *n = nir_load_var(b, counter);
   nir_def *count = nir_imm_int(b, int(iterations));
   if (divergent)
      count = nir_isub(b, count, nir_b2i32(b, nir_ieq_imm(b, nir_umod_imm(b, invocation, 3), 1)));
   nir_break_if(b, nir_uge(b, n, count));
   nir_def *place = nir_iadd(b, start, nir_imul_imm(b, n, 2 * W));
   const auto record = [&](const Field &f) {
      nir_def *number = nir_ushr_imm(b, nir_iadd_imm(b, place, f.further), util_logbase2(lanes));
      return nir_imul_imm(b, number, stride);
   };
   nir_def *lane = nir_iand_imm(b, invocation, lanes - 1);
   std::vector<nir_def *> loaded;
   for (const Field &f : fields)
      loaded.push_back(shader.load(
         0, nir_iadd(b, record(f), nir_iadd_imm(b, nir_imul_imm(b, lane, f.step), f.begin)),
         f.components, f.bytes * 8));
   // Halves are also put together: the same bytes.
   for (nir_def *&v : loaded) {
      if (v->bit_size != 16 || v->num_components % 2 != 0 || random() % 2)
         continue;
      nir_def *words[2];
      for (unsigned c = 0; c < v->num_components; c += 2) {
         nir_def *high = nir_ishl_imm(b, nir_u2u32(b, nir_channel(b, v, c + 1)), 16);
         words[c / 2] = nir_ior(b, nir_u2u32(b, nir_channel(b, v, c)), high);
      }
      v = nir_vec(b, words, v->num_components / 2);
   }
   nir_def *linear = nir_iadd(b, invocation, nir_imul_imm(b, n, 2 * W));
   for (size_t i = 0; i < fields.size(); i++)
      shader.store(2 + uint32_t(i), nir_imul_imm(b, linear, fields[i].element()), loaded[i]);
   nir_store_var(b, counter, nir_iadd_imm(b, n, 1), 1);
   nir_pop_loop(b, nullptr);
   nir_lower_vars_to_ssa(b->shader);
   nir_opt_dce(b->shader);
   nir_opt_cse(b->shader); // of the buffers' names
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;

   const auto offset = [&](const Field &f, uint32_t i, uint32_t iteration) {
      return (first + f.further + i + iteration * 2 * W) / lanes * stride + f.begin +
             i % lanes * f.step;
   };
   uint32_t size = 0;
   for (const Field &f : fields)
      size = std::max(size, offset(f, 2 * W - 1, iterations - 1) % 65536 + f.element());
   if (random() % 3 == 0)
      size = uint32_t(random() % size);
   const Bytes memory = random_bytes(random, size);
   std::vector<Bytes> buffers{memory, uniform_buffer(first)};
   for (const Field &f : fields)
      buffers.push_back(Bytes(2 * W * iterations * f.element(), 0xcd));
   run(**program, buffers, 1);
   for (size_t number = 0; number < fields.size(); number++) {
      const Field &f = fields[number];
      for (uint32_t l = 0; l < 2 * W * iterations; l++) {
         for (uint32_t k = 0; k < f.element(); k++) {
            const uint32_t i = l % (2 * W);
            // The components' offsets are sums in 32 bits too.
            const uint32_t at = offset(f, i, l / (2 * W)) + k / f.bytes * f.bytes;
            const uint64_t end = uint64_t(at) + f.bytes;
            const uint8_t expected = !runs(i, l / (2 * W)) ? 0xcd
                                     : end <= size         ? memory[at + k % f.bytes]
                                                           : 0;
            ASSERT_EQ(buffers[2 + number][l * f.element() + k], expected)
               << "W=" << W << ", field " << number << " of " << fields.size() << ": " << f.begin
               << " + " << f.step << " * lane, " << f.components << "x" << f.bytes << " bytes, of "
               << stride << ", " << f.further << " further, for " << lanes << " lanes, first "
               << first << ", size " << size << ", iterations " << iterations
               << (divergent ? ", divergent" : "") << ", invocation " << i << ", iteration "
               << l / (2 * W) << ", byte " << k;
         }
      }
   }
}

TEST_P(Memory, FieldsOfStructs)
{
   const uint32_t W = GetParam();
   std::mt19937_64 random(test_seed() + W);
   for (unsigned i = 0; i < 800 / W && !HasFailure(); i++)
      check_fields(W, random);
}

/// Each step uses the one before three times: nothing may follow all ways back, nor all the way.
TEST_P(Memory, LongChainsOfOffsets)
{
   const uint32_t W = GetParam();
   NirShader shader(W, W);
   nir_builder *b = &shader.b;
   nir_def *lane = shader.local_index(), *uniform = shader.load(2, nir_imm_int(b, 0), 1, 32);
   constexpr uint32_t steps = 200, step = 2;
   nir_def *place = nir_imul_imm(b, nir_udiv_imm(b, lane, 4), 18);
   for (uint32_t i = 0; i < steps; i++)
      place = nir_iadd(b, nir_isub(b, nir_iadd(b, place, place), place), uniform);
   shader.store(1, nir_imul_imm(b, lane, 2), shader.load(0, place, 1, 16));
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   std::mt19937_64 random(test_seed());
   std::vector<Bytes> buffers{random_bytes(random, steps * step + 18 * W), Bytes(2 * W),
                              uniform_buffer(step)};
   run(**program, buffers, 1);
   for (uint32_t l = 0; l < W; l++)
      EXPECT_EQ(std::memcmp(&buffers[1][2 * l], &buffers[0][l / 4 * 18 + steps * step], 2), 0) << l;
}

/// Private arrays: elements of all lanes lie together, whatever the index.
TEST_P(Memory, Scratch)
{
   const uint32_t W = GetParam();
   NirShader shader(W, W);
   nir_builder *b = &shader.b;
   constexpr uint32_t length = 8;
   b->shader->scratch_size = length * 4;
   nir_def *lane = shader.local_index();
   const auto store = [&](nir_def *index, nir_def *value) {
      _nir_build_store_scratch(b, value, nir_imul_imm(b, index, 4),
                               {._ = 0, .align_mul = 4, .align_offset = 0, .write_mask = 1});
   };
   const auto load = [&](nir_def *index) {
      return _nir_build_load_scratch(b, 1, 32, nir_imul_imm(b, index, 4),
                                     {._ = 0, .align_mul = 4, .align_offset = 0});
   };
   for (uint32_t i = 0; i < length; i++)
      store(nir_imm_int(b, int(i)), nir_iadd_imm(b, nir_imul_imm(b, lane, 100), i));
   // Each lane changes one element, odd lanes another one too.
   store(nir_umod_imm(b, lane, length), nir_iadd_imm(b, lane, 5000));
   nir_push_if(b, nir_ine_imm(b, nir_iand_imm(b, lane, 1), 0));
   store(nir_imm_int(b, 2), nir_iadd_imm(b, lane, 7000));
   nir_pop_if(b, nullptr);
   nir_def *sum = nir_imm_int(b, 0);
   for (uint32_t i = 0; i < length; i++)
      sum = nir_iadd(b, nir_imul_imm(b, sum, 3),
                     load(nir_umod_imm(b, nir_iadd_imm(b, lane, i), length)));
   sum = nir_iadd(b, nir_imul_imm(b, sum, 3), load(nir_imm_int(b, 2)));
   shader.store(0, nir_imul_imm(b, lane, 4), sum);
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   EXPECT_GE((*program)->info().stack_bytes, length * 4 * W);
   std::vector<Bytes> buffers{Bytes(4 * W)};
   run(**program, buffers, 1);
   for (uint32_t l = 0; l < W; l++) {
      uint32_t array[length], expected = 0, got;
      for (uint32_t i = 0; i < length; i++)
         array[i] = l * 100 + i;
      array[l % length] = l + 5000;
      if (l & 1)
         array[2] = l + 7000;
      for (uint32_t i = 0; i < length; i++)
         expected = expected * 3 + array[(l + i) % length];
      expected = expected * 3 + array[2];
      std::memcpy(&got, &buffers[0][4 * l], 4);
      EXPECT_EQ(got, expected) << "W=" << W << ", lane " << l;
   }
}

/// A buffer array with an index per lane.
TEST_P(Memory, BufferPerLane)
{
   const uint32_t W = GetParam();
   NirShader shader(W, W);
   nir_builder *b = &shader.b;
   nir_def *lane = shader.local_index();
   nir_def *index = nir_vec2(b, nir_imm_int(b, 0), nir_imul_imm(b, nir_umod_imm(b, lane, 3), 16));
   nir_def *v = _nir_build_load_ssbo(
      b, 2, 32, index, nir_imul_imm(b, lane, 8),
      {._ = 0, .access = ACCESS_NON_UNIFORM, .align_mul = 4, .align_offset = 0});
   nir_def *size = _nir_build_get_ssbo_size(b, index, {._ = 0, .access = ACCESS_NON_UNIFORM});
   nir_def *value = nir_iadd(b, nir_iadd(b, nir_channel(b, v, 0), nir_channel(b, v, 1)), size);
   shader.store(3, nir_imul_imm(b, lane, 4), value);
   _nir_build_store_ssbo(
      b, nir_imm_int(b, 77), index, nir_imul_imm(b, lane, 8),
      {._ = 0, .write_mask = 1, .access = ACCESS_NON_UNIFORM, .align_mul = 4, .align_offset = 0});
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   std::mt19937_64 random(test_seed());
   // The last of the three is too small for the upper lanes.
   std::vector<Bytes> buffers{random_bytes(random, 8 * W), random_bytes(random, 8 * W),
                              random_bytes(random, 4 * W), Bytes(4 * W)};
   const std::vector<Bytes> before = buffers;
   run(**program, buffers, 1);
   for (uint32_t l = 0; l < W; l++) {
      const Bytes &own = before[l % 3];
      uint32_t words[2] = {}, got, written = 0;
      const bool inside = 8 * l + 8 <= own.size();
      if (inside)
         std::memcpy(words, &own[8 * l], 8);
      else if (8 * l + 4 <= own.size())
         std::memcpy(words, &own[8 * l], 4);
      std::memcpy(&got, &buffers[3][4 * l], 4);
      EXPECT_EQ(got, words[0] + words[1] + uint32_t(own.size())) << "W=" << W << ", lane " << l;
      if (inside) {
         std::memcpy(&written, &buffers[l % 3][8 * l], 4);
         EXPECT_EQ(written, 77u);
      }
   }
}

/// Words of which only a byte is used behind the block that loads them, which is there twice: with loads of whole
/// vectors, and lane by lane.
TEST_P(Memory, BytesOfWordsBehindTheirBlock)
{
   const uint32_t W = GetParam();
   constexpr uint32_t stride = 20;
   NirShader shader(W, W);
   nir_builder *b = &shader.b;
   nir_def *lane = shader.local_index(), *place = nir_imul_imm(b, lane, stride);
   nir_def *condition = nir_ine_imm(b, shader.load(2, nir_imm_int(b, 0), 1, 32), 0);
   nir_push_if(b, condition);
   nir_def *first = shader.load(0, place, 1, 32),
           *second = shader.load(0, nir_iadd_imm(b, place, 8), 1, 32);
   nir_def *byte = nir_u2u8(b, nir_ushr_imm(b, first, 8));
   shader.store(1, nir_imul_imm(b, lane, 8), nir_iadd(b, first, second));
   nir_push_if(b, nir_ine_imm(b, shader.load(2, nir_imm_int(b, 4), 1, 32), 0));
   shader.store(1, nir_iadd_imm(b, nir_imul_imm(b, lane, 8), 4),
                nir_fadd_imm(b, nir_u2f32(b, byte), 3));
   nir_pop_if(b, nullptr);
   nir_pop_if(b, nullptr);
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   std::mt19937_64 random(test_seed());
   // The last lane's may be out of bounds.
   for (const uint32_t bytes : {stride * W, stride * (W - 1)}) {
      std::vector<Bytes> buffers{random_bytes(random, bytes), Bytes(8 * W),
                                 Bytes{1, 0, 0, 0, 1, 0, 0, 0}};
      run(**program, buffers, 1);
      for (uint32_t l = 0; l < W; l++) {
         float got;
         std::memcpy(&got, &buffers[1][8 * l + 4], 4);
         const uint32_t at = stride * l + 1;
         EXPECT_EQ(got, (at < bytes ? buffers[0][at] : 0) + 3.0f) << l;
      }
   }
}

/// A guard may check the assumption about a value in another block than the value's own, which exists
/// twice: here that 8 * lane + n begins with a multiple of 32.
TEST_P(Memory, AssumptionsBehindTheirBlock)
{
   const uint32_t W = GetParam();
   constexpr uint32_t stride = 20;
   NirShader shader(W, W);
   nir_builder *b = &shader.b;
   const auto number = [&](uint32_t i) { return shader.load(2, nir_imm_int(b, 4 * i), 1, 32); };
   nir_def *lane = shader.local_index(), *place = nir_imul_imm(b, lane, stride);
   nir_def *n = number(2);
   nir_push_if(b, nir_ine_imm(b, number(0), 0));
   nir_def *first = shader.load(0, place, 1, 32),
           *second = shader.load(0, nir_iadd_imm(b, place, 8), 1, 32);
   nir_def *group = nir_ushr_imm(b, nir_iadd(b, nir_imul_imm(b, lane, 8), n), 5);
   shader.store(1, nir_imul_imm(b, lane, 8), nir_iadd(b, first, second));
   nir_push_if(b, nir_ine_imm(b, number(1), 0));
   nir_def *found = nir_iadd(b, shader.load(0, nir_imul_imm(b, group, 4), 1, 32),
                             shader.load(0, nir_imul_imm(b, group, 12), 1, 32));
   shader.store(1, nir_iadd_imm(b, nir_imul_imm(b, lane, 8), 4), found);
   nir_pop_if(b, nullptr);
   nir_pop_if(b, nullptr);
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   std::mt19937_64 random(test_seed());
   for (const uint8_t begin : {0, 32, 40}) {
      for (const uint32_t bytes : {stride * W + 48, stride * (W - 1)}) {
         std::vector<Bytes> buffers{random_bytes(random, bytes), Bytes(8 * W),
                                    Bytes{1, 0, 0, 0, 1, 0, 0, 0, begin, 0, 0, 0}};
         run(**program, buffers, 1);
         const auto word = [&](const Bytes &from, uint32_t at) {
            uint32_t word = 0;
            if (at + 4 <= from.size())
               std::memcpy(&word, &from[at], 4);
            return word;
         };
         for (uint32_t l = 0; l < W; l++) {
            const uint32_t of_lane = (8 * l + begin) / 32;
            EXPECT_EQ(word(buffers[1], 8 * l + 4),
                      word(buffers[0], 4 * of_lane) + word(buffers[0], 12 * of_lane))
               << l << ", " << int(begin);
         }
      }
   }
}

/// Steps of 16 bits wrap sooner than offsets.
TEST_P(Memory, PlacesOf16BitsThatWrap)
{
   const uint32_t W = GetParam();
   for (const bool is_signed : {false, true}) {
      NirShader shader(W, W);
      nir_builder *b = &shader.b;
      nir_def *lane = shader.local_index();
      nir_def *many = nir_imul_imm(b, nir_u2u16(b, lane), 4096);
      nir_def *wide = is_signed ? nir_i2i32(b, nir_ishr_imm(b, many, 10))
                                : nir_u2u32(b, nir_ushr_imm(b, many, 10));
      nir_def *place = nir_iadd_imm(b, nir_imul_imm(b, wide, 4), 128);
      shader.store(1, nir_imul_imm(b, lane, 4), shader.load(0, place, 1, 32));
      auto program = shader.compile();
      ASSERT_TRUE(program) << program.error().message;
      std::mt19937_64 random(test_seed());
      std::vector<Bytes> buffers{random_bytes(random, 128 + 4 * 4 * 64), Bytes(4 * W)};
      run(**program, buffers, 1);
      for (uint32_t l = 0; l < W; l++) {
         const uint16_t bits = uint16_t(l * 4096);
         const int32_t at = 128 + 4 * (is_signed ? int16_t(bits) >> 10 : bits >> 10);
         EXPECT_EQ(std::memcmp(&buffers[1][4 * l], &buffers[0][at], 4), 0) << l;
      }
   }
}

/// A pointer may be null as long as no lane gets to it, where that is known only when the shader runs.
TEST_P(Memory, VariablePointersThatNobodyFollows)
{
   const uint32_t W = GetParam();
   NirShader shader(W, W);
   nir_builder *b = &shader.b;
   nir_def *lane = shader.local_index(), *place = nir_imul_imm(b, lane, 4);
   nir_def *there = nir_ine_imm(b, shader.load(2, nir_imm_int(b, 0), 1, 32), 0);
   nir_def *pointer = nir_bcsel(b, there, shader.buffer(0), nir_imm_ivec2(b, -1, -1)),
           *other = nir_imm_int(b, 7);
   nir_push_if(b, nir_iand(b, there, nir_ult_imm(b, lane, W - 1)));
   nir_def *read = _nir_build_load_ssbo(
      b, 1, 32, pointer, place,
      {._ = 0, .access = gl_access_qualifier(0), .align_mul = 4, .align_offset = 0});
   nir_pop_if(b, nullptr);
   shader.store(1, place, nir_if_phi(b, read, other));
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   for (const uint8_t use : {0, 1}) {
      std::vector<Bytes> buffers{Bytes(4 * W, 3), Bytes(4 * W), Bytes{use, 0, 0, 0}};
      run(**program, buffers, 1);
      for (uint32_t l = 0; l < W; l++) {
         const uint8_t expected = use && l < W - 1 ? 3 : 7;
         EXPECT_EQ(buffers[1][4 * l], expected) << l;
      }
   }
}

/// Code for a null pointer may be there, as long as no lane gets to it.
TEST_P(Memory, NullPointersThatNobodyFollows)
{
   const uint32_t W = GetParam();
   NirShader shader(W, W);
   nir_builder *b = &shader.b;
   nir_def *lane = shader.local_index(), *place = nir_imul_imm(b, lane, 4);
   nir_def *v = shader.load(0, place, 1, 32);
   nir_def *null = nir_imm_ivec2(b, -1, -1);
   for (bool uniform : {false, true}) {
      nir_def *condition = uniform ? nir_read_first_invocation(b, v) : v;
      nir_push_if(b, nir_ine_imm(b, condition, 0));
      nir_def *read = _nir_build_load_ssbo(
         b, 1, 32, null, nir_imm_int(b, -1),
         {._ = 0, .access = gl_access_qualifier(0), .align_mul = 4, .align_offset = 0});
      shader.store(1, place, read);
      nir_pop_if(b, nullptr);
   }
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   std::vector<Bytes> buffers{Bytes(4 * W, 0), Bytes(4 * W, 1)};
   run(**program, buffers, 1);
   EXPECT_EQ(buffers[1], Bytes(4 * W, 1));
}

INSTANTIATE_TEST_SUITE_P(, Memory, testing::Values(8u, 16u, 32u, 64u));

} // namespace

} // namespace weft::cpu::test
