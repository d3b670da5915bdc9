"""HTTP: routes, SSE responses. Decides nothing."""
