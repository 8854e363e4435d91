/* The decoder over a libjpeg of ABI 80. */
#ifndef _WIN32
#define DTS_JPEG_ABI 80
#define DTS_JPEG_NAME(name) dts_libjpeg80_##name
#include "dts/decode/libjpeg_impl.h"
#endif
