"""A live web page that shows what a store holds now."""
