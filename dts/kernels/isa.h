/* Private to this room: what a kernel file offers to dispatch.c, and the shorthands that kernel files share. */
#ifndef DTS_ISA_H
#define DTS_ISA_H

#include "kernels.h"

#if defined(__x86_64__) || defined(_M_X64)
#define DTS_X86 1
#elif defined(__aarch64__) || defined(_M_ARM64)
#define DTS_NEON 1
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define DTS_INLINE static __forceinline
#define DTS_NOINLINE __declspec(noinline)
#else
#define DTS_INLINE static inline __attribute__((always_inline))
#define DTS_NOINLINE __attribute__((noinline))
#endif

#define DTS_TARGET_AVX2 DTS_TARGET("avx2,f16c")
#define DTS_TARGET_AVX512 DTS_TARGET("avx2,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vnni")

/* Q14 weights times Q7 pixels. */
#define DTS_Q21 (1.0f / (1 << 21))

/* What the CPU has and the operating system saves, as bits. */
enum { DTS_CPU_AVX2 = 1, DTS_CPU_AVX512 = 2 };
unsigned dts_cpu_probe(void);

#define DTS_DECLARE_NORMALIZE(isa)                                                                                   \
    void dts_normalize_f32_##isa(float *, const uint8_t *, const dts_shape *, const dts_norm *);                     \
    void dts_normalize_f16_##isa(uint16_t *, const uint8_t *, const dts_shape *, const dts_norm *);                  \
    void dts_copy_u8_##isa(uint8_t *, const uint8_t *, const dts_shape *);

#define DTS_DECLARE_RESIZE(isa)                                                                                      \
    void dts_resize_v_##isa(int16_t *, const uint8_t *const *, const int16_t *, int, size_t);                        \
    void dts_resize_h_f32_##isa(float *, const int16_t *, int, const dts_filter *, int, int, const dts_norm *, int); \
    void dts_resize_h_f16_##isa(uint16_t *, const int16_t *, int, const dts_filter *, int, int, const dts_norm *,    \
                                int);                                                                                \
    void dts_resize_h_u8_##isa(uint8_t *, const int16_t *, int, const dts_filter *, int, int, int);

DTS_DECLARE_NORMALIZE(scalar)
DTS_DECLARE_NORMALIZE(avx2)
DTS_DECLARE_NORMALIZE(avx512)
DTS_DECLARE_RESIZE(scalar)
DTS_DECLARE_RESIZE(avx2)
DTS_DECLARE_RESIZE(avx512)
DTS_DECLARE_NORMALIZE(neon)
DTS_DECLARE_RESIZE(neon)

#endif
