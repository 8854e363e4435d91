"""The same settings give the same bytes, whatever the threads, the mode, the instruction set."""

import pytest

from dts import LoadMode, decode, kernels

EPOCHS = range(3)


def hashes(setup, digest, epochs=EPOCHS):
    with setup.commit() as pre:
        return [digest(pre.train(e)) for e in epochs]


@pytest.fixture(scope="module")
def wanted():
    return {}


@pytest.fixture
def expected(wanted, blocks, setup_of, digest):
    """Hashes of three epochs with one thread of each kind, by output dtype."""

    def of(dtype):
        if dtype not in wanted:
            setup = setup_of(blocks[0], output=dtype, shuffle_order="window", shuffle_window=3)
            wanted[dtype] = hashes(setup.load_workers(1).preprocess_workers(1), digest)
            assert len(set(wanted[dtype])) == 3
        return wanted[dtype]

    return of


@pytest.mark.parametrize("threads", [(2, 3), (4, 16), (1, 64)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
def test_threads(blocks, setup_of, digest, expected, threads, dtype):
    setup = setup_of(blocks[0], output=dtype, shuffle_order="window", shuffle_window=3)
    setup.load_workers(threads[0]).preprocess_workers(threads[1])
    assert hashes(setup, digest) == expected(dtype)


@pytest.mark.parametrize("mode", list(LoadMode))
@pytest.mark.parametrize("prefetch", [1, 2, 7])
def test_modes_and_prefetch(blocks, setup_of, digest, expected, mode, prefetch):
    setup = setup_of(blocks[0], shuffle_order="window", shuffle_window=3, load_mode=mode)
    assert hashes(setup.prefetch_batches(prefetch), digest) == expected("float32")


@pytest.mark.parametrize("mode", [LoadMode.FULLY, LoadMode.PARTIAL])
def test_starting_at_epoch_two(blocks, setup_of, digest, expected, mode):
    setup = setup_of(blocks[0], shuffle_order="window", shuffle_window=3, load_mode=mode)
    with setup.commit() as pre:
        assert digest(pre.train(2)) == expected("float32")[2]
        assert digest(pre.train(0)) == expected("float32")[0]


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
def test_instruction_sets(blocks, setup_of, digest, expected, dtype):
    setup = setup_of(blocks[0], output=dtype, shuffle_order="window", shuffle_window=3)
    before = kernels.isa()
    try:
        for isa in kernels.available_isas():
            kernels.select_isa(isa)
            assert hashes(setup, digest) == expected(dtype), isa
    finally:
        kernels.select_isa(before)


def test_leaving_an_epoch_changes_nothing(blocks, setup_of, digest, expected):
    setup = setup_of(blocks[0], shuffle_order="window", shuffle_window=3)
    with setup.commit() as pre:
        for k in range(5):
            next(iter(pre.train(k)))
        assert digest(pre.train(1)) == expected("float32")[1]


def test_the_batch_size_does_not_change_a_sample(blocks, setup_of):
    def by_id(batch):
        setup = setup_of(blocks[0], batch_size=batch)
        with setup.commit() as pre:
            return {
                int(id): image.tobytes()
                for b in pre.train(4)
                for image, id in zip(b.images, b.ids, strict=True)
            }

    assert by_id(8) == by_id(61) == by_id(5)


def test_seeds(blocks, setup_of, digest):
    def of(seed):
        return hashes(setup_of(blocks[0], seed=seed), digest, [0])

    assert of(-1) == of(2**64 - 1)
    assert of(3) == of(3 + 2**64)
    assert len({of(s)[0] for s in (0, 1, 2**32, 2**63)}) == 4
    with setup_of(blocks[0], seed=None).commit() as pre:
        drawn = pre.seed
        first = digest(pre.train(0))
    assert first == of(drawn)[0]
    setup = setup_of(blocks[0], seed=None)
    with setup.commit() as one, setup.commit() as two:
        assert one.seed != two.seed


def test_a_late_epoch(blocks, setup_of):
    with setup_of(blocks[0]).commit() as pre:
        assert sorted(i for b in pre.train(10**6) for i in b.ids) == list(range(61))


def test_the_fallback_decoder_gives_the_same_pixels(blocks, setup_of):
    """Simplejpeg decodes YCbCr and grey to the same bits; its CMYK differs by a level or two."""
    if decode.library_info()["kind"] != "libjpeg-turbo":
        pytest.skip("only one decoder here")

    def epoch():
        setup = setup_of(blocks[0], output="uint8", preprocess_workers=3)
        with setup.commit() as pre:
            return {
                int(id): image.copy()
                for b in pre.train(0)
                for image, id in zip(b.images, b.ids, strict=True)
            }

    ours = epoch()
    decode.use_backend("simplejpeg")
    try:
        theirs = epoch()
    finally:
        decode.use_backend("libjpeg")
    for id, image in ours.items():
        gap = abs(image.astype(int) - theirs[id]).max()
        cmyk = id % 8 == 6
        assert gap <= (3 if cmyk else 0), id
