/* Opens a libjpeg with dlopen. Nothing is linked, so any wheel works on any system that has one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "dts/decode/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32

dts_libjpeg *dts_libjpeg_open(const char *path, char *why, size_t size) {
    snprintf(why, size, "libjpeg is not opened on Windows");
    return NULL;
}
const char *dts_libjpeg_path(const dts_libjpeg *library) { return NULL; }

#else

#include <dlfcn.h>

#define DTS_JPEG_ABI 62 /* only the error manager is used here, the same in every ABI */
#include "dts/decode/libjpeg.h"

static const struct {
    const char *text;
    int meaning;
} messages[] = {
    {"extraneous bytes before marker", DTS_MSG_STRAY_BYTES},
    {"premature end of data segment", DTS_MSG_EARLY_END},
    {"instead of RST", DTS_MSG_LOST_RESTART},
    {"Insufficient memory", DTS_MSG_NO_MEMORY},
    {"Unknown Adobe color transform code", DTS_MSG_HARMLESS},
    {"unknown JFIF revision number", DTS_MSG_HARMLESS},
    {"Invalid SOS parameters for sequential JPEG", DTS_MSG_HARMLESS},
};

/* 0 when one of the messages is unknown to the library. */
static int learn_messages(dts_libjpeg *lib) {
    ljpeg_error err;
    memset(&err, 0, sizeof err);
    lib->std_error(&err);
    for (size_t m = 0; m < sizeof messages / sizeof *messages; m++) {
        int found = 0;
        for (int code = 0; code <= err.last_jpeg_message && code < DTS_MSG_MAX; code++) {
            const char *text = err.jpeg_message_table[code];
            if (text && strstr(text, messages[m].text)) {
                lib->meaning[code] = (uint8_t)messages[m].meaning;
                found = 1;
            }
        }
        if (!found)
            return 0;
    }
    return 1;
}

static int load(dts_libjpeg *lib, const char *path, char *why, size_t size) {
    lib->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib->handle) {
        const char *error = dlerror();
        snprintf(why, size, "%s", error ? error : "cannot be opened");
        return 0;
    }
    const struct {
        const char *name;
        void *slot; /* a function pointer; POSIX lets dlsym's result be stored in one */
    } functions[] = {
        {"jpeg_std_error", &lib->std_error},
        {"jpeg_CreateDecompress", &lib->create_decompress},
        {"jpeg_destroy_decompress", &lib->destroy_decompress},
        {"jpeg_read_header", &lib->read_header},
        {"jpeg_start_decompress", &lib->start_decompress},
        {"jpeg_crop_scanline", &lib->crop_scanline},
        {"jpeg_skip_scanlines", &lib->skip_scanlines},
        {"jpeg_read_scanlines", &lib->read_scanlines},
        {"jpeg_abort_decompress", &lib->abort_decompress},
        {"jpeg_resync_to_restart", &lib->resync_to_restart},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(lib->handle, functions[i].name);
        if (!function) {
            snprintf(why, size, "has no %s (needs libjpeg-turbo 1.5 or newer)", functions[i].name);
            return 0;
        }
        memcpy(functions[i].slot, &function, sizeof function);
    }
    if (!learn_messages(lib)) {
        snprintf(why, size, "its messages are not those of libjpeg");
        return 0;
    }
    char why62[128], why80[128];
    if (dts_libjpeg62_accepts(lib, why62, sizeof why62)) {
        lib->abi = 62;
        lib->ops = &dts_libjpeg62_ops;
    } else if (dts_libjpeg80_accepts(lib, why80, sizeof why80)) {
        lib->abi = 80;
        lib->ops = &dts_libjpeg80_ops;
    } else {
        snprintf(why, size, "neither ABI 62 (%s) nor ABI 80 (%s)", why62, why80);
        return 0;
    }
    return 1;
}

dts_libjpeg *dts_libjpeg_open(const char *path, char *why, size_t size) {
    dts_libjpeg *lib = calloc(1, sizeof *lib);
    if (!lib) {
        snprintf(why, size, "no memory");
        return NULL;
    }
    if (!load(lib, path, why, size)) {
        if (lib->handle)
            dlclose(lib->handle);
        free(lib);
        return NULL;
    }
    return lib;
}

int dts_libjpeg_owns(const dts_libjpeg *library, void *function) {
    Dl_info ours, found;
    void *known;
    memcpy(&known, &library->std_error, sizeof known);
    return dladdr(known, &ours) && dladdr(function, &found) && ours.dli_fbase == found.dli_fbase;
}

const char *dts_libjpeg_path(const dts_libjpeg *library) {
    Dl_info info;
    void *function;
    memcpy(&function, &library->std_error, sizeof function);
    return dladdr(function, &info) ? info.dli_fname : NULL;
}

#endif
