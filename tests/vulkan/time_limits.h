// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Limits after which a test counts as hanging. They are shorter than Meson's time-outs, which do
/// not name the test.

#pragma once

namespace weft::vulkan {

/// ci/test multiplies Meson's time-outs by 3 or 4 in builds with a sanitizer.
constexpr unsigned slowness = WEFT_ASAN || WEFT_TSAN ? 3 : 1;

/// Seconds; Meson's time-outs of programs on Weft's driver are 300 and more.
constexpr unsigned hang_limit = 240 * slowness;
/// Other drivers may compile for minutes; Meson's time-outs of their programs are 900.
constexpr unsigned hang_limit_elsewhere = 600 * slowness;

} // namespace weft::vulkan
