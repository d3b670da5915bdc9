"""How a tool is declared, its schema, its policy on repetition."""
