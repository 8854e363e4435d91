/* Sine and cosine in arithmetic that no CPU changes, as exp and log of philox.h. */
#ifndef DTS_TRIG_H
#define DTS_TRIG_H

/* |x| up to 1e5 radians, error under 2e-16 of the result's size or of 1e-16 times |x|. x = k pi/2 + r with pi/2 in two
 * parts, the first of 33 bits so that k times it is exact; then Taylor series up to r^21, |r| <= pi/4. */
static inline double dts_sin_quarter(double x, int quarter) {
    const double k = (double)(int)(x * 0.63661977236758134308 + (x < 0 ? -0.5 : 0.5));
    const double r = ((x - k * 1.57079632673412561417) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21;
    const int turn = ((int)k + quarter) & 3;
    const int odd = turn & 1; /* the cosine of r is wanted */
    const double r2 = r * r;
    double p = 1.0;
    for (int i = odd ? 20 : 21; i > 1; i -= 2) p = 1.0 - p * r2 / (double)(i * (i - 1));
    if (!odd) p *= r;
    return turn & 2 ? -p : p;
}

static inline double dts_sin(double x) { return dts_sin_quarter(x, 0); }
static inline double dts_cos(double x) { return dts_sin_quarter(x, 1); }

#endif
