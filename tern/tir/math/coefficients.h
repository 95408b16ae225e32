// SPDX-License-Identifier: Apache-2.0
//
// Polynomials, lowest power first, written by tools/fit_polynomials.py, which says what they stand
// for. The number above each is its error in the function's value, in units of half a last digit.
#ifndef TERN_TIR_MATH_COEFFICIENTS_H_
#define TERN_TIR_MATH_COEFFICIENTS_H_

#include <vector>

namespace tern::tir::math {

// 0.35
inline const std::vector<double> kExp32 = {0x1.00000cp-1, 0x1.55550cp-3,  0x1.5549d2p-5,
                                           0x1.1128bcp-7, 0x1.71ca0ap-10, 0x1.9b3caep-13};
// 0.01
inline const std::vector<double> kExp64 = {0x1p-1,
                                           0x1.5555555555557p-3,
                                           0x1.5555555555556p-5,
                                           0x1.111111110ff87p-7,
                                           0x1.6c16c16c16212p-10,
                                           0x1.a01a01aca0134p-13,
                                           0x1.a01a01a741b3cp-16,
                                           0x1.71ddffef9e7b1p-19,
                                           0x1.27e4da1a3bf04p-22,
                                           0x1.af52906239de4p-26,
                                           0x1.1f75aba0b1e2ep-29};
// 0.19
inline const std::vector<double> kExp2Of32 = {0x1.62e43p-1,  0x1.ebfbep-3,   0x1.c6af62p-5,
                                              0x1.3b2a4ep-7, 0x1.5f104ep-10, 0x1.4418e6p-13};
// 0.21
inline const std::vector<double> kExp2Of64 = {
    0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58fp-3,  0x1.c6b08d704a0cp-5,   0x1.3b2ab6fba4e7bp-7,
    0x1.5d87fe78a6732p-10, 0x1.430912f86aa1bp-13, 0x1.ffcbfc5889b06p-17, 0x1.62c02246b8f28p-20,
    0x1.b5253d4281b83p-24, 0x1.e4cf0093663ep-28,  0x1.e8ca8b7f9e346p-32, 0x1.c4baaf38220e6p-36,
    0x1.821cd2d4a544cp-40};
// 0.01
inline const std::vector<double> kLog32 = {0x1.555556p-1, 0x1.9999f8p-2, 0x1.245696p-2,
                                           0x1.defc1ap-3};
// 0.09
inline const std::vector<double> kLog64 = {
    0x1.5555555555559p-1, 0x1.9999999993a63p-2, 0x1.249249309649ap-2, 0x1.c71c5f9ba9d54p-3,
    0x1.74639e52c327p-3,  0x1.39e0c8b62001dp-3, 0x1.2cbd24e6319eep-3};
// 0.32
inline const std::vector<double> kSin32 = {-0x1.555556p-3, 0x1.11110ep-7, -0x1.a01366p-13,
                                           0x1.6da906p-19};
// 0.33
inline const std::vector<double> kSin64 = {
    -0x1.5555555555555p-3,  0x1.111111111111p-7,   -0x1.a01a01a019881p-13, 0x1.71de3a544a89fp-19,
    -0x1.ae6453ecdcd92p-26, 0x1.6121614ce309ep-33, -0x1.ab0677caffaf3p-41};
// 0.28
inline const std::vector<double> kCos32 = {0x1.555556p-5, -0x1.6c16cp-10, 0x1.a01598p-16,
                                           -0x1.251648p-22};
// 0.28
inline const std::vector<double> kCos64 = {
    0x1.5555555555555p-5, -0x1.6c16c16c16c16p-10, 0x1.a01a01a019cb9p-16, -0x1.27e4fb7709081p-22,
    0x1.1eed8ddabb3cp-29, -0x1.93949f9713b1ap-37, 0x1.ab68e984a643fp-45};
// 0.16
inline const std::vector<double> kAtan32 = {-0x1.555554p-2, 0x1.99971ap-3, -0x1.241d1ep-3,
                                            0x1.b7cdc4p-4, -0x1.076a54p-4};
// 0.10
inline const std::vector<double> kAtan64 = {
    -0x1.5555555555555p-2, 0x1.999999999994cp-3, -0x1.249249248d0ap-3,  0x1.c71c71c2ac30cp-4,
    -0x1.745d164cd528bp-4, 0x1.3b1390ed6392fp-4, -0x1.110e65a8e0d93p-4, 0x1.e197010ee6326p-5,
    -0x1.ac640ea43c20ep-5, 0x1.74779e7f3d684p-5, -0x1.1a2e2be9092a6p-5, 0x1.0892945fca3d9p-6};
// 0.26
inline const std::vector<double> kAsin32 = {0x1.555554p-3, 0x1.33343p-4,  0x1.6d5bbap-5,
                                            0x1.fd8da2p-6, 0x1.18f91ep-6, 0x1.13fed4p-5};
// 0.26
inline const std::vector<double> kAsin64 = {
    0x1.5555555555556p-3, 0x1.3333333332ecap-4, 0x1.6db6db6e31f13p-5, 0x1.f1c71c1db0623p-6,
    0x1.6e8bb1c8209a2p-6, 0x1.1c4d35cf95421p-6, 0x1.c9cf07674736ap-7, 0x1.782651caa6547p-7,
    0x1.52420b04b37bep-7, 0x1.65a9c4dfcf8b2p-8, 0x1.1d189408314eep-6, -0x1.e6aaa8a0a04ccp-7,
    0x1.d72b2bc8155f8p-6};
// 0.22
inline const std::vector<double> kTanh32 = {-0x1.555556p-2, 0x1.1110eap-3,  -0x1.ba08c4p-5,
                                            0x1.64a976p-6,  -0x1.116a16p-7, 0x1.2c83cp-9};
// 0.22
inline const std::vector<double> kTanh64 = {
    -0x1.5555555555555p-2,  0x1.11111111110a8p-3,  -0x1.ba1ba1ba0f126p-5,  0x1.664f487e0a749p-6,
    -0x1.226e3473dce5cp-7,  0x1.d6d39ae3905e2p-9,  -0x1.7d9f6f23e8682p-10, 0x1.3526e9ed54da1p-11,
    -0x1.f243823c8c981p-13, 0x1.8445870f6fe41p-14, -0x1.05bbdae896297p-15, 0x1.b33642a122cddp-18};
// 0.09
inline const std::vector<double> kErfcRate32 = {-0x1.a0be84p+0, -0x1.d63ec4p-1,  -0x1.2fabe4p-3,
                                                0x1.c4b954p-6,  0x1.e52116p-13,  -0x1.3b387ep-9,
                                                0x1.dea68ep-11, -0x1.63e854p-13, 0x1.c00b3ap-17};
// 0.10
inline const std::vector<double> kErfSmall64 = {
    0x1.06eba8214db69p-3,  -0x1.812746b0379e7p-2,  0x1.ce2f21a042bdep-4,  -0x1.b82ce312889bap-6,
    0x1.565bcd0e6502dp-8,  -0x1.c02db3feeb579p-11, 0x1.f9a326c233146p-14, -0x1.f4d2561aeafd4p-17,
    0x1.b9e6509b9867dp-20, -0x1.5f6d925a0bc7ap-23, 0x1.fc4356498c2d9p-27, -0x1.4e607b41a6416p-30,
    0x1.7f072188e194dp-34, -0x1.29b9f1b3df556p-38};
// 0.13
inline const std::vector<double> kErfLarge64 = {
    0x1.570d36cb51ca6p+3,   0x1.9370b35013ba5p+2,   0x1.ea2f933642f81p-1,   0x1.e5bee8dd0b557p-8,
    -0x1.62c3204a69fdcp-10, 0x1.01a07adf90c5p-12,   -0x1.6965712701accp-15, 0x1.dd82c344ddc3fp-18,
    -0x1.1f0fd8ff4540dp-20, 0x1.247003a185eddp-23,  -0x1.89c50dd19cedcp-27, -0x1.5c725859843e2p-31,
    0x1.4f8e1fee7648p-31,   -0x1.9fb38ec199e7fp-33, 0x1.8345d37cbf883p-35,  -0x1.2c547e6ad084dp-37,
    0x1.81978ab6813c2p-40,  -0x1.72e727d61098p-43,  0x1.23e9b9459aa13p-47,  0x1.e285b2e17ce55p-49,
    -0x1.fd0e3fa6fb1fdp-50, 0x1.3c8744e97eefp-51,   -0x1.fc30687aa7187p-54, 0x1.d406f5b177deap-57,
    -0x1.75649084e1011p-61};
// 0.48
inline const std::vector<double> kErfShort32 = {0x1.06eba6p-3,  -0x1.8126e8p-2, 0x1.ce1abap-4,
                                                -0x1.b68ff2p-6, 0x1.475748p-8,  -0x1.3a8a6ep-11};
// 0.44
inline const std::vector<double> kErfcPower32 = {0x1.73d0b6p-9, 0x1.9d9b12p+0,  0x1.e0ff94p-1,
                                                 0x1.0c5dbp-3,  -0x1.6e180ap-6, 0x1.d4fc14p-10};

}  // namespace tern::tir::math

#endif  // TERN_TIR_MATH_COEFFICIENTS_H_
