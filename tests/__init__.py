"""Tests. Folders mirror the package; `support` is what several tests share."""
