"""How many bytes a run's log and inbox may hold, the same for every store."""

MAX_LOG_BYTES = 32 * 1024 * 1024  # a day of dense tokens is about a tenth of it: beyond, a turn is running away
RESERVE_BYTES = 64 * 1024  # kept for seal and tail, so that the end of a run always fits (C13)
MAX_INPUTS = 200  # of a run's life: more than a person says to one answer, and a client in a loop ends here
MAX_INPUT_BYTES = 256 * 1024  # of all of them
