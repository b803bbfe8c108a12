// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Operations on single elements of matrices, in VK_NV_cooperative_matrix2 and
/// VK_EXT_cooperative_matrix_maintenance1: per-element operations, transposes, reductions and
/// coordinates. Conversions of the use are in cmat_convert_test.cc.

#include "tests/e2e/cmat_program.h"
#include "tests/e2e/spirv_edits.h"

#include <algorithm>
#include <cstring>

namespace weft::e2e {

using oracle::Integer;
using oracle::Matrix;

namespace {

/// An element as a whole number; these tests use no other numbers.
long number(const Matrix &m, uint32_t row, uint32_t col)
{
   return oracle::format(m.type).is_float ? long(m.real(row, col)) : long(m.integer(row, col));
}

/// Compares every element with a whole number, as far as the component type keeps it.
void expect_numbers(const Matrix &actual,
                    const std::function<long(uint32_t row, uint32_t col)> &expected)
{
   uint32_t wrong = 0;
   for (uint32_t row = 0; row < actual.rows; row++) {
      for (uint32_t col = 0; col < actual.cols; col++) {
         const long value = expected(row, col);
         std::byte bits[8];
         if (oracle::format(actual.type).is_float)
            oracle::encode_float(actual.type, double(value), bits);
         else
            oracle::encode_int(actual.type, value, bits);
         if (memcmp(bits, actual.at(row, col), oracle::format(actual.type).bytes) != 0 &&
             wrong++ < 4)
            ADD_FAILURE() << "element (" << row << ", " << col << ") is "
                          << number(actual, row, col) << ", expected " << value;
      }
   }
   EXPECT_EQ(wrong, 0u) << "elements wrong";
}

/// The device's other types with the same component type.
std::vector<MatrixType> of_same_component(const Device &device, const MatrixType &type, Use use)
{
   std::vector<MatrixType> found = matrix_types(device);
   std::erase_if(found, [&](const MatrixType &t) { return t.type != type.type || t.use != use; });
   return found;
}

void transpose_by_maintenance1(std::vector<uint32_t> &spirv)
{
   EXPECT_EQ(use_maintenance1_conversions(spirv), 1u);
}

void call_get_coordinate(std::vector<uint32_t> &spirv)
{
   EXPECT_EQ(replace_calls_by_coordinates(spirv), 1u);
}

} // namespace

TEST(CmatElements, PerElementOperations)
{
   Device &device = plain_device();
   if (!device.matrix2_features.cooperativeMatrixPerElementOperations)
      return skip_case("no cooperativeMatrixPerElementOperations");
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      const std::vector<Matrix> m = {
         random_matrix(random, type, oracle::Inputs::whole),
         random_matrix(random, type, oracle::Inputs::whole),
      };
      const MatrixProgram program = {
         .inputs = {type, type},
         .outputs = {type, type, type},
         .declarations = R"(
struct Factors { $T0 x, y; uint modulus; };
$T0 place(const in uint row, const in uint col, const in $T0 x)
{
   return x + $T0(row) * $T0(3) + $T0(col);
}
$T0 inner($T0 x, Factors f) { return x * f.x; }
$T0 mixed(const in uint row, const in uint col, const in $T0 x, const in Factors f, const in $T0 y,
          const in uint add)
{
   if ((row + col) % f.modulus == 0u)
      return inner(x, f) - y;
   return x + y * f.y + $T0(add);
}
$T0 upper(const in uint row, const in uint col, const in $T0 x, const in $T0 y)
{
   return row < col ? x : y;
}
)",
         .body = R"(   coopMatPerElementNV(r0, m0, place);
   Factors f;
   f.x = $T0(push.x);
   f.y = $T0(push.y);
   f.modulus = push.z;
   coopMatPerElementNV(r1, m0, mixed, f, m1, push.w);
   // In uniform control flow, again and again.
   r2 = m0;
   for (uint i = 0; i < push.x; i++)
      coopMatPerElementNV(r2, r2, upper, m1);
)",
         .push = {2, 3, 3, 1},
         .subgroup_size = subgroup_size,
      };
      const ProgramResult result = run_program(device, program, m);
      expect_numbers(result.outputs[0], [&](uint32_t row, uint32_t col) {
         return number(m[0], row, col) + long(row) * 3 + long(col);
      });
      expect_numbers(result.outputs[1], [&](uint32_t row, uint32_t col) {
         const long x = number(m[0], row, col), y = number(m[1], row, col);
         return (row + col) % 3 == 0 ? x * 2 - y : x + y * 3 + 1;
      });
      expect_numbers(result.outputs[2], [&](uint32_t row, uint32_t col) {
         return number(m[row < col ? 0 : 1], row, col);
      });
   });
}

/// Transposes to the same component type, bit by bit, and to another one, with conversion.
TEST(CmatElements, Transposes)
{
   Device &device = plain_device();
   if (!device.matrix2_features.cooperativeMatrixConversions)
      return skip_case("no cooperativeMatrixConversions");
   const bool maintenance1 = device.maintenance1_features.cooperativeMatrixConversions;
   // NVIDIA's driver 580 crashes where the component type changes, from u32 to f16 for one.
   const bool changes_type =
      !is_of_another_driver(device, VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
   oracle::Random random = test_random();
   const auto targets_of = [&](const MatrixType &type) {
      return types_beside(device, type, [&](const MatrixType &to) {
         return type.use == Use::accumulator && to.use == Use::b && to.rows == type.cols &&
                to.cols == type.rows && (to.type == type.type || changes_type);
      });
   };
   const auto fits = [&](const MatrixType &type, uint32_t) { return !targets_of(type).empty(); };
   for_each_matrix_type(device, random, fits, [&](const MatrixType &type, uint32_t subgroup_size) {
      const std::vector<MatrixType> targets = targets_of(type);
      const uint32_t chosen = oracle::draw(random, uint32_t(targets.size()));
      for (const MatrixType &to : targets) {
         const bool same_type = to.type == type.type;
         if (!same_type && &to != &targets[chosen] && !selected(random, 4))
            continue;
         SCOPED_TRACE("to " + to.name());
         const Matrix m =
            random_matrix(random, type, same_type ? oracle::Inputs::bits : oracle::Inputs::whole);
         for (bool ext : {false, true}) {
            // EXT's transpose does not convert; that takes another instruction.
            if (ext && !(maintenance1 && same_type))
               continue;
            const MatrixProgram program = {
               .inputs = {type},
               .outputs = {to},
               .body = "   coopMatTransposeNV(r0, m0);\n",
               .subgroup_size = subgroup_size,
               .edit = ext ? transpose_by_maintenance1 : decltype(MatrixProgram::edit)(),
            };
            const ProgramResult result = run_program(device, program, {m});
            if (!same_type) {
               expect_numbers(result.outputs[0], [&](uint32_t row, uint32_t col) {
                  const long value = number(m, col, row);
                  const bool to_unsigned = oracle::format(type.type).is_float &&
                                           !oracle::format(to.type).is_signed &&
                                           !oracle::format(to.type).is_float;
                  // Not defined.
                  return to_unsigned && value < 0 ? number(result.outputs[0], row, col) : value;
               });
               continue;
            }
            uint32_t wrong = 0;
            for (uint32_t row = 0; row < to.rows; row++) {
               for (uint32_t col = 0; col < to.cols; col++)
                  wrong += memcmp(result.outputs[0].at(row, col), m.at(col, row),
                                  type.component_bytes()) != 0;
            }
            EXPECT_EQ(wrong, 0u) << (ext ? "elements wrong in EXT's form" : "elements wrong");
         }
      }
   });
}

/// VK_EXT_cooperative_matrix_maintenance1: an operand becomes an accumulator, bit by bit or with
/// its components converted.
TEST(CmatElements, OperandsToAccumulators)
{
   Device &device = plain_device();
   if (!device.maintenance1_features.cooperativeMatrixConversions)
      return skip_case("no cooperativeMatrixConversions of VK_EXT_cooperative_matrix_maintenance1");
   oracle::Random random = test_random();
   const auto targets_of = [&](const MatrixType &type) {
      return types_beside(device, type, [&](const MatrixType &to) {
         return type.use != Use::accumulator && !is_bit_cast(type.type, to.type) &&
                to.use == Use::accumulator && to.rows == type.rows && to.cols == type.cols;
      });
   };
   const auto fits = [&](const MatrixType &type, uint32_t) { return !targets_of(type).empty(); };
   for_each_matrix_type(device, random, fits, [&](const MatrixType &type, uint32_t subgroup_size) {
      for (const MatrixType &to : targets_of(type)) {
         SCOPED_TRACE("to " + to.name());
         const bool same_type = to.type == type.type;
         const Matrix m =
            random_matrix(random, type, same_type ? oracle::Inputs::bits : oracle::Inputs::whole);
         const MatrixProgram program = {
            .inputs = {type},
            .outputs = {to},
            .body = "   r0 = $R0(m0);\n",
            .subgroup_size = subgroup_size,
            .edit = use_maintenance1_conversions,
         };
         const ProgramResult result = run_program(device, program, {m});
         if (same_type) {
            EXPECT_EQ(m.data, result.outputs[0].data);
            continue;
         }
         const oracle::Format &from_format = oracle::format(type.type),
                              &to_format = oracle::format(to.type);
         expect_numbers(result.outputs[0], [&](uint32_t row, uint32_t col) {
            const long value = number(m, row, col);
            // A negative float as an unsigned integer is not defined.
            const bool undefined =
               value < 0 && from_format.is_float && !to_format.is_float && !to_format.is_signed;
            return undefined ? number(result.outputs[0], row, col) : value;
         });
      }
   });
}

/// Sums show whether every element takes part exactly once; maxima allow it to take part twice.
/// Both are exact.
TEST(CmatElements, Reductions)
{
   Device &device = plain_device();
   if (!device.matrix2_features.cooperativeMatrixReductions)
      return skip_case("no cooperativeMatrixReductions");
   enum class Over { rows, columns, both, quads };
   static const char *const names[] = {
      "gl_CooperativeMatrixReduceRowNV", "gl_CooperativeMatrixReduceColumnNV",
      "gl_CooperativeMatrixReduceRowAndColumnNV", "gl_CooperativeMatrixReduce2x2NV"};
   oracle::Random random = test_random();
   const auto fits = [](const MatrixType &type, uint32_t) { return type.use == Use::accumulator; };
   for_each_matrix_type(device, random, fits, [&](const MatrixType &type, uint32_t subgroup_size) {
      // At least one reduction runs: to the same size, which all reductions but quads have.
      const Over chosen = Over(oracle::draw(random, 3));
      for (Over over : {Over::rows, Over::columns, Over::both, Over::quads}) {
         std::vector<MatrixType> results = of_same_component(device, type, Use::accumulator);
         std::erase_if(results, [&](const MatrixType &to) {
            switch (over) {
            case Over::rows:
               return to.rows != type.rows;
            case Over::columns:
               return to.cols != type.cols;
            case Over::both:
               return false;
            default:
               return to.rows * 2 != type.rows || to.cols * 2 != type.cols;
            }
         });
         // The same size and another one.
         std::stable_partition(results.begin(), results.end(),
                               [&](const MatrixType &to) { return to == type; });
         results.resize(std::min<size_t>(results.size(), 2));
         for (const MatrixType &to : results) {
            if (!(over == chosen && to == type) && !selected(random, 3))
               continue;
            SCOPED_TRACE(std::string(names[int(over)]) + " to " + to.name());
            const Matrix m = random_matrix(random, type, oracle::Inputs::whole);
            const MatrixProgram program = {
               .inputs = {type},
               .outputs = {to, to},
               .declarations = R"(
$T0 sum(const in $T0 x, const in $T0 y) { return x + y; }
$T0 maximum(const in $T0 x, const in $T0 y) { return x > y ? x : y; }
)",
               .body = R"(   coopMatReduceNV(r0, m0, $OVER, sum);
   coopMatReduceNV(r1, m0, $OVER, maximum);
)",
               .words = {{"OVER", names[int(over)]}},
               .subgroup_size = subgroup_size,
            };
            const ProgramResult result = run_program(device, program, {m});
            const auto reduced = [&](uint32_t row, uint32_t col, const auto &combine, long value) {
               const uint32_t height = over == Over::rows    ? 1
                                       : over == Over::quads ? 2
                                                             : type.rows,
                              width = over == Over::columns ? 1
                                      : over == Over::quads ? 2
                                                            : type.cols;
               const uint32_t top = over == Over::rows    ? row
                                    : over == Over::quads ? row * 2
                                                          : 0,
                              left = over == Over::columns ? col
                                     : over == Over::quads ? col * 2
                                                           : 0;
               for (uint32_t r = top; r < top + height; r++) {
                  for (uint32_t c = left; c < left + width; c++)
                     value = combine(value, number(m, r, c));
               }
               return value;
            };
            expect_numbers(result.outputs[0], [&](uint32_t row, uint32_t col) {
               return reduced(row, col, [](long x, long y) { return x + y; }, 0);
            });
            expect_numbers(result.outputs[1], [&](uint32_t row, uint32_t col) {
               return reduced(row, col, [](long x, long y) { return std::max(x, y); }, -1000);
            });
         }
      }
   });
}

TEST(CmatElements, SumsOfARowAreTheSameToTheLastBit)
{
   Device &device = plain_device();
   if (!device.matrix2_features.cooperativeMatrixReductions)
      return skip_case("no cooperativeMatrixReductions");
   oracle::Random random = test_random();
   const auto fits = [](const MatrixType &type, uint32_t) {
      return type.use == Use::accumulator && oracle::format(type.type).is_float;
   };
   for_each_matrix_type(device, random, fits, [&](const MatrixType &type, uint32_t subgroup_size) {
      const Matrix m = random_matrix(random, type, oracle::Inputs::plain);
      const MatrixProgram program = {
         .inputs = {type},
         .outputs = {type},
         .declarations = "$T0 sum(const in $T0 x, const in $T0 y) { return x + y; }\n",
         .body = "   coopMatReduceNV(r0, m0, gl_CooperativeMatrixReduceRowNV, sum);\n",
         .subgroup_size = subgroup_size,
      };
      const ProgramResult result = run_program(device, program, {m});
      for (uint32_t row = 0; row < type.rows; row++) {
         double sum = 0, magnitude = 0;
         for (uint32_t col = 0; col < type.cols; col++) {
            sum += m.real(row, col);
            magnitude += std::abs(m.real(row, col));
            EXPECT_EQ(memcmp(result.outputs[0].at(row, col), result.outputs[0].at(row, 0),
                             type.component_bytes()),
                      0)
               << "(" << row << ", " << col << ")";
         }
         EXPECT_NEAR(result.outputs[0].real(row, 0), sum,
                     2 * type.cols * oracle::unit_roundoff(type.type) * magnitude);
      }
   });
}

TEST(CmatElements, Coordinates)
{
   Device &device = plain_device();
   if (!device.maintenance1_features.cooperativeMatrixGetCoordinate)
      return skip_case("no cooperativeMatrixGetCoordinate");
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      const Matrix m = random_matrix(random, type, oracle::Inputs::whole);
      const MatrixProgram program = {
         .inputs = {type},
         .outputs = {type},
         .declarations =
            "uvec2 coordinate_of(const in $M0 m, const in uint i) { return uvec2(i); }\n",
         .body = R"(   for (uint i = 0; i < m0.length(); i++) {
      const uvec2 at = coordinate_of(m0, i);
      r0[i] = m0[i] + $T0(at.x) * $T0(2) + $T0(at.y);
   }
)",
         .subgroup_size = subgroup_size,
         .edit = call_get_coordinate,
      };
      const ProgramResult result = run_program(device, program, {m});
      expect_numbers(result.outputs[0], [&](uint32_t row, uint32_t col) {
         return number(m, row, col) + long(row) * 2 + long(col);
      });
   });
}

} // namespace weft::e2e
