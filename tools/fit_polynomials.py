#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints tern/tir/math/coefficients.h; clang-format breaks its lines.

Each function is interpolated at the zeros of a Chebyshev polynomial of its interval, with 60 digits, which is within a
small factor of the best polynomial of that degree; the result is written in powers of the variable, and every
coefficient is rounded to the type. The number behind each is the largest relative error of the polynomial with the
rounded coefficients, in units of the type's precision, times the weight that it has in the result.

Where the weight varies much, the polynomial is the best one for it (`best`): least squares at many points, whose weights
grow where the error is large.
"""
import re
import struct

from mpmath import mp, mpf, asin, atan, chop, cos, erf, erfc, exp, log, pi, sin, sqrt, tan, tanh, taylor

mp.dps = 60


def round_to(bits, x):
    if bits == 64:
        return mpf(float(x))
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def fit(f, low, high, terms, weight):
    """The polynomial of that many terms through f at the Chebyshev nodes, as coefficients of powers."""
    nodes = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * k + 1) / (2 * terms)) for k in range(terms)]
    matrix = mp.matrix(terms, terms)
    for row, x in enumerate(nodes):
        for column in range(terms):
            matrix[row, column] = x**column
    return list(mp.lu_solve(matrix, mp.matrix([f(x) for x in nodes])))


def best(f, low, high, terms, weight, points=120, rounds=40):
    """The polynomial of that many terms whose largest error, times weight(x) / f(x), is the least (Lawson's method)."""
    xs = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * k + 1) / (2 * points)) for k in range(points)]
    wanted, scale = [f(x) for x in xs], [weight(x) / f(x) for x in xs]
    powers = [[x**column for column in range(terms)] for x in xs]
    trust, found, least = [mpf(1)] * points, None, mp.inf
    for _ in range(rounds):
        weights = [t * s**2 for t, s in zip(trust, scale)]
        matrix, right = mp.matrix(terms, terms), mp.matrix(terms, 1)
        for row in range(terms):
            right[row] = mp.fsum(w * p[row] * y for w, p, y in zip(weights, powers, wanted))
            for column in range(terms):
                matrix[row, column] = mp.fsum(w * p[row] * p[column] for w, p in zip(weights, powers))
        coefficients = list(mp.lu_solve(matrix, right))
        errors = [abs((evaluate(coefficients, x) - y) * s) for x, y, s in zip(xs, wanted, scale)]
        if max(errors) < least:
            found, least = coefficients, max(errors)
        trust = [t * e / max(errors) for t, e in zip(trust, errors)]
    return found


def evaluate(coefficients, x):
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def safe(f, series_at_zero):
    """f, by its value at 0 where it divides 0 by 0."""
    return lambda x: series_at_zero if abs(x) < mpf(10)**-25 else f(x)


half_ln2 = log(2) / 2
# name, bits, function of the variable, interval, terms, weight(x): what a relative error of the polynomial is worth in
# the whole result.
FITS = []


def add(name, f, low, high, terms32, terms64, weight=lambda x: 1, by=fit):
    FITS.append((name, f, mpf(low), mpf(high), terms32, terms64, weight, by))


# exp(r) = 1 + r + r^2 * P(r), |r| <= ln(2) for float32, ln(2) / 2 else
exp_rest = safe(lambda r: (exp(r) - 1 - r) / r**2, mpf(1) / 2)
add("Exp", exp_rest, -half_ln2 * 2.01, half_ln2 * 2.01, 6, 0, lambda r: r**2 * exp_rest(r) / exp(r), best)
add("Exp", exp_rest, -half_ln2 * 1.01, half_ln2 * 1.01, 0, 11, lambda r: r**2)
# 2^r = 1 + r * P(r)
add("Exp2Of", safe(lambda r: (exp(r * log(2)) - 1) / r, log(2)), -0.505, 0.505, 6, 13, lambda r: r)
# log(1 + f) = 2 atanh(s), s = f / (2 + f): 2 atanh(s) = 2 s + s * z * P(z), z = s^2
S = (sqrt(2) - 1)**2
add("Log", safe(lambda z: (2 * mp.atanh(sqrt(z)) / sqrt(z) - 2) / z, mpf(2) / 3), 0, S**2 * 1.05, 4, 7,
    lambda z: z / 2)
# sin(r) = r + r^3 * P(r^2), cos(r) = 1 - r^2/2 + r^4 * P(r^2)
Q = (pi / 4)**2 * mpf(1.02)
add("Sin", safe(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, -mpf(1) / 6), 0, Q, 4, 7, lambda z: z)
add("Cos", safe(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, mpf(1) / 24), 0, Q, 4, 7, lambda z: z**2 / cos(sqrt(z)))
# atan(t) = t + t^3 * P(t^2), |t| <= tan(pi/8)
add("Atan", safe(lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, -mpf(1) / 3), 0, tan(pi / 8)**2 * mpf(1.01), 5, 12,
    lambda z: z)
# asin(x) = x + x^3 * P(x^2), |x| <= 1/2
add("Asin", safe(lambda z: (asin(sqrt(z)) / sqrt(z) - 1) / z, mpf(1) / 6), 0, mpf(1) / 4, 6, 13, lambda z: z)
# tanh(x) = x + x^3 * P(x^2), |x| <= 5/8
add("Tanh", safe(lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z, -mpf(1) / 3), 0, mpf(25) / 64, 6, 12, lambda z: z)
# 1 - erf(x) = 2^(x * P(x)), 0 <= x <= 4
add("ErfcRate", safe(lambda x: log(erfc(x)) / log(2) / x, -2 / sqrt(pi) / log(2)), 0, 4, 9, 0,
    safe(lambda x: -log(erfc(x)) * erfc(x) / erf(x), mpf(1)), best)
# erf(x) = x + x * P(x^2), |x| <= 1
erf_ratio = safe(lambda z: erf(sqrt(z)) / sqrt(z) - 1, 2 / sqrt(pi) - 1)
erf_weight = safe(lambda z: 1 - sqrt(z) / erf(sqrt(z)), 1 - sqrt(pi) / 2)
add("ErfSmall", erf_ratio, 0, 1, 0, 14, erf_weight)
# 1 - erf(x) = exp(-P(x - 3)), 1 <= x <= 6
add("ErfLarge", lambda t, c=3: -log(erfc(t + c)), -2, 3, 0, 25, lambda t: -log(erfc(t + 3)) * erfc(t + 3))
# The same in fewer terms, for machines with a power of two: |x| <= 0.92, and 1 - erf(x) = 2^-P(x) for 0.92 <= x <= 4
add("ErfShort", erf_ratio, 0, mpf(0.92)**2, 6, 0, erf_weight, best)
add("ErfcPower", lambda x: -log(erfc(x)) / log(2), 0.92, 4, 6, 0, lambda x: -log(erfc(x)) * erfc(x) / erf(x), best)


def print_fit(name, f, low, high, terms, weight, by, bits):
    coefficients = [round_to(bits, chop(c)) for c in by(f, low, high, terms, weight)]
    unit = mpf(2)**(-24 if bits == 32 else -53)
    worst = 0
    for k in range(400):
        x = low + (high - low) * k / 399
        if f(x) != 0:
            worst = max(worst, abs((evaluate(coefficients, x) - f(x)) / f(x) * weight(x)))
    print(f"// {float(worst / unit):.2f}")
    text = ", ".join(re.sub(r"\.?0+p", "p", float(c).hex()) for c in coefficients)
    print(f"inline const std::vector<double> k{name}{bits} = {{{text}}};")


HEADER = """// SPDX-License-Identifier: Apache-2.0
//
// Polynomials, lowest power first, written by tools/fit_polynomials.py, which says what they stand for. The number above
// each is its error in the function's value, in units of half a last digit.
#ifndef TERN_TIR_MATH_COEFFICIENTS_H_
#define TERN_TIR_MATH_COEFFICIENTS_H_

#include <vector>

namespace tern::tir::math {
"""

if __name__ == "__main__":
    print(HEADER)
    for name, f, low, high, terms32, terms64, weight, by in FITS:
        if terms32:
            print_fit(name, f, low, high, terms32, weight, by, 32)
        if terms64:
            print_fit(name, f, low, high, terms64, weight, by, 64)
    print("\n}  // namespace tern::tir::math\n\n#endif  // TERN_TIR_MATH_COEFFICIENTS_H_")
