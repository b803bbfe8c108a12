// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// weft-run --info and --describe-driver. Both print, and return the exit status.

#pragma once

#include "tools/weft_run/arguments.h"
#include "tools/weft_run/installation.h"

namespace weft::weft_run {

/// A page, or JSON.
int print_info(const Arguments &, const Installation &);

int print_driver_report(const Arguments &, const Installation &);

} // namespace weft::weft_run
