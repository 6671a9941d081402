/* SPDX-License-Identifier: MIT */
#pragma once
double expm1(double x);
double fabs(double x);
double floor(double x);
double ldexp(double x, int exponent);
double frexp(double x, int *exponent);
double log1p(double x);
