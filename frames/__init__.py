"""Frames as readers see them: SSE bytes, projections, handles and tokens, and the hub that fans a log out."""
