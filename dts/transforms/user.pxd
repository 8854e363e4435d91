from dts.transforms.op cimport Op


# The C form but for `run`, `keep` and `context`.
cdef Op user_op(transform, position)
