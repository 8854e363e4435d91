"""Starting processes that Ctrl-C is tried on."""

import signal


def heed_ctrl_c():
    """Undo an ignored SIGINT, for `preexec_fn`: a shell starts background jobs with one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
