"""Small declarations and pages."""
