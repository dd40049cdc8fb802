"""How a tool is wrapped: what it reports to, real functions for functions, proxies for the rest."""
