/* What the pipeline sees of a loader: positions in, samples out. One contract for every data set.
 * Ending an epoch wakes all workers that wait in here. A new epoch, or close(), is for when none is in here or still
 * uses a sample. */
#ifndef DTS_LOADER_H
#define DTS_LOADER_H

#include "dts/sample.h"
#include "dts/status.h"

typedef struct dts_loader {
    void *self;
    /* The sample at `position` of the running epoch, for `worker`, whose positions must grow from call to call.
     * Waits until its block is in memory; no lock when it is. The previous sample of this worker ends here.
     * Blocks are reused only when all workers have asked for later ones: who waits for anything that other workers
     * bring about rests meanwhile.
     * DTS_OK; DTS_END past the last position; DTS_CLOSED when the epoch ended or the loader closed; else an error of
     * this sample: *error tells, and *out has its id, volume, block, index (label -1, data NULL). The epoch goes on
     * after an error. */
    int (*sample_at)(void *self, int worker, int64_t position, dts_sample *out, dts_error *error);
    /* Candidate number `attempt` (0, 1, ...) to stand in for the bad sample `bad` at `position`: another sample of the
     * same block, chosen by Philox; of another block of the window where the whole block is lost. Same results as above,
     * DTS_END when there is no further candidate. */
    int (*replacement)(void *self, int worker, int64_t position, const dts_sample *bad, int attempt, dts_sample *out,
                       dts_error *error);
    /* `worker` asks for nothing more in this epoch (its blocks may be reused). */
    void (*finish)(void *self, int worker);
    /* `worker` asks for nothing until it resumes: nobody waits for it, and its blocks may be reused. It resumes before it
     * chooses a position, and chooses one that is later than any other worker has asked for. */
    void (*rest)(void *self, int worker);
    void (*resume)(void *self, int worker);
} dts_loader;

#endif
