"""What stores have in common that are asked through HTTP."""
