"""SQL: conversations, messages, runs."""
