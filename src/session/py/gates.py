"""What holds up the first call of an interpreter that takes another's place."""

from posix import close, pipe2, write

O_CLOEXEC = 0o2000000


class Gate:
    """Held by the keeper, in front of a new interpreter: its first call begins when the keeper lets go.
    (To wait for the death of the one before would not do: that is seen by both at the same time, and
    what a call forks while the keeper still looks for others would be taken for one of them.) The end
    of the keeper opens it, too."""

    waits = held = -1  # until there are any

    def __init__(self, is_told=False):
        self.waits, self.held = pipe2(O_CLOEXEC)
        self.is_told = is_told  # whoever stands there hears of the kill, and is awake until then

    def hand_over(self):
        """The interpreter has its end, if it ever will."""
        if self.waits >= 0:
            close(self.waits)
            self.waits = -1

    def tell_killed(self):
        """What ran is killed, and not yet over: the gate stays closed. (A byte opens nothing; only the end of
        the pipe does.)"""
        try:
            write(self.held, b"k")
        except OSError:
            pass

    def open(self):
        if self.held >= 0:
            close(self.held)
            self.held = -1

    def forget(self):
        """In a fork of the keeper, which stands before it, and must not hold it."""
        self.waits = -1
        self.open()

    def __del__(self):
        self.hand_over()
        self.open()


def wake_at_gate(frozen, known, workspace, is_told=False):
    """(the gate, the new interpreter); None for what could not be had."""
    try:
        gate = Gate(is_told)
    except OSError:
        return None, None
    live = frozen.thaw(known, workspace, gate)
    gate.hand_over()
    return gate, live
