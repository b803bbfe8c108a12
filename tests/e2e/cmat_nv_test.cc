// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_NV_cooperative_matrix: matrices without a use. A multiplication makes them A, B or C, and
/// memory of any type can hold them.

#include "tests/e2e/cmat.h"
#include "tests/e2e/compute.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

namespace weft::e2e {

namespace {

using oracle::Expectation;
using oracle::Matrix;
using Type = ComponentType;

/// The reason why GLSL or this device lacks the matrices, or an empty text.
std::string missing(const Device &device, Type type)
{
   return oracle::format(type).bytes == 8 ? "GLSL with matrices of 64 bits without a use"
                                          : missing_feature(device, type);
}

std::vector<MatrixOperation> nv_operations(const Device &device)
{
   std::vector<MatrixOperation> operations;
   for (const VkCooperativeMatrixPropertiesNV &row : device.nv_matrix_properties) {
      const MatrixOperation op = {
         row.MSize,       row.NSize,       row.KSize,       Type(row.AType),
         Type(row.BType), Type(row.CType), Type(row.DType), false};
      std::string why = row.scope == VK_SCOPE_SUBGROUP_NV ? "" : "another scope than the subgroup";
      for (const Type type : {op.a, op.b, op.c, op.result}) {
         why = why.empty() ? missing(device, type) : why;
         if (oracle::format(type).is_signed != oracle::format(op.a).is_signed ||
             oracle::format(type).is_float != oracle::format(op.a).is_float)
            why = "GLSL with operations of several kinds of numbers";
      }
      if (op.c != op.result)
         why = "GLSL with sums of another type than C's";
      if (why.empty())
         operations.push_back(op);
      else
         skip_case("needs " + why);
   }
   return operations;
}

/// Calls the body for one in `reduction` of the operations, each with a subgroup size; multiple
/// runs reach all of them. The arithmetic is the same as for KHR matrices, which have a full sweep.
/// Only operations that `fits` accepts count, and `needed` names their kind.
template <typename Body>
void for_some_operations(
   uint32_t reduction, const Body &body,
   const std::function<bool(const MatrixOperation &)> &fits = [](const auto &) { return true; },
   const char *needed = "needs operations of VK_NV_cooperative_matrix")
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   if (!device.nv_matrix_features.cooperativeMatrix)
      return skip_case("needs VK_NV_cooperative_matrix");
   std::vector<MatrixOperation> operations = nv_operations(device);
   std::erase_if(operations, std::not_fn(fits));
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   uint32_t turn = oracle::draw(random, uint32_t(sizes.size()));
   if (operations.empty())
      return skip_case(needed);
   const uint32_t chosen = oracle::draw(random, uint32_t(operations.size()));
   for (const MatrixOperation &op : operations) {
      const bool is_chosen = &op == &operations[chosen];
      if (!is_chosen && (oracle::draw(random, reduction) != 0 || !selected(random, 4)))
         continue;
      const uint32_t size = sizes[turn++ % sizes.size()];
      SCOPED_TRACE(operation_name(op) + ", subgroup size " + std::to_string(size));
      body(device, random, op, size);
      if (testing::Test::HasFailure())
         return;
   }
}

MatrixType type_of(const Matrix &m)
{
   return {m.type, m.rows, m.cols, Use::accumulator};
}

/// "fcoopmatNV<16, gl_ScopeSubgroup, 16, 8>"
std::string glsl_type(Type type, const std::string &rows, const std::string &cols)
{
   const oracle::Format &f = oracle::format(type);
   return std::string(f.is_float    ? "f"
                      : f.is_signed ? "i"
                                    : "u") +
          "coopmatNV<" + std::to_string(8 * f.bytes) + ", gl_ScopeSubgroup, " + rows + ", " + cols +
          ">";
}
std::string glsl_type(const Matrix &m)
{
   return glsl_type(m.type, std::to_string(m.rows), std::to_string(m.cols));
}

/// A shader of one subgroup that loads matrices from memory of random types, buffers or shared,
/// with random strides and layouts, and stores one.
class NvProgram {
public:
   NvProgram(Device &device, oracle::Random &random, uint32_t subgroup_size)
       : device(device), random(random), subgroup_size(subgroup_size)
   {
   }

   void declare(const std::string &text) { declarations += text; }
   void add(const std::string &text) { body += text; }

   /// Declares a matrix, and loads it from its own place in memory.
   void load(const char *name, const Matrix &m, const std::string &type = "")
   {
      Memory memory = choose(m);
      const size_t before = source.size();
      memory.placement.offset += uint32_t(before);
      source.resize((extent(type_of(m), memory.placement) + 15) / 16 * 16);
      oracle::fill_poison(std::span(source).subspan(before));
      place(m, type_of(m), memory.placement, source);
      std::string array = view("source", 0, memory.pointee);
      if (memory.shared) {
         array = std::string("shared_") + name;
         declare("shared " + std::string(memory.pointee.name) + " " + array + "[" +
                 std::to_string((source.size() - before) / memory.pointee.bytes) + "];\n");
         add(expand("for (uint i = gl_LocalInvocationIndex; i < $SHARED.length(); i += $SIZE)\n"
                    "   $SHARED[i] = $SOURCE[$FIRST + i];\nbarrier();\n",
                    {{"SHARED", array},
                     {"SIZE", std::to_string(subgroup_size)},
                     {"SOURCE", view("source", 0, memory.pointee)},
                     {"FIRST", std::to_string(before / memory.pointee.bytes)}}));
         memory.placement.offset -= uint32_t(before);
      }
      add((type.empty() ? glsl_type(m) : type) + " " + name + "; coopMatLoadNV(" + name + ", " +
          array + memory.operands() + ");\n");
   }

   /// Stores the matrix, whose type is the type of `like`. May be called once.
   void store(const char *name, const Matrix &like)
   {
      stored = choose(like);
      const Memory &memory = *stored;
      target_bytes = (extent(type_of(like), memory.placement) + 15) / 16 * 16;
      std::string array = view("target", 1, memory.pointee);
      if (memory.shared) {
         array = "shared_target";
         declare("shared " + std::string(memory.pointee.name) + " shared_target[" +
                 std::to_string(target_bytes / memory.pointee.bytes) + "];\n");
      }
      const std::string copy =
         expand("for (uint i = gl_LocalInvocationIndex; i < shared_target.length(); i += $SIZE)\n",
                {{"SIZE", std::to_string(subgroup_size)}});
      const std::string target = view("target", 1, memory.pointee);
      if (memory.shared)
         add(copy + "   shared_target[i] = " + target + "[i];\nbarrier();\n");
      add("coopMatStoreNV(" + std::string(name) + ", " + array + memory.operands() + ");\n");
      if (memory.shared)
         add("barrier();\n" + copy + "   " + target + "[i] = shared_target[i];\n");
   }

   /// Adds `count` words behind the matrix; `side(i)` names one of them.
   void set_side_words(uint32_t count) { side_words = count; }
   std::string side(const std::string &index)
   {
      return view("target", 1, {"uint", 4}) + "[" + std::to_string(target_bytes / 4) + " + " +
             index + "]";
   }

   /// The side's words.
   std::vector<uint32_t> run(const Expectation &expected, std::vector<SpecConstant> constants = {})
   {
      const ComputeShader shader = {.source_type = "uint",
                                    .target_type = "uint",
                                    .declarations = declarations,
                                    .body = body,
                                    .local_size = subgroup_size,
                                    .groups = 1,
                                    .subgroup_size = subgroup_size,
                                    .spec_constants = std::move(constants)};
      const std::vector<std::byte> target =
         run_compute(device, shader, source, target_bytes + 4 * side_words);
      std::vector<std::byte> before(target_bytes);
      oracle::fill_poison(before);
      EXPECT_TRUE(stored_as_expected(
         expected, {expected.type, expected.rows, expected.cols, Use::accumulator},
         stored->placement, std::span(target).first(target_bytes), before))
         << body;
      std::vector<uint32_t> words(side_words);
      if (side_words)
         memcpy(words.data(), target.data() + target_bytes, 4 * side_words);
      return words;
   }

private:
   struct Pointee {
      const char *name;
      uint32_t bytes;
   };
   struct Memory {
      Pointee pointee;
      Placement placement;
      bool shared;

      /// ", element, stride, colMajor"
      std::string operands() const
      {
         return ", " + std::to_string(placement.offset / pointee.bytes) + ", " +
                std::to_string(placement.stride / pointee.bytes) + ", " +
                (placement.column_major ? "true" : "false");
      }
   };

   Memory choose(const Matrix &m)
   {
      const oracle::Format &f = oracle::format(m.type);
      const Pointee pointees[] = {{f.glsl, f.bytes}, {"uint", 4}, {"uvec2", 8}, {"uvec4", 16}};
      const Pointee pointee = pointees[oracle::draw(random, std::size(pointees))];
      const bool column_major = oracle::draw(random, 2) != 0;
      /* Shared memory of small types is a feature of its own. */
      const bool shared = pointee.bytes >= 4 && oracle::draw(random, 3) == 0;
      return {pointee, random_placement(random, type_of(m), column_major, pointee.bytes), shared};
   }

   /// A buffer's array of elements of a type.
   std::string view(const std::string &buffer, uint32_t binding, const Pointee &pointee)
   {
      const std::string name = buffer + "_" + pointee.name;
      if (views.insert(name).second)
         declare("layout(set = 0, binding = " + std::to_string(binding) +
                 ", std430) buffer block_" + name + " { " + pointee.name + " data[]; } " + name +
                 ";\n");
      return name + ".data";
   }

   Device &device;
   oracle::Random &random;
   const uint32_t subgroup_size;
   std::string declarations, body;
   std::set<std::string> views;
   std::vector<std::byte> source;
   std::optional<Memory> stored;
   size_t target_bytes = 0;
   uint32_t side_words = 0;
};

void encode(Type type, long value, std::byte *at)
{
   if (oracle::format(type).is_float)
      oracle::encode_float(type, double(value), at);
   else
      oracle::encode_int(type, value, at);
}

long number(const Matrix &m, uint32_t row, uint32_t col)
{
   return oracle::format(m.type).is_float ? long(m.real(row, col)) : long(m.integer(row, col));
}

template <typename Value>
Matrix matrix_of(Type type, uint32_t rows, uint32_t cols, const Value &value)
{
   Matrix m(type, rows, cols);
   for (uint32_t row = 0; row < rows; row++) {
      for (uint32_t col = 0; col < cols; col++)
         encode(type, value(row, col), m.at(row, col));
   }
   return m;
}

/// A matrix of random numbers from 0 to the largest.
Matrix small_matrix(oracle::Random &random, Type type, uint32_t rows, uint32_t cols,
                    uint32_t largest)
{
   return matrix_of(type, rows, cols,
                    [&](uint32_t, uint32_t) { return oracle::draw(random, largest + 1); });
}

} // namespace

TEST(CmatNv, Muladd)
{
   for_some_operations(
      2, [](Device &device, oracle::Random &random, const MatrixOperation &op, uint32_t size) {
         const auto inputs = [&](Type type, uint32_t rows, uint32_t cols) {
            return oracle::random_matrix(random, type, rows, cols,
                                         oracle::draw(random, 2) ? oracle::Inputs::edges
                                                                 : oracle::Inputs::whole);
         };
         const Matrix a = inputs(op.a, op.m, op.k), b = inputs(op.b, op.k, op.n),
                      c = inputs(op.c, op.m, op.n), like(op.result, op.m, op.n);
         NvProgram program(device, random, size);
         program.load("a", a);
         program.load("b", b);
         program.load("c", c);
         program.add(glsl_type(like) + " d = coopMatMulAddNV(a, b, c);\n");
         program.store("d", like);
         program.run(
            oracle::muladd(a, b, Expectation(c), false, muladd_rules(device, op.a, op.result)));
      });
}

/// The same matrix as A, B and C, in arrays and across loops; and the sum as a factor of the next
/// multiplication.
TEST(CmatNv, OneMatrixInEveryRole)
{
   for_some_operations(
      1,
      [](Device &device, oracle::Random &random, const MatrixOperation &op, uint32_t size) {
         const Matrix x = small_matrix(random, op.a, op.m, op.m, 1);
         NvProgram program(device, random, size);
         program.load("x", x);
         program.add(glsl_type(x) + R"( sums[2];
   sums[0] = coopMatMulAddNV(x, x, x);
   sums[1] = x;
   for (uint i = 0; i < 2; i++)
      sums[1] = coopMatMulAddNV(sums[1], i == 0 ? x : sums[0], sums[0]);
)");
         program.store("sums[1]", x);
         const auto muladd = [&](const Matrix &a, const Matrix &b, const Matrix &c) {
            return matrix_of(op.a, op.m, op.m, [&](uint32_t row, uint32_t col) {
               long sum = number(c, row, col);
               for (uint32_t k = 0; k < op.m; k++)
                  sum += number(a, row, k) * number(b, k, col);
               return sum;
            });
         };
         /* The products are exact in every type. */
         const Matrix y = muladd(x, x, x), z = muladd(x, x, y);
         program.run(oracle::muladd(z, y, Expectation(y), false, muladd_rules(device, op.a, op.a)));
      },
      [](const MatrixOperation &op) {
         return op.m == op.n && op.m == op.k && op.a == op.b && op.c == op.a && op.result == op.a;
      },
      "needs an operation of one square type");
}

/// The length is a specialization constant, which GLSL uses in loops and as the size of arrays. The
/// matrix sizes are specialization constants, too.
TEST(CmatNv, Components)
{
   for_some_operations(6, [](Device &device, oracle::Random &random, const MatrixOperation &op,
                             uint32_t size) {
      const Matrix a = small_matrix(random, op.a, op.m, op.k, 3);
      NvProgram program(device, random, size);
      program.declare("layout(constant_id = 7) const uint ROWS = 3;\n"
                      "layout(constant_id = 8) const uint COLS = 5;\n");
      const std::string type = glsl_type(op.a, "ROWS", "COLS");
      program.load("a", a, type);
      program.add(type + " b = " + type + "(" + oracle::format(op.a).glsl + R"((2));
   int numbers[a.length()];
   for (int i = 0; i < a.length(); i++)
      numbers[i] = i;
   for (int i = 0; i < a.length(); i++) {
      if (numbers[a.length() - 1 - i] == a.length() - 1 - i)
         b[i] = b[i] + a[i];
   }
)");
      program.store("b", a);
      program.set_side_words(size);
      program.add(program.side("gl_LocalInvocationIndex") + " = a.length();\n");
      const std::vector<uint32_t> lengths = program.run(
         Expectation(matrix_of(
            op.a, op.m, op.k, [&](uint32_t row, uint32_t col) { return 2 + number(a, row, col); })),
         {{7, op.m}, {8, op.k}});
      for (uint32_t length : lengths) {
         ASSERT_EQ(length, lengths[0]);
         ASSERT_GE(uint64_t(length) * size, uint64_t(op.m) * op.k);
         ASSERT_LT(uint64_t(length) * size, 4 * uint64_t(op.m) * op.k + size);
      }
   });
}

/// Conversions from and to every component type of the same size, with arithmetic before and after.
TEST(CmatNv, ConversionsAndArithmetic)
{
   std::vector<MatrixType> types;
   for (const MatrixOperation &op : nv_operations(plain_device())) {
      for (MatrixType type : {a_type(op), b_type(op), c_type(op), result_type(op)}) {
         type.use = Use::accumulator;
         if (std::ranges::find(types, type) == types.end())
            types.push_back(type);
      }
   }
   for_some_operations(
      6, [&](Device &device, oracle::Random &random, const MatrixOperation &op, uint32_t size) {
         std::vector<Type> others;
         for (const MatrixType &type : types) {
            if (type.rows == op.m && type.cols == op.k)
               others.push_back(type.type);
         }
         const Type to = others[oracle::draw(random, uint32_t(others.size()))];
         const Matrix x = small_matrix(random, op.a, op.m, op.k, 3),
                      y = small_matrix(random, to, op.m, op.k, 3);
         const std::string type = glsl_type(y), scalar = oracle::format(to).glsl;
         NvProgram program(device, random, size);
         program.load("x", x);
         program.load("y", y);
         program.add(type + " z = " + type + "(x + x) * " + scalar + "(5) + y;\nz = z - " + type +
                     "(x);\nz = " + scalar + "(2) * z / " + type + "(" + scalar + "(1)) - -y;\n");
         program.store("z", y);
         program.run(Expectation(matrix_of(to, op.m, op.k, [&](uint32_t row, uint32_t col) {
            return 2 * (9 * number(x, row, col) + number(y, row, col)) + number(y, row, col);
         })));
      });
}

} // namespace weft::e2e
