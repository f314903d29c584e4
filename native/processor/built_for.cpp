// The instruction sets that the compiler may use, from its predefined macros. This unit is compiled
// with the flags of all others, and holds data alone: reading it uses none of these instructions.
#include "processor/check.hpp"

extern "C" const char assay_built_for[] =
    ""
#if defined(__x86_64__)
#ifdef __SSE3__
    "sse3 "
#endif
#ifdef __SSSE3__
    "ssse3 "
#endif
#ifdef __SSE4_1__
    "sse4_1 "
#endif
#ifdef __SSE4_2__
    "sse4_2 "
#endif
#ifdef __SSE4A__
    "sse4a "
#endif
#ifdef __POPCNT__
    "popcnt "
#endif
#ifdef __LZCNT__
    "lzcnt "
#endif
#ifdef __MOVBE__
    "movbe "
#endif
#ifdef __BMI__
    "bmi1 "
#endif
#ifdef __BMI2__
    "bmi2 "
#endif
#ifdef __TBM__
    "tbm "
#endif
#ifdef __ADX__
    "adx "
#endif
#ifdef __AES__
    "aes "
#endif
#ifdef __PCLMUL__
    "pclmulqdq "
#endif
#ifdef __GFNI__
    "gfni "
#endif
#ifdef __AVX__
    "avx "
#endif
#ifdef __F16C__
    "f16c "
#endif
#ifdef __FMA__
    "fma "
#endif
#ifdef __FMA4__
    "fma4 "
#endif
#ifdef __XOP__
    "xop "
#endif
#ifdef __AVX2__
    "avx2 "
#endif
#ifdef __VAES__
    "vaes "
#endif
#ifdef __VPCLMULQDQ__
    "vpclmulqdq "
#endif
#ifdef __AVXVNNI__
    "avx_vnni "
#endif
#ifdef __AVXIFMA__
    "avx_ifma "
#endif
#ifdef __AVX512F__
    "avx512f "
#endif
#ifdef __AVX512CD__
    "avx512cd "
#endif
#ifdef __AVX512ER__
    "avx512er "
#endif
#ifdef __AVX512PF__
    "avx512pf "
#endif
#ifdef __AVX512BW__
    "avx512bw "
#endif
#ifdef __AVX512DQ__
    "avx512dq "
#endif
#ifdef __AVX512VL__
    "avx512vl "
#endif
#ifdef __AVX512IFMA__
    "avx512ifma "
#endif
#ifdef __AVX512VBMI__
    "avx512vbmi "
#endif
#ifdef __AVX512VBMI2__
    "avx512_vbmi2 "
#endif
#ifdef __AVX512VNNI__
    "avx512_vnni "
#endif
#ifdef __AVX512BITALG__
    "avx512_bitalg "
#endif
#ifdef __AVX512VPOPCNTDQ__
    "avx512_vpopcntdq "
#endif
#ifdef __AVX512BF16__
    "avx512_bf16 "
#endif
#ifdef __AVX512FP16__
    "avx512_fp16 "
#endif
#ifdef __AMX_TILE__
    "amx_tile "
#endif
#ifdef __APX_F__
    "apx_f "
#endif
#elif defined(__aarch64__)
#ifdef __ARM_FEATURE_ATOMICS
    "atomics "
#endif
#ifdef __ARM_FEATURE_CRC32
    "crc32 "
#endif
#ifdef __ARM_FEATURE_QRDMX
    "asimdrdm "
#endif
#ifdef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
    "asimdhp "
#endif
#ifdef __ARM_FEATURE_DOTPROD
    "asimddp "
#endif
#ifdef __ARM_FEATURE_COMPLEX
    "fcma "
#endif
#ifdef __ARM_FEATURE_JCVT
    "jscvt "
#endif
#ifdef __ARM_FEATURE_RCPC
    "lrcpc "
#endif
#ifdef __ARM_FEATURE_FRINT
    "frint "
#endif
#ifdef __ARM_FEATURE_MATMUL_INT8
    "i8mm "
#endif
#ifdef __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
    "bf16 "
#endif
#ifdef __ARM_FEATURE_SVE
    "sve "
#endif
#ifdef __ARM_FEATURE_SVE2
    "sve2 "
#endif
#if defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS == 128
    "sve:128 "
#elif defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS == 256
    "sve:256 "
#elif defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS == 512
    "sve:512 "
#endif
#endif
    ;
