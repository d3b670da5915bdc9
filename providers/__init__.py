"""Model adapters behind one port."""
