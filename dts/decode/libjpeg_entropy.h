/* Part of libjpeg_impl.h: the decompressor's function for one MCU is replaced by ours, for files
 * that entropy.c can read. All else stays libjpeg's. */

/* libjpeg calls this for each MCU of a row: with blocks that it has cleared, also in columns that
 * its cropping leaves out, or with none to pass a row over. */
static int decode_mcu(void *cinfo, int16_t **blocks) {
    codec *k = cinfo;
    const int column = k->column;
    k->column = column + 1 < k->columns ? column + 1 : 0;
    if (column < k->first_column || column >= k->last_column)
        blocks = NULL;
    if (!dts_huff_mcu(&k->huff, blocks)) {
        k->odd = 1;
        _longjmp(k->jump, 1);
    }
    if (k->huff.mcus_left == 0) { /* the end marker comes next, as stop() checks */
        k->src.next_input_byte = k->huff.at;
        k->src.bytes_in_buffer = (size_t)(k->huff.end - k->huff.at);
    }
    return 1;
}

/* Is the member that we take for the decoder's function a function of the library? Asked once for
 * each decoder: the answer takes a lock. */
static int is_known(codec *k, const ljpeg_entropy *entropy) {
    void *function;
    memcpy(&function, &entropy->decode_mcu, sizeof function);
    if (function != k->known) {
        if (!dts_libjpeg_owns(library_of(k), function))
            return 0;
        k->known = function;
    }
    return 1;
}

/* After start_decompress. One scan with Huffman codes of all components: else libjpeg goes other
 * ways than MCU by MCU, or the codes are others. After the first of several scans libjpeg has read
 * on to the end, and there may be tables that it has never checked. */
static void take_over(codec *k) {
    ljpeg_decompress *c = &k->c;
    dts_huff *h = &k->huff;
    if (k->plain || !dts_jpeg_own_entropy() || c->progressive_mode || c->arith_code ||
        c->input_scan_number != 1 || c->comps_in_scan != c->num_components ||
        c->blocks_in_mcu > DTS_HUFF_BLOCKS || !c->entropy || !is_known(k, c->entropy))
        return;
    for (int i = 0; i < c->blocks_in_mcu; i++) {
        const ljpeg_component *comp = c->scan_components[c->mcu_membership[i]];
        const int dc = comp->dc_table_number, ac = comp->ac_table_number;
        if (dc < 0 || dc > 3 || ac < 0 || ac > 3 || !c->dc_tables[dc] || !c->ac_tables[ac])
            return;
        h->block[i].dc = dts_huff_use(h, 0, dc, c->dc_tables[dc]->counts, c->dc_tables[dc]->symbols);
        h->block[i].ac = dts_huff_use(h, 1, ac, c->ac_tables[ac]->counts, c->ac_tables[ac]->symbols);
        h->block[i].component = c->mcu_membership[i];
        h->block[i].needed = comp->component_needed;
    }
    h->n_blocks = c->blocks_in_mcu;
    h->interval = (int)c->restart_interval;
    h->mcus_left = (int64_t)c->mcus_per_row * c->mcu_rows;
    dts_huff_begin(h, k->src.next_input_byte, k->src.bytes_in_buffer);
    k->column = k->first_column = 0;
    k->columns = k->last_column = (int)c->mcus_per_row;
    c->entropy->decode_mcu = decode_mcu;
    k->owner->own_entropy = 1;
}

/* After crop: MCUs of other columns are not transformed, and so need not be decoded. */
static void pass_columns(codec *k) {
    const dts_jpeg *j = k->owner;
    const int mcu = j->info.mcu_width / j->scale;
    if (k->c.num_components == 1 && k->c.max_h_samp_factor > 1)
        return; /* versions of libjpeg differ in what they take for an MCU here */
    k->first_column = j->row_x / mcu;
    k->last_column = (j->row_x + j->row_w + mcu - 1) / mcu;
}
