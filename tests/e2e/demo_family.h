// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The extensions on top of VK_KHR_cooperative_matrix, each shown by a product D = A·B + C.

#pragma once

#include "tests/e2e/cmat.h"

#include <functional>
#include <string>

namespace weft::e2e {

struct FamilyProduct {
   std::string extension, how;
   MatrixOperation operation; ///< with the product's sizes
   oracle::Expectation expected;
   oracle::Matrix d;
};

/// Calls the body with a product for each of the family's extensions that the device has, and for
/// each type of A in it that GLSL can express.
void for_each_family_product(Device &, oracle::Random &,
                             const std::function<void(const FamilyProduct &)> &body);

} // namespace weft::e2e
