# C functions only: see colour.pxd.
