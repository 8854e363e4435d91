# Nothing here is seen from Python: see serve.pxd.
