"""SQL: conversations, messages, runs, spend."""
