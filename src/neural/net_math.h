// The curves of a network, in floats and without a library's exp: the same bits on every machine. Plain operations that
// a compiler may do side by side, for none depends on another.
#ifndef FAI_NET_MATH_H
#define FAI_NET_MATH_H

#include <stdint.h>
#include <string.h>

// e^x to 2 ulp, from e^-87 to e^87; e^0 is 1. x = k log 2 + r with |r| <= log 2 / 2, then a Taylor polynomial: its
// first term left out is r^7 / 7! < 2e-7 / 16.
static inline float fai_net_exp(float x) {
    x = x > 87 ? 87 : x;
    x = x < -87 ? -87 : x;
    const float k = (x * 1.44269504f + 12582912.0f) - 12582912.0f; // to the nearest whole number
    const float r = (x - k * 0.693359375f) - k * -2.12194440e-4f;  // log 2 in two parts, the first exact times k
    float p = 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1;
    p = p * r + 1;
    const int32_t bits = ((int32_t)k + 127) * (1 << 23);
    float two;
    memcpy(&two, &bits, sizeof two);
    return p * two;
}

static inline float fai_sigmoid(float x) { return 1 / (1 + fai_net_exp(-x)); }
static inline float fai_swish(float x) { return x * fai_sigmoid(x); }
// 3 tanh(x / 3): what goes in stays between -3 and 3. squash(0) = 0.
static inline float fai_squash(float x) { return 3 - 6 / (fai_net_exp(x * (2.0f / 3)) + 1); }

#endif
