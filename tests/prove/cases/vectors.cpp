// Instructions of x86-64-v4, and code that has no bound.
#include <immintrin.h>
#define FUNCTION extern "C" __attribute__((noinline))
FUNCTION void dots(__m512i *p) { p[0] = _mm512_dpbusd_epi32(p[0], p[1], p[2]); }
FUNCTION void counts_bits(__m512i *p) {
    p[0] = _mm512_popcnt_epi32(p[1]);
    p[1] = _mm512_permutexvar_epi8(p[1], p[2]);
}
FUNCTION void shifts(__m512i *p) {
    p[0] = _mm512_shldi_epi32(p[1], p[2], 7);
    p[2] = _mm512_conflict_epi32(p[4]);
}
FUNCTION void ciphers(__m512i *p) {
    p[0] = _mm512_gf2p8mul_epi8(p[1], p[2]);
    p[1] = _mm512_aesenc_epi128(p[1], p[2]);
}
FUNCTION void masks(__m512i *p, __mmask64 m) { _mm512_mask_storeu_epi8(p + 3, m, p[4]); }
FUNCTION void gathers(__m512i *p) { p[0] = _mm512_i32gather_epi32(p[1], p, 4); }
FUNCTION void halves(__m512h *p) { p[0] = _mm512_fmadd_ph(p[1], p[2], p[3]); }
FUNCTION void brains(__m512bh *o, __m512 *p) { o[0] = _mm512_cvtne2ps_pbh(p[0], p[1]); }
FUNCTION void moves_line(char *d, const char *s) { _movdir64b(d, s); }
FUNCTION unsigned draws() {
    unsigned x;
    return _rdrand32_step(&x) + x;
}
FUNCTION void pauses() { _tpause(0, 5); }
FUNCTION unsigned transacts(unsigned *p) {
    const unsigned s = _xbegin();
    if (s == _XBEGIN_STARTED) {
        p[0]++;
        _xend();
    }
    return s;
}
FUNCTION void of_no_set() {
    __asm__ volatile(".byte 0x62, 0xf4, 0x7c, 0x18, 0xff, 0xc0");
} // APX: an inc of three operands
