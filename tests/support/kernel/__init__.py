"""Networks in boxes, and what is measured in them."""
