"""What stores have in common that are asked over a network, nearly all through HTTP."""
