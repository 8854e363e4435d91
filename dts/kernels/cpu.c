/* Which instruction sets may be used: the CPU must have them and the operating system must save their registers.
 * By CPUID and XGETBV, not by compiler builtins: those differ between compilers and run-time libraries, and some
 * forget the operating system. */
#include "isa.h"

#ifdef DTS_X86

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
static void cpuid(uint32_t leaf, uint32_t r[4]) { __cpuidex((int *)r, (int)leaf, 0); }
static uint64_t xcr0(void) { return _xgetbv(0); }
#else
#include <cpuid.h>
static void cpuid(uint32_t leaf, uint32_t r[4]) { __cpuid_count(leaf, 0, r[0], r[1], r[2], r[3]); }
static uint64_t xcr0(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((uint64_t)high << 32) | low;
}
#endif

unsigned dts_cpu_probe(void) {
    enum { EAX, EBX, ECX, EDX };
    const uint32_t osxsave_avx_f16c = (1u << 27) | (1u << 28) | (1u << 29);            /* leaf 1 ECX */
    const uint32_t avx2 = 1u << 5;                                                     /* leaf 7 EBX, and the next */
    const uint32_t f_dq_bw_vl = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31);
    const uint32_t vbmi_vnni = (1u << 1) | (1u << 11);                                 /* leaf 7 ECX */
    const uint64_t ymm = 0x06, zmm = 0xE6;                                             /* XCR0 */
    uint32_t r[4];
    uint64_t saved;
    unsigned found = 0;

    cpuid(0, r);
    if (r[EAX] < 7) return 0;
    cpuid(1, r);
    if ((r[ECX] & osxsave_avx_f16c) != osxsave_avx_f16c) return 0;
    saved = xcr0();
    cpuid(7, r);
    if ((r[EBX] & avx2) && (saved & ymm) == ymm) found |= DTS_CPU_AVX2;
    if (found && (r[EBX] & f_dq_bw_vl) == f_dq_bw_vl && (r[ECX] & vbmi_vnni) == vbmi_vnni && (saved & zmm) == zmm)
        found |= DTS_CPU_AVX512;
    return found;
}

#else

unsigned dts_cpu_probe(void) { return 0; }

#endif
