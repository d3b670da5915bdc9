"""The parts of the embedded stack, one file each: how it is started, how one sees that it serves."""
