// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "layer/plan/matrix_plan.h"

#include <string>

namespace weft::layer {

/// A plan as text: the state of each extension, subgroups and operations.
std::string plan_text(const MatrixPlan &);

} // namespace weft::layer
