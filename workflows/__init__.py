"""The Temporal workflow and the signatures of its activities. Only what may be replayed."""
