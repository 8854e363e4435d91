/* The part of libjpeg's binary interface that we use, declared by us so that no header is needed to
 * build and no library to link. Set DTS_JPEG_ABI to 62 or 80 before including this.
 *
 * Facts are from libjpeg-turbo's jpeglib.h: field order, types, and what depends on the ABI number.
 * Fields that we do not touch are lumped together under the name `unused_...`. A test holds the
 * offsets against the real header. libjpeg checks the size of the decompressor when one is made;
 * nothing checks the managers, so the error manager, which the library fills, has spare room. */
#ifndef DTS_DECODE_LIBJPEG_H
#define DTS_DECODE_LIBJPEG_H

#include <stddef.h>
#include <stdint.h>

typedef struct ljpeg_error {
    void (*error_exit)(void *cinfo);
    void (*emit_message)(void *cinfo, int level);
    void (*output_message)(void *cinfo);
    void (*format_message)(void *cinfo, char *buffer); /* buffer of LJPEG_MESSAGE bytes */
    void (*reset_error_mgr)(void *cinfo);
    int msg_code;
    union {
        int i[8];
        char s[80];
    } msg_parm;
    int trace_level;
    long num_warnings;
    const char *const *jpeg_message_table;
    int last_jpeg_message;
    const char *const *unused_addon_table;
    int unused_addon[2];
    char spare[256];
} ljpeg_error;

#define LJPEG_MESSAGE 200

typedef struct ljpeg_source {
    const uint8_t *next_input_byte;
    size_t bytes_in_buffer;
    void (*init_source)(void *cinfo);
    int (*fill_input_buffer)(void *cinfo);
    void (*skip_input_data)(void *cinfo, long n);
    int (*resync_to_restart)(void *cinfo, int desired);
    void (*term_source)(void *cinfo);
} ljpeg_source;

typedef struct ljpeg_progress {
    void (*progress_monitor)(void *cinfo);
    long unused_pass[2];
    int unused_passes[2];
} ljpeg_progress;

/* Of jpegint.h, the same in every version. */
typedef struct ljpeg_marker {
    void (*unused_reset)(void *cinfo);
    int (*unused_read)(void *cinfo);
    int (*unused_read_restart)(void *cinfo);
    int unused_saw[2];
    int unused_next_restart;
    unsigned discarded_bytes; /* before restart markers, not yet told by a message */
} ljpeg_marker;

typedef struct ljpeg_component {
    int unused_ids[2];
    int unused_factors[2];
    int unused_quant_table_number;
    int dc_table_number;
    int ac_table_number;
    unsigned unused_blocks[2];
#if DTS_JPEG_ABI >= 70
    int unused_dct_size[2];
#else
    int unused_dct_size;
#endif
    unsigned unused_size[2];
    int component_needed;
    int unused_mcu[6];
    void *quant_table; /* NULL until a scan of this component begins */
    void *unused_dct_table;
} ljpeg_component;

typedef struct ljpeg_huffman {
    uint8_t counts[17]; /* codes of each length, from [1] on */
    uint8_t symbols[256];
    int unused_sent;
} ljpeg_huffman;

/* Of jpegint.h: its first two members are the same in every version that has jpeg_crop_scanline. */
typedef struct ljpeg_entropy {
    void (*unused_start_pass)(void *cinfo);
    int (*decode_mcu)(void *cinfo, int16_t **blocks);
} ljpeg_entropy;

/* Values of J_COLOR_SPACE and J_DCT_METHOD. */
enum { LJPEG_GRAYSCALE = 1, LJPEG_RGB = 2, LJPEG_CMYK = 4 };
enum { LJPEG_ISLOW = 0 };

typedef struct ljpeg_decompress {
    ljpeg_error *err;
    void *unused_mem;
    ljpeg_progress *progress;
    void *unused_client_data;
    int unused_is_decompressor;
    int unused_global_state;
    ljpeg_source *src;
    unsigned image_width;
    unsigned image_height;
    int num_components;
    int unused_jpeg_color_space;
    int out_color_space;
    unsigned scale_num;
    unsigned scale_denom;
    double unused_gamma;
    int unused_modes[2];
    int dct_method;
    int do_fancy_upsampling;
    int unused_smoothing;
    int unused_quantize[7];
    unsigned unused_output_size[2];
    int unused_out_components[2];
    int unused_rec_outbuf_height;
    int unused_colors;
    void *unused_colormap;
    unsigned unused_output_scanline;
    int input_scan_number;
    unsigned input_iMCU_row;
    int unused_output_scan_number;
    unsigned unused_output_iMCU_row;
    int (*coef_bits)[64]; /* progressive: bits of each coefficient still to come, -1 = all */
    void *unused_quant_tables[4];
    ljpeg_huffman *dc_tables[4];
    ljpeg_huffman *ac_tables[4];
    int unused_data_precision;
    ljpeg_component *comp_info;
#if DTS_JPEG_ABI >= 80
    int unused_is_baseline;
#endif
    int progressive_mode;
    int arith_code;
    uint8_t unused_arith[48];
    unsigned restart_interval;
    int unused_saw_jfif;
    uint8_t unused_jfif[3];
    uint16_t unused_density[2];
    int unused_saw_adobe;
    uint8_t unused_adobe_transform;
    int unused_ccir601;
    void *unused_markers;
    int max_h_samp_factor;
    int max_v_samp_factor;
#if DTS_JPEG_ABI >= 70
    int unused_min_dct_size[2];
#else
    int unused_min_dct_size;
#endif
    unsigned unused_total_rows;
    void *unused_range_limit;
    int comps_in_scan;
    ljpeg_component *scan_components[4];
    unsigned mcus_per_row;
    unsigned mcu_rows;
    int blocks_in_mcu;
    int mcu_membership[10];
    int unused_progression[4];
#if DTS_JPEG_ABI >= 80
    int unused_block_size;
    const int *unused_natural_order;
    int unused_lim_se;
#endif
    int unread_marker;
    void *unused_modules[5];
    ljpeg_marker *marker;
    ljpeg_entropy *entropy;
    void *unused_more_modules[4];
} ljpeg_decompress;

#if UINTPTR_MAX == UINT64_MAX
_Static_assert(sizeof(long) != 8 || offsetof(ljpeg_error, jpeg_message_table) == 136, "err");
_Static_assert(sizeof(ljpeg_source) == 56, "source manager");
_Static_assert(offsetof(ljpeg_decompress, image_width) == 48, "image_width");
_Static_assert(offsetof(ljpeg_decompress, out_color_space) == 64, "out_color_space");
_Static_assert(offsetof(ljpeg_decompress, dct_method) == 96, "dct_method");
_Static_assert(offsetof(ljpeg_decompress, input_iMCU_row) == 176, "input_iMCU_row");
_Static_assert(offsetof(ljpeg_decompress, coef_bits) == 192, "coef_bits");
_Static_assert(offsetof(ljpeg_decompress, comp_info) == 304, "comp_info");
_Static_assert(offsetof(ljpeg_decompress, max_v_samp_factor) == 412, "max_v_samp_factor");
_Static_assert(sizeof(ljpeg_component) == 96, "component");
_Static_assert(offsetof(ljpeg_marker, discarded_bytes) == 36, "marker");
_Static_assert(offsetof(ljpeg_component, quant_table) == 80, "quant_table");
_Static_assert(offsetof(ljpeg_decompress, dc_tables) == 232, "dc_tables");
#if DTS_JPEG_ABI >= 80
_Static_assert(offsetof(ljpeg_decompress, progressive_mode) == 316, "progressive_mode");
_Static_assert(offsetof(ljpeg_decompress, unread_marker) == 564, "unread_marker");
_Static_assert(sizeof(ljpeg_decompress) == 656, "decompressor");
#else
_Static_assert(offsetof(ljpeg_decompress, progressive_mode) == 312, "progressive_mode");
_Static_assert(offsetof(ljpeg_decompress, unread_marker) == 540, "unread_marker");
_Static_assert(sizeof(ljpeg_decompress) == 632, "decompressor");
#endif
#endif

#endif
