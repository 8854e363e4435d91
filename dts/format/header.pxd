from libc.stdint cimport uint8_t, uint32_t, uint64_t


cdef extern from "dts/format/header.h" nogil:
    ctypedef struct dts_header:
        char magic[4]
        uint8_t version[4]
        char dataset_type[8]
        uint32_t is_training
        uint32_t compress_level
        uint32_t val_set_prep
        uint32_t num_classes
        char tensor_layout[4]
        uint32_t image_width
        uint32_t image_height
        uint32_t num_channels
        char color_channel_type[4]
        uint32_t num_samples
        uint32_t num_volumes
        uint32_t volume_id
        uint32_t total_blocks
        uint32_t num_blocks
        uint64_t total_bytes
        uint32_t header_bytes
        uint64_t block_bytes
        uint32_t bytes_per_block
        uint32_t block_header_size
        uint32_t pic_alignment
        uint32_t max_pic_area
        uint32_t max_pic_per_block
        float compression_ratio
        float normalize_mean[3]
        float normalize_std[3]
        uint32_t crc_code


cdef class Header:
    cdef dts_header raw
