"""Small programs that run on hosts."""
