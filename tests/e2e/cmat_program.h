// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A shader of one subgroup that loads the matrices m0, m1, …, runs a body and stores the matrices
/// r0, r1, … Each matrix has its own buffer, row-major and without padding.

#pragma once

#include "tests/e2e/cmat.h"

#include <array>
#include <vector>

namespace weft::e2e {

struct MatrixProgram {
   std::vector<MatrixType> inputs, outputs;
   /// Text before main(): functions, structs, constants, shared memory.
   std::string declarations;
   /// m0… are loaded, r0… declared.
   std::string body;
   /// Words for $NAME in declarations and body, beside $M0 and $R0 (a matrix's type), $T0 (its
   /// component type) and $SIZE (the invocations of the workgroup).
   Words words = {};
   /// The body sees them as `uvec4 push`: values that the compiler cannot know.
   std::array<uint32_t, 4> push = {};
   std::vector<SpecConstant> spec_constants = {};
   uint32_t subgroup_size;
   /// 32-bit words of an extra buffer `uint side[]`, poisoned before; 0 for none.
   uint32_t side_words = 0;
   /// Called with the SPIR-V before it goes to the driver.
   std::function<void(std::vector<uint32_t> &)> edit = {};
};

struct ProgramResult {
   std::vector<oracle::Matrix> outputs;
   std::vector<uint32_t> side;
};

/// Runs it with these inputs and counts a case.
ProgramResult run_program(Device &, const MatrixProgram &,
                          const std::vector<oracle::Matrix> &inputs);

/// The reason why a program on these types cannot run on this device, or an empty text.
std::string missing_features(const Device &, const std::vector<MatrixType> &);

/// Whether GLSL's conversion is a bit cast: between integers of one size, which cannot change the
/// use.
bool is_bit_cast(ComponentType from, ComponentType to);

/// The matrix types, accepted by `suits`, that the device supports and a GLSL shader can have
/// beside `type`.
std::vector<MatrixType> types_beside(const Device &, const MatrixType &type,
                                     const std::function<bool(const MatrixType &)> &suits);

/// Calls the body for each advertised matrix type that the device can load, compute with and store,
/// with alternating subgroup sizes. Skips the test if there is no such type. Stops at the first
/// failure. Thinned sweeps choose among the types that `fits` takes: the body has a case for each
/// of them.
using MatrixBody = std::function<void(const MatrixType &, uint32_t subgroup_size)>;
using MatrixFilter = std::function<bool(const MatrixType &, uint32_t subgroup_size)>;
void for_each_matrix_type(Device &, oracle::Random &, const MatrixBody &);
void for_each_matrix_type(Device &, oracle::Random &, const MatrixFilter &fits, const MatrixBody &);

/// Whether the device compiles long code for each component of an invocation within a minute. LLVM
/// 15 below lavapipe schedules code in quadratic time. `at_most`: its limit for this code.
bool compiles_each_component(const Device &, uint32_t components, uint32_t at_most);

/// Whether the device keeps subnormal numbers in shaders that do not require it, such as these
/// shaders. Drivers other than Weft's may flush them (Vulkan, Precision and Operation of SPIR-V
/// Instructions).
bool keeps_subnormals(const Device &, ComponentType);

/// A float result of one correctly rounded operation (to nearest or toward zero), or of one within
/// `ulps`; an exact one for integers. Subnormal results may be flushed unless keeps_subnormals().
/// Weft's own driver always rounds to nearest.
oracle::Expectation rounded(const Device &, ComponentType, uint32_t rows, uint32_t cols,
                            const std::function<double(uint32_t row, uint32_t col)> &exact,
                            double ulps = 1);
oracle::Expectation
exact_integers(ComponentType, uint32_t rows, uint32_t cols,
               const std::function<oracle::Integer(uint32_t row, uint32_t col)> &exact);

#define EXPECT_MATRIX(expected, actual)                                                            \
   EXPECT_EQ(::weft::oracle::Expectation(expected).mismatch(actual), std::nullopt)

} // namespace weft::e2e
