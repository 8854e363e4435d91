/* The decoder over a libjpeg of ABI 62. */
#ifndef _WIN32
#define DTS_JPEG_ABI 62
#define DTS_JPEG_NAME(name) dts_libjpeg62_##name
#include "dts/decode/libjpeg_impl.h"
#endif
