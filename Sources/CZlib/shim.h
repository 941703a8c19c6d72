#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

#include <zlib.h>

/// Opens a stream of gzip format. zlib offers this as a macro only, which Swift can't call.
static inline int CZlib_openGzip(z_streamp stream, int level) {
    // 15 bits of window, and 16 for the gzip header.
    return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

/// Opens a stream that reads gzip format.
static inline int CZlib_openGunzip(z_streamp stream) {
    return inflateInit2(stream, 15 + 16);
}

#endif
