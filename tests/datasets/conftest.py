import os

import pytest


@pytest.fixture
def tree(tmp_path):
    """Build a tree of files from their names; each holds as many bytes as its number says."""
    root = os.fsencode(tmp_path / "root")
    os.mkdir(root)

    def build(*names):
        for k, name in enumerate(names):
            path = os.path.join(root, name)
            os.makedirs(path if name.endswith(b"/") else os.path.dirname(path), exist_ok=True)
            if not name.endswith(b"/"):
                with open(path, "wb") as file:
                    file.write(b"x" * k)
        return root

    return build
