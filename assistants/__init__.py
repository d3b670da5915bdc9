"""The assistants that ship, and how one is defined."""
