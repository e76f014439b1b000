"""A live page for people: what the store holds now, in a browser."""
