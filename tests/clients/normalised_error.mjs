// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The sum of the squared errors ÷ the sum of the squares; NaN if the lengths differ.
export function normalisedError(got, expected) {
  let error = 0, norm = 0;
  for (let i = 0; i < expected.length; i++) {
    error += (got[i] - expected[i]) ** 2;
    norm += expected[i] ** 2;
  }
  return got.length === expected.length ? error / norm : NaN;
}
