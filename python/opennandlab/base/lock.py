"""Files and directories that one process holds: the lock ends with it, also when it is killed."""

import fcntl


def lock(handle: int) -> bool | None:
    """Keep other processes out of an open file or directory until it is closed.

    Args:
        handle: The opened file; each opening is another holder.

    Returns:
        Whether it is held now; False: by another one. None on a file system without locks.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
