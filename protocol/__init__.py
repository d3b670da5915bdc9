"""Every value that crosses a process boundary: ids, frames, requests, the checkpoint, errors. No logic; imports nothing of ours."""
