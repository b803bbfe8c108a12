// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Devices, the seed, and the count of cases. A test stands for a family of cases. A case that the
/// device does not support is skipped with a reason and counted. The environment:
///
///   WEFT_SEED=N           repeats a run; the seed of every run is printed
///   WEFT_SWEEP=reduced    a random slice of each sweep, for slow (instrumented) builds
///   WEFT_SWEEP=least      a quarter of that slice, for repetitions of a sweep
///   WEFT_SWEEP=partial    a slice four times as large, for slow sweeps in any build
///   WEFT_SHAPES=flexible  random sizes, multiples of the device's granularities, in place of the
///                         listed matrices (cooperativeMatrixFlexibleDimensions)
///   WEFT_TEST_DRIVER=weft fails unless the driver is Weft's, which has to keep stricter bounds
///
/// A test fails if it neither runs a case nor skips one for a reason of its own. It also fails on
/// an error of Khronos' validation layers, if they are enabled.

#pragma once

#include "tests/e2e/glsl.h"
#include "tests/oracle/random.h"
#include "tests/vulkan/hooks.h"
#include "tests/vulkan/pipeline.h"
#include "tests/vulkan/result.h"

#include <gtest/gtest.h>
#include <string>

namespace weft::e2e {

using namespace vulkan;

/// The one device of this process, with or without robust accesses.
Device &plain_device();
Device &robust_device();
/// The same driver without the layers that VK_INSTANCE_LAYERS names.
Device &bare_device();

/// Whether another driver than Weft's implements an extension itself: the layer does not change it,
/// unless a setting makes it lower everything.
bool is_of_another_driver(const Device &, const char *extension);
/// Whether the layer may use that driver's tiles.
bool has_tiles_of_another_driver(const Device &, const char *extension);

/// The numbers of the running test. They follow from the seed and the test's name: a test that runs
/// alone repeats its numbers.
oracle::Random test_random();

/// In a full sweep always true. In a reduced sweep true for a test's first case and for about one
/// in `reduction` of the others. In the least sweep true for a quarter of that number, in a partial
/// one for four times as many.
bool selected(oracle::Random &, uint32_t reduction = 16);

/// Whether WEFT_SHAPES draws the sizes of matrices, so that a test may find no type.
bool has_drawn_shapes();

void count_case();
void skip_case(const std::string &reason);
/// Counts a combination without cases in any test, once for all lists of it. It is no reason for
/// the running test to be empty.
void skip_for_all(const std::string &reason, const std::string &combination);

/// Ends the process if no case ends within this time; 0: never.
void limit_cases(unsigned seconds);

/// Devices, counts and the seed, printed around the tests; to be added to gtest's environments.
class CaseEnvironment : public testing::Environment {
public:
   void SetUp() override;
   void TearDown() override;
};

} // namespace weft::e2e
