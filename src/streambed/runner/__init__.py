"""Running: what is outside the box, and what is inside it."""
