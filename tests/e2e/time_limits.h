// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// When a test hangs: before Meson's own time-out, which would not say which test of a program does.

#pragma once

namespace weft::e2e {

/// ci/test multiplies Meson's time-outs by 3 for builds with a sanitizer, or by 4.
constexpr unsigned slowness = WEFT_ASAN || WEFT_TSAN ? 3 : 1;

/// Seconds, where programs of Weft's own driver have 300 and more.
constexpr unsigned hang_limit = 240 * slowness;
/// Other drivers may compile for minutes; their programs have 900.
constexpr unsigned hang_limit_elsewhere = 600 * slowness;

} // namespace weft::e2e
